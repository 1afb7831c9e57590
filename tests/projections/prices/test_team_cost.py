"""What a team spent, against figures worked out by hand: what counts, when it counts, and what is not known whole."""

from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.prices import ByDeveloper, Coverage, Reading, TeamCost, TeamWindow, live_part, team_cost
from projections.reader import Reader
from tests.support.facts import ANA, BEN, DAY, HOUR, MONDAY, SECOND, Log, empty_views, project, request
from tests.support.requests import ACME, put, request_row, spending_in_views

MIDNIGHT = MONDAY - 9 * HOUR
WEEK = Window(MIDNIGHT, MIDNIGHT + 7 * DAY)
OTHER = UUID("ffffffff-2222-4333-8444-555555555555")
NAMES = {ANA.developer_id: "Ana", BEN.developer_id: "Ben"}
CENT = 10_000_000


def all_week(*developers: UUID) -> TeamWindow:
    return TeamWindow(WEEK, tuple(Stay(developer, WEEK.start_us, WEEK.end_us) for developer in developers))


def sums(spent: ByDeveloper) -> dict[UUID, tuple[int, ...]]:
    """Requests, those that lack something, tokens and cost of each developer."""
    return {developer_id: structs.astuple(each)[:10] for developer_id, each in spent.items()}


def of_rows(*rows: dict[str, Any], asked: TeamWindow | None = None, after: int = 0) -> ByDeveloper:
    """What was spent by Ana and Ben, by the table of requests."""
    db = empty_views()
    put(db, *rows)
    return live_part(db, ACME, asked or all_week(ANA.developer_id, BEN.developer_id), after).spent


# --- what counts ----------------------------------------------------------------------------------------------


def test_requests_are_summed_by_developer() -> None:
    """Tokens of four kinds, the cost, and how many there are; the window's first and last moment count."""
    spent = of_rows(
        request_row(1, at_us=MIDNIGHT, cache_read_tokens=7, cache_write_tokens=5),
        request_row(2, at_us=MIDNIGHT + 7 * DAY - 1),
        request_row(3, developer_id=BEN.developer_id, cost_usd_nano=3 * CENT),
    )
    assert sums(spent) == {
        ANA.developer_id: (2, 0, 0, 0, 0, 200, 40, 7, 5, 2 * CENT),
        BEN.developer_id: (1, 0, 0, 0, 0, 100, 20, 0, 0, 3 * CENT),
    }


OUTSIDE = {"at_us": MIDNIGHT - 1}, {"at_us": MIDNIGHT + 7 * DAY}, {"organization_id": OTHER}, {"developer_id": OTHER}


@pytest.mark.parametrize("fields", [{"failed": 1}, {"superseded": 1}, *OUTSIDE])
def test_what_does_not_count(fields: dict[str, Any]) -> None:
    """Failed, superseded, outside the window, of another organization, of no member."""
    assert of_rows(request_row(1, **fields)) == {}


def test_only_the_days_in_the_team_count() -> None:
    stays = (Stay(ANA.developer_id, MIDNIGHT, MIDNIGHT + DAY), Stay(ANA.developer_id, MIDNIGHT + 2 * DAY, WEEK.end_us))
    rows = [request_row(day, at_us=MONDAY + day * DAY) for day in range(4)]
    assert of_rows(*rows, asked=TeamWindow(WEEK, stays))[ANA.developer_id].requests == 3


def test_what_is_archived_is_not_read_here() -> None:
    """Only what changed after the archive's place in the log; and which rows of the archive that outdates."""
    db = empty_views()
    changed = request_row(2, 6), request_row(3, 7, superseded=1), request_row(4, 8, at_us=MONDAY - DAY)
    put(db, request_row(1, 5), *changed)
    live = live_part(db, ACME, all_week(ANA.developer_id), 5)
    assert live.spent[ANA.developer_id].requests == 1
    assert {key[2] for key in live.changed} == {"record-2", "record-3"}


# --- turns without a request log ------------------------------------------------------------------------------


def of_log(*logs: Log) -> ByDeveloper:
    """What was spent by Ana, by everything that was captured."""
    facts = [fact for log in logs for fact in log.facts]
    reader = Reader(project(facts), lambda positions: {})
    return spending_in_views(reader, ANA, [all_week(ANA.developer_id)])[0].spent


