"""From captures and observations of one agent session to its turns (scoring.md, section 1).

Everything here works on a tail of the session: all captures and observations that belong to turns from some turn on.
The result depends on the set of facts only, not on the order in which they arrived.
"""

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Mapping, Sequence, Set
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.ids import turn_id_from_capture, turn_id_from_host
from aggregates.reading.readings import BUTTON, PromptReading
from aggregates.records.record import OF_SUB_AGENT
from aggregates.turns.turn import ANSWERED, API_ERROR, CapturedResponse, Observation, Opening, Turn, sum_work, usage_of

# Which captures are one prompt, and which of them an agent wrote in a person's place.

MAX_JOIN_CANDIDATES = 64  # of the prompts of one text within the window so many are looked at
JOIN_WINDOW_US = 2 * 60 * 1_000_000  # a plugin's capture and a log's of one text within this time are one prompt
CaptureKind = Literal["plugin", "transcript", "archive", "log"]  # an archive is another program's copy of transcripts
LEADING: tuple[CaptureKind, ...] = ("plugin", "transcript", "archive", "log")  # whose text is read, of those there are
OF_FILES: tuple[CaptureKind, ...] = ("transcript", "archive")


class Capture(msgspec.Struct, frozen=True, array_like=True):
    capture_id: UUID
    kind: CaptureKind
    at_us: int
    position: int
    host_prompt_id: str | None
    text_digest: int | None
    reading: PromptReading | None
    cwd_digest: int | None = None
    words_start: int = 0
    sent_again: str | None = None  # equal for the times that an agent sent one prompt, where it tells each of them
    agent: str | None = None  # that was asked, as it names itself


Copies = Mapping[UUID, Sequence[tuple[str, Capture]]]
"""Of a capture those of the same prompt in other sessions; what was seen there of the prompt names them."""


class CaptureGroup(msgspec.Struct):
    """Captures that are one prompt: at most one of each kind, but for a prompt that was sent again."""

    captures: list[Capture]
    copies: list[tuple[str, Capture]] = []
    typed_during: str | None = None  # the prompt id of the turn that was running when this was typed
    made: list[Capture] = []  # what an agent wrote in a person's place until the next prompt, and a clear

    @property
    def started_us(self) -> int:
        """A file that is imported later changes no time that was seen live."""
        live = [capture.at_us for capture in self.captures if capture.kind not in OF_FILES]
        return min(live or (capture.at_us for capture in self.captures))

    @property
    def ranked(self) -> list[Capture]:
        """The one whose text is read first: what was typed, not what an agent put in its place."""
        return sorted(self.captures, key=lambda capture: (not _is_command(capture), LEADING.index(capture.kind)))

    @property
    def lead(self) -> Capture:
        return self.ranked[0]

    @property
    def host_prompt_id(self) -> str | None:
        return next((c.host_prompt_id for c in self.captures if c.host_prompt_id is not None), None)

    def lacks(self, kind: str) -> bool:
        return all(capture.kind != kind for capture in self.captures)


def join_captures(captures: Sequence[Capture], taken_names: Set[str] = frozenset()) -> list[CaptureGroup]:
    """Group captures of the same prompt: by the prompt id they name, else by the same text within two minutes.

    `taken_names`: prompt ids of earlier turns, by which nothing is joined any more. A prompt that is typed while the
    agent works names the turn that runs: such a name is taken as well.
    """
    ordered = sorted(captures, key=lambda capture: (capture.at_us, capture.kind, capture.capture_id))
    groups: list[CaptureGroup] = []
    by_host: dict[str, CaptureGroup] = {}
    by_text: dict[int, deque[CaptureGroup]] = {}
    again: dict[str | None, CaptureGroup] = {}
    persons, made = _by_author(ordered)
    for capture in persons:
        name, during = capture.host_prompt_id, None
        if name is not None and (name in taken_names or (name in by_host and not by_host[name].lacks(capture.kind))):
            name, during = None, name
            capture = msgspec.structs.replace(capture, host_prompt_id=None)
        group = again.get(capture.sent_again) or _same_prompt(capture, by_host, by_text)
        if group is None:
            group = CaptureGroup([])
            groups.append(group)
            if capture.text_digest is not None:
                by_text.setdefault(capture.text_digest, deque()).append(group)
        group.captures.append(capture)
        if capture.sent_again is not None:
            again[capture.sent_again] = group
        group.typed_during = group.typed_during or during
        if name is not None:
            by_host.setdefault(name, group)
    groups.sort(key=lambda group: (group.started_us, group.lead.capture_id))
    groups = _with_expansions(groups)
    starts = [group.started_us for group in groups]
    for capture in made:
        place = bisect_right(starts, capture.at_us) - 1
        if place >= 0:
            groups[place].made.append(capture)
    return groups


