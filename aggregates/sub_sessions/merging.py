"""Merging neighbouring arcs of a developer into one sub-session (scoring.md, section 1, Merge)."""

from collections.abc import Iterable, Sequence
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.sub_sessions.arcs import Arc

MERGE_GAP_US = 10 * 60 * 1_000_000


def belongs_to(earlier: Sequence[Arc], arc: Arc) -> bool:
    """Whether an arc goes on with the sub-session before it: as a person said, else across a clear or an end."""
    if arc.said is not None:
        return not arc.said
    last = earlier[-1]
    if last.closed_by not in ("clear", "end") or last.closed_us is None or last.cwd_digest is None:
        return False
    gap_us = arc.started_us - last.closed_us
    if not 0 <= gap_us <= MERGE_GAP_US or arc.cwd_digest != last.cwd_digest:
        return False
    touched = frozenset().union(*(each.touched_files for each in earlier))
    return shares_half(touched, frozenset(arc.touched_files))


def shares_half(one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether at least half of the smaller non-empty set lies in the other."""
    smaller = min(len(one), len(other))
    return smaller > 0 and 2 * len(one & other) >= smaller


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


def rework_of(later: ReworkView, earlier: Iterable[ReworkView]) -> UUID | None:
    """The newest earlier sub-session that this one reworks, or None."""
    candidates = [
        (each.ended_us, each.sub_session_id)
        for each in earlier
        if each.goal_complete
        and 0 <= later.started_us - each.ended_us <= REWORK_WINDOW_US
        and why_rework(later, each) is not None
    ]
    return max(candidates)[1] if candidates else None


def why_rework(later: ReworkView, each: ReworkView) -> ReworkReason | None:
    if later.reverts and _same_ground(later, each):
        return "reverts"
    changed_again = len(frozenset(each.changed_files).intersection(later.changed_files))
    if not each.changed_files or 2 * changed_again < len(each.changed_files):
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


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Shared over all; 0 where both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
