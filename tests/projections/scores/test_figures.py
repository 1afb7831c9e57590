"""Figures against hand-computed ones, the best prompts, and what a word would make of them."""

from collections.abc import Callable
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from aggregates.capture.events import PromptCaptured
from aggregates.scores.grades import Tally, rubric_letter
from aggregates.sub_sessions.sub_session import Override
from aggregates.times import Window, calendar_windows, iso
from projections.reader import Reader, json_array
from projections.scores.score import score, speed, tally, tokens
from projections.scores.skill import PREVIEW_CHARS_MAX, TopPrompt, insight_summary, skill, top_prompts
from projections.scores.what_if import what_if
from projections.sub_sessions.listing import realtime, rubric_items, trivia
from projections.sub_sessions.rows import GoalOutcome, resolve
from tests.projections.scores.test_activity import TODAY, seen
from tests.support.facts import ADD, ANA, BEN, FIX, MONDAY, Log, Placed, edit, project, reader, shell, tables
from tests.support.stages import DAY, HOUR, MINUTE, SECOND

RENAME = "Rename the storage module to src/store.py and update imports"
ROWS = "Also handle a header without rows in src/parser.py"
CACHED: dict[str, Any] = {"cache_read_tokens": 1000, "cache_write_tokens": 50}
WEEK = calendar_windows("weekly", ZoneInfo("UTC"), MONDAY + 2 * DAY, 4)


def test_an_empty_history_has_no_figures() -> None:
    """Nothing is shown where nothing was seen: counts are 0, letters N/A, averages None."""
    empty = seen(Log())
    shown = score(empty, ANA, "weekly", WEEK)
    assert (shown.svc_score, shown.letter_grade, shown.personal_tier) == (0.0, "N/A", "unranked")
    assert shown.sparkline == [0.0, 0.0, 0.0, 0.0]
    habits = skill(empty, ANA, "weekly", WEEK)
    assert (habits.skill_index, habits.tier) == (None, "Novice")
    assert insight_summary(empty, ANA, "weekly", WEEK).apg_current is None
    assert tokens(empty, ANA, "weekly", WEEK).tet == 1.0


def test_the_completion_rate_counts_settled_qualifying_goals() -> None:
    """Two goals whose check passed, one whose check failed, one question that is trivia: 2 of 3."""
    log = Log()
    log.works("a", MONDAY)
    log.works("b", MONDAY + HOUR, ADD)
    log.works("c", MONDAY + 2 * HOUR, RENAME, ok=False)
    log.prompt("d", "what does src/app.py do?", MONDAY + 3 * HOUR)
    read = seen(log.passes(MONDAY + 4 * HOUR))
    shown = score(read, ANA, "weekly", WEEK)
    assert (shown.crushed_count, shown.total_count) == (2, 3)
    assert shown.svc_score == pytest.approx(200 / 3)
    assert (shown.letter_grade, shown.personal_tier) == ("N/A", "unranked"), "of three there is no letter"
    assert [item.reason for item in trivia(read, ANA, WEEK[-1], 50, 0)] == ["too_few_turns"]
    assert score(read, BEN, "weekly", WEEK).total_count == 0