def told_by_a_plugin(log: Log, session: str = "a", at_us: int = MONDAY, **fields: Any) -> None:
    """A prompt and its response, with numbers, but no telemetry."""
    prompt = log.prompt(session, "Fix src/parser.py and run pytest", at_us)
    numbers = {"input_tokens": 300, "output_tokens": 40, "cost_usd_nano": 5 * CENT, "model": "claude-sonnet-4-5"}
    log.answer(session, prompt, "Done.", at_us + 30 * SECOND, **(numbers | fields))


SONNET = {"input_tokens": 100, "output_tokens": 20, "cost_usd_nano": CENT}


@pytest.mark.parametrize(
    ("told", "at_us", "logged_at", "spent"),
    [
        ({}, MONDAY, None, (1, 0, 0, 0, 0, 300, 40, 0, 0, 5 * CENT)),
        (SONNET, MONDAY, ("a", 10 * SECOND), (1, 0, 0, 0, 0, 100, 20, 0, 0, CENT)),
        ({}, MONDAY, ("b", HOUR + SECOND), (2, 0, 0, 0, 0, 400, 60, 0, 0, 6 * CENT)),
        ({"cost_usd_nano": None, "model": None}, MONDAY, None, (1, 1, 0, 0, 0, 300, 40, 0, 0, 0)),
        ({}, MIDNIGHT - 1, None, None),
    ],
    ids=[
        "one that only a response capture tells about counts as a request",
        "one that a request log covers counts once",
        "turns of both kinds add up",
        "a response without a price is unpriced",
        "the last second before the week is another week's",
    ],
)
def test_a_turn_without_a_request_log(
    told: dict[str, Any], at_us: int, logged_at: tuple[str, int] | None, spent: tuple[int, ...] | None
) -> None:
    """At the time of its prompt."""
    log = Log()
    log.now_us = MIDNIGHT - DAY
    told_by_a_plugin(log, at_us=at_us, **told)
    if logged_at is not None:
        session, after_us = logged_at
        if session == "b":
            log.prompt("b", "Add a test for src/app.py", MONDAY + HOUR)
        log.records(session, request(MONDAY + after_us))
    assert sums(of_log(log)) == ({} if spent is None else {ANA.developer_id: spent})


# --- the answer -----------------------------------------------------------------------------------------------

PARTIAL = Coverage(reason="byte_budget", dropped_files=2)


def answer(
    current: ByDeveloper,
    coverage: Coverage | None = None,
    previous: ByDeveloper | None = None,
    before: Coverage | None = None,
) -> TeamCost:
    return team_cost(NAMES, Reading(current, coverage or Coverage()), Reading(previous or {}, before or Coverage()))


def test_everything_is_known() -> None:
    """Exact sums, shares of the total, the dearest first."""
    found = answer(of_rows(request_row(1), request_row(2, developer_id=BEN.developer_id, cost_usd_nano=3 * CENT)))
    assert (found.is_partial, found.cost_ranking_available) == (False, True)
    rollup = found.rollup
    assert (rollup.cost_usd, rollup.lower_bound_cost_usd, rollup.request_count) == (0.04, None, 2)
    assert (rollup.input_tokens, rollup.output_tokens, rollup.is_estimate) == (200, 40, True)
    assert [(each.display_name, each.cost_usd, each.share) for each in found.members] == [
        ("Ben", 0.03, 0.75),
        ("Ana", 0.01, 0.25),
    ]
    assert (found.pricing_coverage.priced_requests, found.pricing_coverage.ratio) == (2, 1.0)


def test_nothing_happened() -> None:
    """A complete read of nothing is an exact zero; a share of nothing is no number. Equal costs stand by name."""
    found = answer({})
    sums = found.rollup
    summed = (sums.cost_usd, sums.lower_bound_cost_usd, sums.input_tokens, sums.request_count)
    assert summed == (0.0, None, 0, 0)
    told = [(each.display_name, each.cost_usd, each.total_tokens, each.share) for each in found.members]
    assert told == [("Ana", 0.0, 0, None), ("Ben", 0.0, 0, None)]
    assert (found.prev_cost_usd, found.cost_ranking_available, found.pricing_coverage.ratio) == (0.0, True, None)


