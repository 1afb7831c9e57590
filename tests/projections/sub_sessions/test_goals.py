"""Goals as a person looks for them, and what was done in each turn, against a small month that was made by hand."""

from typing import Any, get_args
from uuid import UUID

import pytest

from aggregates.ids import turn_id_from_capture
from aggregates.prices.prices import PriceBook
from aggregates.times import Window, iso
from projections import Sort
from projections.derive.sub_session_rows import ModelTotals
from projections.reader import Reader
from projections.scores.score import newest_at
from projections.sub_sessions import detail, goals as listing_of, turns
from projections.sub_sessions.detail import FileShown
from projections.sub_sessions.goals import Cursor, Goals
from projections.sub_sessions.rows import begun_by, find, resolve
from projections.sub_sessions.turns import GoalTurns, goal_turns
from tests.support.catalogs import list_rate, lookup, rate, snapshot
from tests.support.facts import ANA, BEN, DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, project, reader, request, shell

PARSER = "Fix the crash in src/parser.py when the file is empty; run pytest before you stop."
CLI = "Add a --json flag to src/cli.py and a test for it."
WHERE = "Where is the parser called?"

ALWAYS = Window(0, 2**62)


def worked(log: Log, session: str, text: str, at_us: int, path: str, *, ok: bool = True, **fields: str) -> UUID:
    capture_id = log.prompt(session, text, at_us, **fields)
    check = shell(at_us + MINUTE, "pytest -q", ok=ok)
    log.records(session, request(at_us + SECOND), edit(at_us + 2 * SECOND, path), check)
    return capture_id


class Month:
    """Reached, not reached, asked only, done again, and one that goes on."""

    def __init__(self) -> None:
        self.log = log = Log()
        self.reached = worked(log, "a", PARSER, MONDAY, "src/parser.py")
        self.failed = worked(log, "b", CLI, MONDAY + HOUR, "src/cli.py", ok=False, source="codex")
        self.asked = log.prompt("c", WHERE, MONDAY + 2 * HOUR)
        self.again = worked(log, "d", PARSER, MONDAY + DAY, "src/parser.py")
        self.live = worked(log, "e", CLI, MONDAY + 2 * DAY, "src/other.py")
        log.corrects_goal("b", self.failed, False)
        self.reader: Reader = reader(project(log.facts), log.facts)


@pytest.fixture(scope="module")
def month() -> Month:
    return Month()


def test_the_agent_is_known_whichever_fact_told_the_prompt() -> None:
    """Telemetry tells prompts as a plugin's captures do."""
    log = Log().claim("t")
    asked = {"kind": "prompt", "at_us": MONDAY, "text": PARSER}
    log.records("t", asked, request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND), shell(MONDAY + MINUTE, "pytest -q"))
    wanted = listing_of.Wanted(window=ALWAYS, agent="claude-code")
    found = listing_of.goals(reader(project(log.facts), log.facts), ANA, wanted, 50)
    assert [each.agent for each in found.goals] == ["claude-code"]


def test_a_goal_is_found_by_its_prompt_and_by_nobody_else(month: Month) -> None:
    row = find(month.reader, ANA, month.reached)
    assert row is not None
    assert (row.outcome, row.turns, row.trivia_reason) == ("reached", 1, None)
    assert find(month.reader, BEN, month.reached) is None
    below = find(month.reader, ANA, month.asked)
    assert below is not None
    assert (below.detail.floor.mutating_calls, below.detail.floor.changed_lines) == (0, 0)


def test_a_goal_is_named_by_how_its_id_begins_unless_another_begins_so_too(month: Month) -> None:
    rows = listed(month).goals
    for row in rows:
        whole = row.score_v3_sub_session_id
        assert begun_by(month.reader, ANA, whole[:8]) == [whole]
        assert begun_by(month.reader, BEN, whole[:8]) == []
    assert len(begun_by(month.reader, ANA, "")) == 2
    former = turn_id_from_capture(month.reached)
    assert [resolve(month.reader, ANA, UUID(each)) for each in begun_by(month.reader, ANA, str(former)[:8])] == [
        resolve(month.reader, ANA, month.reached)
    ]


# --- as the API lists them ------------------------------------------------------------------------------------


def listed(month: Month, limit: int = 50, cursor: Cursor | None = None, **asked: Any) -> Goals:
    wanted = listing_of.Wanted(**{"window": ALWAYS} | asked)
    return listing_of.goals(month.reader, ANA, wanted, limit, cursor)


