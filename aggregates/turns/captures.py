"""Which captures are one prompt, and which of them an agent wrote in a person's place."""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.reading.authors import BUTTON
from aggregates.reading.readings import PromptReading

MAX_JOIN_CANDIDATES = 64  # of the prompts of one text within the window so many are looked at
JOIN_WINDOW_US = 2 * 60 * 1_000_000
"""A plugin's capture and an agent's log of the same text within this time are one prompt."""
CaptureKind = Literal["plugin", "transcript", "log"]
LEADING: tuple[CaptureKind, ...] = ("plugin", "transcript", "log")
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


class CaptureGroup(msgspec.Struct):
    """Captures that are one prompt: at most one of each kind."""

    captures: list[Capture]
    typed_during: str | None = None  # the prompt id of the turn that was running when this was typed
    made: list[Capture] = []  # what an agent wrote in a person's place until the next prompt

    @property
    def started_us(self) -> int:
        return min(capture.at_us for capture in self.captures)

    @property
    def lead(self) -> Capture:
        return min(self.captures, key=lambda capture: LEADING.index(capture.kind))

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
    persons, made = _by_author(ordered)
    for capture in persons:
        name, during = capture.host_prompt_id, None
        if name is not None and (name in taken_names or (name in by_host and not by_host[name].lacks(capture.kind))):
            name, during = None, name
            capture = msgspec.structs.replace(capture, host_prompt_id=None)
        group = _same_prompt(capture, by_host, by_text)
        if group is None:
            group = CaptureGroup([])
            groups.append(group)
            if capture.text_digest is not None:
                by_text.setdefault(capture.text_digest, deque()).append(group)
        group.captures.append(capture)
        group.typed_during = group.typed_during or during
        if name is not None:
            by_host.setdefault(name, group)
    groups.sort(key=lambda group: (group.started_us, group.lead.capture_id))
    starts = [group.started_us for group in groups]
    for capture in made:
        place = bisect_right(starts, capture.at_us) - 1
        if place >= 0:
            groups[place].made.append(capture)
    return groups


def _by_author(ordered: Sequence[Capture]) -> tuple[list[Capture], list[Capture]]:
    """What persons wrote, and what agents wrote in their place. A button may begin a session; it names nothing, since
    it is no prompt any more once one is known before it."""
    makers = [None if capture.reading is None else capture.reading.maker for capture in ordered]
    first = makers.index(None) if None in makers else len(makers)
    persons, made = [], []
    for place, (capture, maker) in enumerate(zip(ordered, makers, strict=True)):
        if maker is None:
            persons.append(capture)
        elif maker == BUTTON and place < first:
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
