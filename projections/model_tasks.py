"""Which models worked on which kinds of task in a range, how often they got there, and at what cost."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import msgspec

from aggregates.grades import svc_score
from aggregates.scope import Scope
from aggregates.turn import ModelUsage
from aggregates.windows import Window
from aggregates.work import UNKNOWN_MODEL
from projections.bodies import unpack
from projections.reader import Reader
from projections.started import CRUSHED, PROMPTS, QUALIFIES, bounds, started_in
from projections.sub_session_rows import PromptBody

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


class _Usage(msgspec.Struct):
    """What one sub-session asked of one model."""

    requests: int = 0
    tokens: int = 0
    reported: bool = True
    cost_usd_nano: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0

    def add(self, usage: ModelUsage) -> None:
        """One more turn."""
        tokens = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self.requests += usage.requests
        self.tokens += tokens
        self.reported &= tokens > 0  # no request goes without a token: where none is counted, none was reported
        self.cost_usd_nano += usage.cost_usd_nano
        self.unpriced_requests += usage.unpriced_requests
        self.lower_bound_requests += usage.lower_bound_requests


class _Row(msgspec.Struct, frozen=True):
    """One sub-session for one model."""

    qualifies: bool
    crushed: bool
    usage: _Usage


_Key = tuple[str | None, str]


def model_task(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[ModelTask]:
    """One row for each pair of model and intent class, the most frequent first."""
    pairs: dict[_Key, list[_Row]] = {}
    for key, row in _rows(reader.db, scope, window):
        pairs.setdefault(key, []).append(row)
    ranked = sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[0][0] or "", pair[0][1]))
    return [_model_task(key, rows) for key, rows in ranked[offset : offset + limit]]


def _rows(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[_Key, _Row]]:
    query = (
        f"SELECT s.sub_session_id, s.intent, {QUALIFIES}, {CRUSHED}, p.body {started_in(PROMPTS)} "
        "ORDER BY s.started_us, s.sub_session_id"
    )
    found = db.execute(query, bounds(scope, window))
    for (_, intent, qualifies, crushed), prompts in groupby(found, key=itemgetter(0, 1, 2, 3)):
        usage = [each for prompt in prompts for each in unpack(prompt[4], PromptBody).usage]
        for model, used in _by_model(usage).items():
            yield (model, intent or "unclassified"), _Row(bool(qualifies), bool(crushed), used)


def _by_model(usage: Iterable[ModelUsage]) -> Mapping[str | None, _Usage]:
    """A sub-session of which no request is known stands once, under no model."""
    models: dict[str | None, _Usage] = {}
    for each in usage:
        models.setdefault(None if each.model == UNKNOWN_MODEL else each.model, _Usage()).add(each)
    return models or {None: _Usage(reported=False)}


def _model_task(key: _Key, rows: list[_Row]) -> ModelTask:
    qualifying = sum(row.qualifies for row in rows)
    crushed = sum(row.crushed for row in rows)
    unreported = sum(not row.usage.reported for row in rows)
    unpriced = sum(row.usage.unpriced_requests for row in rows)
    priced = not unpriced and all(row.usage.requests for row in rows)
    return ModelTask(
        model=key[0],
        intent_class=key[1],
        sub_sessions=len(rows),
        qualifying=qualifying,
        crushed=crushed,
        completion_rate=svc_score(crushed, qualifying) if qualifying else None,
        total_tokens=None if unreported else sum(row.usage.tokens for row in rows),
        unreported_sub_sessions=unreported,
        cost_usd=sum(row.usage.cost_usd_nano for row in rows) / NANO if priced else None,
        unpriced_requests=unpriced,
        lower_bound_requests=sum(row.usage.lower_bound_requests for row in rows),
    )
