"""From captures and observations of one agent session to its turns (scoring.md, section 1).

Everything here works on a tail of the session: all captures and observations that belong to turns from some turn on.
The result depends on the set of facts only, not on the order in which they arrived.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.ids import turn_id_from_capture, turn_id_from_host
from aggregates.reading.reading import PromptReading, ResponseReading
from aggregates.turns.turn import ANSWERED, UNKNOWN_MODEL, ModelUsage, Observation, Opening, Turn, sum_work

SKEW_US = 10 * 60 * 1_000_000
"""A time further ahead of the server's than this is replaced by the time of receipt."""
ALIKE_MAX = 64
"""Of the prompts of one text within the window so many are looked at."""
JOIN_WINDOW_US = 2 * 60 * 1_000_000
"""A plugin's capture and an agent's log of the same text within this time are one prompt."""
NO_ACTIVITY = ("session_start", "session_end", "lines")
"""That a session is opened, cleared or left is nothing that the agent did for the prompt before it; and a counter tells
what was done by then, whenever it comes around."""
CaptureKind = Literal["plugin", "transcript", "log"]
_LEADING: tuple[CaptureKind, ...] = ("plugin", "transcript", "log")
"""Whose text is read where a prompt was captured more than once: a plugin's and a transcript's are whole."""


class Capture(msgspec.Struct, frozen=True, array_like=True):
    """One capture of a prompt: by a plugin, from an imported transcript, or as a line of the agent's own log."""

    capture_id: UUID
    kind: CaptureKind
    at_us: int
    position: int
    host_prompt_id: str | None
    text_digest: int | None
    reading: PromptReading | None
    cwd_digest: int | None = None
    words_start: int = 0


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The response a plugin captured for one prompt."""

    at_us: int
    """When the agent answered, else when the server heard of it."""
    timed: bool
    position: int
    reading: ResponseReading | None
    elapsed_ms: int | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_usd_nano: int | None
    lower_bound: bool = False
    """Whether the cost leaves something out that could not be priced exactly."""

    def answered_us(self, prompted_us: int) -> int:
        """As the client said, else the prompt's time and the time it took, else the time of receipt."""
        if self.timed or self.elapsed_ms is None:
            return max(self.at_us, prompted_us)
        said_us = prompted_us + self.elapsed_ms * 1_000
        return max(self.at_us, prompted_us) if said_us > self.at_us + SKEW_US else said_us


class PlacedObservation(msgspec.Struct, frozen=True, array_like=True):
    """An observation with its place: when, in which fact, under which record id."""

    at_us: int
    record_id: str
    position: int
    observation: Observation


class Aliases(msgspec.Struct, frozen=True):
    """Every id under which a turn may once have been known."""

    turn_id: UUID
    ids: tuple[UUID, ...]
    host_prompt_id: str | None
    """The host's name for the prompt, where it is this turn's to use."""


class CaptureGroup(msgspec.Struct):
    """Captures that are one prompt: at most one of each kind."""

    captures: list[Capture]

    @property
    def started_us(self) -> int:
        return min(capture.at_us for capture in self.captures)

    @property
    def lead(self) -> Capture:
        return min(self.captures, key=lambda capture: _LEADING.index(capture.kind))

    @property
    def host_prompt_id(self) -> str | None:
        return next((c.host_prompt_id for c in self.captures if c.host_prompt_id is not None), None)

    def lacks(self, kind: str) -> bool:
        return all(capture.kind != kind for capture in self.captures)


def join_captures(captures: Sequence[Capture], taken_names: Set[str] = frozenset()) -> list[CaptureGroup]:
    """Group captures of the same prompt: by the prompt id they name, else by the same text within two minutes.

    `taken_names`: prompt ids of earlier turns, by which nothing is joined any more.
    """
    ordered = sorted(captures, key=lambda capture: (capture.at_us, capture.kind, capture.capture_id))
    groups: list[CaptureGroup] = []
    by_host: dict[str, CaptureGroup] = {}
    by_text: dict[int, deque[CaptureGroup]] = {}
    for capture in ordered:
        name = None if capture.host_prompt_id in taken_names else capture.host_prompt_id
        group = _same_prompt(capture, name, by_host, by_text)
        if group is None:
            group = CaptureGroup([])
            groups.append(group)
            if capture.text_digest is not None:
                by_text.setdefault(capture.text_digest, deque()).append(group)
        group.captures.append(capture)
        if name is not None:
            by_host.setdefault(name, group)
    return sorted(groups, key=lambda group: (group.started_us, group.lead.capture_id))


