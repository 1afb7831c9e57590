"""Figures against hand-computed ones: what counts, what does not, and in which window."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from aggregates.times import calendar_windows
from projections.scores.score import score, speed, tokens
from projections.scores.skill import insight_summary, skill
from projections.sub_sessions.listing import realtime, rubric_items, trivia
from tests.support.facts import (
    ADD,
    ANA,
    BEN,
    DAY,
    FIX,
    HOUR,
    MINUTE,
    MONDAY,
    SECOND,
    Log,
    edit,
    project,
    reader,
    shell,
    tables,
)

UTC = ZoneInfo("UTC")
RENAME = "Rename the storage module to src/store.py and update imports"
CACHED: dict[str, Any] = {"cache_read_tokens": 1000, "cache_write_tokens": 50}
WEEK = calendar_windows("weekly", UTC, MONDAY + 2 * DAY, 4)


def test_an_empty_history_has_no_figures() -> None:
    """Nothing is shown where nothing was seen: counts are 0, letters N/A, averages None."""
    empty = reader(project([]), [])
    shown = score(empty, ANA, "weekly", WEEK)
    assert (shown.svc_score, shown.letter_grade, shown.personal_tier) == (0.0, "N/A", "unranked")
    assert shown.sparkline == [0.0, 0.0, 0.0, 0.0]
    assert skill(empty, ANA, "weekly", WEEK).skill_index is None
    assert skill(empty, ANA, "weekly", WEEK).tier == "Novice"
    assert insight_summary(empty, ANA, "weekly", WEEK).apg_current is None
    assert tokens(empty, ANA, "weekly", WEEK).tet == 1.0


def test_the_completion_rate_counts_settled_qualifying_goals() -> None:
    """Two goals whose check passed, one whose check failed, one question that is trivia: 2 of 3."""
    log = Log()
    log.works("a", MONDAY)
    log.works("b", MONDAY + HOUR, ADD)
    log.works("c", MONDAY + 2 * HOUR, RENAME, ok=False)
    log.prompt("d", "what does src/app.py do?", MONDAY + 3 * HOUR)
    log.passes(MONDAY + 4 * HOUR)
    read = reader(project(log.facts), log.facts)
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
    open_still = reader(project(log.facts), log.facts)
    assert score(open_still, ANA, "weekly", WEEK).total_count == 0
    preview = realtime(open_still, ANA, 50, 0, None, None)[0]
    assert (preview.is_preview, preview.goal_complete, preview.crushed, preview.ended_at) == (True, None, None, None)
    log.passes(MONDAY + 32 * MINUTE)
    settled = reader(project(log.facts), log.facts)
    assert score(settled, ANA, "weekly", WEEK).total_count == 1
    assert realtime(settled, ANA, 50, 0, None, None)[0].is_preview is False


def test_tokens_are_sums_of_requests_and_cost_is_known_or_null() -> None:
    """1,170 tokens a goal; a goal with an unpriced request has no cost, and does not lower the median."""
    log = Log()
    log.works("a", MONDAY, **CACHED)
    log.works("b", MONDAY + HOUR, ADD, cost_usd_nano=None, **CACHED)
    log.passes(MONDAY + 2 * HOUR)
    read = reader(project(log.facts), log.facts)
    shown = tokens(read, ANA, "weekly", WEEK)
    assert shown.crush_weight == 100 + 20 + 1000 + 50
    assert shown.tpt == 120
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
    log.corrects_goal("c", third, True).passes(MONDAY + 3 * HOUR)
    read = reader(project(log.facts), log.facts)
    shown = tokens(read, ANA, "weekly", WEEK)
    assert (shown.crushed_count, shown.crush_weight_count, shown.request_count) == (2, 1, 1)
    assert (shown.cpcs_estimate, shown.cpcs_count, shown.cpcs_unpriced_count) == (0.0, 0, 2)
    assert (shown.sparkline, shown.sparkline_counts) == ([0.0, 0.0, 1170.0, 1170.0], [0, 0, 1, 1])
    assert (shown.tet, shown.tet_count) == (1.0, 1)
    assert score(read, ANA, "weekly", WEEK).sparkline_counts == [0, 0, 1, 2]
    assert speed(read, ANA, "weekly", WEEK).sparkline_counts == [0, 0, 1, 2]
    first = tokens(read, ANA, "weekly", WEEK[:3])
    assert (first.tet, first.tet_count) == (1.0, 0)


def test_a_cost_that_may_be_higher_is_counted_beside_the_median() -> None:
    """Of the only goal that was reached nobody told the output: what it cost at least is no cost."""
    log = Log().publishes(1)
    log.works("a", MONDAY, cost_usd_nano=None, output_tokens=None)
    log.passes(MONDAY + 2 * HOUR)
    shown = tokens(reader(project(log.facts), log.facts), ANA, "weekly", WEEK)
    assert (shown.crushed_count, shown.cpcs_estimate, shown.cpcs_count) == (1, 0.0, 0)
    assert (shown.cpcs_lower_bound_count, shown.cpcs_unpriced_count) == (1, 0)


def test_a_window_holds_what_started_in_it() -> None:
    """Last week's goal is last week's, for the score, the delta and the sparkline."""
    log = Log()
    log.works("old", MONDAY - 3 * DAY)
    log.works("a", MONDAY, ADD)
    log.works("b", MONDAY + HOUR, RENAME)
    log.passes(MONDAY + 2 * HOUR)
    read = reader(project(log.facts), log.facts)
    shown = speed(read, ANA, "weekly", WEEK)
    assert (shown.cspw, shown.delta_cspw) == (2, 1)
    assert shown.sparkline == [0.0, 0.0, 1.0, 2.0]
    assert shown.ttc_median_seconds == 60.0


def test_a_response_that_took_longer_than_there_was_time_counts_on_receipt() -> None:
    """Prompt time and elapsed time far ahead of the server's clock: else the goal would never settle."""
    log = Log()
    prompt_id = log.prompt("s1", FIX, MONDAY)
    log.records("s1", edit(MONDAY + MINUTE))
    answered = {"elapsed_ms": 400 * DAY // 1000, "responded_at_us": None}
    log.answer("s1", prompt_id, "Done.", MONDAY + 2 * MINUTE, **answered).passes(MONDAY + HOUR)
    shown = realtime(reader(project(log.facts), log.facts), ANA, 10, 0, None, None)
    assert [row.ended_at for row in shown] == ["2026-01-05T09:02:00Z"]


def test_one_prompt_seen_by_telemetry_alone_is_scored() -> None:
    """No plugin: the agent's own log of the prompt is a turn, with its title from the log's words."""
    log = Log().claim("t")
    log.records("t", {"kind": "prompt", "at_us": MONDAY, "text": FIX, "prompt_id": "p1"}, edit(MONDAY + SECOND))
    log.records("t", {"kind": "session_end", "source": "exit", "at_us": MONDAY + MINUTE})
    read = reader(project(log.facts), log.facts)
    item = rubric_items(read, ANA, 50, 0)[0]
    assert item.judge_status == "ok"
    assert item.title is not None
    assert item.title in FIX


def test_no_text_lies_in_the_views() -> None:
    """Rows hold numbers, digests and references; a prompt's and a path's words are only in the log."""
    log = Log()
    log.works("a", MONDAY)
    everything = repr(tables(project(log.facts)))
    assert "src/a.py" not in everything
    assert "crash" not in everything
    assert "empty list" not in everything