def _by_author(ordered: Sequence[Capture]) -> tuple[list[Capture], list[Capture]]:
    """What persons wrote, and what agents wrote in their place, or what no model was asked.

    A button may begin a session; it names nothing, since a prompt that proves to stand before it makes it none.
    """
    persons, made, begun = [], [], False
    for capture in ordered:
        if _asks_nothing(capture):
            made.append(capture)
            continue
        maker = None if capture.reading is None else capture.reading.maker
        begun = begun or maker is None
        if maker is None:
            persons.append(capture)
        elif maker == BUTTON and not begun:
            persons.append(msgspec.structs.replace(capture, host_prompt_id=None))
        else:
            made.append(capture)
    return persons, made


def _same_prompt(
    capture: Capture, by_host: Mapping[str, CaptureGroup], by_text: Mapping[int, deque[CaptureGroup]]
) -> CaptureGroup | None:
    named = None if capture.host_prompt_id is None else by_host.get(capture.host_prompt_id)
    if named is not None:
        return named
    if capture.text_digest is None:
        return None
    alike = by_text.get(capture.text_digest, deque())
    while alike and capture.at_us - alike[0].started_us > JOIN_WINDOW_US:
        alike.popleft()  # nor will a later capture be near it
    for group in islice(alike, MAX_JOIN_CANDIDATES):
        # Two captures that name different prompts are two prompts, however alike their texts are.
        unnamed = capture.host_prompt_id is None or group.host_prompt_id is None
        if unnamed and group.lacks(capture.kind):
            return group
    return None


EXPANDS_WITHIN_US = 5_000_000  # one way tells a command as it was typed, another its text, at once


def _is_command(capture: Capture) -> bool:
    return capture.reading is not None and capture.reading.navigational == "command"


def _with_expansions(groups: Sequence[CaptureGroup]) -> list[CaptureGroup]:
    kept = list(groups)
    for before, after in pairwise(groups):
        if _expands(before, after) or _expands(after, before):
            after.captures[:0] = before.captures
            kept.remove(before)
    return kept


def _expands(typed: CaptureGroup, text: CaptureGroup) -> bool:
    """Whether a command was told by one kind of capture, and by another what the agent put in its place."""
    if typed.host_prompt_id is not None and text.host_prompt_id is not None:
        return False
    commands = all(map(_is_command, typed.captures)) and not any(map(_is_command, text.captures))
    near = abs(typed.started_us - text.started_us) <= EXPANDS_WITHIN_US
    return commands and near and all(text.lacks(capture.kind) for capture in typed.captures)


# From these, and from what was seen, the turns of a session.

LATE_CLEAR_US = 5_000_000  # an end and the `/clear` that led to it are stamped by two clocks, in either order
# Opening, clearing or leaving a session is nothing done for the prompt before; and a counter comes around whenever.
NO_ACTIVITY = ("session_start", "session_end", "lines")


class PlacedObservation(msgspec.Struct, frozen=True, array_like=True):
    at_us: int
    record_id: str
    position: int
    observation: Observation


Seen = Sequence[PlacedObservation]


class Aliases(msgspec.Struct, frozen=True):
    """Every id under which a turn may once have been known."""

    turn_id: UUID
    ids: tuple[UUID, ...]
    host_prompt_id: str | None  # the host's name for the prompt, where it is this turn's to use