def _same_prompt(
    capture: Capture, name: str | None, by_host: Mapping[str, CaptureGroup], by_text: Mapping[int, deque[CaptureGroup]]
) -> CaptureGroup | None:
    named = None if name is None else by_host.get(name)
    if named is not None and named.lacks(capture.kind):
        return named
    if capture.text_digest is None:
        return None
    alike = by_text.get(capture.text_digest, deque())
    while alike and capture.at_us - alike[0].started_us > JOIN_WINDOW_US:
        alike.popleft()  # nor will a later capture be near it
    for group in islice(alike, ALIKE_MAX):
        # Two captures that name different prompts are two prompts, however alike their texts are.
        unnamed = capture.host_prompt_id is None or group.host_prompt_id is None
        if unnamed and group.lacks(capture.kind):
            return group
    return None


def build_turns(
    agent_session_id: str,
    captures: Sequence[Capture],
    answers: Mapping[UUID, Answer],
    seen: Sequence[PlacedObservation],
    *,
    openings: Mapping[UUID, Opening | None],
    taken_names: Set[str] = frozenset(),
) -> tuple[list[Turn], list[Aliases]]:
    """The turns of a session's tail, in time order, and the ids they answer to. `seen` is in time order.

    `openings`: how the first turns of the tail opened, by their ids; empty where the tail is the whole session.
    `taken_names`: prompt ids that name an earlier turn.
    """
    named = _named(agent_session_id, join_captures(captures, taken_names), taken_names)
    assigned = _assign([group for _, group in named], seen)
    turns = [
        _build(agent_session_id, turn_id, group, _answer(group, answers), own)
        for (turn_id, group), own in zip(named, assigned, strict=True)
    ]
    return _with_openings(turns, seen, openings), [_aliases(agent_session_id, *each) for each in named]


def _named(
    agent_session_id: str, groups: Sequence[CaptureGroup], taken_names: Set[str]
) -> list[tuple[UUID, CaptureGroup]]:
    """The groups with the ids of their turns, in time order. The host's name gives the id of the first that uses it."""
    used = {turn_id_from_host(agent_session_id, name) for name in taken_names}
    named: list[tuple[UUID, CaptureGroup]] = []
    for group in groups:
        turn_id = turn_id_from_capture(group.lead.capture_id)
        if group.host_prompt_id is not None:
            by_host = turn_id_from_host(agent_session_id, group.host_prompt_id)
            turn_id = turn_id if by_host in used else by_host
        used.add(turn_id)
        named.append((turn_id, group))
    return sorted(named, key=lambda pair: (pair[1].started_us, pair[0]))


def _aliases(agent_session_id: str, turn_id: UUID, group: CaptureGroup) -> Aliases:
    captured = [capture.capture_id for capture in group.captures]
    name = group.host_prompt_id
    own_name = name is not None and turn_id_from_host(agent_session_id, name) == turn_id
    ids = {turn_id, *captured, *map(turn_id_from_capture, captured)}
    return Aliases(turn_id, tuple(sorted(ids)), name if own_name else None)


def _assign(groups: Sequence[CaptureGroup], seen: Sequence[PlacedObservation]) -> list[list[PlacedObservation]]:
    """Each observation belongs to the prompt it names, else to the last prompt before it."""
    starts = [group.started_us for group in groups]
    by_host: dict[str, int] = {}
    for index, group in enumerate(groups):
        for capture in group.captures:
            if capture.host_prompt_id is not None:
                by_host.setdefault(capture.host_prompt_id, index)
    assigned: list[list[PlacedObservation]] = [[] for _ in groups]
    for each in seen if groups else ():
        named = by_host.get(each.observation.prompt_id or "")
        index = named if named is not None else max(0, bisect_right(starts, each.at_us) - 1)
        assigned[index].append(each)
    return assigned


