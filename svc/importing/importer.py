"""Importing transcripts: files in, the capture commands of a plugin and of telemetry out.

Running it again adds nothing, since every id comes from the lines' own ids. An exchange that is still being
written is left for the next run, its prompt apart.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
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
from aggregates.telemetry.draft import RecordDraft
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.codex import CODEX
from svc.importing.exchange import Exchange, Format, Memory, TornLine, files_under
from svc.importing.gemini import GEMINI

DECODER_VERSION = 1
BATCH_RECORDS_MAX = 200
QUIET_US = 30 * 60 * 1_000_000
"""An exchange that was quiet for this long is taken as it stands."""
_LINE_NAMESPACE = UUID("0d0f7a3e-5a0e-5d6b-9f0e-6d1f0f3a7b52")
FORMATS = {each.source: each for each in (CLAUDE_CODE, CODEX, GEMINI)}
"""By the name that the agent has everywhere."""
Send = Callable[[AnyCommand], Awaitable[Reply]]
"""Hands a command to its developer's actor and returns once it is on disk; waits where the actor is busy."""


class Progress(NamedTuple):
    """How far an import is."""

    files_done: int
    files_total: int
    lines: int
    prompts: int


class Refusal(msgspec.Struct, frozen=True):
    """Something that the server did not take, and why."""

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

    def add(self, record: Record) -> None:
        """Add one request."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + (getattr(record, each.name) or 0))


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
        """Count one record by its kind."""
        self.records += 1
        if record.kind == "request":
            self.requests += 1
            self.tokens.add(record)
        elif record.kind == "error":
            self.errors += 1
        elif record.kind in ("tool", "rejection"):
            self.tool_calls += 1


class Captures:
    """Makes the commands of one developer's exchanges: the same ones that a plugin and telemetry make.

    Ids come from line ids alone, so a prompt that a forked session repeats is the same prompt.
    """

    def __init__(self, scope: Scope, digester: Digester, source: str) -> None:
        """`source` is the agent's name."""
        self._scope = scope
        self._digester = digester
        self._source = source

    def prompt(self, exchange: Exchange) -> CapturePrompt | None:
        """The prompt, where the exchange has one."""
        prompt = exchange.prompt
        if prompt is None:
            return None
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        return CapturePrompt(
            organization_id=self._scope.organization_id,
            developer_id=self._scope.developer_id,
            prompt_id=prompt_stream(self._scope.developer_id, client_event_id),
            agent_session_id=exchange.agent_session_id,
            source=self._source + TRANSCRIPT_SUFFIX,
            text=prompt.text,
            client_event_id=client_event_id,
            host_prompt_id=prompt.host_prompt_id,
            submitted_at_us=prompt.at_us,
            cwd=prompt.cwd,
        )

    def response(self, exchange: Exchange) -> CaptureResponse | None:
        """The answer, where there is one. It carries no tokens: the requests' records do."""
        prompt, answer = exchange.prompt, exchange.answer
        if prompt is None or answer is None:
            return None
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        return CaptureResponse(
            organization_id=self._scope.organization_id,
            developer_id=self._scope.developer_id,
            prompt_id=prompt_stream(self._scope.developer_id, client_event_id),
            content=ResponseContent(response_text=answer.text, elapsed_ms=answer.elapsed_ms),
            response_operation_id=str(uuid5(client_event_id, "response")),
            responded_at_us=answer.at_us,
        )

    def records(self, exchange: Exchange) -> Iterator[CaptureRecords]:
        """The records in batches; none reaches beyond its exchange, so it is the same batch next time."""
        for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
            yield self._batch(exchange, exchange.drafts[start : start + BATCH_RECORDS_MAX])

    def _batch(self, exchange: Exchange, drafts: tuple[RecordDraft, ...]) -> CaptureRecords:
        words = TextPool(redaction=True)
        records = tuple(self._record(draft, words) for draft in drafts)
        return CaptureRecords(
            organization_id=self._scope.organization_id,
            developer_id=self._scope.developer_id,
            agent_session_id=exchange.agent_session_id,
            source=self._source,
            decoder_version=DECODER_VERSION,
            records=records,
            words=words.words,
            redactions=dict(words.redactions),
        )

    def _record(self, draft: RecordDraft, words: TextPool) -> Record:
        key = draft.input_key
        return msgspec.structs.replace(
            draft.record,
            text=words.add(draft.text),
            path=words.add(draft.path),
            command=words.add(draft.command),
            input_digest=None if key is None else self._digester.number(key),
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
    """Import every transcript under a folder, or one file, as captures of one developer.

    Nothing that is torn or refused stops the import; it is counted and named in the report. Raises
    `FileNotFoundError` where there is nothing at the path.
    """
    files = await trio.to_thread.run_sync(files_under, path, transcripts)
    report = ImportReport()
    run = _Run(transcripts, Captures(scope, digester, transcripts.source), send, now_us, report)
    for done, file in enumerate(files):
        name = str(file.relative_to(path)) if file != path else file.name
        await run.take(file, name, partial(_tick, progress, report, done, len(files)))
    _tick(progress, report, len(files), len(files))
    return report


import_claude_code = partial(import_transcripts, CLAUDE_CODE)


def _tick(progress: Callable[[Progress], None], report: ImportReport, done: int, total: int) -> None:
    progress(Progress(done, total, report.lines, report.prompts))


class _Run:
    """One import: what it has seen, and where it reports."""

    def __init__(self, transcripts: Format, captures: Captures, send: Send, now_us: int, report: ImportReport) -> None:
        self._format = transcripts
        self._captures = captures
        self._send = send
        self._now_us = now_us
        self._report = report
        self._seen = Memory()

    async def take(self, file: Path, name: str, tick: Callable[[], None]) -> None:
        """Read one file and send what it holds; `tick` is called as it goes."""
        reader = self._format.reader(file, name, self._seen)
        exchanges = reader.read(self._format.lines(file))
        report, lines_before = self._report, self._report.lines
        report.files += 1
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
        report = self._report
        prompt = self._captures.prompt(exchange)
        if prompt is not None:
            report.prompts += 1
            refused = await self._deliver(prompt, name, f"prompt of {exchange.agent_session_id}")
            if refused is Reason.CONFLICT:
                report.repeated += 1
                return
        if not exchange.finished and self._now_us - exchange.last_us < QUIET_US:
            report.unfinished += 1
            return
        response = self._captures.response(exchange)
        if response is not None:
            report.responses += 1
            await self._deliver(response, name, f"response in {exchange.agent_session_id}")
        for draft in exchange.drafts:
            report.count(draft.record)
        for batch in self._captures.records(exchange):
            await self._deliver(batch, name, f"records of {exchange.agent_session_id}")

    async def _deliver(self, command: AnyCommand, name: str, what: str) -> Reason | None:
        reply = await self._send(command)
        if isinstance(reply, Refused):
            self._report.refused.append(Refusal(name, what, reply.message))
            return reply.reason
        if reply.created:
            self._report.created += 1
        else:
            self._report.known += 1
        return None
