"""Cutting a session's turns into arcs: consecutive turns that pursue one goal (scoring.md, section 1, Boundaries).

A person's word goes before every boundary, and every lack of one.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.judging.boundary import TURNS_MAX, OpenArc, cannot_shift, contributions, topic_shift, verdict_of
from aggregates.judging.rubric import NO_GAP_ANSWERS, GapAnswer, answered_boundary
from aggregates.reading.verdicts import EMBEDDED, BoundaryVerdict, Evidence
from aggregates.turns.turn import COMMIT, Parts, Turn, covered

QUIET_US = 30 * 60 * 1_000_000  # a session that has been quiet for this long has settled, until it goes on
BoundaryKind = Literal["start", "clear", "end", "topic", "commit", "person"]
"""Why an arc opened; as the end of an arc, why the next one did not continue it."""
FULL = f"the sub-session before it has {TURNS_MAX} turns"
NO_GAP_OVERRIDES: Mapping[UUID, bool] = MappingProxyType({})


class Arc(msgspec.Struct, frozen=True, array_like=True):
    """One goal arc of one agent session. Its id is that of its opening turn."""

    arc_id: UUID
    agent_session_id: str
    started_us: int
    last_activity_us: int
    turn_ids: tuple[UUID, ...]
    opened_by: BoundaryKind
    closed_by: BoundaryKind | None  # none while nothing but silence ends it
    closed_us: int | None  # when the boundary was seen: a clear, an end, or the next arc's first turn
    cwd_digest: int | None
    touched_files: tuple[int, ...]
    changed_files: tuple[int, ...]
    shift: BoundaryVerdict | None  # what the boundary judge said where it opened this arc
    said: bool | None = None  # whether there is a boundary before it, as a person said; None where nobody did
    continuations: tuple[BoundaryVerdict, ...] = ()  # what text models said where they saw no boundary within it
    unsure: tuple[tuple[UUID, float], ...] = ()
    """The turns within it before which the embedded judge hardly saw no boundary, with the chance that there is one."""
    end_chance: float | None = None  # of a boundary behind it, where the embedded judge hardly saw one
    parted: bool = False  # whether a person said that the session's next turn opens another one

    @property
    def settles_at_us(self) -> int:
        quiet_us = self.last_activity_us + QUIET_US
        return quiet_us if self.closed_us is None else min(quiet_us, self.closed_us)


class _Open(OpenArc):
    def __init__(self, first: Turn, opened_by: BoundaryKind, shift: BoundaryVerdict | None) -> None:
        super().__init__([first])
        self.opened_by, self.shift = opened_by, shift
        self.continuations: list[BoundaryVerdict] = []
        self.unsure: list[tuple[UUID, float]] = []

    def go_on(self, turn: Turn, verdict: BoundaryVerdict | None) -> None:
        self.add(turn)
        if verdict is not None and verdict.judge != EMBEDDED:
            self.continuations.append(verdict)
        elif verdict is not None and verdict.unsure:
            self.unsure.append((turn.turn_id, verdict.chance))


def cut_arcs(
    turns: Sequence[Turn],
    opened_by: BoundaryKind,
    shift: BoundaryVerdict | None,
    said: Mapping[UUID, bool] = NO_GAP_OVERRIDES,
    answers: Mapping[UUID, GapAnswer] = NO_GAP_ANSWERS,
) -> list[Arc]:
    """The arcs of turns in time order; the first turn opens one, for the reason given.

    `said`: turn → whether there is a boundary before it, as people said; that there is none counts when arcs are
    merged. `answers`: turn → a text model's answer about the gap before it.
    """
    if not turns:
        return []
    arcs: list[Arc] = []
    current = _Open(turns[0], opened_by, shift)
    for turn in turns[1:]:
        spoken, answer = said.get(turn.turn_id), answers.get(turn.turn_id)
        boundary, verdict = ("person", None) if spoken else _boundary(current, turn, answer)
        if boundary is not None:
            opening = _Open(turn, boundary, verdict)
            arcs.append(_close(current, opening, said))
            current = opening
        else:
            current.go_on(turn, verdict)
    arcs.append(_close(current, None, said))
    return arcs


def _boundary(arc: OpenArc, turn: Turn, answer: GapAnswer | None) -> tuple[BoundaryKind | None, BoundaryVerdict | None]:
    if turn.opening in ("clear", "end"):
        return turn.opening, None
    if len(arc.turns) >= TURNS_MAX:
        return "topic", BoundaryVerdict(True, 1.0, (Evidence(FULL, turn.position),))
    after_commit = committed(arc)
    opens: BoundaryKind = "commit" if after_commit else "topic"
    answered = answered_boundary(arc, turn, answer)
    if answered is not None:
        return (opens if answered.shift else None), answered
    verdict = topic_shift(arc, turn, after_commit=after_commit)
    return (opens if verdict.shift else None), verdict


def committed(arc: OpenArc) -> bool:
    return arc.has_change and COMMIT in arc.last.work.marks


def _close(current: _Open, opening: _Open | None, said: Mapping[UUID, bool]) -> Arc:
    """`opening`: what the next turn opens; None where none follows."""
    first, last = current.turns[0], current.turns[-1]
    closed_by, closed_us = (None, None) if opening is None else (opening.opened_by, opening.turns[0].started_us)
    if last.closed_us is not None:
        closed_by, closed_us = last.closed_by, last.closed_us
    shift = None if opening is None else opening.shift
    return Arc(
        arc_id=first.turn_id,
        agent_session_id=first.agent_session_id,
        started_us=first.started_us,
        last_activity_us=max(turn.last_activity_us for turn in current.turns),
        turn_ids=tuple(turn.turn_id for turn in current.turns),
        opened_by=current.opened_by,
        closed_by=closed_by,
        closed_us=closed_us,
        cwd_digest=next((t.cwd_digest for t in reversed(current.turns) if t.cwd_digest is not None), None),
        touched_files=tuple(sorted(frozenset().union(*(turn.work.touched_files for turn in current.turns)))),
        changed_files=tuple(sorted(frozenset().union(*(turn.work.changed_files for turn in current.turns)))),
        shift=current.shift,
        said=said.get(first.turn_id),
        continuations=tuple(current.continuations),
        unsure=tuple(current.unsure),
        end_chance=shift.chance if shift is not None and shift.unsure else None,
        parted=opening is not None and said.get(opening.turns[0].turn_id, False),
    )


class Gap(msgspec.Struct, frozen=True):
    arc: tuple[Turn, ...]
    turn: Turn
    chance: float  # that it opens another topic, as the embedded judge says, 0-1
    logit: int  # what it sums up to, in thousandths; above 0: another topic


def unsure_gaps(before: Sequence[Turn], turns: Sequence[Turn], spoken: Container[UUID]) -> list[Gap]:
    """The gaps of an arc of these `turns` that the embedded judge is unsure of, in order.

    `before`: the turns of the arc before it, where a judge parted the two. `spoken`: turns that a person spoke about.
    """
    found = _unsure(OpenArc(before), turns[0]) if before else []
    so_far = OpenArc(turns[:1])
    for turn in turns[1:]:
        found += _unsure(so_far, turn)
        so_far.add(turn)
    return [gap for gap in found if gap.turn.turn_id not in spoken]


def _unsure(arc: OpenArc, turn: Turn) -> list[Gap]:
    if len(arc.turns) >= TURNS_MAX or cannot_shift(arc, turn) is not None:
        return []
    logit = sum(weight for _, weight in contributions(arc, turn, after_commit=committed(arc)))
    verdict = verdict_of(logit)
    return [Gap(tuple(arc.turns), turn, verdict.chance, logit)] if verdict.unsure else []


# Merging neighbouring arcs of a developer into one sub-session (scoring.md, section 1, Merge).

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
    smaller = min(len(one), len(other))
    return smaller > 0 and 2 * len(one & other) >= smaller


REWORK_WINDOW_US = 7 * 24 * 3600 * 1_000_000
SAME_GOAL_JACCARD = 0.6
ReworkReason = Literal["reverts", "corrects", "repeats"]
"""It takes the earlier work back; changes the same files and says that they are wrong; or asks for the same again."""


class ReworkView(msgspec.Struct, frozen=True, array_like=True):
    sub_session_id: UUID
    agent_session_id: str  # of its last arc
    started_us: int
    ended_us: int
    goal_complete: bool
    changed_files: tuple[int, ...]
    touched_files: tuple[int, ...]
    goal_tokens: tuple[int, ...]
    reverts: bool
    corrects: bool
    reverted: tuple[Parts, ...] = ()  # the files and folders that it takes back, where they were named
    changed_parts: tuple[Parts, ...] = ()  # the changed files, at most `FILES_MAX`


def rework_of(later: ReworkView, earlier: Iterable[ReworkView]) -> UUID | None:
    candidates = [
        (each.ended_us, each.sub_session_id)
        for each in earlier
        if each.goal_complete
        and 0 <= later.started_us - each.ended_us <= REWORK_WINDOW_US
        and why_rework(later, each) is not None
    ]
    return max(candidates)[1] if candidates else None


def why_rework(later: ReworkView, each: ReworkView) -> ReworkReason | None:
    if later.reverts and _takes_back(later, each):
        return "reverts"
    changed_again = len(frozenset(each.changed_files).intersection(later.changed_files))
    if not each.changed_files or 2 * changed_again < len(each.changed_files):
        return None
    if later.corrects:
        return "corrects"
    alike = jaccard(frozenset(later.goal_tokens), frozenset(each.goal_tokens))
    return "repeats" if alike >= SAME_GOAL_JACCARD else None


def _takes_back(later: ReworkView, each: ReworkView) -> bool:
    """A revert concerns the files that it names, else those it touches; with no file in sight, the work just before it
    in its session."""
    if later.reverted:
        count = covered(each.changed_parts, later.reverted)
        return count > 0 and 2 * count >= min(len(later.reverted), len(each.changed_parts))
    if later.touched_files:
        return shares_half(frozenset(later.touched_files), frozenset(each.changed_files))
    return later.agent_session_id == each.agent_session_id


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Shared over all; 0 where both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
