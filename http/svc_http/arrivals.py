"""What each developer's agents sent lately, and what was refused."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from uuid import UUID

import msgspec

from aggregates.telemetry.export import UNKNOWN_SENDER
from aggregates.times import iso
from projections.facts.facts import ARRIVALS_MAX

REFUSALS_MAX = 8
REFUSAL_CHARACTERS_MAX = 300


class Arrival(msgspec.Struct, frozen=True):
    """What an agent sent of one kind."""

    source: str
    signal: str
    last_at: str
    requests: int


class Refusal(msgspec.Struct, frozen=True):
    """Something that was refused, whole or in part."""

    at: str
    path: str
    status: int  # below 300: the rest of it was taken
    message: str


class Arrivals:
    """What each developer's agents sent lately, and what was refused; forgotten with the process."""

    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self._taken: dict[UUID, OrderedDict[tuple[str, str], tuple[int, int]]] = {}
        self._refused: dict[UUID, deque[Refusal]] = {}

    def took(self, developer_id: UUID, source: str, signal: str, at_us: int) -> None:
        known = self._taken.setdefault(developer_id, OrderedDict())
        known[source, signal] = (at_us, known.get((source, signal), (0, 0))[1] + 1)
        known.move_to_end((source, signal))
        if len(known) > ARRIVALS_MAX:
            known.popitem(last=False)

    def refused(self, developer_id: UUID, path: str, status: int, message: str, at_us: int) -> None:
        refusal = Refusal(iso(at_us), path, status, message)
        self._refused.setdefault(developer_id, deque(maxlen=REFUSALS_MAX)).append(refusal)

    def with_known(self, developer_id: UUID, known: Iterable[tuple[str, str, int]]) -> list[Arrival]:
        """By agent and signal, with what the log knows from before: of that no requests are counted."""
        before = {(source, signal): Arrival(source, signal, iso(at_us), 0) for source, signal, at_us in known}
        taken, _ = self.of(developer_id)
        return [each for _, each in sorted((before | {(each.source, each.signal): each for each in taken}).items())]

    def unread(self, developer_id: UUID) -> tuple[str, ...]:
        """Which agents sent what svc cannot read, in words."""
        taken, _ = self.of(developer_id)
        unread = (each for each in taken if each.source.startswith(UNKNOWN_SENDER))
        return tuple(f"{each.source} sends {each.signal}" for each in unread)

    def of(self, developer_id: UUID) -> tuple[list[Arrival], list[Refusal]]:
        """By agent and signal; refusals oldest first."""
        known = sorted(self._taken.get(developer_id, {}).items())
        taken = [Arrival(*name, iso(at_us), requests) for name, (at_us, requests) in known]
        return taken, list(self._refused.get(developer_id, ()))