def numbers(value: object) -> list[object]:
    fields = [getattr(value, name) for name in getattr(value, "__struct_fields__", ())]
    return [each for each in fields if isinstance(each, int | float) and not isinstance(each, bool)]


def test_a_partial_read_tells_no_exact_number() -> None:
    """Only what was seen at the least; no ranking."""
    found = answer(of_rows(request_row(1), request_row(2, developer_id=BEN.developer_id)), PARTIAL)
    assert (found.is_partial, found.cost_ranking_available, found.rollup.is_estimate) == (True, False, True)
    assert (found.rollup.lower_bound_cost_usd, numbers(found.rollup)) == (0.02, [0.02])
    assert [numbers(each) for each in (*found.members, found.pricing_coverage)] == [[], [], []]
    assert ([each.display_name for each in found.members], found.read_coverage) == (["Ana", "Ben"], PARTIAL)
    for rows in ([], [request_row(1, cost_usd_nano=None)], [request_row(1, cost_usd_nano=0)]):
        assert numbers(answer(of_rows(*rows), PARTIAL).rollup) == []


def test_an_unpriced_request_leaves_the_sum_open() -> None:
    """The priced sum stands beside it as a lower bound; whose requests are all priced is known."""
    found = answer(of_rows(request_row(1), request_row(2, developer_id=BEN.developer_id, cost_usd_nano=None)))
    assert (found.rollup.cost_usd, found.rollup.lower_bound_cost_usd, found.rollup.request_count) == (None, 0.01, 2)
    assert [(each.display_name, each.cost_usd, each.share) for each in found.members] == [
        ("Ana", 0.01, None),
        ("Ben", None, None),
    ]
    coverage = found.pricing_coverage
    assert (coverage.priced_requests, coverage.unpriced_requests, coverage.ratio) == (1, 1, 0.5)
    assert (found.is_partial, found.cost_ranking_available) == (False, False)


@pytest.mark.parametrize(
    ("rows", "cost", "least", "tokens", "unmeasured"),
    [
        ([{"cost_kind": "catalog_lower_bound"}, {}], 0.02, 0.02, 200, 0),
        ([{"cost_kind": "catalog_upper_bound"}, {}], 0.02, 0.01, 200, 0),
        ([{"cost_usd_nano": 0}], None, None, 100, 0),
        ([{"input_tokens": None, "output_tokens": None}, {}], 0.02, None, None, 1),
    ],
    ids=[
        "a price may be higher",
        "a price may be lower",
        "requests that cost nothing are of no known price",
        "tokens that nobody told",
    ],
)
def test_sums_that_are_not_exact(
    rows: list[dict[str, Any]], cost: float | None, least: float | None, tokens: int | None, unmeasured: int
) -> None:
    """What is known stands beside what is not."""
    found = answer(of_rows(*(request_row(number, **row) for number, row in enumerate(rows))))
    rollup = found.rollup
    assert (rollup.cost_usd, rollup.lower_bound_cost_usd, rollup.request_count) == (cost, least, len(rows))
    assert (rollup.input_tokens, rollup.unmeasured_requests) == (tokens, unmeasured)
    bounds = found.pricing_coverage.lower_bound_requests, found.pricing_coverage.upper_bound_requests
    assert bounds == ((cost == least is not None), (cost != least is not None))
    assert (found.members[0].cost_usd, found.members[0].display_name) == (cost, "Ana")


def test_the_window_before() -> None:
    spent = of_rows(request_row(1))
    assert answer({}, previous=spent).prev_cost_usd == 0.01
    found = answer({}, previous=spent, before=PARTIAL)
    assert (found.prev_cost_usd, found.prev_is_partial, found.is_partial) == (None, True, False)
    assert found.prev_read_coverage == PARTIAL
    found = answer({}, previous=of_rows(request_row(1), request_row(2, cost_usd_nano=None)))
    assert (found.prev_cost_usd, found.prev_lower_bound_cost_usd) == (None, 0.01)
