"""The tables of the views file, all STRICT, made with sqlite-utils.

Rows are conclusions: numbers, flags, keyed digests and references to words. Bodies are msgpack of the value classes
in `aggregates`; what SQL must filter, join or sum stands in columns.
"""

import sqlite3
from functools import cache

SCHEMA_VERSION = 24
"""Counted up whenever a table or a body changes shape; the views are then built anew from the log."""

_TABLES: dict[str, tuple[dict[str, type], str | tuple[str, ...]]] = {
    "bookmark": ({"id": int, "position": int, "log_time_us": int, "checksum": bytes}, "id"),
    "failed": ({"position": int, "reason": str}, "position"),
    "sessions": ({"agent_session_id": str, "organization_id": str, "developer_id": str}, "agent_session_id"),
    "captures": (
        {
            "capture_id": str,
            "agent_session_id": str,
            "at_us": int,
            "host_prompt_id": str,
            "text_digest": int,
            "by_plugin": int,
            "body": bytes,
        },
        "capture_id",
    ),
    "answers": (
        {
            "capture_id": str,
            "agent_session_id": str,
            "content_digest": bytes,
            "received_at_us": int,
            "position": int,
            "body": bytes,
            "price": bytes,
        },
        "capture_id",
    ),
    "observations": (
        {
            "agent_session_id": str,
            "at_us": int,
            "record_id": str,
            "prompt_id": str,
            "position": int,
            "body": bytes,
            "price": bytes,
            "twin": str,
            "rank": int,
            "superseded": int,
        },
        ("agent_session_id", "at_us", "record_id"),
    ),
    "edit_details": ({"agent_session_id": str}, "agent_session_id"),
    "telemetry_records": (
        {
            "developer_id": str,
            "at_us": int,
            "record_id": str,
            "organization_id": str,
            "signal": str,
            "agent_session_id": str,
            "name": str,
            "kind": str,
            "model": str,
            "tool": str,
            "ok": int,
            "status_code": int,
            "duration_ms": int,
            "position": int,
            "origin": int,
        },
        ("developer_id", "at_us", "record_id"),
    ),
    "metric_points": (
        {
            "developer_id": str,
            "at_us": int,
            "record_id": str,
            "organization_id": str,
            "agent_session_id": str,
            "name": str,
            "kind": str,
            "unit": str,
            "temporality": str,
            "monotonic": int,
            "start_us": int,
            "value": float,
            "series": str,
            "meaning": str,
            "model": str,
            "position": int,
            "origin": int,
        },
        ("developer_id", "at_us", "record_id"),
    ),
    "requests": (
        {
            "developer_id": str,
            "at_us": int,
            "record_id": str,
            "organization_id": str,
            "agent_session_id": str,
            "prompt_id": str,
            "request_id": str,
            "failed": int,
            "sidechain": int,
            "model": str,
            "status_code": int,
            "retry_after_ms": int,
            "duration_ms": int,
            "input_tokens": int,
            "output_tokens": int,
            "cache_read_tokens": int,
            "cache_write_tokens": int,
            "cache_write_1h_tokens": int,
            "cost_usd_nano": int,
            "cost_kind": str,
            "catalog_revision": int,
            "superseded": int,
            "position": int,
            "changed_position": int,
        },
        ("developer_id", "at_us", "record_id"),
    ),
    "turns": (
        {"turn_id": str, "agent_session_id": str, "started_us": int, "host_prompt_id": str, "body": bytes},
        "turn_id",
    ),
    "turn_alias": ({"alias_id": str, "turn_id": str}, "alias_id"),
    "arcs": (
        {
            "arc_id": str,
            "organization_id": str,
            "developer_id": str,
            "agent_session_id": str,
            "started_us": int,
            "sub_session_id": str,
            "body": bytes,
        },
        "arc_id",
    ),
    "sub_sessions": (
        {
            "sub_session_id": str,
            "organization_id": str,
            "developer_id": str,
            "agent_session_id": str,
            "last_agent_session_id": str,
            "started_us": int,
            "last_activity_us": int,
            "settles_at_us": int,
            "turns": int,
            "floor_passed": int,
            "trivia_reason": str,
            "intent": str,
            "earned": int,
            "goal_complete": int,
            "reverts": int,
            "rework_of": str,
            "input_tokens": int,
            "output_tokens": int,
            "cache_read_tokens": int,
            "cache_write_tokens": int,
            "cost_usd_nano": int,
            "requests": int,
            "unpriced_requests": int,
            "lower_bound_requests": int,
            "active_us": int,
            "models": bytes,
            "rework_view": bytes,
            "detail": bytes,
            "judged_intent": str,
            "judged_goal_complete": int,
            "judged_rework_of": str,
            "said_rework": int,
            "overridden": int,
        },
        "sub_session_id",
    ),
    "sub_session_files": (
        {
            "sub_session_id": str,
            "digest": int,
            "changed": int,
            "edits": int,
            "lines_added": int,
            "lines_removed": int,
            "edits_without_lines": int,
            "seen_us": int,
            "position": int,
            "path_start": int,
            "path_end": int,
        },
        ("sub_session_id", "digest"),
    ),
    "prompts": (
        {
            "turn_id": str,
            "sub_session_id": str,
            "organization_id": str,
            "developer_id": str,
            "at_us": int,
            "status": str,
            "counted": int,
            "applicable": int,
            "standing_earned": int,
            "standing_score": float,
            "body": bytes,
        },
        "turn_id",
    ),
    "turn_signs": (
        {"turn_id": str, "agent_session_id": str, "started_us": int, "body": bytes},
        "turn_id",
    ),
    "clears": (
        {
            "turn_id": str,
            "agent_session_id": str,
            "organization_id": str,
            "developer_id": str,
            "at_us": int,
            "body": bytes,
        },
        "turn_id",
    ),
    "skews": (
        {
            "position": int,
            "organization_id": str,
            "developer_id": str,
            "agent_session_id": str,
            "day": int,
            "received_us": int,
            "ahead_us": int,
        },
        "position",
    ),
    "flags": (
        {
            "flag_id": str,
            "organization_id": str,
            "developer_id": str,
            "kind": str,
            "detected_at_us": int,
            "agent_session_id": str,
            "turn_id": str,
            "count": int,
            "window_seconds": int,
            "details": bytes,
        },
        "flag_id",
    ),
    "catalogs": ({"revision": int, "checksum": str, "position": int, "body": bytes}, "revision"),
    "report_steps": (
        {
            "report_id": str,
            "step": str,
            "organization_id": str,
            "developer_id": str,
            "at_us": int,
            "position": int,
            "body": bytes,
        },
        ("report_id", "step"),
    ),
    "setups": ({"developer_id": str}, "developer_id"),
    "corrections": (
        {"agent_session_id": str, "capture_id": str, "topic": str, "position": int, "said": str},
        ("agent_session_id", "capture_id", "topic"),
    ),
    "judge_answers": (
        {"agent_session_id": str, "capture_id": str, "kind": str, "position": int, "body": bytes},
        ("agent_session_id", "capture_id", "kind"),
    ),
    "titles": ({"turn_id": str, "position": int, "has_summary": int}, ("turn_id", "position")),
}

