"""Grading units: what a person says until something is answered is one prompt (scoring.md, section 3)."""

import sqlite3
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from aggregates.judging.prompt import judge_prompt
from aggregates.judging.rubric import UNIT_CHARACTERS_MAX
from aggregates.reading.reading import read_prompt
from aggregates.times import calendar_windows
from projections.derive.sub_session_rows import PromptDetail
from projections.reader import unpack
from projections.scores.skill import insight_summary, skill, top_prompts
from projections.sub_sessions.listing import realtime
from tests.support.facts import ANA, DAY, DIGESTER, MINUTE, MONDAY, SECOND, Log, edit, project, reader, request

ASK = "Fix the crash in src/parser.py when the file is empty."
MORE = "It must return an empty list, and `pytest tests/test_parser.py` must pass."
WHY = "Find out first why the header is read at all."
WEEK = calendar_windows("weekly", ZoneInfo("UTC"), MONDAY + 2 * DAY, 2)


def told(*said: str | dict[str, Any], changed: bool = True) -> Log:
    """Prompts a minute apart, in one session; what is no text is a record at that time. Then they are answered."""
    log = Log()
    for place, each in enumerate(said):
        at_us = MONDAY + place * MINUTE
        if isinstance(each, str):
            log.prompt("s", each, at_us, name=str(place))
        else:
            log.records("s", each | {"at_us": at_us})
    end_us = MONDAY + len(said) * MINUTE
    done = [edit(end_us)] if changed else []
    return log.records("s", *done, request(end_us + SECOND)).passes(MONDAY + DAY)


def rows(db: sqlite3.Connection) -> list[tuple[str, int, PromptDetail]]:
    """Status, whether it counts, and what is shown, in time order."""
    found = db.execute("SELECT status, counted, body FROM prompts ORDER BY at_us")
    return [(status, counted, unpack(body, PromptDetail)) for status, counted, body in found]


def test_prompts_that_nothing_was_answered_between_are_judged_as_one_text() -> None:
    """Under the id and time of the first; the others have no rubric of their own, and say where it is."""
    log = told(ASK, MORE)
    first, second = rows(project(log.facts))
    whole = judge_prompt(read_prompt(f"{ASK}\n\n{MORE}", DIGESTER), None)
    assert first[2].rubric == whole
    assert whole != judge_prompt(read_prompt(ASK, DIGESTER), None)
    assert [(status, counted) for status, counted, _ in (first, second)] == [("ok", 1), ("skipped", 0)]
    lead = str(log.facts[1].event.prompt_id)  # type: ignore[attr-defined]
    assert (first[2].unit_prompt_id, second[2].unit_prompt_id) == (None, lead)


NO_ANSWERS = [
    pytest.param({"kind": "interruption", "at_us": 0}, id="an interruption"),
    pytest.param({"kind": "error", "at_us": 0, "status_code": 529}, id="a request that failed"),
    pytest.param("/model opus", id="a command"),
    pytest.param("!git status", id="a command of the shell"),
    pytest.param("<task-notification>done</task-notification>", id="a machine's text"),
]


@pytest.mark.parametrize("between", NO_ANSWERS)
def test_what_answers_nothing_parts_no_prompts(between: str | dict[str, Any]) -> None:
    """A command between them is none of their words."""
    found = rows(project(told(ASK, between, MORE).facts))
    assert found[0][2].rubric == judge_prompt(read_prompt(f"{ASK}\n\n{MORE}", DIGESTER), None)
    assert [counted for _, counted, _ in found] == [1] + [0] * (len(found) - 1)


def test_the_floor_counts_units() -> None:
    """And a prompt counts only where its sub-session passes it."""
    for said, passes in (((ASK, MORE, WHY), 0), ((ASK, request(0), MORE, request(0), WHY), 1)):
        db = project(told(*said, changed=False).facts)
        assert db.execute("SELECT floor_passed FROM sub_sessions").fetchone() == (passes,)
    counted = [rows(project(told(ASK, changed=each).facts))[0][:2] for each in (True, False)]
    assert counted == [("ok", 1), ("ok", 0)]


def test_grades_count_units_and_lists_name_each_once() -> None:
    """The average prompt grade, the skill index, and the best prompts."""
    log = told(ASK, MORE, request(0), WHY)
    shown = reader(project(log.facts), log.facts)
    assert insight_summary(shown, ANA, "weekly", WEEK).sample_count == 2
    assert skill(shown, ANA, "weekly", WEEK).sample_count == 2
    assert len(top_prompts(shown, ANA, WEEK[-1], 10, 0)) == 2


@settings(max_examples=20)
@given(st.lists(st.sampled_from([ASK, MORE, WHY, "ok", "why?", "Thanks", "no, that is wrong"]), min_size=1, max_size=5))
def test_pieces_that_nothing_answered_give_the_figures_of_the_whole(pieces: list[str]) -> None:
    """Letter, skill index and average are those of the text joined by blank lines."""
    whole, cut = told("\n\n".join(pieces)), told(*pieces)

    def figures(log: Log) -> tuple[object, ...]:
        shown = reader(project(log.facts), log.facts)
        index, mean = skill(shown, ANA, "weekly", WEEK), insight_summary(shown, ANA, "weekly", WEEK)
        letters = [(row.letter_grade, row.intent_class) for row in realtime(shown, ANA, 9, 0, None, None)]
        return (*letters, index.skill_index, index.sample_count, mean.apg_current)

    assert figures(cut) == figures(whole)


def test_an_answer_that_comes_late_parts_a_unit() -> None:
    log = told(ASK, MORE)
    log.answer("s", log.facts[1].event.prompt_id, "Which file?", MONDAY + 2 * SECOND)  # type: ignore[attr-defined]
    assert [status for status, _, _ in rows(project(log.facts))] == ["ok", "ok"]


def test_long_prompts_are_read_together_only_as_far_as_they_fit() -> None:
    """However many of them wait for an answer, a further one costs no more than a short text."""
    long = "word " * (UNIT_CHARACTERS_MAX // 10)
    found = rows(project(told(ASK, long, long, MORE).facts))
    assert found[0][2].rubric == judge_prompt(read_prompt(f"{ASK}\n\n{long}", DIGESTER), None)
    assert rows(project(told(long * 3, MORE).facts))[0][2].rubric == judge_prompt(read_prompt(long * 3, DIGESTER), None)