def test_a_goal_that_still_goes_on_counts_nowhere() -> None:
    """An open sub-session is a preview until thirty quiet minutes have passed, said by a fact of the log."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + MINUTE), shell(MONDAY + 2 * MINUTE, "pytest"))
    live = seen(log)
    settled = seen(log.passes(MONDAY + 32 * MINUTE))
    assert [score(read, ANA, "weekly", WEEK).total_count for read in (live, settled)] == [0, 1]
    preview, row = (realtime(read, ANA, 50, 0, None, None)[0] for read in (live, settled))
    assert (preview.is_preview, preview.goal_complete, preview.crushed, preview.ended_at) == (True, None, None, None)
    assert row.is_preview is False


def test_tokens_are_sums_of_requests_and_cost_is_known_or_null() -> None:
    """1,170 tokens a goal; a goal with an unpriced request has no cost, and does not lower the median."""
    log = Log()
    log.works("a", MONDAY, **CACHED)
    log.works("b", MONDAY + HOUR, ADD, cost_usd_nano=None, **CACHED)
    read = seen(log.passes(MONDAY + 2 * HOUR))
    shown = tokens(read, ANA, "weekly", WEEK)
    assert (shown.crush_weight, shown.tpt) == (100 + 20 + 1000 + 50, 120)
    assert shown.cpcs_estimate == pytest.approx(0.01)
    assert (shown.breakdown.input, shown.breakdown.cache_read) == (200, 2000)
    costs = {row.agent_session_id: row.cost_usd for row in realtime(read, ANA, 50, 0, None, None)}
    assert costs == {"a": pytest.approx(0.01), "b": None}


def test_a_median_of_nothing_stands_beside_a_count_of_nothing() -> None:
    """By the contract it is 0; what it is over, and what was left out of it, tells that from a figure."""
    log = Log()
    log.works("a", MONDAY - 7 * DAY, cost_usd_nano=None, **CACHED)
    log.works("b", MONDAY, ADD, cost_usd_nano=None, **CACHED)
    third = log.prompt("c", RENAME, MONDAY + HOUR)
    log.records("c", edit(MONDAY + HOUR + SECOND, path="src/store.py"))
    read = seen(log.corrects_goal("c", third, True).passes(MONDAY + 3 * HOUR))
    shown, first = tokens(read, ANA, "weekly", WEEK), tokens(read, ANA, "weekly", WEEK[:3])
    assert (shown.crushed_count, shown.crush_weight_count, shown.request_count) == (2, 1, 1)
    assert (shown.cpcs_estimate, shown.cpcs_count, shown.cpcs_unpriced_count) == (0.0, 0, 2)
    assert (shown.sparkline, shown.sparkline_counts) == ([0.0, 0.0, 1170.0, 1170.0], [0, 0, 1, 1])
    assert (shown.tet, shown.tet_count, first.tet, first.tet_count) == (1.0, 1, 1.0, 0)
    for query in (score, speed):
        assert query(read, ANA, "weekly", WEEK).sparkline_counts == [0, 0, 1, 2]


def test_a_cost_that_may_be_higher_is_counted_beside_the_median() -> None:
    """Of the only goal that was reached nobody told the output: what it cost at least is no cost."""
    log = Log().publishes(1)
    log.works("a", MONDAY, cost_usd_nano=None, output_tokens=None)
    shown = tokens(seen(log.passes(MONDAY + 2 * HOUR)), ANA, "weekly", WEEK)
    assert (shown.crushed_count, shown.cpcs_estimate, shown.cpcs_count) == (1, 0.0, 0)
    assert (shown.cpcs_lower_bound_count, shown.cpcs_unpriced_count) == (1, 0)


def test_a_window_holds_what_started_in_it() -> None:
    """Last week's goal is last week's, for the score, the delta and the sparkline."""
    log = Log()
    log.works("old", MONDAY - 3 * DAY)
    log.works("a", MONDAY, ADD)
    log.works("b", MONDAY + HOUR, RENAME)
    shown = speed(seen(log.passes(MONDAY + 2 * HOUR)), ANA, "weekly", WEEK)
    assert (shown.cspw, shown.delta_cspw, shown.ttc_median_seconds) == (2, 1, 60.0)
    assert shown.sparkline == [0.0, 0.0, 1.0, 2.0]


def test_a_response_that_took_longer_than_there_was_time_counts_on_receipt() -> None:
    """Prompt time and elapsed time far ahead of the server's clock: else the goal would never settle."""
    log = Log()
    prompt_id = log.prompt("s1", FIX, MONDAY)
    log.records("s1", edit(MONDAY + MINUTE))
    answered = {"elapsed_ms": 400 * DAY // 1000, "responded_at_us": None}
    log.answer("s1", prompt_id, "Done.", MONDAY + 2 * MINUTE, **answered).passes(MONDAY + HOUR)
    assert [row.ended_at for row in realtime(seen(log), ANA, 10, 0, None, None)] == ["2026-01-05T09:02:00Z"]


def test_one_prompt_seen_by_telemetry_alone_is_scored() -> None:
    """No plugin: the agent's own log of the prompt is a turn, with its title from the log's words."""
    log = Log().claim("t")
    log.records("t", {"kind": "prompt", "at_us": MONDAY, "text": FIX, "prompt_id": "p1"}, edit(MONDAY + SECOND))
    log.records("t", {"kind": "session_end", "source": "exit", "at_us": MONDAY + MINUTE})
    item = rubric_items(seen(log), ANA, 50, 0)[0]
    assert (item.judge_status, (item.title or "?") in FIX) == ("ok", True)


def test_no_text_lies_in_the_views() -> None:
    """Rows hold numbers, digests and references; a prompt's and a path's words are only in the log."""
    log = Log()
    log.works("a", MONDAY)
    everything = repr(tables(project(log.facts)))
    assert [words in everything for words in ("src/a.py", "crash", "empty list")] == [False] * 3


# --- the best prompts of a range ------------------------------------------------------------------------------


def top_of(log: Log) -> list[TopPrompt]:
    return top_prompts(seen(log), ANA, TODAY, 50, 0)


def test_the_best_prompt_comes_first() -> None:
    """By standing score; its grade is the letter of that score."""
    log = Log()
    log.works("good", MONDAY)
    log.works("poor", MONDAY + HOUR, "the parser is broken, please fix it")
    best, worst = top_of(log.passes(MONDAY + 3 * HOUR))
    assert (best.agent_session_id, best.preview, best.submitted_at) == ("good", FIX, iso(MONDAY))
    assert best.prompt_id in {str(f.event.prompt_id) for f in log.facts if isinstance(f.event, PromptCaptured)}
    assert (best.intent_class, best.crushed, best.grade) == ("bug_fix", True, rubric_letter(best.score))
    assert best.own_score > worst.own_score
    found = skill(seen(log), ANA, "range", [TODAY])
    rates = [found.per_boolean[name] for name, count in found.per_boolean_counts.items() if count]
    assert found.skill_index == pytest.approx(100 * sum(rates) / len(rates))
    assert [share for name, share in found.per_boolean.items() if name == found.worst_pillar] == [min(rates)]
    average = insight_summary(seen(log), ANA, "range", [TODAY])
    assert average.apg_current == pytest.approx((best.score + worst.score) / 2)
    assert sum(each.count for each in average.grade_distribution) == average.sample_count == 2


def test_a_prompt_belongs_to_the_range_by_its_own_time() -> None:
    """Also where its sub-session started before; and open sub-sessions have no verdict yet."""
    log = Log()
    log.prompt("a", FIX, MONDAY - MINUTE)
    log.records("a", edit(MONDAY - SECOND))
    log.prompt("a", ROWS, MONDAY + MINUTE)
    (only,) = top_of(log.records("a", edit(MONDAY + 2 * MINUTE)))
    assert (only.submitted_at, only.crushed) == (iso(MONDAY + MINUTE), None)
    assert only.prompt_id != only.sub_session_id


def test_of_equal_scores_the_newer_sub_session_comes_first() -> None:
    log = Log()
    for session, at_us in (("old", MONDAY), ("new", MONDAY + HOUR)):
        log.works(session, at_us)
        log.prompt(session, ROWS, at_us + 2 * MINUTE)
        log.records(session, edit(at_us + 3 * MINUTE, path=f"src/{session}.py"))
    found = top_of(log)
    assert [(each.agent_session_id, each.preview == found[0].preview) for each in found] == [
        *(("new", True), ("old", True)),
        *(("new", False), ("old", False)),
    ]
    assert [each.own_score for each in found] == sorted([each.own_score for each in found], reverse=True)


def test_a_preview_is_one_short_line_and_none_once_it_is_forgotten() -> None:
    """However long the prompt is, and whatever it is laid out like."""
    log = Log()
    log.prompt("a", FIX + "\n\n" + "It is in src/parser.py.  \n" * 200, MONDAY)
    (only,) = top_of(log.records("a", edit(MONDAY + SECOND)))
    preview = only.preview or ""
    assert (preview.startswith(FIX + " It is"), len(preview), "\n" in preview) == (True, PREVIEW_CHARS_MAX, False)
    (forgotten,) = top_prompts(reader(project(log.facts), []), ANA, TODAY, 50, 0)
    assert (forgotten.preview, forgotten.score) == (None, only.score)


# --- what the figures would become by a word: just what they become once it is said ---------------------------


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


WORDS: dict[str, Callable[[Week], tuple[UUID, Log]]] = {
    "reached": lambda w: (w.mailer, w.log.corrects_goal("a", w.mailer, True)),
    "not reached": lambda w: (w.parser, w.log.corrects_goal("a", w.parser, False)),
    "not done again": lambda w: (w.again, w.log.corrects_rework("c", w.again, False)),
    "done again": lambda w: (w.first, w.log.corrects_rework("b", w.first, True)),
    "another kind": lambda w: (w.first, w.log.corrects_intent("b", w.first, "question")),
    "split": lambda w: (w.first, w.log.corrects_gap("b", w.third, True)),
    "join": lambda w: (w.mailer, w.log.corrects_gap("a", w.mailer, False)),
    "together": lambda w: (w.first, w.log.corrects_gap("b", w.second, False)),
    "taken back": lambda w: (w.first, w.log.clears("b", w.third, "boundary")),
}


def _command(week: Week, word: str) -> tuple[UUID, Override]:
    """The goal and the command of a word that is not told yet."""
    goal, log = WORDS[word](week)
    fact: Any = log.facts.pop().event
    return goal, Override(organization_id=ANA.organization_id, developer_id=ANA.developer_id, facts=(fact,))


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
    return [each.outcome for each in realtime(shown, ANA, 50, 0, None, None)[::-1] if each.sub_session_id in names]


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
