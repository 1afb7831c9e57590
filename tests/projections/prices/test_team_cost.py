"""What a team spent, against figures worked out by hand: what counts, when it counts, and what is not known whole."""

from typing import Any
from uuid import UUID

import pytest

from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.prices import (
    ByDeveloper,
    Coverage,
    Reading,
    Spent,
    TeamCost,
    TeamWindow,
    live_part,
    team_cost,
)
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


def of_rows(*rows: dict[str, Any], asked: TeamWindow | None = None, after: int = 0) -> ByDeveloper:
    """What was spent by Ana and Ben, by the table of requests."""
    db = empty_views()
    put(db, *rows)
    return live_part(db, ACME, asked or all_week(ANA.developer_id, BEN.developer_id), after).spent


# --- what counts ----------------------------------------------------------------------------------------------


def test_requests_are_summed_by_developer() -> None:
    """Tokens of four kinds, the cost, and how many there are."""
    spent = of_rows(
        request_row(1, cache_read_tokens=7, cache_write_tokens=5),
        request_row(2, at_us=MONDAY + DAY),
        request_row(3, developer_id=BEN.developer_id, cost_usd_nano=3 * CENT),
    )
    assert spent == {
        ANA.developer_id: Spent(2, 0, 0, 0, 200, 40, 7, 5, 2 * CENT),
        BEN.developer_id: Spent(1, 0, 0, 0, 100, 20, 0, 0, 3 * CENT),
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"failed": 1},
        {"superseded": 1},
        {"at_us": MIDNIGHT - 1},
        {"at_us": MIDNIGHT + 7 * DAY},
        {"organization_id": OTHER},
        {"developer_id": OTHER},
    ],
)
def test_what_does_not_count(fields: dict[str, Any]) -> None:
    """Failed, superseded, outside the window, of another organization, of no member."""
    assert of_rows(request_row(1, **fields)) == {}


@pytest.mark.parametrize("at_us", [MIDNIGHT, MIDNIGHT + 7 * DAY - 1])
def test_the_windows_first_and_last_moment_count(at_us: int) -> None:
    assert of_rows(request_row(1, at_us=at_us))[ANA.developer_id].requests == 1


def test_only_the_days_in_the_team_count() -> None:
    stays = (
        Stay(ANA.developer_id, MIDNIGHT, MIDNIGHT + DAY),
        Stay(ANA.developer_id, MIDNIGHT + 2 * DAY, WEEK.end_us),
    )
    rows = [request_row(day, at_us=MONDAY + day * DAY) for day in range(4)]
    assert of_rows(*rows, asked=TeamWindow(WEEK, stays))[ANA.developer_id].requests == 3


def test_what_is_archived_is_not_read_here() -> None:
    """Only what changed after the archive's place in the log; and which rows of the archive that outdates."""
    db = empty_views()
    put(
        db, request_row(1, 5), request_row(2, 6), request_row(3, 7, superseded=1), request_row(4, 8, at_us=MONDAY - DAY)
    )
    live = live_part(db, ACME, all_week(ANA.developer_id), 5)
    assert live.spent[ANA.developer_id].requests == 1
    assert {key[2] for key in live.changed} == {"record-2", "record-3"}


def test_sums_beyond_63_bits() -> None:
    large = 2**63 - 1
    spent = of_rows(*(request_row(n, cost_usd_nano=large, input_tokens=large) for n in range(5)))
    assert spent[ANA.developer_id].cost_usd_nano == 5 * large
    assert spent[ANA.developer_id].input_tokens == 5 * large


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


def test_a_turn_that_only_a_response_capture_tells_about_counts() -> None:
    """As one request, at the time of its prompt."""
    log = Log()
    told_by_a_plugin(log)
    assert of_log(log) == {ANA.developer_id: Spent(1, 0, 0, 0, 300, 40, 0, 0, 5 * CENT)}


def test_a_turn_that_a_request_log_covers_counts_once() -> None:
    """Even where the plugin tells the very same numbers."""
    log = Log()
    told_by_a_plugin(log, input_tokens=100, output_tokens=20, cost_usd_nano=CENT)
    log.records("a", request(MONDAY + 10 * SECOND))
    assert of_log(log) == {ANA.developer_id: Spent(1, 0, 0, 0, 100, 20, 0, 0, CENT)}