_CHANGES: dict[str, tuple[dict[str, type], str | tuple[str, ...]]] = {
    "change_feed": ({"id": int, "from_position": int}, "id"),
    "changes": (
        {
            "sub_session_id": str,
            "kind": str,
            "organization_id": str,
            "developer_id": str,
            "agent_session_id": str,
            "position": int,
            "at_us": int,
        },
        ("sub_session_id", "kind"),
    ),
}
"""No conclusions, and no part of any digest; `projections/changes.py` says why."""

_JUDGED = ("settles_at_us", "floor_passed", "judged_intent", "judged_goal_complete", "judged_rework_of")
"""What a completion rate takes: with them in the index, a month of a whole team is read without touching its rows."""

_FIGURES = (
    *("intent", "goal_complete", "rework_of", "overridden", "last_activity_us", "turns"),
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("cost_usd_nano", "requests", "unpriced_requests", "lower_bound_requests"),
)
"""What the figures of a window take beside them: its rows, two to a page, are not touched for these either."""

_GRADES = ("counted", "applicable", "standing_earned", "standing_score")
"""The same for the prompts of a window."""

_INDEXES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("captures", ("agent_session_id", "at_us")),
    ("captures", ("agent_session_id", "host_prompt_id")),
    ("captures", ("agent_session_id", "text_digest", "at_us")),
    ("answers", ("agent_session_id",)),
    ("observations", ("agent_session_id", "prompt_id", "at_us")),
    ("observations", ("agent_session_id", "twin")),
    ("telemetry_records", ("agent_session_id", "at_us")),
    ("metric_points", ("developer_id", "series", "at_us")),
    ("metric_points", ("agent_session_id", "meaning")),
    ("requests", ("agent_session_id", "at_us")),
    ("requests", ("organization_id", "at_us")),
    ("requests", ("organization_id", "failed", "at_us")),
    ("requests", ("changed_position",)),
    ("turns", ("agent_session_id", "started_us")),
    ("turns", ("agent_session_id", "host_prompt_id")),
    ("arcs", ("organization_id", "developer_id", "started_us")),
    ("arcs", ("agent_session_id", "started_us")),
    ("arcs", ("sub_session_id",)),
    ("sub_sessions", ("organization_id", "developer_id", "started_us", *_JUDGED, *_FIGURES)),
    ("sub_sessions", ("last_agent_session_id", "started_us")),
    ("sub_sessions", ("settles_at_us",)),
    ("sub_sessions", ("organization_id", "developer_id", "last_activity_us")),
    ("prompts", ("organization_id", "developer_id", "at_us", *_GRADES)),
    ("prompts", ("sub_session_id",)),
    ("turn_signs", ("agent_session_id", "started_us")),
    ("clears", ("agent_session_id",)),
    ("clears", ("organization_id", "developer_id", "at_us")),
    ("skews", ("organization_id", "developer_id", "agent_session_id", "day")),
    ("report_steps", ("organization_id", "developer_id", "step", "position")),
    ("report_steps", ("step", "position")),
    ("flags", ("agent_session_id",)),
    ("flags", ("organization_id", "developer_id", "detected_at_us")),
    ("changes", ("organization_id", "developer_id", "position")),
    ("changes", ("at_us",)),
)


