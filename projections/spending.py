"""What developers spent within a window: how it is summed, and the part of it that is not archived.

Requests are summed alike here and in the archive. A turn that only a plugin's response capture tells about has no
request; it counts at the time of its prompt.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal
from uuid import UUID

import msgspec

from aggregates.scope import Scope
from aggregates.stays import Stay
from aggregates.turn import ModelUsage
from aggregates.windows import Window
from projections.big_sums import sum_in_halves, whole_sums
from projections.bodies import unpack
from projections.reader import Reader
from projections.sub_session_rows import PromptBody

CoverageReason = Literal["complete", "file_budget", "byte_budget"]


class Spent(msgspec.Struct, frozen=True):
    """Sums over the answered requests of one developer, and how many of them lack a number."""

    requests: int = 0
    unpriced: int = 0
    lower_bound: int = 0
    """Priced, but some of their cache writes may have cost more."""
    unmeasured: int = 0
    """Requests whose tokens nobody told."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd_nano: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(mine + theirs for mine, theirs in zip(_values(self), _values(other), strict=True)))

    @property
    def total_tokens(self) -> int:
        """All four kinds."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


def _values(spent: Spent) -> tuple[int, ...]:
    values: tuple[int, ...] = msgspec.structs.astuple(spent)
    return values


_COUNTS = 4
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
SUMS = ", ".join(
    (
        "count(*)",
        "count(*) FILTER (WHERE cost_usd_nano IS NULL)",
        "count(*) FILTER (WHERE cost_kind = 'catalog_lower_bound')",
        f"count(*) FILTER (WHERE coalesce({', '.join(_TOKENS)}) IS NULL)",
        *(sum_in_halves(name) for name in (*_TOKENS, "cost_usd_nano")),
    )
)
"""What makes a `Spent` of rows of `requests`, in the SQL that SQLite and DuckDB share."""
COUNTS = "NOT failed AND NOT superseded"
"""Which requests count: answered ones, and each once however many captures told of it."""

ByDeveloper = dict[UUID, Spent]
RequestKey = tuple[str, int, str]
"""Developer, time and record id."""


class Asked(msgspec.Struct, frozen=True):
    """A window, and the stays in the team that fall into it."""

    window: Window
    stays: tuple[Stay, ...]


class Coverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a read of the archive saw all there is."""

    reason: CoverageReason = "complete"
    """`file_budget` also where files could not be read."""
    read_batches: int = 0
    dropped_files: int = 0
    """Files that were left out, whether for a budget or with a file of their day that could not be read."""
    unreadable_files: int = 0


class LivePart(msgspec.Struct, frozen=True):
    """What the views say of a window beyond what is archived."""

    spent: ByDeveloper
    changed: list[RequestKey]
    """The window's requests that changed since: what the archive says of them is out of date."""


class Reading(msgspec.Struct, frozen=True):
    """What was found of a window."""

    spent: ByDeveloper
    coverage: Coverage


# What changed lately is little, what a window holds is much: the pluses and the materializing keep SQLite to that way.
_LIVE = (
    "WITH stays(developer_id, start_us, end_us) AS MATERIALIZED "
    "(SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:stays)), "
    "changed AS MATERIALIZED (SELECT * FROM requests WHERE changed_position > :after "
    f"AND +organization_id = :organization AND {COUNTS}) "
    f"SELECT r.developer_id, {SUMS} FROM changed r JOIN stays s ON s.developer_id = r.developer_id "
    "AND r.at_us >= s.start_us AND r.at_us < s.end_us GROUP BY r.developer_id"
)
_KEYS = (
    "SELECT developer_id, at_us, record_id FROM requests WHERE changed_position > :after "
    "AND +organization_id = :organization AND +at_us >= :start AND +at_us < :end"
)
_PROMPTS = (
    "SELECT body FROM prompts WHERE organization_id = ? AND developer_id = ? AND at_us >= ? AND at_us < ? "
    "ORDER BY at_us, turn_id"
)


def live_part(db: sqlite3.Connection, organization_id: UUID, asked: Asked, after: int) -> LivePart:
    """Requests that changed after a position of the log, and turns that only response captures tell about."""
    spent = dict(_requests(db, organization_id, asked.stays, after))
    for stay in asked.stays:
        told = _told_by_responses(db, organization_id, stay)
        if told.requests:
            add_spent(spent, {stay.developer_id: told})
    return LivePart(spent, _changed(db, organization_id, asked.window, after))


def spending_in_views(reader: Reader, scope: Scope, asked: Sequence[Asked]) -> list[Reading]:
    """Every request of the windows from the views alone, as if nothing were archived."""
    return [Reading(live_part(reader.db, scope.organization_id, each, 0).spent, Coverage()) for each in asked]


def add_spent(spent: ByDeveloper, more: ByDeveloper) -> None:
    """Add one part to another, developer by developer."""
    for developer_id, sums in more.items():
        spent[developer_id] = spent.get(developer_id, Spent()) + sums


def spent_rows(rows: Iterable[Sequence[Any]]) -> ByDeveloper:
    """Rows of a developer's id and `SUMS`, as they come from either store."""
    return {UUID(developer_id): _spent(values) for developer_id, *values in rows}


def _spent(values: Sequence[int]) -> Spent:
    return Spent(*values[:_COUNTS], *whole_sums(values[_COUNTS:]))


def _requests(db: sqlite3.Connection, organization_id: UUID, stays: Sequence[Stay], after: int) -> ByDeveloper:
    listed = msgspec.json.encode([(stay.developer_id, stay.start_us, stay.end_us) for stay in stays]).decode()
    bound = {"stays": listed, "after": after, "organization": str(organization_id)}
    return spent_rows(db.execute(_LIVE, bound))


def _changed(db: sqlite3.Connection, organization_id: UUID, window: Window, after: int) -> list[RequestKey]:
    bound = {"after": after, "organization": str(organization_id), "start": window.start_us, "end": window.end_us}
    return db.execute(_KEYS, bound).fetchall()


def _told_by_responses(db: sqlite3.Connection, organization_id: UUID, stay: Stay) -> Spent:
    bodies = db.execute(_PROMPTS, (str(organization_id), str(stay.developer_id), stay.start_us, stay.end_us))
    usage = [each for row in bodies for each in unpack(row[0], PromptBody).usage if each.response_requests]
    return sum(map(_of_usage, usage), Spent())


def _of_usage(usage: ModelUsage) -> Spent:
    tokens = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    unmeasured = 0 if any(tokens) else usage.requests
    counts = (usage.requests, usage.unpriced_requests, usage.lower_bound_requests, unmeasured)
    return Spent(*counts, *tokens, usage.cost_usd_nano)
