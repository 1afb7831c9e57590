"""Events, decisions and rules, all pure: clock, randomness and input enter as arguments."""

REVIEW_MARK = "svc-review-own-agent"
"""Begins what `svc review` asks an agent, and names the folder it runs in: such a run is nobody's session."""
