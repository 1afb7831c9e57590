"""Importing into the log of a server on this machine."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from aggregates.decide import AnyCommand
from aggregates.event import Digester, Reply, Scope
from aggregates.telemetry.exchanges import Exchange, Taken
from aggregates.telemetry.steps import Sender, steps
from svc.importing.exchange import Format
from svc.importing.importer import Heard, ImportReport, Progress, import_into

Send = Callable[[AnyCommand], Awaitable[Reply]]
"""Hands a command to its developer's actor and returns once it is on disk; waits where the actor is busy."""


class Log(NamedTuple):
    """Sends what one developer's transcripts hold, as the same commands that a plugin and telemetry make."""

    sender: Sender
    send: Send

    async def take(self, exchange: Exchange, heard: Heard) -> None:
        taken = Taken()
        for what, command in steps(exchange, self.sender):
            if not taken.heard(what, await self.send(command)):
                break
        heard(taken)

    async def finish(self) -> None:
        pass


async def import_transcripts(
    transcripts: Format,
    path: Path,
    send: Send,
    progress: Callable[[Progress], None],
    *,
    scope: Scope,
    digester: Digester,
    now_us: int,
) -> ImportReport:
    """Import all transcripts under a folder, or one; what is torn or refused is named. Raises `FileNotFoundError`."""
    destination = Log(Sender(scope, transcripts.source, digester), send)
    return await import_into(destination, transcripts, path, progress, now_us=now_us)
