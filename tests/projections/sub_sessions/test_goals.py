"""Goals as a person looks for them, and what was done in each turn, against a small month that was made by hand."""

from typing import Any
from uuid import UUID

import pytest

from aggregates.times import Window, iso
from projections.reader import Reader
from projections.scores.score import newest_at
from projections.sub_sessions.detail import course
from projections.sub_sessions.listing import SEARCHED_MAX, Wanted, goal_row, goals
from projections.sub_sessions.rows import MARKS, GoalOutcome, SubSessionRow
from tests.support.facts import ANA, BEN, DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, project, reader, request, shell

PARSER = "Fix the crash in src/parser.py when the file is empty; run pytest before you stop."
CLI = "Add a --json flag to src/cli.py and a test for it."
WHERE = "Where is the parser called?"

NAMES = MARKS["told"]


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

    def shown(self, limit: int = 50, offset: int = 0, **wanted: object) -> list[str]:
        return [each.outcome for each in self.rows(limit, offset, **wanted)]

    def rows(self, limit: int = 50, offset: int = 0, **wanted: object) -> list[SubSessionRow]:
        return goals(self.reader, ANA, Wanted(**wanted), limit, offset).rows  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def month() -> Month:
    return Month()


def test_all_stand_with_their_outcomes_the_newest_first(month: Month) -> None:
    assert month.shown() == ["live", "rework", "not_counted", "not_reached", "reached"]
    assert newest_at(month.reader, ANA) == iso(MONDAY + 2 * DAY)
    assert newest_at(month.reader, BEN) is None


@pytest.mark.parametrize("outcome", ["live", "rework", "not_counted", "not_reached", "reached", "undecided"])
def test_an_outcome_is_asked_for_as_it_is_shown(month: Month, outcome: GoalOutcome) -> None:
    found = goals(month.reader, ANA, Wanted(outcome=outcome), 50, 0)
    assert {each.outcome for each in found.rows} <= {outcome}
    assert found.total == len(found.rows) == month.shown().count(outcome)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"window": Window(MONDAY + DAY, MONDAY + 2 * DAY)}, ["rework"]),
        ({"agent": "codex"}, ["not_reached"]),
        ({"agent": "gemini"}, []),
        ({"said": True}, ["not_reached"]),
        ({"kind": "bug_fix"}, ["rework", "reached"]),
        ({"words": "CRASH parser"}, ["rework", "reached"]),
    ],
)
def test_goals_are_found_by_what_is_asked_for(month: Month, wanted: dict[str, Any], found: list[str]) -> None:
    """What began in a window, was sent by an agent, spoken about, of a kind; words of titles whatever their case."""
    assert month.shown(**wanted) == found


def test_the_agent_is_known_whichever_fact_told_the_prompt() -> None:
    """Telemetry tells prompts as a plugin's captures do."""
    log = Log().claim("t")
    asked = {"kind": "prompt", "at_us": MONDAY, "text": PARSER}
    log.records("t", asked, request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND), shell(MONDAY + MINUTE, "pytest -q"))
    found = goals(reader(project(log.facts), log.facts), ANA, Wanted(agent="claude-code"), 50, 0)
    assert [each.agent for each in found.rows] == ["claude-code"]


def test_words_are_looked_for_up_to_a_bound_that_is_told(month: Month) -> None:
    found = goals(month.reader, ANA, Wanted(words="CRASH parser"), 50, 0)
    assert (found.total, found.searched, found.complete) == (None, 5, True)
    assert found.searched <= SEARCHED_MAX


def test_pages_follow_each_other(month: Month) -> None:
    assert month.shown(2, 0) + month.shown(2, 2) + month.shown(2, 4) == month.shown()
    assert goals(month.reader, ANA, Wanted(), 2, 2).more
    assert not goals(month.reader, ANA, Wanted(), 2, 4).more
    assert goals(month.reader, ANA, Wanted(words="a"), 1, 0).more


def test_a_goal_is_found_by_its_prompt_and_by_nobody_else(month: Month) -> None:
    row = goal_row(month.reader, ANA, month.reached)
    assert row is not None
    assert (row.outcome, row.turns, row.trivia_reason) == ("reached", 1, None)
    assert goal_row(month.reader, BEN, month.reached) is None
    below = goal_row(month.reader, ANA, month.asked)
    assert below is not None
    assert (below.detail.floor.mutating_calls, below.detail.floor.changed_lines) == (0, 0)


# --- its course -----------------------------------------------------------------------------------------------


def test_a_turn_tells_what_was_done_in_it(month: Month) -> None:
    """Of one that nobody saw nothing is said; of somebody else's there is none."""
    ((turn,), (unseen,)) = (course(month.reader, ANA, each) for each in (month.failed, month.asked))
    work, steps = turn.work, [NAMES[mark] for mark in turn.work.marks if mark in NAMES]
    assert (steps, work.edits, work.lines_added, work.tool_calls) == (["change", "check failed"], 1, 12, 2)
    assert (turn.answered, work.observed, turn.started_us) == (True, True, MONDAY + HOUR)
    assert (NAMES.keys() & unseen.work.marks, unseen.work.observed, unseen.answered) == (set(), False, False)
    assert course(month.reader, BEN, month.failed) == []
