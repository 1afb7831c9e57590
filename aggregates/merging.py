"""Merging neighbouring arcs of a developer into one sub-session (scoring.md, section 1, Merge)."""

from collections.abc import Iterable, Sequence

from aggregates.arcs import Arc

MERGE_GAP_US = 10 * 60 * 1_000_000


def merge_arcs(arcs: Iterable[Arc]) -> list[list[Arc]]:
    """Group a developer's arcs, given in time order, into sub-sessions; pairs are looked at in time order."""
    groups: list[list[Arc]] = []
    for arc in arcs:
        if groups and belongs_to(groups[-1], arc):
            groups[-1].append(arc)
        else:
            groups.append([arc])
    return groups


def belongs_to(earlier: Sequence[Arc], arc: Arc) -> bool:
    """Whether an arc goes on with the sub-session before it.

    As a person said, else across a clear or a session's end.
    """
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


def ordered(arcs: Iterable[Arc]) -> list[Arc]:
    """Time order; ties by id, so that the order never depends on arrival."""
    return sorted(arcs, key=lambda arc: (arc.started_us, arc.arc_id))