def create(connection: sqlite3.Connection) -> None:
    """Make tables, indexes, an empty bookmark and a feed of changes that has not begun, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,):
        return
    connection.execute("BEGIN")
    for statement in _statements():
        connection.execute(statement)
    connection.execute("INSERT OR IGNORE INTO bookmark VALUES (1, 0, 0, x'')")
    connection.execute("INSERT OR IGNORE INTO change_feed VALUES (1, NULL)")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.commit()


@cache
def _statements() -> tuple[str, ...]:
    """Worked out once a process, and only in one that makes a file: sqlite-utils takes a while to import."""
    from sqlite_utils import Database

    database = Database(memory=True, execute_plugins=False)
    for name, (columns, key) in (_TABLES | _CHANGES).items():
        database.table(name).create(columns, pk=key, strict=True)
    for name, indexed in _INDEXES:
        database.table(name).create_index(indexed)
    made = [str(sql) for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    database.close()
    return tuple(
        sql.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS").replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS")
        for sql in made
    )


def table_names() -> tuple[str, ...]:
    """Every table of conclusions, in a fixed order, for digests over all of them."""
    return tuple(sorted(_TABLES))


def key_of(table: str) -> tuple[str, ...]:
    """The primary key of a table."""
    key = _TABLES[table][1]
    return (key,) if isinstance(key, str) else key


def columns_of(table: str) -> tuple[str, ...]:
    """The columns of a table of conclusions, in their order."""
    return tuple(_TABLES[table][0])
