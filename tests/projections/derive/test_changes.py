"""Whom a batch concerns: every developer of whose sub-sessions anything changed, and nobody who had no part in it."""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from aggregates.decide import TimePassed
from aggregates.event import Scope
from projections.apply import apply
from tests.fuzz.odd import examples
from tests.projections.derive.test_any_order import CORRECTED
from tests.projections.derive.test_any_order import told as facts_of
from tests.support.facts import ANA, BEN, DIGESTER, MONDAY, Log, Placed, edit, empty_views, request, shell
from tests.support.stages import DAY, HOUR, MINUTE, SECOND
from tests.support.tables import table

ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."


class Live:
    """Views that serve: facts are applied to them as they come."""

    def __init__(self) -> None:
        self.db = empty_views()
        self.facts: dict[int, Placed] = {}

    def changed(self, facts: Sequence[Placed]) -> set[Scope]:
        """Of those that are new, in one batch."""
        fresh = [fact for fact in facts if fact.position not in self.facts]
        self.facts |= {fact.position: fact for fact in fresh}
        return apply(self.db, fresh, b"", lambda _developer_id: DIGESTER, self._fetch) if fresh else set()

    def _fetch(self, positions: Iterable[int]) -> dict[int, Any]:
        return {position: self.facts[position].event for position in positions}


def worked(log: Log) -> UUID:
    """One goal: asked, edited, checked. The capture that opens it."""
    capture_id = log.prompt("s1", ASK, MONDAY, cwd_digest=7)
    log.records("s1", request(MONDAY + 10 * SECOND), edit(MONDAY + 20 * SECOND, path="src/parser.py"))
    log.records("s1", shell(MONDAY + MINUTE, "pytest -q"))
    return capture_id


@table(
    ("then", "concerns"),
    {
        "work": (lambda log, _capture: log.records("s1", edit(MONDAY + HOUR)), True),
        "a word on completion": (lambda log, capture: log.corrects_goal("s1", capture, True), True),
        "on the intent": (lambda log, capture: log.corrects_intent("s1", capture, "question"), True),
        "a title": (lambda log, capture: log.renames(capture, "Mine"), True),
        "settling": (lambda log, _capture: log.passes(MONDAY + DAY), True),
        "time alone": (lambda log, _capture: log.passes(MONDAY + 2 * MINUTE), False),
    },
)
def test_whom_a_fact_concerns(then: Any, concerns: bool) -> None:
    """What settled once does not settle again."""
    live, log = Live(), Log()
    capture_id = worked(log)
    assert live.changed(log.facts) == {ANA}
    then(log, capture_id)
    assert live.changed(log.facts) == ({ANA} if concerns else set())
    log.passes(MONDAY + 2 * DAY)
    live.changed(log.facts)
    log.passes(MONDAY + 3 * DAY)
    assert live.changed(log.facts) == set()


def test_two_developers_in_one_batch_are_both_named() -> None:
    live, hers, his = Live(), Log(ANA), Log(BEN)
    hers.prompt("s1", ASK, MONDAY)
    his.prompt("s2", ASK, MONDAY)
    placed = [Placed(number, fact.event) for number, fact in enumerate([*hers.facts, *his.facts], 1)]
    assert live.changed(placed[: len(hers.facts)]) == {ANA}
    assert live.changed(placed) == {BEN}
    assert Live().changed(placed) == {ANA, BEN}


def shown(db: sqlite3.Connection) -> dict[str, set[Any]]:
    """Every sub-session as it can be fetched, by its developer."""
    query = "SELECT developer_id, sub_sessions.*, settles_at_us <= log_time_us FROM sub_sessions, bookmark"
    rows: dict[str, set[Any]] = {}
    for developer_id, *row in db.execute(query):
        rows.setdefault(developer_id, set()).add(tuple(row))
    return rows


@examples(60)
@given(CORRECTED, st.lists(st.integers(0, 90), max_size=12), st.lists(st.integers(0, 40), max_size=4))
def test_nothing_changes_for_whom_nobody_names(story: Any, cuts: Any, pauses: Any) -> None:
    facts = [*facts_of(story)]
    for at in sorted(pauses, reverse=True):
        facts.insert(at, Placed(0, TimePassed(received_at_us=MONDAY + (at % 7) * HOUR)))
    placed = [Placed(number, fact.event) for number, fact in enumerate(facts, 1)]
    live = Live()
    known = shown(live.db)
    for start, end in pairwise(sorted({0, *(cut for cut in cuts if cut < len(placed)), len(placed)})):
        named = {str(scope.developer_id) for scope in live.changed(placed[start:end])}
        before, known = known, shown(live.db)
        assert {each for each in before.keys() | known if before.get(each) != known.get(each)} <= named
