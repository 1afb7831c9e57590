"""What the figures would become by a word: just what they become once it is said."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from aggregates.scores.grades import Tally
from aggregates.sub_sessions.sub_session import (
    GapOverridden,
    GoalOverridden,
    IntentOverridden,
    Override,
    OverrideCleared,
    OverrideEvent,
    ReworkOverridden,
)
from aggregates.times import Window
from projections.reader import Reader, json_array
from projections.scores.score import tally
from projections.scores.what_if import what_if
from projections.sub_sessions.listing import Wanted, goals
from projections.sub_sessions.rows import GoalOutcome, resolve
from tests.support.facts import ANA, BEN, DAY, HOUR, MINUTE, MONDAY, Log, Placed, project, reader

MONTH = Window(MONDAY - DAY, MONDAY + 20 * DAY)
END_US = MONDAY + 2 * DAY
PARSER = "Fix the crash in src/parser.py when the file is empty; run pytest before you stop."
MAILER = "Write a mailer in src/mailer.py that sends the weekly report to every subscriber."


class Week:
    """Work of a week: one session of two goals, one of three turns on a goal, the same done again, another's work."""

    def __init__(self) -> None:
        self.log = log = Log()
        self.parser = log.works("a", MONDAY, PARSER, "src/parser.py")
        self.mailer = log.works("a", MONDAY + 20 * MINUTE, MAILER, "src/mailer.py", ok=False)
        log.corrects_gap("a", self.mailer, True)
        self.first = log.works("b", MONDAY + 3 * HOUR, "Add a --json flag to src/cli.py and test it.", "src/cli.py")
        self.second = log.works("b", MONDAY + 3 * HOUR + 4 * MINUTE, "Now sort its keys too.", "src/cli.py")
        self.third = log.works("b", MONDAY + 3 * HOUR + 8 * MINUTE, "And document it in the README.", "README.md")
        self.again = log.works("c", MONDAY + DAY, PARSER, "src/parser.py")
        log.passes(END_US)

    @property
    def reader(self) -> Reader:
        return reader(project(self.log.facts), self.log.facts)


_BY: dict[str, Any] = {"organization_id": ANA.organization_id, "developer_id": ANA.developer_id}
_SAID = _BY | {"received_at_us": END_US}


def _said(session: str, capture_id: UUID) -> dict[str, Any]:
    return {**_SAID, "agent_session_id": session, "capture_id": capture_id}


def _gap(session: str, capture_id: UUID, boundary: bool) -> OverrideEvent:
    return GapOverridden(**_SAID, agent_session_id=session, before_capture=capture_id, boundary=boundary)


WORDS: dict[str, Callable[[Week], tuple[UUID, OverrideEvent]]] = {
    "reached": lambda w: (w.mailer, GoalOverridden(**_said("a", w.mailer), complete=True)),
    "not reached": lambda w: (w.parser, GoalOverridden(**_said("a", w.parser), complete=False)),
    "not done again": lambda w: (w.again, ReworkOverridden(**_said("c", w.again), rework=False)),
    "done again": lambda w: (w.first, ReworkOverridden(**_said("b", w.first), rework=True)),
    "another kind": lambda w: (w.first, IntentOverridden(**_said("b", w.first), intent_class="question")),
    "split": lambda w: (w.first, _gap("b", w.third, True)),
    "join": lambda w: (w.mailer, _gap("a", w.mailer, False)),
    "together": lambda w: (w.first, _gap("b", w.second, False)),
    "taken back": lambda w: (w.first, OverrideCleared(**_said("b", w.third), field="boundary")),
}


def _command(week: Week, word: str) -> tuple[UUID, Override]:
    goal, fact = WORDS[word](week)
    return goal, Override(**_BY, facts=(fact,))


@pytest.mark.parametrize("word", WORDS)
def test_what_would_come_is_what_comes(word: str) -> None:
    """Counts and outcomes, also of goals around that are rework no longer, or now."""
    week = Week()
    if word == "taken back":
        week.log.corrects_gap("b", week.third, True)
        week.log.passes(END_US)
    goal, command = _command(week, word)
    before = week.reader
    found = what_if(before, ANA, goal, command, MONTH)
    assert found is not None
    assert found.now == tally(before, ANA, MONTH)
    week.log.facts.append(Placed(len(week.log.facts) + 1, command.facts[0]))
    assert found.then == tally(week.reader, ANA, MONTH)
    assert (found.before, found.after) == (_outcomes(before, before, goal)[0], _outcomes(week.reader, before, goal))


def _outcomes(shown: Reader, before: Reader, goal: UUID) -> list[GoalOutcome]:
    """Of the goals that hold the turns which the goal held before, in time order."""
    own = "SELECT p.turn_id FROM prompts p WHERE p.sub_session_id = ?"
    turns = json_array([turn_id for (turn_id,) in before.db.execute(own, (str(resolve(before, ANA, goal)),))])
    holding = "SELECT DISTINCT sub_session_id FROM prompts JOIN json_each(?) t ON turn_id = t.value"
    names = {name for (name,) in shown.db.execute(holding, (turns,))}
    return [each.outcome for each in goals(shown, ANA, Wanted(), 50, 0).rows[::-1] if each.sub_session_id in names]


def test_a_word_moves_what_it_should() -> None:
    """So that the test above is not about nothing; nothing in a range without the goal, nor of somebody else's."""
    week = Week()
    now = tally(week.reader, ANA, MONTH)
    totals = {word: _then(week, word).total - now.total for word in ("join", "split", "together")}
    assert totals == {"join": -1, "split": 1, "together": 0}
    assert [_then(week, word).crushed - now.crushed for word in ("reached", "not done again")] == [1, 1]
    goal, command = _command(week, "join")
    before = what_if(week.reader, ANA, goal, command, Window(MONDAY - DAY, MONDAY))
    assert before is not None
    assert before.now == before.then
    assert what_if(week.reader, BEN, goal, command, MONTH) is None


def _then(week: Week, word: str) -> Tally:
    goal, command = _command(week, word)
    found = what_if(week.reader, ANA, goal, command, MONTH)
    assert found is not None
    return found.then
