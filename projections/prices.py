"""What developers spent within a window, summed alike here and in the archive, and what their goals cost."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import Any, Literal, Self, TypeVar
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import Stay
from aggregates.records.record import TOKEN_KINDS
from aggregates.times import Window
from aggregates.turns.turn import UNKNOWN_MODEL, ModelUsage
from projections.derive.sub_session_rows import ModelTotals, PromptDetail
from projections.reader import bound, json_array, sql, sum_in_halves, unpack, whole_sums

_S = TypeVar("_S", bound=msgspec.Struct)
NANO = 1_000_000_000
CoverageReason = Literal["complete", "file_budget", "byte_budget"]


class Spent(msgspec.Struct, frozen=True):
    """Sums over answered requests, how many of them lack a number, and how many told each kind of tokens."""

    requests: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0  # priced, but they may have cost more
    upper_bound_requests: int = 0  # priced, but they may have cost less
    unmeasured_requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd_nano: int = 0
    upper_bound_usd_nano: int = 0  # the part of the cost that may have been less; known of single requests only
    told_input_tokens: int = 0
    told_output_tokens: int = 0
    told_cache_read_tokens: int = 0
    told_cache_write_tokens: int = 0
    goals: int = 0  # where they are sums over goals

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    @classmethod
    def of(cls, row: Sequence[int]) -> Self:
        """From `SUMS`."""
        return cls(*row[:_COUNTS], *whole_sums(row[_COUNTS:_COLUMNS]), *row[_COLUMNS:])

    @classmethod
    def of_model(cls, usage: ModelUsage | ModelTotals, **told: int) -> Self:
        """What a turn, or a goal, took of one model."""
        return cls(*(getattr(usage, name) for name in _SUMMED), **told)

    @property
    def total_tokens(self) -> int:
        return sum(getattr(self, name) for name in TOKEN_KINDS)

    @property
    def priced_requests(self) -> int:
        return self.requests - self.unpriced_requests

    @property
    def least_usd(self) -> float | None:
        return (self.cost_usd_nano - self.upper_bound_usd_nano) / NANO or None

    @property
    def cost_usd(self) -> float | None:
        """None where a request has no price."""
        return None if self.unpriced_requests else self.cost_usd_nano / NANO

    def shown_as(self, kind: type[_S], *, known: bool = True, **more: object) -> _S:
        """The figures that a shape declares, None where they are not `known`, with others that it needs."""
        tokens = {name: (getattr(self, name), getattr(self, f"told_{name}")) for name in TOKEN_KINDS}
        tokens["cache_creation_tokens"] = tokens["cache_write_tokens"]
        tokens["total_tokens"] = self.total_tokens, self.requests - self.unmeasured_requests
        figures: dict[str, object] = {
            **msgspec.structs.asdict(self),
            **{name: None if self.unmeasured_requests else in_all for name, (in_all, _) in tokens.items()},
            **{f"avg_{name}": in_all / told if told else None for name, (in_all, told) in tokens.items()},
            **dict.fromkeys(("cost_usd", "total_cost_usd"), self.cost_usd),
            "known_cost_usd": self.cost_usd_nano / NANO,
            "known_total_tokens": self.total_tokens,
            "request_count": self.requests,
            "priced_requests": self.priced_requests,
        }
        shown = (figures if known else dict.fromkeys(figures)) | more
        return kind(**{name: shown[name] for name in kind.__struct_fields__})


_COUNTS, _COLUMNS = 5, 5 + 2 * (len(TOKEN_KINDS) + 2)
_SUMMED = Spent.__struct_fields__[: _COUNTS + len(TOKEN_KINDS) + 1]  # as a turn's `ModelUsage` has them
_UPPER = "cost_kind = 'catalog_upper_bound'"
SUMS = ", ".join(  # what makes a `Spent` of rows of `requests`, in the SQL that SQLite and DuckDB share
    (
        "count(*)",
        "count(*) FILTER (WHERE cost_usd_nano IS NULL)",
        "count(*) FILTER (WHERE cost_kind = 'catalog_lower_bound')",
        f"count(*) FILTER (WHERE {_UPPER})",
        f"count(*) FILTER (WHERE coalesce({', '.join(TOKEN_KINDS)}) IS NULL)",
        *map(sum_in_halves, (*TOKEN_KINDS, "cost_usd_nano", f"(CASE WHEN {_UPPER} THEN cost_usd_nano END)")),
        *(f"count({name})" for name in TOKEN_KINDS),
    )
)
COUNTS = "NOT failed AND NOT superseded"  # answered requests, each once however many captures told of it
ByDeveloper = dict[UUID, Spent]
RequestKey = tuple[str, int, str]  # developer, time and record id


class TeamWindow(msgspec.Struct, frozen=True):
    """A window, and the stays in the team that fall into it."""

    window: Window
    stays: tuple[Stay, ...]


class Coverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a read of the archive saw all there is."""

    reason: CoverageReason = "complete"
    read_batches: int = 0
    dropped_files: int = 0  # left out, for a budget or with a file of their day that could not be read
    unreadable_files: int = 0


class LivePart(msgspec.Struct, frozen=True):
    """What the views say of a window beyond what is archived."""

    spent: ByDeveloper
    changed: list[RequestKey]  # the window's requests that changed since: what the archive says of them is out of date


class Reading(msgspec.Struct, frozen=True):
    spent: ByDeveloper
    coverage: Coverage


