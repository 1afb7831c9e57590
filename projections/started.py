"""The sub-sessions that started in a range, and what hangs on them, for the queries of a range."""

from aggregates.scope import Scope
from aggregates.windows import Window

PROMPTS = "JOIN prompts p ON p.sub_session_id = s.sub_session_id "
TURNS = f"{PROMPTS}JOIN turns t ON t.turn_id = p.turn_id "

SETTLED = "s.settles_at_us <= b.log_time_us"
QUALIFIES = f"{SETTLED} AND s.floor_passed AND s.intent IS NOT NULL"
CRUSHED = f"{QUALIFIES} AND s.goal_complete AND s.rework_of IS NULL"
"""Conditions of a sub-session `s` at the time `b` of the newest fact."""

Bounds = tuple[str, str, int, int]


def started_in(joined: str = "") -> str:
    """FROM and WHERE over sub-sessions `s` of a scope and range, bound by `bounds`.

    A sub-session and its parent session must be the same developer's. That the bookmark is one row SQLite does not know
    unless told so, and would sort by `started_us` what comes in that order.
    """
    return (
        "FROM bookmark b CROSS JOIN sub_sessions s JOIN sessions o ON o.agent_session_id = s.agent_session_id "
        f"AND o.organization_id = s.organization_id AND o.developer_id = s.developer_id {joined}"
        "WHERE b.id = 1 AND s.organization_id = ? AND s.developer_id = ? AND s.started_us >= ? AND s.started_us < ? "
    )


def bounds(scope: Scope, window: Window) -> Bounds:
    """What the marks of `started_in` stand for."""
    return str(scope.organization_id), str(scope.developer_id), window.start_us, window.end_us
