"""Captured prompts, as far as commands need to find them."""

import sqlite3
from typing import Literal
from uuid import UUID

from aggregates.event import Scope
from projections.reader import Reader


def legacy_prompt(reader: Reader, scope: Scope, agent_session_id: str, content_digest: bytes) -> UUID | None:
    """The prompt a response means that names only its session: the one with just this answer, else the session's
    latest prompt without one."""
    return _answered_alike(reader, scope, agent_session_id, content_digest) or _latest_unanswered(
        reader, scope, agent_session_id
    )


_OWNED = (
    "FROM captures c JOIN sessions s ON s.agent_session_id = c.agent_session_id "
    "LEFT JOIN answers a ON a.capture_id = c.capture_id "
    "WHERE c.agent_session_id = ? AND s.organization_id = ? AND s.developer_id = ? AND c.by_plugin "
)


def _answered_alike(reader: Reader, scope: Scope, session: str, content_digest: bytes) -> UUID | None:
    query = f"SELECT c.capture_id {_OWNED} AND a.content_digest = ? ORDER BY c.at_us DESC LIMIT 1"
    return _first(reader, query, (session, *_owner(scope), content_digest))


def _latest_unanswered(reader: Reader, scope: Scope, session: str) -> UUID | None:
    query = f"SELECT c.capture_id {_OWNED} AND a.capture_id IS NULL ORDER BY c.at_us DESC, c.capture_id LIMIT 1"
    return _first(reader, query, (session, *_owner(scope)))


def _owner(scope: Scope) -> tuple[str, str]:
    return str(scope.organization_id), str(scope.developer_id)


def _first(reader: Reader, query: str, bound: tuple[object, ...]) -> UUID | None:
    row = reader.db.execute(query, bound).fetchone()
    return None if row is None else UUID(row[0])


# How far each developer has come with being seen at all.

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
