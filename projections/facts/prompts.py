"""Captured prompts, as far as commands need to find them."""

import sqlite3
from typing import Literal
from uuid import UUID

from aggregates.event import Scope
from projections.reader import Reader, owner


def legacy_prompt(reader: Reader, scope: Scope, agent_session_id: str, content_digest: bytes) -> UUID | None:
    """The prompt of a response that names only its session: the one with just this answer, else the latest without."""
    key = (agent_session_id, *owner(scope))
    row = reader.db.execute(_ANSWERED_ALIKE, (*key, content_digest)).fetchone()
    row = row or reader.db.execute(_LATEST_UNANSWERED, key).fetchone()
    return None if row is None else UUID(row[0])


_OWNED = (
    "SELECT c.capture_id FROM captures c JOIN sessions s ON s.agent_session_id = c.agent_session_id "
    "LEFT JOIN answers a ON a.capture_id = c.capture_id "
    "WHERE c.agent_session_id = ? AND s.organization_id = ? AND s.developer_id = ? AND c.by_plugin "
)
_ANSWERED_ALIKE = f"{_OWNED} AND a.content_digest = ? ORDER BY c.at_us DESC LIMIT 1"
_LATEST_UNANSWERED = f"{_OWNED} AND a.capture_id IS NULL ORDER BY c.at_us DESC, c.capture_id LIMIT 1"

Activation = Literal["waiting", "key_configured", "first_prompt"]
"""Nothing yet; the plugin's setup is complete; a prompt was captured."""


def activation(db: sqlite3.Connection) -> dict[UUID, Activation]:
    """The developers that are no longer waiting."""
    found: dict[UUID, Activation] = {}
    found |= {UUID(row[0]): "key_configured" for row in db.execute("SELECT developer_id FROM setups")}
    found |= {UUID(row[0]): "first_prompt" for row in db.execute("SELECT DISTINCT developer_id FROM sub_sessions")}
    return found
