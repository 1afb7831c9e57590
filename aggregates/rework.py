"""Rework: a sub-session that takes back or repeats an earlier, completed one (scoring.md, section 4)."""

from collections.abc import Iterable
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.merging import shares_half

REWORK_WINDOW_US = 7 * 24 * 3600 * 1_000_000
SAME_GOAL_JACCARD = 0.6

ReworkReason = Literal["reverts", "corrects", "repeats"]
"""It takes the earlier work back; changes the same files and says that they are wrong; or asks for the same again."""


class ReworkView(msgspec.Struct, frozen=True, array_like=True):
    """What the rework rule needs to know of a sub-session."""

    sub_session_id: UUID
    agent_session_id: str
    """Of its last arc."""
    started_us: int
    ended_us: int
    goal_complete: bool
    changed_files: tuple[int, ...]
    touched_files: tuple[int, ...]
    goal_tokens: tuple[int, ...]
    reverts: bool
    corrects: bool
    """Whether its goal prompt says that earlier work is wrong."""


def rework_of(later: ReworkView, earlier: Iterable[ReworkView]) -> UUID | None:
    """The newest earlier sub-session that this one reworks, or None."""
    candidates = [each for each in earlier if _in_reach(later, each) and why_rework(later, each) is not None]
    if not candidates:
        return None
    return max(candidates, key=lambda each: (each.ended_us, each.sub_session_id)).sub_session_id


def _in_reach(later: ReworkView, each: ReworkView) -> bool:
    return each.goal_complete and 0 <= later.started_us - each.ended_us <= REWORK_WINDOW_US


def why_rework(later: ReworkView, each: ReworkView) -> ReworkReason | None:
    """Why a sub-session is rework of an earlier, completed one within reach; None where it is not."""
    if later.reverts and _same_ground(later, each):
        return "reverts"
    if not each.changed_files or not _half_of(each.changed_files, later.changed_files):
        return None
    if later.corrects:
        return "corrects"
    alike = jaccard(frozenset(later.goal_tokens), frozenset(each.goal_tokens))
    return "repeats" if alike >= SAME_GOAL_JACCARD else None


def _same_ground(later: ReworkView, each: ReworkView) -> bool:
    """A revert concerns what it touches; where no file was observed, the work just before it in its session."""
    if later.touched_files:
        return shares_half(frozenset(later.touched_files), frozenset(each.changed_files))
    return later.agent_session_id == each.agent_session_id


def _half_of(earlier_files: Iterable[int], later_files: Iterable[int]) -> bool:
    earlier = frozenset(earlier_files)
    return 2 * len(earlier.intersection(later_files)) >= len(earlier)


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Shared over all; 0 where both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