@pytest.mark.parametrize(
    ("asked", "found", "begun"),
    [
        ({}, ["going_on", "repeated", "not_counted", "not_reached", "reached"], 5),
        ({"window": Window(MONDAY + DAY, MONDAY + 2 * DAY)}, ["repeated"], 1),
        ({"agent": "codex"}, ["not_reached"], 1),
        ({"agent": "'; --"}, [], 0),
        ({"overridden": True}, ["not_reached"], 1),
        ({"intent_class": "bug_fix"}, ["repeated", "reached"], 2),
        ({"outcome": "reached"}, ["reached"], 5),
        ({"outcome": "undecided", "agent": "codex"}, [], 1),
    ],
)
def test_counts_add_up_to_what_began_whichever_outcome_is_asked_for(
    month: Month, asked: dict[str, Any], found: list[str], begun: int
) -> None:
    page = listed(month, **asked)
    assert [each.outcome for each in page.goals] == found
    assert page.counts is not None
    assert sum(page.counts.values()) == page.begun == begun
    assert (page.oldest_at, page.newest_at) == (iso(MONDAY), iso(MONDAY + 2 * DAY))
    assert (newest_at(month.reader, ANA), newest_at(month.reader, BEN)) == (page.newest_at, None)


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("sort", get_args(Sort))
def test_pages_of_every_order_hold_each_goal_once(month: Month, sort: Sort, ascending: bool) -> None:
    whole = [each.score_v3_sub_session_id for each in listed(month, sort=sort, ascending=ascending).goals]
    found: list[str] = []
    cursor: Cursor | None = None
    for _ in range(3):
        page = listed(month, 2, cursor, sort=sort, ascending=ascending)
        found += [each.score_v3_sub_session_id for each in page.goals]
        cursor = Cursor.read(page.next) if page.next else None
    assert found == whole
    assert (len(set(found)), cursor) == (5, None)


@pytest.mark.parametrize(
    ("sort", "shown"), [("cost", "cost_usd"), ("turns", "turns"), ("duration", "duration_seconds")]
)
def test_what_is_not_known_comes_last_whichever_way(month: Month, sort: Sort, shown: str) -> None:
    for ascending in (False, True):
        told = [getattr(each, shown) for each in listed(month, sort=sort, ascending=ascending).goals]
        known = [each for each in told if each is not None]
        assert told == [*sorted(known, reverse=not ascending), *[None] * (len(told) - len(known))]


def test_more_goals_than_are_looked_at_give_the_newest_and_no_sums(
    month: Month, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing_of, "ROWS_MAX", 2)
    page = listed(month)
    assert [each.outcome for each in page.goals] == ["going_on", "repeated"]
    assert (page.is_partial, page.begun, page.counts) == (True, None, None)


def test_a_goal_says_what_it_changed_and_why_it_does_not_count(month: Month) -> None:
    of = {each.outcome: each for each in listed(month).goals}
    assert (of["reached"].files, of["reached"].agent, of["reached"].cost_kind) == (1, "claude-code", "exact")
    assert (of["not_counted"].outcome_reason, of["not_counted"].files) == ("too_few_turns", 0)


# --- its turns ------------------------------------------------------------------------------------------------


def test_a_turn_tells_what_was_done_in_it(month: Month) -> None:
    """Of one that nobody saw nothing is said; of somebody else's there is none."""
    (turn,), (unseen,) = (turns_of(month.reader, each).turns for each in (month.failed, month.asked))
    assert (turn.number, turn.started_at, turn.marks) == (1, iso(MONDAY + HOUR), ["change", "check failed"])
    assert (turn.prompt_text, turn.is_answered, turn.is_observed) == (CLI, True, True)
    assert (turn.changes, turn.lines_added, turn.lines_removed) == (1, 12, 1)
    assert turn.files == [FileShown("src/cli.py", 1, 12, 1)]
    assert (turn.checks_passed, turn.checks_failed, turn.commits) == (0, 1, 0)
    assert (turn.tool_calls, turn.failed_tool_calls, turn.tools_not_shown) == (2, 1, 0)
    assert [(each.name, each.file, each.command, each.outcome) for each in turn.tools] == [
        ("Edit", "src/cli.py", None, "ok"),
        ("Bash", None, "pytest -q", "failed"),
    ]
    used = turn.used
    assert (used.requests, used.input_tokens, used.output_tokens, used.total_tokens) == (1, 100, 20, 120)
    assert (used.cost_usd, used.cache_read_tokens, used.model) == (0.01, 0, "claude-sonnet-4-5")
    assert (unseen.marks, unseen.is_observed, unseen.is_answered, unseen.tools) == ([], False, False, [])
    used = unseen.used
    assert (used.input_tokens, used.total_tokens, used.cost_usd, used.requests) == (None, None, None, 0)
    assert goal_turns(month.reader, BEN, month.failed, 50, 0) is None


