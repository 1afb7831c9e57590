"""Rework: what takes back or repeats earlier, completed work, on each side of every bound."""

from typing import Any

from msgspec.structs import replace

from aggregates.sub_sessions.arcs import ReworkReason, ReworkView, rework_of, why_rework
from tests.support.stages import DAY, uuid
from tests.support.tables import table

ENDED_US = 30 * DAY
EARLIER = ReworkView(
    uuid(1), "session", ENDED_US - 1, ENDED_US, True, (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), False, False
)
AGAIN = replace(EARLIER, sub_session_id=uuid(9), started_us=ENDED_US + DAY, ended_us=ENDED_US + 2 * DAY)
"""The same goal on the same files, a day later."""
OTHER_GOAL: dict[str, Any] = {"goal_tokens": (11, 12, 13)}


def corrects(*files: int) -> dict[str, Any]:
    return OTHER_GOAL | {"corrects": True, "changed_files": files}


def reverts(*touched: int, session: str = "another", **fields: Any) -> dict[str, Any]:
    told = {"reverts": True, "changed_files": (), "touched_files": touched, "agent_session_id": session}
    return OTHER_GOAL | told | fields


PARTS = {"changed_parts": ((1,), (2,))}


@table(
    ("before", "after", "reason"),
    {
        "started before the earlier one ended": ({}, {"started_us": ENDED_US - 1}, None),
        "started as the earlier one ended": ({}, {"started_us": ENDED_US}, "repeats"),
        "started seven days after the end": ({}, {"started_us": ENDED_US + 7 * DAY}, "repeats"),
        "started over seven days after the end": ({}, {"started_us": ENDED_US + 7 * DAY + 1}, None),
        "only completed work is reworked": ({"goal_complete": False}, {}, None),
        "the same words": ({}, {}, "repeats"),
        "three of five words": ({}, {"goal_tokens": (1, 2, 3, 5)}, "repeats"),
        "three of seven words": ({}, {"goal_tokens": (2, 3, 4, 5, 6, 7)}, None),
        "four of seven words": ({}, {"goal_tokens": (1, 2, 3, 4, 5, 6, 7)}, None),
        "no words": ({}, {"goal_tokens": ()}, None),
        "another goal": ({}, OTHER_GOAL, None),
        "half of the earlier files": ({}, {"changed_files": (3, 4, 5, 6, 7)}, "repeats"),
        "a third of the earlier files, half of the later": (
            {"changed_files": (1, 2, 3)},
            {"changed_files": (3, 4)},
            None,
        ),
        "the one earlier file among four": ({"changed_files": (1,)}, {}, "repeats"),
        "no file": ({"changed_files": (1, 2)}, {"changed_files": (3, 4)}, None),
        "the earlier one changed nothing": ({"changed_files": ()}, {}, None),
        "neither changed anything": ({"changed_files": ()}, {"changed_files": ()}, None),
        "the later one changed nothing": ({}, {"changed_files": ()}, None),
        "a correction is named before a repetition": ({}, {"corrects": True}, "corrects"),
        "a correction of half of the earlier files": ({}, corrects(1, 2), "corrects"),
        "a correction of a quarter of the earlier files": ({}, corrects(1), None),
        "half of what a revert names was changed there": (PARTS, reverts(1, 2, reverted=((1,), (9,))), "reverts"),
        "or half of what was changed there": (PARTS, reverts(1, 2, reverted=((1,), (8,), (9,))), "reverts"),
        "nothing of what a revert names": (PARTS, reverts(1, 2, 3, 4, reverted=((8,), (9,))), None),
        "the one file that a revert touched": ({}, reverts(1), "reverts"),
        "half of the touched files": ({}, reverts(4, 5), "reverts"),
        "a third of the touched files": ({}, reverts(3, 5, 6), None),
        "a third of the touched files, in the same session": ({}, reverts(3, 5, 6, session="session"), None),
        "a revert without a file, in the same session": ({}, reverts(session="session"), "reverts"),
        "a revert without a file, in another session": ({}, reverts(), None),
    },
)
def test_rework_takes_back_or_repeats_completed_work(
    before: dict[str, Any], after: dict[str, Any], reason: ReworkReason | None
) -> None:
    """Within seven days of its end, on half of the files it changed; a goal is alike from .6 of all words on.

    A correction and a revert ask for no like goal, and a revert counts what it touched, changed or not.
    """
    earlier, later = replace(EARLIER, **before), replace(AGAIN, **after)
    found = rework_of(later, [earlier])
    assert (found and why_rework(later, earlier)) == reason


def test_the_newest_earlier_one_is_named() -> None:
    """By its end, then by its id; whatever the order they come in."""
    older = replace(EARLIER, sub_session_id=uuid(5), ended_us=ENDED_US - 1)
    twin = replace(EARLIER, sub_session_id=uuid(2))
    assert rework_of(AGAIN, [older, twin, EARLIER]) == uuid(2)
    assert rework_of(AGAIN, [EARLIER, older]) == uuid(1)