def test_turns_of_both_kinds_add_up() -> None:
    log = Log()
    told_by_a_plugin(log, "a")
    log.prompt("b", "Add a test for src/app.py", MONDAY + HOUR)
    log.records("b", request(MONDAY + HOUR + SECOND))
    assert of_log(log) == {ANA.developer_id: Spent(2, 0, 0, 0, 400, 60, 0, 0, 6 * CENT)}


def test_a_response_without_a_price_is_unpriced() -> None:
    log = Log()
    told_by_a_plugin(log, cost_usd_nano=None, model=None)
    assert of_log(log) == {ANA.developer_id: Spent(1, 1, 0, 0, 300, 40, 0, 0, 0)}


def test_a_turn_counts_in_the_week_of_its_prompt() -> None:
    """The last second before the week is another week's."""
    log = Log()
    log.now_us = MIDNIGHT - DAY
    told_by_a_plugin(log, at_us=MIDNIGHT - 1)
    assert of_log(log) == {}


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
    """A complete read of nothing is an exact zero; a share of nothing is no number."""
    found = answer({})
    assert (found.rollup.cost_usd, found.rollup.input_tokens, found.rollup.request_count) == (0.0, 0, 0)
    assert found.rollup.lower_bound_cost_usd is None
    assert [(each.display_name, each.cost_usd, each.total_tokens, each.share) for each in found.members] == [
        ("Ana", 0.0, 0, None),
        ("Ben", 0.0, 0, None),
    ]
    assert (found.prev_cost_usd, found.cost_ranking_available, found.pricing_coverage.ratio) == (0.0, True, None)


def numbers(value: object) -> list[object]:
    fields = [getattr(value, name) for name in getattr(value, "__struct_fields__", ())]
    return [each for each in fields if isinstance(each, int | float) and not isinstance(each, bool)]


def test_a_partial_read_tells_no_exact_number() -> None:
    """Only what was seen at the least; no ranking."""
    found = answer(of_rows(request_row(1), request_row(2, developer_id=BEN.developer_id)), PARTIAL)
    assert (found.is_partial, found.cost_ranking_available) == (True, False)
    assert found.rollup.lower_bound_cost_usd == 0.02
    assert numbers(found.rollup) == [0.02]
    assert [numbers(member) for member in found.members] == [[], []]
    assert numbers(found.pricing_coverage) == []
    assert found.rollup.is_estimate
    assert found.read_coverage.dropped_files == 2


@pytest.mark.parametrize("rows", [[], [request_row(1, cost_usd_nano=None)], [request_row(1, cost_usd_nano=0)]])
def test_a_partial_read_of_no_amount_tells_nothing(rows: list[dict[str, Any]]) -> None:
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


def test_a_price_that_is_a_lower_bound_is_counted() -> None:
    """The sum is the best that is known; that it may be more stands beside it."""
    found = answer(of_rows(request_row(1, cost_kind="catalog_lower_bound"), request_row(2)))
    assert (found.rollup.cost_usd, found.rollup.lower_bound_cost_usd) == (0.02, 0.02)
    assert found.pricing_coverage.lower_bound_requests == 1


def test_a_zero_with_activity_is_not_exact() -> None:
    """Requests that cost nothing at all are a price that is not known."""
    found = answer(of_rows(request_row(1, cost_usd_nano=0)))
    assert (found.rollup.cost_usd, found.members[0].cost_usd) == (None, None)
    assert found.rollup.request_count == 1


def test_tokens_that_nobody_told_leave_the_sums_open() -> None:
    untold = request_row(1, input_tokens=None, output_tokens=None)
    found = answer(of_rows(untold, request_row(2, developer_id=BEN.developer_id)))
    assert (found.rollup.input_tokens, found.rollup.unmeasured_requests, found.rollup.cost_usd) == (None, 1, 0.02)
    assert [each.total_tokens for each in found.members] == [None, 120]


def test_the_window_before() -> None:
    spent = of_rows(request_row(1))
    assert answer({}, previous=spent).prev_cost_usd == 0.01
    found = answer({}, previous=spent, before=PARTIAL)
    assert (found.prev_cost_usd, found.prev_is_partial, found.is_partial) == (None, True, False)
    assert found.prev_read_coverage == PARTIAL
    assert answer({}, previous=of_rows(request_row(1, cost_usd_nano=None))).prev_cost_usd is None


def test_equal_costs_stand_by_name() -> None:
    """And so does everybody where nothing can be ranked."""
    assert [each.display_name for each in answer({}).members] == ["Ana", "Ben"]
    assert [each.display_name for each in answer({}, PARTIAL).members] == ["Ana", "Ben"]
