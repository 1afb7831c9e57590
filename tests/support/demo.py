"""The bundled demo sessions, as captures of one developer."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from aggregates.decide import AnyCommand
from aggregates.event import Digester, Reply, Scope
from svc.cli.demo import write_transcripts
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.importer import import_transcripts


async def import_demo(
    folder: Path, send: Callable[[AnyCommand], Awaitable[Reply]], scope: Scope, digester: Digester, now_us: int
) -> None:
    """About a month of work, up to a time; `folder` is used for the transcripts."""
    write_transcripts(folder, now_us=now_us)
    await import_transcripts(
        CLAUDE_CODE, folder, send, lambda progress: None, scope=scope, digester=digester, now_us=now_us
    )