def live_part(db: sqlite3.Connection, organization_id: UUID, asked: TeamWindow, after: int) -> LivePart:
    """Requests that changed after a position of the log, and turns that only response captures tell about."""
    narrowed = {"after": after, "organization": str(organization_id)}
    stays = json_array([(stay.developer_id, stay.start_us, stay.end_us) for stay in asked.stays])
    spent = defaultdict[UUID, Spent](Spent)
    add_rows(spent, db.execute(sql("live_spent", usage=SUMS, answered=COUNTS), narrowed | {"stays": stays}))
    for stay in asked.stays:
        whose, days = Scope(organization_id, stay.developer_id), Window(stay.start_us, stay.end_us)
        for _, _, usage in told_by_responses(db, whose, days):
            spent[stay.developer_id] += usage
    window = {"start": asked.window.start_us, "end": asked.window.end_us}
    return LivePart(spent, db.execute(sql("changed_requests"), narrowed | window).fetchall())


def add_rows(spent: defaultdict[UUID, Spent], rows: Iterable[Sequence[Any]]) -> None:
    """Rows of a developer's id and `SUMS`, as they come from either store."""
    for developer_id, *sums in rows:
        spent[UUID(developer_id)] += Spent.of(sums)


def told_by_responses(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[int, str | None, Spent]]:
    """What only response captures tell: when it was asked, the model, and the figures; tokens told are above 0."""
    for at_us, body in db.execute(sql("prompts_of_range"), bound(scope, window)):
        for usage in unpack(body, PromptDetail).usage:
            if usage.response_requests:
                told = {f"told_{name}": usage.requests if getattr(usage, name) else 0 for name in TOKEN_KINDS}
                model = None if usage.model == UNKNOWN_MODEL else usage.model
                yield at_us, model, Spent.of_model(usage, **told)


class Rollup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The team's sums. A number that is not known whole is None."""

    cost_usd: float | None
    lower_bound_cost_usd: float | None  # at the least, where the cost is not known whole or a price is a bound
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_creation_tokens: int | None
    request_count: int | None
    unmeasured_requests: int | None  # requests whose tokens nobody told; where there are any, the token sums are None
    is_estimate: bool = True


class Member(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One developer's part, for the days in the team."""

    developer_id: UUID
    display_name: str
    cost_usd: float | None
    lower_bound_cost_usd: float | None  # what is known of it, where it is not known whole
    total_tokens: int | None
    known_total_tokens: int | None  # of the requests whose tokens were told
    request_count: int | None
    share: float | None  # of the team's cost, 0 to 1


class PricingCoverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    priced_requests: int | None
    unpriced_requests: int | None
    lower_bound_requests: int | None  # of the priced ones: those that may have cost more
    upper_bound_requests: int | None  # of the priced ones: those that may have cost less
    ratio: float | None  # priced of all; None where there are none


class Spending(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the requests of a window came to, from the archive and from what is not archived."""

    is_partial: bool
    read_coverage: Coverage
    rollup: Rollup
    pricing_coverage: PricingCoverage


class TeamCost(Spending, frozen=True, kw_only=True):
    """What a team spent in a window, and in the one before."""

    prev_is_partial: bool
    prev_read_coverage: Coverage
    cost_ranking_available: bool
    members: list[Member]  # by cost, the highest first, where everybody's is known; else by name
    prev_cost_usd: float | None
    prev_lower_bound_cost_usd: float | None  # what is known of it, where it is not known whole


def team_cost(names: Mapping[UUID, str], current: Reading, previous: Reading) -> TeamCost:
    """The answer for a window. `names`: everybody who was in the team within it."""
    partial, before_partial = (each.coverage.reason != "complete" for each in (current, previous))
    total, before = (sum(each.spent.values(), Spent()) for each in (current, previous))
    total_usd, members = told_usd(total, partial=partial)["cost_usd"], []
    for developer_id in sorted(names, key=lambda each: (names[each], each)):
        spent = current.spent.get(developer_id, Spent())
        own = {"developer_id": developer_id, "display_name": names[developer_id]}
        told = told_usd(spent, partial=partial)
        share = told["cost_usd"] / total_usd if told["cost_usd"] is not None and total_usd else None
        members.append(spent.shown_as(Member, known=not partial, **own, **told, share=share))
    ranked = all(member.cost_usd is not None for member in members)
    inexact = partial or total.unpriced_requests or total.lower_bound_requests or total.upper_bound_requests
    least_usd = total.least_usd if inexact else None
    rollup = {"cost_usd": total_usd, "lower_bound_cost_usd": least_usd, "is_estimate": True}
    ratio = None if partial or not total.requests else total.priced_requests / total.requests
    return TeamCost(
        is_partial=partial,
        prev_is_partial=before_partial,
        read_coverage=current.coverage,
        prev_read_coverage=previous.coverage,
        cost_ranking_available=ranked,
        rollup=total.shown_as(Rollup, known=not partial, **rollup),
        members=sorted(members, key=lambda member: -(member.cost_usd or 0.0)) if ranked else members,
        pricing_coverage=total.shown_as(PricingCoverage, known=not partial, ratio=ratio),
        **{f"prev_{name}": usd for name, usd in told_usd(before, partial=before_partial).items()},
    )


def told_usd(spent: Spent, *, partial: bool = False) -> dict[str, float | None]:
    """The cost where it is known whole, else what is known of it; nothing of a partial read.

    Requests that all cost nothing are no exact zero: only no request is.
    """
    nought_is_doubtful = spent.requests > 0 and spent.cost_usd_nano == 0
    cost_usd = None if partial or nought_is_doubtful else spent.cost_usd
    return {"cost_usd": cost_usd, "lower_bound_cost_usd": None if partial or cost_usd is not None else spent.least_usd}
