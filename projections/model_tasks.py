"""Which models worked on which kinds of task in a range, how often they got there, and at what cost."""

import sqlite3
from collections.abc import Iterator

import msgspec

from aggregates.grades import svc_score
from aggregates.scope import Scope
from aggregates.totals import ModelTotals
from aggregates.windows import Window
from projections.bodies import unpack
from projections.reader import Reader
from projections.started import CRUSHED, QUALIFIES, bounds, started_in

NANO = 1_000_000_000


class ModelTask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model on one kind of task. A sub-session that several models worked on counts for each of them."""

    model: str | None
    """None where nobody said which model, or whether any, was asked."""
    intent_class: str
    sub_sessions: int
    qualifying: int
    """Settled, above the floor and classified."""
    crushed: int
    completion_rate: float | None
    """100 x crushed / qualifying; None where nothing qualifies."""
    total_tokens: int | None
    """This model's own; None where some of it is unknown."""
    unreported_sub_sessions: int
    """How many have tokens of this model that nobody reported."""
    cost_usd: float | None
    """This model's own; None where some of it is unknown."""
    unpriced_requests: int
    lower_bound_requests: int
    """How many of the priced requests may have cost more."""


class _Row(msgspec.Struct, frozen=True):
    """One sub-session for one model."""

    qualifies: bool
    crushed: bool
    totals: ModelTotals


_Key = tuple[str | None, str]
_MODELS = list[ModelTotals]


def model_task(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[ModelTask]:
    """One row for each pair of model and intent class, the most frequent first."""
    pairs: dict[_Key, list[_Row]] = {}
    for key, row in _rows(reader.db, scope, window):
        pairs.setdefault(key, []).append(row)
    ranked = sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[0][0] or "", pair[0][1]))
    return [_model_task(key, rows) for key, rows in ranked[offset : offset + limit]]


def _rows(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[_Key, _Row]]:
    query = f"SELECT s.intent, {QUALIFIES}, {CRUSHED}, s.models {started_in()}"
    for intent, qualifies, crushed, models in db.execute(query, bounds(scope, window)):
        for totals in unpack(models, _MODELS):
            yield (totals.model, intent or "unclassified"), _Row(bool(qualifies), bool(crushed), totals)


def _model_task(key: _Key, rows: list[_Row]) -> ModelTask:
    qualifying = sum(row.qualifies for row in rows)
    crushed = sum(row.crushed for row in rows)
    unreported = sum(not row.totals.reported for row in rows)
    unpriced = sum(row.totals.unpriced_requests for row in rows)
    priced = not unpriced and all(row.totals.requests for row in rows)
    return ModelTask(
        model=key[0],
        intent_class=key[1],
        sub_sessions=len(rows),
        qualifying=qualifying,
        crushed=crushed,
        completion_rate=svc_score(crushed, qualifying) if qualifying else None,
        total_tokens=None if unreported else sum(row.totals.tokens for row in rows),
        unreported_sub_sessions=unreported,
        cost_usd=sum(row.totals.cost_usd_nano for row in rows) / NANO if priced else None,
        unpriced_requests=unpriced,
        lower_bound_requests=sum(row.totals.lower_bound_requests for row in rows),
    )
