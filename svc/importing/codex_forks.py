"""What a rollout repeats of the session it was forked from.

A fork, and a sub-agent that was given its parent's history, begins with a copy of the parent's lines: their content
as it was, their times often those of the copying. Counting them would count the parent's work once for each fork.
Newer versions number the lines and say where their own begin. Else the copy ends at the first line that the parent does
not have; where the parent's file is not at hand, at the first pause, for a copy is written in one go.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec

from svc.importing.codex_lines import Body, Call, Line, Meta, Prompt, Said, TokenCount, TurnStarted

PAUSE_US = 1_000_000
"""Within a copy no line is further than this from the one before."""


def mark_of(body: Body | None) -> int | None:
    """What a line is known again by, whenever it was copied; None for lines that tell nothing apart."""
    match body:
        case TurnStarted(turn_id=str(told)):
            return _mark("turn", told)
        case Prompt(message=told):
            return _mark("prompt", told)
        case Said(message=told):
            return _mark("said", told)
        case Call(call_id=told):
            return _mark("call", told)
        case TokenCount(info=info) if info is not None and info.total_token_usage is not None:
            return _mark("tokens", msgspec.json.encode(info.total_token_usage).decode())
        case _:
            return None


def _mark(kind: str, told: str) -> int:
    digest = blake2b(f"{kind}\x1f{told}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Heritage:
    """Tells a file's copied lines from its own; ask for every line, in order."""

    def __init__(self, meta: Meta, born_us: int, written_us: int, parent: Sequence[int] | None) -> None:
        """`born_us`: when the session began; `written_us`: when its head was written.

        `parent`: the marks of the parent's lines, None where its file was not seen.
        """
        self._own_from = meta.own_from
        self._born_us = born_us
        self._last_us = written_us
        self._places = None if parent is None else _places(parent)
        self._next = 0
        self._over = meta.parent is None and not meta.of_sub_agent

    def covers(self, line: Line) -> bool:
        """Whether a line is a copy."""
        if self._own_from is not None and line.ordinal is not None:
            return line.ordinal < self._own_from
        if self._over or line.at_us is None:
            return False
        self._over = not (line.at_us < self._born_us or self._repeats(line))
        return not self._over

    def _repeats(self, line: Line) -> bool:
        if self._places is None:
            paused = (line.at_us or 0) - self._last_us > PAUSE_US
            self._last_us = line.at_us or 0
            return not paused
        mark = mark_of(line.body)
        if mark is None:
            return True
        places = self._places.get(mark, ())
        found = bisect_left(places, self._next)
        if found == len(places):
            return False
        self._next = places[found] + 1
        return True


def _places(marks: Sequence[int]) -> Mapping[int, Sequence[int]]:
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, mark in enumerate(marks):
        places[mark].append(place)
    return places
