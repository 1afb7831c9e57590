"""Importing transcripts: files in, the capture commands of a plugin and of telemetry out.

Running it again adds nothing, since every id comes from the lines' own ids: also a prompt that a forked session repeats
is the same prompt. An exchange that is still being written is left for the next run, its prompt apart.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from aggregates.event import Digester, Reply, Scope
from aggregates.records.record import Record
from aggregates.telemetry.draft import Exchange, Taken
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.codex import CODEX
from svc.importing.copilot import COPILOT
from svc.importing.exchange import Format, Memory, TornLine, files_under, lines_of
from svc.importing.gemini import GEMINI

if TYPE_CHECKING:
    from aggregates.capture.commands import AnyCapture
    from aggregates.telemetry.batches import Sender
    from svc.importing.elsewhere import Elsewhere

QUIET_US = 30 * 60 * 1_000_000  # an exchange that was quiet for this long is taken as it stands
FORMATS = {each.source: each for each in (CLAUDE_CODE, CODEX, GEMINI, COPILOT)}
"""By the name that the agent has everywhere."""


class Progress(NamedTuple):
    files_done: int
    files_total: int
    lines: int
    prompts: int


class Refusal(msgspec.Struct, frozen=True):
    file: str
    what: str
    message: str


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


@dataclass(slots=True)
class ImportReport:
    """What an import found, whether or not it was there before, and what of it was new."""

    files: int = 0
    lines: int = 0  # lines that are not blank, torn ones among them
    torn: list[TornLine] = field(default_factory=list)  # a file that could not be opened stands here as its line 0
    prompts: int = 0
    responses: int = 0
    requests: int = 0
    errors: int = 0  # requests that failed for good
    tool_calls: int = 0  # finished, refused or without a result
    records: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_TOKENS, 0))  # of those that were observed
    unfinished: int = 0  # exchanges that were still being written; the next run takes them
    repeated: int = 0
    """Prompts that an earlier run had from another session's file; what they caused is not taken twice."""
    created: int = 0  # prompts, responses and batches of records that are new
    known: int = 0  # those that had been there before
    refused: list[Refusal] = field(default_factory=list)

    def heard(self, waiting: "deque[Sent]", found: Iterable[Taken]) -> None:
        """Count what became of those that waited longest."""
        for taken in found:
            exchange, file, whole = waiting.popleft()
            self.created += taken.created
            self.known += taken.known
            for each in taken.refused:
                what = f"{each.what} {'in' if each.what == 'response' else 'of'} {exchange.agent_session_id}"
                self.refused.append(Refusal(file, what, each.message))
            if taken.repeated:
                self.repeated += 1
                continue
            self.unfinished += not whole
            self.responses += exchange.prompt is not None and exchange.answer is not None
            for draft in exchange.drafts:
                self._count(draft.record)

    def _count(self, record: Record) -> None:
        self.records += 1
        if record.kind == "request":
            self.requests += 1
            for name in _TOKENS:
                self.tokens[name] += getattr(record, name) or 0
        elif record.kind == "error":
            self.errors += 1
        elif record.kind in ("tool", "rejection"):
            self.tool_calls += 1


class Sent(NamedTuple):
    exchange: Exchange
    file: str
    whole: bool  # of one that is still being written only the prompt is sent


class Log(NamedTuple):
    """Takes what one developer's files hold, as the same commands that a plugin and telemetry make.

    Like `Elsewhere` it answers what became of exchanges that are on disk by now, in their order.
    """

    sender: "Sender"
    send: Callable[["AnyCapture"], Awaitable[Reply]]
    """Hands a command to its developer's actor and returns once it is on disk; waits where the actor is busy."""

    async def take(self, exchange: Exchange) -> list[Taken]:
        from aggregates.telemetry.batches import steps  # late: `svc import --help` waits for what stands above

        taken = Taken()
        for what, command in steps(exchange, self.sender):
            if not taken.heard(what, await self.send(command)):
                break
        return [taken]

    async def finish(self) -> list[Taken]:
        return []


async def import_transcripts(
    transcripts: Format,
    path: Path,
    send: Callable[["AnyCapture"], Awaitable[Reply]],
    progress: Callable[[Progress], None],
    *,
    scope: Scope,
    digester: Digester,
    now_us: int,
) -> ImportReport:
    """Import into the log of a server on this machine. Raises `FileNotFoundError`."""
    from aggregates.telemetry.batches import Sender

    destination = Log(Sender(scope, transcripts.source, digester), send)
    return await import_into(destination, transcripts, path, progress, now_us=now_us)


async def import_into(
    destination: "Log | Elsewhere",
    transcripts: Format,
    path: Path,
    progress: Callable[[Progress], None],
    *,
    now_us: int,
) -> ImportReport:
    """Import all files under a folder, or one; what is torn or refused is named.

    Raises `FileNotFoundError`, and what the destination raises.
    """
    import trio

    report, seen = ImportReport(), Memory()
    waiting: deque[Sent] = deque()  # what became of these is not known yet
    files = await trio.to_thread.run_sync(files_under, path, transcripts)

    def tick() -> None:
        progress(Progress(report.files, len(files), report.lines, report.prompts))

    for file in files:
        name = str(file.relative_to(path)) if file != path else file.name
        reader, lines_before = transcripts.reader(file, name, seen), report.lines
        exchanges = reader.read(lines_of(file, whole=file.suffix == transcripts.document))
        try:
            # Files are large and disks slow: they are read beside the loop.
            while exchange := await trio.to_thread.run_sync(next, exchanges, None):
                whole = exchange.finished or now_us - exchange.last_us >= QUIET_US
                sent = Exchange(exchange.agent_session_id, exchange.prompt)
                sent = replace(sent, answer=exchange.answer, drafts=exchange.drafts) if whole else sent
                report.prompts += sent.prompt is not None
                waiting.append(Sent(sent, name, whole))
                report.heard(waiting, await destination.take(sent))
                report.lines = lines_before + reader.lines
                tick()
        except OSError as error:
            report.torn.append(TornLine(name, 0, error.strerror or str(error)))
        report.lines = lines_before + reader.lines
        report.torn += reader.torn
        report.files += 1
    report.heard(waiting, await destination.finish())
    tick()
    return report
