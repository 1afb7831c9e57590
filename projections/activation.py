"""How far each developer has come with being seen at all."""

import sqlite3
from typing import Literal
from uuid import UUID

Activation = Literal["waiting", "key_configured", "first_prompt"]
"""Nothing yet; the plugin's setup is complete; a prompt was captured."""


def activation(db: sqlite3.Connection) -> dict[UUID, Activation]:
    """The developers that are no longer waiting. Of nobody's data but whether there is any."""
    found: dict[UUID, Activation] = {}
    for (developer_id,) in db.execute("SELECT developer_id FROM setups"):
        found[UUID(developer_id)] = "key_configured"
    seen = "SELECT DISTINCT developer_id FROM sub_sessions"
    for (developer_id,) in db.execute(seen):
        found[UUID(developer_id)] = "first_prompt"
    return found
