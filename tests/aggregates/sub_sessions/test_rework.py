"""Rework: what takes back or repeats earlier, completed work, on each side of every bound."""

from typing import Any

import pytest
from msgspec.structs import replace

from aggregates.sub_sessions.arcs import ReworkReason, ReworkView, rework_of, why_rework
from tests.support.stages import DAY, uuid

ENDED_US = 30 * DAY
EARLIER = ReworkView(
    sub_session_id=uuid(1),
    agent_session_id="session",
    started_us=ENDED_US - 1,
    ended_us=ENDED_US,
    goal_complete=True,
    changed_files=(1, 2, 3, 4),
    touched_files=(1, 2, 3, 4),
    goal_tokens=(1, 2, 3, 4),
    reverts=False,
    corrects=False,
)
REPEATS = replace(EARLIER, sub_session_id=uuid(9), started_us=ENDED_US + DAY, ended_us=ENDED_US + 2 * DAY)
"""The same goal on the same files, a day later."""
OTHER_GOAL = replace(REPEATS, goal_tokens=(11, 12, 13))


def earlier(**fields: Any) -> ReworkView:
    return replace(EARLIER, **fields)


@pytest.mark.parametrize(
    ("after_us", "reworks"),
    [
        pytest.param(-1, False, id="started before the earlier one ended"),
        pytest.param(0, True, id="started as the earlier one ended"),
        pytest.param(7 * DAY, True, id="started seven days after the end"),
        pytest.param(7 * DAY + 1, False, id="started over seven days after the end"),
    ],
)
def test_rework_starts_within_seven_days_of_the_end(after_us: int, reworks: bool) -> None:
    """Counted from the earlier one's end to the later one's start."""
    later = replace(REPEATS, started_us=ENDED_US + after_us)
    assert rework_of(later, [EARLIER]) == (EARLIER.sub_session_id if reworks else None)


def test_only_completed_work_is_reworked() -> None:
    assert rework_of(REPEATS, [earlier(goal_complete=False)]) is None
    assert rework_of(OTHER_GOAL, [EARLIER]) is None


def test_the_newest_earlier_one_is_named() -> None:
    """By its end, then by its id; whatever the order they come in."""
    older = earlier(sub_session_id=uuid(5), ended_us=ENDED_US - 1)
    twin = earlier(sub_session_id=uuid(2))
    assert rework_of(REPEATS, [older, twin, EARLIER]) == uuid(2)
    assert rework_of(REPEATS, [EARLIER, older]) == uuid(1)


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        pytest.param((1, 2, 3, 4), "repeats", id="the same words"),
        pytest.param((1, 2, 3, 5), "repeats", id="three of five words"),
        pytest.param((2, 3, 4, 5, 6, 7), None, id="three of seven words"),
        pytest.param((1, 2, 3, 4, 5, 6, 7), None, id="four of seven words"),
        pytest.param((), None, id="no words"),
    ],
)
def test_the_goals_must_be_alike_in_six_of_ten_words(tokens: tuple[int, ...], reason: ReworkReason | None) -> None:
    """Shared words over all words, .6 or more."""
    assert why_rework(replace(REPEATS, goal_tokens=tokens), EARLIER) == reason


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param((1, 2, 3, 4), (3, 4, 5, 6, 7), "repeats", id="half of the earlier files"),
        pytest.param((1, 2, 3), (3, 4), None, id="a third of the earlier files, half of the later ones"),
        pytest.param((1,), (1, 2, 3, 4), "repeats", id="the one earlier file among four"),
        pytest.param((1, 2), (3, 4), None, id="no file"),
        pytest.param((), (1, 2), None, id="the earlier one changed nothing"),
        pytest.param((), (), None, id="neither changed anything"),
        pytest.param((1, 2), (), None, id="the later one changed nothing"),
    ],
)
def test_half_of_the_files_that_the_earlier_one_changed_are_changed_again(
    before: tuple[int, ...], after: tuple[int, ...], reason: ReworkReason | None
) -> None:
    """Half of the earlier one's, not of the smaller set."""
    assert why_rework(replace(REPEATS, changed_files=after), earlier(changed_files=before)) == reason


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        pytest.param((1, 2), "corrects", id="half of the earlier files"),
        pytest.param((1,), None, id="a quarter of the earlier files"),
    ],
)
def test_an_explicit_correction_needs_no_like_goal(files: tuple[int, ...], reason: ReworkReason | None) -> None:
    """But the same files; a correction is named before a repetition."""
    assert why_rework(replace(OTHER_GOAL, corrects=True, changed_files=files), EARLIER) == reason
    assert why_rework(replace(REPEATS, corrects=True), EARLIER) == "corrects"


@pytest.mark.parametrize(
    ("taken", "reason"),
    [
        pytest.param(((1,), (9,)), "reverts", id="half of what it names was changed there"),
        pytest.param(((1,), (8,), (9,)), "reverts", id="or half of what was changed there"),
        pytest.param(((8,), (9,)), None, id="nothing of it"),
    ],
)
def test_a_revert_that_names_files_is_of_those(taken: tuple[tuple[int, ...], ...], reason: ReworkReason | None) -> None:
    later = replace(OTHER_GOAL, reverts=True, reverted=taken, touched_files=(1, 2, 3, 4), changed_files=())
    assert why_rework(later, earlier(changed_parts=((1,), (2,)))) == reason


@pytest.mark.parametrize(
    ("touched", "session", "reason"),
    [
        pytest.param((1,), "another", "reverts", id="the one touched file, in another session"),
        pytest.param((4, 5), "another", "reverts", id="half of the touched files"),
        pytest.param((3, 5, 6), "another", None, id="a third of the touched files"),
        pytest.param((3, 5, 6), "session", None, id="a third of the touched files, in the same session"),
        pytest.param((), "session", "reverts", id="no file seen, in the same session"),
        pytest.param((), "another", None, id="no file seen, in another session"),
    ],
)
def test_a_revert_is_of_the_same_files_or_of_the_session_before(
    touched: tuple[int, ...], session: str, reason: ReworkReason | None
) -> None:
    """It asks for no like goal, and counts what it touched, changed or not."""
    later = replace(OTHER_GOAL, reverts=True, changed_files=(), touched_files=touched, agent_session_id=session)
    assert why_rework(later, EARLIER) == reason
    assert why_rework(replace(later, reverts=False), EARLIER) is None
