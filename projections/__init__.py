"""Tables: how events change them, and the queries over them.

A replay builds the same rows again, whatever the order of arrival or the size of the batches.
"""

from typing import Literal

# What reads are asked for by name: commands, which start fast, offer the same words.
Sort = Literal["started", "duration", "cost", "tokens", "grade", "turns"]
CostPeriod = Literal["day", "week", "month", "year"]
CostBy = Literal[CostPeriod, "model", "project", "outcome", "agent"]