def _build(
    agent_session_id: str, turn_id: UUID, group: CaptureGroup, answer: Answer | None, own: Sequence[PlacedObservation]
) -> Turn:
    lead = group.lead
    responses = [each for each in own if each.observation.kind == "response"]
    work = sum_work([(each.position, each.observation) for each in own])
    if answer is not None and not work.usage:
        work = msgspec.structs.replace(work, usage=_answer_usage(answer))
    last_seen_us = max((each.at_us for each in own if each.observation.kind not in NO_ACTIVITY), default=0)
    answered_us, response, response_position = 0, None, None
    if answer is not None:
        answered_us, response, response_position = answer.answered_us(lead.at_us), answer.reading, answer.position
    elif responses:
        response, response_position = responses[-1].observation.response, responses[-1].position
    return Turn(
        turn_id=turn_id,
        agent_session_id=agent_session_id,
        started_us=group.started_us,
        last_activity_us=max(group.started_us, last_seen_us, answered_us),
        capture_id=lead.capture_id,
        position=lead.position,
        prompt=lead.reading,
        response=response,
        response_position=response_position,
        answered=answer is not None or bool(responses) or ANSWERED in work.marks,
        work=work,
        opening=None,
        closed_us=None,
        closed_by=None,
        cwd_digest=next((c.cwd_digest for c in group.captures if c.cwd_digest is not None), None),
        elapsed_ms=None if answer is None else answer.elapsed_ms,
        words_start=lead.words_start,
        from_log=lead.kind == "log",
    )


def _answer(group: CaptureGroup, answers: Mapping[UUID, Answer]) -> Answer | None:
    """The plugin's answer first, else that of the transcript."""
    answered = [capture for capture in group.captures if capture.capture_id in answers]
    return answers[min(answered, key=lambda each: _LEADING.index(each.kind)).capture_id] if answered else None


def _answer_usage(answer: Answer) -> tuple[ModelUsage, ...]:
    """A response capture's numbers stand in where no request log covers the turn."""
    tokens = (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens, answer.cache_write_tokens)
    cost = answer.cost_usd_nano
    if cost is None and all(count is None for count in tokens):
        return ()
    counts = (1, *(count or 0 for count in tokens), cost or 0, int(cost is None), int(answer.lower_bound), 1)
    return (ModelUsage(answer.model or UNKNOWN_MODEL, *counts),)


def _with_openings(
    turns: Sequence[Turn], seen: Sequence[PlacedObservation], known: Mapping[UUID, Opening | None]
) -> list[Turn]:
    """Mark where the session was cleared or ended, and by which turn activity went on."""
    starts = [turn.started_us for turn in turns]
    openings: list[Opening | None] = [None] * len(turns)
    closings: dict[int, tuple[int, Literal["clear", "end"]]] = {}
    for each in seen:
        closing = _closing(each.observation)
        index = bisect_right(starts, each.at_us) - 1
        if closing is None or index < 0 or (closing == "clear" and _clears(turns[index])):
            continue
        closings.setdefault(index, (each.at_us, closing))
        if index + 1 < len(turns):
            openings[index + 1] = closings[index][1]
    for index, turn in enumerate(turns):
        if _clears(turn):
            openings[index] = "clear"
            closings.setdefault(index - 1, (turn.started_us, "clear"))
    if turns and not known:
        openings[0] = "start"
    placed = []
    for index, turn in enumerate(turns):
        closed_us, closed_by = closings.get(index, (None, None))
        opening = known.get(turn.turn_id, openings[index])
        placed.append(msgspec.structs.replace(turn, opening=opening, closed_us=closed_us, closed_by=closed_by))
    return placed


def _clears(turn: Turn) -> bool:
    return turn.prompt is not None and turn.prompt.clears


def _closing(observation: Observation) -> Literal["clear", "end"] | None:
    if observation.source == "clear" and observation.kind in ("session_start", "session_end"):
        return "clear"
    return "end" if observation.kind == "session_end" else None
