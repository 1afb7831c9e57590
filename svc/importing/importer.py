"""Importing transcripts: files in, the capture commands of a plugin and of telemetry out.

Running it again adds nothing, since every id comes from the lines' own ids: also a prompt that a forked session repeats
is the same prompt. An exchange that is still being written is left for the next run, its prompt apart.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from aggregates.records.record import Record
from aggregates.telemetry.exchanges import Exchange, Taken
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.codex import CODEX
from svc.importing.copilot import COPILOT
from svc.importing.exchange import Format, Memory, TornLine, files_under, lines_of
from svc.importing.gemini import GEMINI

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


@dataclass(slots=True)
class TokenSums:
    """Tokens of the requests of an import; what was not observed adds nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0  # part of the cache writes


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
    tokens: TokenSums = field(default_factory=TokenSums)
    unfinished: int = 0  # exchanges that were still being written; the next run takes them
    repeated: int = 0
    """Prompts that an earlier run had from another session's file; what they caused is not taken twice."""
    created: int = 0  # prompts, responses and batches of records that are new
    known: int = 0  # those that had been there before
    refused: list[Refusal] = field(default_factory=list)

    def count(self, record: Record) -> None:
        self.records += 1
        if record.kind == "request":
            self.requests += 1
            for each in fields(self.tokens):
                total = getattr(self.tokens, each.name) + (getattr(record, each.name) or 0)
                setattr(self.tokens, each.name, total)
        elif record.kind == "error":
            self.errors += 1
        elif record.kind in ("tool", "rejection"):
            self.tool_calls += 1


Heard = Callable[[Taken], None]


class Destination(Protocol):
    """Where exchanges go: the log, or another machine's server."""

    async def take(self, exchange: Exchange, heard: Heard) -> None:
        """Have it on disk, now or later; `heard` is called once it is, and in the order of the exchanges."""

    async def finish(self) -> None:
        """Have all of them on disk."""


@dataclass(slots=True)
class Import:
    """Reads transcripts, hands on what is whole, and counts."""

    transcripts: Format
    destination: Destination
    now_us: int
    report: ImportReport = field(default_factory=ImportReport)
    seen: Memory = field(default_factory=Memory)

    async def take(self, file: Path, name: str, tick: Callable[[], None]) -> None:
        """Read one file and send what it holds; `tick` is called as it goes."""
        import trio

        reader = self.transcripts.reader(file, name, self.seen)
        exchanges = reader.read(lines_of(file, whole=file.suffix == self.transcripts.document))
        report, lines_before = self.report, self.report.lines
        try:
            # Files are large and disks slow: they are read beside the loop.
            while exchange := await trio.to_thread.run_sync(next, exchanges, None):
                await self._store(exchange, name)
                report.lines = lines_before + reader.lines
                tick()
        except OSError as error:
            report.torn.append(TornLine(name, 0, error.strerror or str(error)))
        report.lines = lines_before + reader.lines
        report.torn += reader.torn

    async def _store(self, exchange: Exchange, name: str) -> None:
        """Of one that is still being written only the prompt is sent."""
        whole = exchange.finished or self.now_us - exchange.last_us >= QUIET_US
        sent = Exchange(exchange.agent_session_id, exchange.prompt)
        if whole:
            sent = replace(sent, answer=exchange.answer, drafts=exchange.drafts)
        self.report.prompts += sent.prompt is not None
        await self.destination.take(sent, partial(self._heard, sent, name, whole))

    def _heard(self, exchange: Exchange, name: str, whole: bool, taken: Taken) -> None:
        report, session = self.report, exchange.agent_session_id
        report.created += taken.created
        report.known += taken.known
        report.refused += (
            Refusal(name, f"{each.what} {'in' if each.what == 'response' else 'of'} {session}", each.message)
            for each in taken.refused
        )
        if taken.repeated:
            report.repeated += 1
            return
        report.unfinished += not whole
        report.responses += exchange.prompt is not None and exchange.answer is not None
        for draft in exchange.drafts:
            report.count(draft.record)


async def import_into(
    destination: Destination,
    transcripts: Format,
    path: Path,
    progress: Callable[[Progress], None],
    *,
    now_us: int,
) -> ImportReport:
    """The same to any destination. Raises `FileNotFoundError`, and what the destination raises."""
    import trio

    files = await trio.to_thread.run_sync(files_under, path, transcripts)
    run = Import(transcripts, destination, now_us)
    report = run.report

    def tick() -> None:
        progress(Progress(report.files, len(files), report.lines, report.prompts))

    for file in files:
        await run.take(file, str(file.relative_to(path)) if file != path else file.name, tick)
        report.files += 1
    await destination.finish()
    tick()
    return report
