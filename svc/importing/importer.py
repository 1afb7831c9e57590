"""Importing transcripts: files in, the capture commands of a plugin and of telemetry out.

Running it again adds nothing, since every id comes from the lines' own ids: also a prompt that a forked session repeats
is the same prompt. An exchange that is still being written is left for the next run, its prompt apart.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid5

import msgspec
import trio

from aggregates.capture.commands import (
    TRANSCRIPT_SUFFIX,
    CapturePrompt,
    CaptureRecords,
    CaptureResponse,
    ResponseContent,
)
from aggregates.decide import AnyCommand
from aggregates.event import Digester, Reason, Refused, Reply, Scope
from aggregates.ids import prompt_stream
from aggregates.records.record import Record, TextPool
from aggregates.telemetry.batches import pooled
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.codex import CODEX
from svc.importing.copilot import COPILOT
from svc.importing.exchange import Answer, Exchange, Format, Memory, TornLine, TypedPrompt, files_under, lines_of
from svc.importing.gemini import GEMINI

DECODER_VERSION = 1
BATCH_RECORDS_MAX = 200
QUIET_US = 30 * 60 * 1_000_000
"""An exchange that was quiet for this long is taken as it stands."""
_LINE_NAMESPACE = UUID("0d0f7a3e-5a0e-5d6b-9f0e-6d1f0f3a7b52")
FORMATS = {each.source: each for each in (CLAUDE_CODE, CODEX, GEMINI, COPILOT)}
"""By the name that the agent has everywhere."""
Send = Callable[[AnyCommand], Awaitable[Reply]]
"""Hands a command to its developer's actor and returns once it is on disk; waits where the actor is busy."""


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
    cache_write_1h_tokens: int = 0
    """Part of the cache writes."""


@dataclass(slots=True)
class ImportReport:
    """What an import found, whether or not it was there before, and what of it was new."""

    files: int = 0
    lines: int = 0
    """Lines that are not blank, torn ones among them."""
    torn: list[TornLine] = field(default_factory=list)
    """A file that could not be opened stands here as its line 0."""
    prompts: int = 0
    responses: int = 0
    requests: int = 0
    errors: int = 0
    """Requests that failed for good."""
    tool_calls: int = 0
    """Finished, refused or without a result."""
    records: int = 0
    tokens: TokenSums = field(default_factory=TokenSums)
    unfinished: int = 0
    """Exchanges that were still being written; the next run takes them."""
    repeated: int = 0
    """Prompts that an earlier run had from another session's file; what they caused is not taken twice."""
    created: int = 0
    """Prompts, responses and batches of records that are new."""
    known: int = 0
    """Those that had been there before."""
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


@dataclass(slots=True)
class Import:
    """Sends what one developer's transcripts hold, as the same commands that a plugin and telemetry make."""

    transcripts: Format
    send: Send
    scope: Scope
    digester: Digester
    now_us: int
    report: ImportReport = field(default_factory=ImportReport)
    seen: Memory = field(default_factory=Memory)

    async def take(self, file: Path, name: str, tick: Callable[[], None]) -> None:
        """Read one file and send what it holds; `tick` is called as it goes."""
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
        report, prompt, session = self.report, exchange.prompt, exchange.agent_session_id
        if prompt is not None:
            report.prompts += 1
            refused = await self._deliver(self._prompt(prompt, session), name, f"prompt of {session}")
            if refused is Reason.CONFLICT:
                report.repeated += 1
                return
        if not exchange.finished and self.now_us - exchange.last_us < QUIET_US:
            report.unfinished += 1
            return
        if prompt is not None and exchange.answer is not None:
            report.responses += 1
            await self._deliver(self._response(prompt, exchange.answer), name, f"response in {session}")
        for draft in exchange.drafts:
            report.count(draft.record)
        for batch in self.batches(exchange):
            await self._deliver(batch, name, f"records of {session}")

    async def _deliver(self, command: AnyCommand, name: str, what: str) -> Reason | None:
        """Why the server did not take it; None where it did."""
        reply = await self.send(command)
        if isinstance(reply, Refused):
            self.report.refused.append(Refusal(name, what, reply.message))
            return reply.reason
        self.report.created += reply.created
        self.report.known += not reply.created
        return None

    def _prompt(self, prompt: TypedPrompt, agent_session_id: str) -> CapturePrompt:
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        return CapturePrompt(
            organization_id=self.scope.organization_id,
            developer_id=self.scope.developer_id,
            prompt_id=prompt_stream(self.scope.developer_id, client_event_id),
            agent_session_id=agent_session_id,
            source=self.transcripts.source + TRANSCRIPT_SUFFIX,
            text=prompt.text,
            client_event_id=client_event_id,
            host_prompt_id=prompt.host_prompt_id,
            submitted_at_us=prompt.at_us,
            cwd=prompt.cwd,
        )

    def _response(self, prompt: TypedPrompt, answer: Answer) -> CaptureResponse:
        """It carries no tokens: the requests' records do."""
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        return CaptureResponse(
            organization_id=self.scope.organization_id,
            developer_id=self.scope.developer_id,
            prompt_id=prompt_stream(self.scope.developer_id, client_event_id),
            content=ResponseContent(response_text=answer.text, elapsed_ms=answer.elapsed_ms),
            response_operation_id=str(uuid5(client_event_id, "response")),
            responded_at_us=answer.at_us,
        )

    def batches(self, exchange: Exchange) -> Iterator[CaptureRecords]:
        """The records in batches; none reaches beyond its exchange, so it is the same batch next time."""
        for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
            words = TextPool(redaction=True)
            records = pooled(exchange.drafts[start : start + BATCH_RECORDS_MAX], words, self.digester)
            yield CaptureRecords(
                organization_id=self.scope.organization_id,
                developer_id=self.scope.developer_id,
                agent_session_id=exchange.agent_session_id,
                source=self.transcripts.source,
                decoder_version=DECODER_VERSION,
                records=records,
                words=words.words,
                redactions=dict(words.redactions),
            )


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
    files = await trio.to_thread.run_sync(files_under, path, transcripts)
    run = Import(transcripts, send, scope, digester, now_us)
    report = run.report

    def tick() -> None:
        progress(Progress(report.files, len(files), report.lines, report.prompts))

    for file in files:
        await run.take(file, str(file.relative_to(path)) if file != path else file.name, tick)
        report.files += 1
    tick()
    return report
