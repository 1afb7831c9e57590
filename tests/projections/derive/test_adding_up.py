"""What SQLite and the sums kept beside sub-sessions add up is what adding up row by row gives."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.scores.grades import median, rubric_letter
from aggregates.times import US_PER_SECOND, Window
from aggregates.turns.turn import ModelUsage, Observation, Turn, Work, active_us
from aggregates.turns.turns import NO_ACTIVITY
from projections.derive.sub_session_rows import ModelTotals, model_totals, unmask
from projections.reader import Reader, unpack
from projections.scores.activity import active_times, files, model_task, task_time
from projections.scores.score import score, speed, token_trend, tokens
from projections.scores.skill import insight_summary, skill, top_prompts
from projections.sub_sessions.rows import CRUSHED, QUALIFIES, SETTLED
from tests.projections.derive.test_any_order import CORRECTED, PROMPTS, SESSIONS, told
from tests.support.facts import ANA, HOUR, MINUTE, MONDAY, SECOND, Log, edit, project, reader
from tests.support.stages import turn_at, usage

Row = dict[str, Any]
Step = tuple[str, str, str, int, bool]

_MOMENTS = st.integers(0, 45).map(lambda minute: MONDAY + minute * MINUTE)
CUTS = st.lists(_MOMENTS, max_size=3, unique=True).map(lambda inner: [MONDAY - 1, *inner, MONDAY + HOUR])
GOALS = st.lists(st.tuples(st.sampled_from(SESSIONS), _MOMENTS), max_size=4)


def _goal(session: str, at_us: int) -> list[Step]:
    """Asked, edited, checked: most of these are reached."""
    work = (("request", 10), ("edit", 20), ("check", 40))
    steps: list[Step] = [("work", session, what, at_us + seconds * SECOND, False) for what, seconds in work]
    return [("prompt", session, PROMPTS[0], at_us, False), *steps]


_LATER: Step = ("prompt", "s1", PROMPTS[3], MONDAY + 12 * HOUR, False)
"""By then all of them have settled."""
WORKED = st.builds(
    lambda goals, rest: [*(step for goal in goals for step in _goal(*goal)), *rest, _LATER], GOALS, CORRECTED
)


def windows_of(cuts: Iterable[int]) -> list[Window]:
    """Neighbouring windows, oldest first."""
    edges = sorted(cuts)
    return [Window(start, end) for start, end in pairwise(edges)]


def rows(found: Reader, query: str, *bound: object) -> list[Row]:
    cursor = found.db.execute(query, bound)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, values, strict=True)) for values in cursor]


def sub_sessions(found: Reader, window: Window) -> list[Row]:
    """Those that started in it, in time order, with what they have come to."""
    return rows(
        found,
        f"SELECT s.*, {SETTLED} AS settled, {QUALIFIES} AS qualifies, {CRUSHED} AS crushed FROM sub_sessions s, "
        "bookmark b WHERE s.started_us >= ? AND s.started_us < ? ORDER BY s.started_us, s.sub_session_id",
        *msgspec.structs.astuple(window),
    )


def prompts(found: Reader, window: Window) -> list[Row]:
    query = "SELECT * FROM prompts WHERE counted AND at_us >= ? AND at_us < ? ORDER BY at_us, turn_id"
    return rows(found, query, *msgspec.structs.astuple(window))


def turns(found: Reader, sub_session_id: str) -> list[Turn]:
    query = (
        "SELECT t.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id WHERE p.sub_session_id = ? "
        "ORDER BY t.started_us, t.turn_id"
    )
    return [unpack(body, Turn) for (body,) in found.db.execute(query, (sub_session_id,))]


def moments(found: Reader, turn: Turn) -> Iterator[int]:
    """When something of a turn was seen."""
    yield from (turn.started_us, turn.last_activity_us)
    query = "SELECT at_us, body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ?"
    for at_us, body in found.db.execute(query, (turn.agent_session_id, turn.started_us, turn.last_activity_us)):
        if unpack(body, Observation).kind not in NO_ACTIVITY:
            yield at_us


def whole_tokens(row: Row) -> int:
    return sum(row[f"{kind}_tokens"] for kind in ("input", "output", "cache_read", "cache_write"))


@settings(max_examples=30)
@given(WORKED, CUTS)
def test_figures_are_those_of_the_rows_that_they_are_made_of(story: list[Step], cuts: list[int]) -> None:
    """Of windows, of their prompts, and what sub-sessions keep of their turns and observations."""
    facts = told(story)
    found, windows = reader(project(facts), facts), windows_of(cuts)
    figures_are_those_of_their_rows(found, windows)
    grades_are_those_of_their_prompts(found, windows)
    sub_sessions_keep_what_their_turns_say(found, windows[-1])


def figures_are_those_of_their_rows(found: Reader, windows: list[Window]) -> None:
    per_window = [sub_sessions(found, window) for window in windows]
    last = per_window[-1]
    won = [[row for row in each if row["crushed"]] for each in per_window]
    weights = [float(median(whole_tokens(row) for row in each if row["requests"])) for each in won]

    rate, pace = score(found, ANA, "daily", windows), speed(found, ANA, "daily", windows)
    spent = tokens(found, ANA, "daily", windows)
    for shown in (rate, pace, spent, skill(found, ANA, "daily", windows)):
        assert (shown.total_count, shown.crushed_count) == (sum(r["qualifies"] for r in last), len(won[-1]))
        assert shown.overridden_count == sum(row["overridden"] > 0 for row in last)
        unclassified = [row for row in last if row["settled"] and row["floor_passed"] and row["intent"] is None]
        assert shown.unclassified_count == len(unclassified)
    assert pace.sparkline == [len(each) for each in won]
    assert pace.ttc_median_seconds == median((row["ended_us"] - row["started_us"]) / US_PER_SECOND for row in won[-1])
    assert spent.sparkline == weights
    assert spent.sparkline_counts == [sum(row["requests"] > 0 for row in each) for each in won]
    assert pace.sparkline_counts == rate.sparkline_counts == [sum(r["qualifies"] for r in each) for each in per_window]
    assert spent.cpcs_count + spent.cpcs_lower_bound_count + spent.cpcs_unpriced_count == spent.crushed_count
    assert spent.request_count == sum(row["requests"] for row in last)
    assert rate.crush_weight == weights[-1]
    assert [point.crush_weight for point in token_trend(found, ANA, "daily", windows).points] == weights[1:]
    assert spent.breakdown.cache_read == sum(row["cache_read_tokens"] for row in last)
    asked = sum(row["input_tokens"] + row["output_tokens"] for row in last)
    assert spent.tpt == (asked / sum(row["turns"] for row in last) if last else 0)


def grades_are_those_of_their_prompts(found: Reader, windows: list[Window]) -> None:
    """Habits, means, letters, and the best prompts in their order."""
    graded = [prompts(found, window) for window in windows]
    applied = Counter(name for row in graded[-1] for name in unmask(row["rated"]))
    hits = Counter(name for row in graded[-1] for name in unmask(row["standing_earned"] & row["rated"]))

    habits = skill(found, ANA, "daily", windows)
    assert (habits.sample_count, Counter(habits.per_boolean_counts)) == (
        sum(row["standing_score"] is not None for row in graded[-1]),
        applied,
    )
    assert all(habits.per_boolean[name] == hits[name] / count for name, count in applied.items())
    summary = insight_summary(found, ANA, "daily", windows)
    letters = Counter(rubric_letter(row["standing_score"]) for row in graded[-1] if row["standing_score"] is not None)
    assert {each.grade: each.count for each in summary.grade_distribution if each.count} == letters
    for point, each in zip(summary.points, graded, strict=True):
        scores = [row["standing_score"] for row in each if row["standing_score"] is not None]
        assert point.apg == (pytest.approx(sum(scores) / len(scores), rel=1e-12) if scores else None)

    begun = {row["sub_session_id"]: row["started_us"] for row in sub_sessions(found, Window(0, 2**62))}
    best = sorted(
        (row for row in graded[-1] if row["own_score"] is not None),
        key=lambda r: (
            -r["own_score"], -(r["standing_score"] or 0), -begun[r["sub_session_id"]], r["sub_session_id"],
            r["at_us"], r["turn_id"],
        ),
    )  # fmt: skip
    page = top_prompts(found, ANA, windows[-1], 3, 1)
    assert [(each.sub_session_id, each.score, each.own_score) for each in page] == [
        (row["sub_session_id"], row["standing_score"], row["own_score"]) for row in best[1:4]
    ]


def sub_sessions_keep_what_their_turns_say(found: Reader, window: Window) -> None:
    """Active time, files, models: also where turns are long, and after corrections."""
    listed = sub_sessions(found, window)
    worked = {row["sub_session_id"]: turns(found, row["sub_session_id"]) for row in listed}

    times = {name: active_us(at for turn in own for at in moments(found, turn)) for name, own in worked.items()}
    assert dict(active_times(found.db, ANA, window)) == times
    assert task_time(found, ANA, window, 50, 0).total_active_seconds == sum(times.values()) / US_PER_SECOND

    works = [(name, work) for name, own in worked.items() for turn in own for work in turn.work.files]
    edits: Counter[int] = Counter()
    homes = defaultdict(set)
    for name, work in works:
        edits[work.digest] += work.edits
        homes[work.digest].add(name)
    shown = files(found, ANA, window, 50, 0)
    assert sorted((each.edits, each.sub_sessions) for each in shown) == sorted(
        (edits[digest], len(names)) for digest, names in homes.items()
    )

    asked = Counter(
        (usage.model, row["intent"] or "unclassified")
        for row in listed
        for usage in {
            usage.model: usage for turn in worked[row["sub_session_id"]] for usage in turn.work.usage
        }.values()
    )
    models = model_task(found, ANA, window, 50, 0)
    assert {(each.model, each.intent_class): each.sub_sessions for each in models if each.model is not None} == asked


def test_files_are_added_up_over_turns() -> None:
    """Edits in a turn that told no changed line stand apart; so does the last moment of whoever touched the file."""
    log = Log()
    for minute, added in ((0, 3), (2, 0), (4, 0)):
        log.prompt("s1", f"go on with part {minute}", MONDAY + minute * MINUTE, cwd_digest=7)
        log.records("s1", edit(MONDAY + minute * MINUTE + SECOND, added=added, lines_removed=0))
    columns = "edits, lines_added, lines_removed, edits_without_lines, seen_us"
    found = project(log.facts).execute(f"SELECT {columns} FROM sub_session_files").fetchall()
    assert found == [(3, 3, 0, 2, MONDAY + 4 * MINUTE + SECOND)]


@pytest.mark.parametrize(
    ("usages", "totals"),
    [
        pytest.param([], [ModelTotals(None)], id="no request: nothing was reported of nobody"),
        pytest.param([usage("opus", output_tokens=1)], [ModelTotals("opus", 1, 1, True)], id="one token"),
        pytest.param(
            [usage("opus"), usage("opus", output_tokens=1)], [ModelTotals("opus", 2, 1)], id="none in one turn"
        ),
        pytest.param(
            [usage("unknown", unpriced_requests=1), ModelUsage("opus", 2, 3, 4, 5, 6, 7, 0, 1)],
            [ModelTotals(None, 1, unpriced_requests=1), ModelTotals("opus", 2, 18, True, 7, 0, 1)],
            id="tokens of all kinds; a model that nobody named has no name",
        ),
    ],
)
def test_models_are_added_up_over_turns(usages: list[ModelUsage], totals: list[ModelTotals]) -> None:
    """No request goes without a token: a model of which a turn told none did not report them."""
    assert model_totals(turn_at(number, work=Work(usage=(each,))) for number, each in enumerate(usages)) == totals
