"""What a request cost: as its agent told, else by the newest catalog at its place in the log, else not known."""

import sqlite3
from contextlib import closing
from typing import Any

from hypothesis import given, strategies as st
from msgspec.structs import replace

from aggregates.prices.catalog import CatalogPublished
from projections.derive.sessions import session_turns
from projections.reader import sum_in_halves, whole_sums
from tests.fuzz.odd import examples
from tests.support.facts import MONDAY, Log, Placed, project, request, tables
from tests.support.stages import MINUTE

PROMPT = "Fix the crash in src/parser.py when the input is empty, add a test and run pytest"
UNTOLD = {"cost_usd_nano": None}
# 100 tokens of input at 3 dollars a million and 20 of output at 15.
AT_3_DOLLARS = 100 * 3_000 + 20 * 15_000


def _prompted() -> Log:
    log = Log()
    log.prompt("s1", PROMPT, MONDAY)
    return log


def _costs(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return db.execute("SELECT cost_usd_nano, cost_kind, catalog_revision FROM requests ORDER BY at_us").fetchall()


def _usage(db: sqlite3.Connection) -> Any:
    (turn,) = session_turns(db, "s1", 0)
    return turn.work.usage[0]


def test_a_request_keeps_the_price_of_the_revision_that_stood_before_it() -> None:
    """What the agent told comes first; a model that no catalog names stays without a price."""
    log = _prompted()
    log.records("s1", request(MONDAY + MINUTE, **UNTOLD)).publishes(1, 3)
    log.records("s1", request(MONDAY + 2 * MINUTE, **UNTOLD)).publishes(2, 6)
    others = request(MONDAY + 4 * MINUTE, cost_usd_nano=7), request(MONDAY + 5 * MINUTE, model="else's", **UNTOLD)
    log.records("s1", request(MONDAY + 3 * MINUTE, **UNTOLD), *others)
    db = project(log.facts)
    assert _costs(db) == [
        (None, None, None),
        (AT_3_DOLLARS, "catalog_estimate", 1),
        (2 * AT_3_DOLLARS, "catalog_estimate", 2),
        (7, "reported", None),
        (None, None, None),
    ]
    usage = _usage(db)
    assert (usage.requests, usage.unpriced_requests, usage.cost_usd_nano) == (4, 1, 3 * AT_3_DOLLARS + 7)


def test_a_revision_that_is_not_valid_prices_nothing_and_the_one_before_goes_on() -> None:
    """Its checksum does not fit: it was changed on its way."""
    log = _prompted().publishes(1, 3).publishes(2, 6)
    published = log.facts[-1].event
    assert isinstance(published, CatalogPublished)
    broken = replace(published, snapshot=replace(published.snapshot, checksum_sha256="0" * 64))
    log.facts[-1] = Placed(log.facts[-1].position, broken)
    log.records("s1", request(MONDAY + MINUTE, **UNTOLD))
    for cuts in ((), range(9)):
        assert _costs(project(log.facts, cuts)) == [(AT_3_DOLLARS, "catalog_estimate", 1)]


def test_a_repricing_prices_what_stands_before_it_without_a_price_and_nothing_else() -> None:
    """Reported and estimated costs stay; what comes later is priced by what is newest then."""
    log = _prompted()
    log.records("s1", request(MONDAY + MINUTE, **UNTOLD), request(MONDAY + 2 * MINUTE, cost_usd_nano=7))
    log.records("s1", request(MONDAY + 3 * MINUTE, request_id="late", **UNTOLD)).publishes(1, 3)
    log.reprices(1, to_us=MONDAY + 2 * MINUTE)
    for cuts in ((), range(9)):
        db = project(log.facts, cuts)
        assert _costs(db) == [(AT_3_DOLLARS, "catalog_estimate", 1), (7, "reported", None), (None, None, None)]
        assert _usage(db).unpriced_requests == 1
        changed = db.execute("SELECT changed_position FROM requests ORDER BY at_us").fetchall()
        assert changed == [(6,), (3,), (4,)]


def test_a_response_capture_without_a_cost_is_priced_alike() -> None:
    """A plugin sends tokens and a model; the cost is by list price, and a repricing finds it, too."""
    told = {"model": "claude-sonnet-4-5", "input_tokens": 100, "output_tokens": 20}
    for early in (True, False):
        log = Log()
        prompt_id = log.prompt("s1", PROMPT, MONDAY)
        if early:
            log.publishes(1, 3)
        log.answer("s1", prompt_id, "Done.", MONDAY + MINUTE, **told)
        if not early:
            log.publishes(1, 3).reprices(1)
        usage = _usage(project(log.facts, range(9)))
        assert (usage.cost_usd_nano, usage.unpriced_requests) == (AT_3_DOLLARS, 0)


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("request"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("publish"), st.integers(1, 9), st.booleans()),
        st.tuples(st.just("reprice"), st.integers(1, 3), st.booleans()),
        st.tuples(st.just("answer"), st.integers(0, 5), st.booleans()),
    ),
    max_size=14,
)


@examples(20)
@given(_STEPS, st.lists(st.integers(0, 30), max_size=8))
def test_batches_change_no_price(steps: list[tuple[str, int, bool]], cuts: list[int]) -> None:
    """Live or replayed, one fact at a time or all at once: a price hangs on places in the log alone."""
    log, revision = _prompted(), 0
    for number, (what, value, flag) in enumerate(steps):
        at_us = MONDAY + number * MINUTE
        if what == "request":
            twin = {"request_id": f"r{value}"} | ({"origin": 0} if flag else {})
            log.records("s1", request(at_us, **UNTOLD, **twin))
        elif what == "publish":
            revision += 1
            log.publishes(revision, value)
        elif what == "reprice":
            log.reprices(value, to_us=at_us)
        else:
            prompt_id = log.prompt("s1", f"{PROMPT} {number}", at_us)
            log.answer("s1", prompt_id, "Done.", at_us, model="claude-sonnet-4-5", input_tokens=value)
    at_once = tables(project(log.facts))
    assert at_once["failed"] == []
    assert tables(project(log.facts, cuts)) == at_once


# --- sums that SQLite could not hold -------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2**63 - 1), max_size=20))
def test_a_sum_in_halves_is_the_sum_however_large(numbers: list[int]) -> None:
    """Of none it is 0."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE told (tokens INTEGER)")
        db.executemany("INSERT INTO told VALUES (?)", [(number,) for number in numbers])
        halves = db.execute(f"SELECT {sum_in_halves('tokens')} FROM told").fetchone()
    assert whole_sums(halves) == [sum(numbers)]