def turns_of(found: Reader, goal: UUID, limit: int = 50, offset: int = 0) -> GoalTurns:
    turns = goal_turns(found, ANA, goal, limit, offset)
    assert turns is not None
    return turns


def test_each_call_belongs_to_one_turn() -> None:
    """To that which it names, else to the last one before it, even where an earlier one goes on; a refused one too."""
    log = Log()
    first = log.prompt("s", PARSER, MONDAY, host_prompt_id="p1")
    log.corrects_gap("s", log.prompt("s", CLI, MONDAY + MINUTE, host_prompt_id="p2"), False)
    refused = {"kind": "rejection", "tool": "Bash", "at_us": MONDAY + 2 * MINUTE, "command": "rm -r src"}
    late = shell(MONDAY + 3 * MINUTE, "git commit -m Done", prompt_id="p1", duration_ms=70)
    log.records("s", edit(MONDAY + SECOND), refused, late, shell(MONDAY + 4 * MINUTE, "pytest") | {"ok": None})
    told = turns_of(reader(project(log.facts), log.facts), first)
    assert [[(each.command, each.outcome) for each in turn.tools] for turn in told.turns] == [
        [(None, "ok"), ("git commit -m Done", "ok")],
        [("rm -r src", "refused"), ("pytest", "unknown")],
    ]
    assert ([turn.commits for turn in told.turns], told.turns[0].tools[1].duration_ms) == ([1, 0], 70)


def test_a_page_of_turns_tells_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns by limit and offset, or as many as the calls of a page allow; tools, files and the course by bounds."""
    log, goal = Log(), None
    for place in range(4):
        at_us = MONDAY + place * MINUTE
        capture = log.prompt("s", PARSER, at_us, name=str(place))
        log.records("s", *(edit(at_us + (each + 1) * SECOND, f"src/{each}.py") for each in range(5)))
        if goal is not None:
            log.corrects_gap("s", capture, False)
        goal = goal or capture
    assert goal is not None
    found = reader(project(log.facts), log.facts)
    told = turns_of(found, goal, 2, 1)
    assert ([each.number for each in told.turns], told.total_turns, told.next_offset) == ([2, 3], 4, 3)
    assert (len(told.course), told.course_not_shown, turns_of(found, goal, 2, 3).next_offset) == (4, 0, None)
    for name, most in {"TOOLS_MAX": 3, "FILES_MAX": 2, "COURSE_MAX": 3, "TOOLS_OF_PAGE_MAX": 5}.items():
        monkeypatch.setattr(turns, name, most)
    told = turns_of(found, goal)
    assert (len(told.turns), told.next_offset, len(told.course), told.course_not_shown) == (2, 2, 3, 1)
    turn = told.turns[0]
    assert (len(turn.tools), turn.tools_not_shown, len(turn.files), turn.files_not_shown) == (3, 2, 2, 3)
    assert (turn.tool_calls, turn.changes) == (5, 5)


def test_what_each_kind_of_tokens_costs_by_list_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dearest first; nothing is told where some have no price, or nobody named a model."""
    book = PriceBook(snapshot(lookup("m", list_rates=[list_rate(rate=rate(10))])))
    monkeypatch.setattr(detail, "newest_book", lambda _: book)
    known = ModelTotals("m", requests=1, input_tokens=1_000, output_tokens=100, cache_read_tokens=100_000)
    views = reader(project(()), ())
    told = detail._token_costs(views, [known], MONDAY)
    assert [(each.kind, each.usd_per_million, round(1_150 * each.share)) for each in told] == [
        ("cache_read_tokens", 1, 1_000),
        ("input_tokens", 10, 100),
        ("output_tokens", 50, 50),
    ]
    for name in ("unlisted", None):
        unknown = ModelTotals(name, requests=1, input_tokens=1)
        assert detail._token_costs(views, [known, unknown], MONDAY) == []


def test_by_grade_those_come_last_that_are_told_none() -> None:
    """However good they may be expected to be."""
    log = Log()
    for place, text in enumerate(("add a dark mode to the settings page", PARSER, "Make it better please, somehow.")):
        worked(log, f"s{place}", text, MONDAY + place * HOUR, f"src/{place}.py")
    found = reader(project(log.facts), log.facts)
    for ascending in (False, True):
        wanted = listing_of.Wanted(window=ALWAYS, sort="grade", ascending=ascending)
        listing = listing_of.goals(found, ANA, wanted, 50).goals
        assert [each.grade_told is None for each in listing] == [False, False, True]