def build_turns(
    agent_session_id: str,
    captures: Sequence[Capture],
    answers: Mapping[UUID, CapturedResponse],
    seen: Seen,
    *,
    openings: Mapping[UUID, Opening | None],
    taken_names: Set[str] = frozenset(),
    copies: Copies = MappingProxyType({}),
) -> tuple[list[Turn], list[Aliases]]:
    """The turns of a session's tail, in time order, and the ids they answer to. `seen` is in time order.

    `openings`: how the first turns of the tail opened, by their ids; empty where the tail is the whole session.
    `taken_names`: prompt ids that name an earlier turn. A sub-agent's session has no turns: it is no person's.
    """
    if any(of_sub_agent(each.observation) for each in seen):
        return [], []
    named: list[tuple[UUID, CaptureGroup]] = []
    for group in _with_copies(join_captures(captures, taken_names), copies):
        # By the host's name, of which a group has its own.
        name, lead = group.host_prompt_id, group.lead.capture_id
        named.append((turn_id_from_capture(lead) if name is None else turn_id_from_host(agent_session_id, name), group))
    named.sort(key=lambda pair: (pair[1].started_us, pair[0]))
    turns, aliases = [], []
    for (turn_id, group), own in zip(named, _assign([group for _, group in named], seen, taken_names), strict=True):
        turns.append(_build(agent_session_id, turn_id, group, answers, own))
        told = (*group.captures, *group.made, *(capture for _, capture in group.copies))
        captured = [capture.capture_id for capture in told]
        names = [(session, capture.host_prompt_id) for session, capture in group.copies]
        elsewhere = [turn_id_from_host(*each) for each in names if each[1] is not None]
        ids = {turn_id, *captured, *map(turn_id_from_capture, captured), *elsewhere}
        aliases.append(Aliases(turn_id, tuple(sorted(ids)), group.host_prompt_id))
    said = [(each.at_us, closing) for each in seen if (closing := _closing(each.observation)) is not None]
    said += [(capture.at_us, "clear") for capture in captures if _clears(capture)]
    return _with_openings(turns, sorted(said), openings), aliases


def _with_copies(groups: list[CaptureGroup], copies: Copies) -> list[CaptureGroup]:
    """A copy gives the kind of capture that its prompt lacks, and the ids by which it was known."""
    for group in groups if copies else ():
        own = (*group.captures, *group.made)
        group.copies = [copy for capture in own for copy in copies.get(capture.capture_id, ())]
        for _, capture in group.copies:
            if group.lacks(capture.kind):
                # Its name may be that of another prompt here.
                group.captures.append(msgspec.structs.replace(capture, host_prompt_id=None))
    return groups


def of_sub_agent(observation: Observation) -> bool:
    return observation.kind == "session_start" and observation.source == OF_SUB_AGENT


def _assign(groups: Sequence[CaptureGroup], seen: Seen, taken_names: Set[str]) -> list[list[PlacedObservation]]:
    """Each observation belongs to the prompt it names, else to the last prompt before it.

    Of prompts that were typed during a turn each goes on with it. What an agent asks for itself before the first
    prompt belongs to none.
    """
    starts = [group.started_us for group in groups]
    by_host: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        names = (group.host_prompt_id, None if group.host_prompt_id else group.typed_during)
        for name in (*names, *(str(capture.capture_id) for _, capture in group.copies)):
            if name is not None:
                by_host.setdefault(name, []).append(index)
    assigned: list[list[PlacedObservation]] = [[] for _ in groups]
    for each in seen if groups else ():
        name = each.observation.prompt_id or ""
        begun = [index for index in by_host.get(name, ()) if starts[index] <= each.at_us]
        if name in taken_names and not begun:
            continue
        if name in by_host:
            assigned[begun[-1] if begun else by_host[name][0]].append(each)
        elif each.at_us >= starts[0] or not each.observation.sidechain:
            assigned[max(0, bisect_right(starts, each.at_us) - 1)].append(each)
    return assigned


