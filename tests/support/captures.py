"""A stand-in for a developer's actor: the real decisions, over streams in memory."""

from uuid import UUID

from aggregates.decide import AnyCommand, StreamState, decide, evolve
from aggregates.event import Context, Digester, Event, Reply


class Actor:
    """Takes commands as the service does, and keeps the events."""

    def __init__(self, now_us: int = 1) -> None:
        self._now_us = now_us
        self.events: list[Event] = []
        self._streams: dict[UUID, StreamState] = {}

    async def send(self, command: AnyCommand) -> Reply:
        context = Context(now_us=self._now_us, digester=Digester(b"key"), redaction=True)
        decision = decide(command, self._streams, context)
        for stream, event in decision.events:
            self._streams[stream] = evolve(self._streams.get(stream), event)
            self.events.append(event)
        return decision.reply