def _build(
    session: str, turn_id: UUID, group: CaptureGroup, captured: Mapping[UUID, CapturedResponse], own: Seen
) -> Turn:
    """Of the answers, in the order in which they were given, the last one is what the prompt led to."""
    responses = [each for each in own if each.observation.kind == "response"]
    answers, lead = _answers(group, captured, heard_live=bool(responses)), group.lead
    answer = answers[-1] if answers else None
    checks = () if lead.reading is None else lead.reading.checks
    work = sum_work([(each.position, each.observation) for each in own], checks)
    if not work.usage:
        # Where no request log covers the turn, the numbers of its responses stand in.
        told = [each for each in answers if each.is_request(failed=API_ERROR in work.marks)]
        work = msgspec.structs.replace(work, usage=usage_of(told))
    active = [each for each in own if each.observation.kind not in NO_ACTIVITY]
    last_seen_us = max((each.at_us for each in active), default=0)
    answered_us, response, response_position = 0, None, None
    if answer is not None:
        answered_us, response, response_position = answer.answered_us(lead.at_us), answer.reading, answer.position
    elif responses:
        response, response_position = responses[-1].observation.response, responses[-1].position
    return Turn(
        turn_id=turn_id,
        agent_session_id=session,
        started_us=group.started_us,
        last_activity_us=max(group.started_us, last_seen_us, answered_us),
        agent_us=max((answered_us, *(each.at_us for each in active if not each.observation.sidechain))),
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
        elapsed_ms=next((captured[c.capture_id].elapsed_ms for c in group.ranked if c.capture_id in captured), None),
        words_start=lead.words_start,
        from_log=lead.kind == "log",
        made=_made(group.made),
        agent=lead.agent,
    )


def _made(captures: Sequence[Capture]) -> tuple[str, ...]:
    """Each text as often as one kind of capture told it."""
    written = ((each.reading and each.reading.maker, each) for each in captures)
    told = Counter((maker, each.text_digest, each.kind) for maker, each in written if maker)
    times: dict[tuple[str, int | None], int] = {}
    for (maker, digest, _), count in told.items():
        times[maker, digest] = max(count, times.get((maker, digest), 0))
    return tuple(sorted(maker for (maker, _), count in times.items() for _ in range(count)))


def _answers(
    group: CaptureGroup, answers: Mapping[UUID, CapturedResponse], *, heard_live: bool
) -> list[CapturedResponse]:
    """The plugin's, else a transcript's that nothing told live; then what was answered to the agent's own words."""
    captures = *group.ranked, *(capture for _, capture in group.copies)
    told = [each for each in captures if not (heard_live and each.kind in OF_FILES)]
    own = [answers[capture.capture_id] for capture in told if capture.capture_id in answers]
    made = (each.capture_id for each in group.made if not _asks_nothing(each))
    return own[:1] + [answers[capture_id] for capture_id in made if capture_id in answers]


Closing = Literal["clear", "end"]


def _closing(seen: Observation) -> Closing | None:
    if seen.source == "clear" and seen.kind in ("session_start", "session_end"):
        return "clear"
    return "end" if seen.kind == "session_end" else None


def _clears(capture: Capture) -> bool:
    return capture.reading is not None and capture.reading.clears


def _asks_nothing(capture: Capture) -> bool:
    """A clear is an end; a command for the shell an older reader of agents' files took for a prompt."""
    shell = capture.kind == "transcript" and capture.reading is not None and capture.reading.navigational == "shell"
    return shell or _clears(capture)


def _with_openings(
    turns: Sequence[Turn], said: Sequence[tuple[int, Closing]], known: Mapping[UUID, Opening | None]
) -> list[Turn]:
    """Mark where the session was cleared or ended, and by which turn activity went on.

    Of two in one gap the first counts; a clear that is stamped just after an end is why it ended.
    """
    starts = [turn.started_us for turn in turns]
    closings: dict[int, tuple[int, Closing]] = {}
    for at_us, closing in said:
        index = bisect_right(starts, at_us) - 1
        closed_us, first = closings.setdefault(index, (at_us, closing))
        if (first, closing) == ("end", "clear") and at_us - closed_us <= LATE_CLEAR_US:
            closings[index] = (closed_us, "clear")
    placed = []
    for index, turn in enumerate(turns):
        before = closings.get(index - 1) if index else None
        opening = before[1] if before else None if known or index else "start"
        opening, closed = known.get(turn.turn_id, opening), closings.get(index, (None, None))
        placed.append(msgspec.structs.replace(turn, opening=opening, closed_us=closed[0], closed_by=closed[1]))
    return placed
