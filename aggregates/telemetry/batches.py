"""From the records of an export to commands: one for each agent session and agent, in the order of the document.

A part is cut where it is full, at the same places every time, so that a retry finds its batches taken.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from aggregates.capture.commands import CaptureMetrics, CaptureRecords
from aggregates.event import Digester, Scope
from aggregates.records.record import FileChange, Point, Record, TextPool
from aggregates.records.tools import ChangedFile
from aggregates.telemetry.draft import RecordDraft
from aggregates.telemetry.envelope import Agent, RawRedactor, SectionContext, Signal, assembled
from aggregates.telemetry.otlp import Fault

DECODER_VERSION = 1
PART_RECORDS_MAX = 1_000
PART_BYTES_MAX = 512 * 1024
"""An event holds no more, unless a single record is larger: others wait no longer than for one part to be sealed."""
SESSIONS_MAX = 1_000  # agent sessions in one export; a collector that batches for a company has some dozens
HEADS_BYTES_MIN = 1024 * 1024
"""What stands above the records is kept with each part. All of it together may have so many bytes, or as many as the
export: what is stored grows with what was sent."""
T = TypeVar("T")


class Part(msgspec.Struct, Generic[T]):
    session: str | None
    agent: Agent
    raws: list[tuple[SectionContext, bytes]] = []
    values: list[T] = []
    size_bytes: int = 0

    def add(self, context: SectionContext, data: bytes, values: Iterable[T]) -> None:
        self.raws.append((context, data))
        self.values.extend(values)


class ExportContext(msgspec.Struct, frozen=True):
    """What enters from outside: whose export it is, when it came, how texts are treated."""

    scope: Scope
    received_us: int
    digester: Digester
    redaction: bool


class PreparedCommand(NamedTuple):
    """A command, and how many records are lost where it is refused."""

    command: CaptureRecords | CaptureMetrics
    records: int


class Batches(Generic[T]):
    def __init__(self, export_bytes: int) -> None:
        self._open: dict[tuple[str | None, Agent], Part[T]] = {}
        self._full: list[Part[T]] = []
        self._heads_bytes_left = max(HEADS_BYTES_MIN, export_bytes)

    def room(self, session: str | None, agent: Agent, context: SectionContext, record_bytes: int) -> Part[T]:
        """The part that a record of this size goes into; what stands around it counts where it is not there yet.

        Raises `Fault` where the export has too many sessions, or repeats too much for each of them.
        """
        key = (session, agent)
        part = self._open.get(key)
        shared = part is not None and part.raws and part.raws[-1][0] is context
        head_bytes = 0 if shared else context.branch.size_bytes
        size_bytes = record_bytes + head_bytes
        full = part is not None and (
            len(part.raws) >= PART_RECORDS_MAX or part.size_bytes + size_bytes > PART_BYTES_MAX
        )
        if full:
            head_bytes = context.branch.size_bytes
        if part is None and len(self._open) >= SESSIONS_MAX:
            raise Fault(f"an export may hold {SESSIONS_MAX} agent sessions; send fewer at once")
        if head_bytes > self._heads_bytes_left:
            raise Fault("its resource and scope would be stored too often; send fewer agent sessions at once")
        self._heads_bytes_left -= head_bytes
        if full:
            self._full.append(self._open.pop(key))
        if part is None or full:
            part = self._open[key] = Part(session, agent)
        part.size_bytes += record_bytes + head_bytes
        return part

    def parts(self) -> list[Part[T]]:
        """The full ones first, then the others in the order in which their sessions came up."""
        return [part for part in (*self._full, *self._open.values()) if part.raws]


def records_command(part: Part[RecordDraft], means: ExportContext, signal: Signal) -> PreparedCommand:
    words = TextPool(redaction=means.redaction)
    records = pooled(part.values, words, means.digester)
    command = CaptureRecords(
        organization_id=means.scope.organization_id,
        developer_id=means.scope.developer_id,
        agent_session_id=part.session,
        source=part.agent,
        decoder_version=DECODER_VERSION,
        records=records,
        words=words.words,
        redactions=dict(words.redactions),
        raw=_raw(part.raws, signal, RawRedactor(redaction=means.redaction)),
        signal="traces" if signal == "traces" else "logs",
    )
    return PreparedCommand(command, len(part.raws))


def metrics_command(part: Part[Point], means: ExportContext) -> PreparedCommand:
    redactor = RawRedactor(redaction=means.redaction)
    raw = _raw(part.raws, "metrics", redactor)
    command = CaptureMetrics(
        organization_id=means.scope.organization_id,
        developer_id=means.scope.developer_id,
        agent_session_id=part.session,
        source=part.agent,
        decoder_version=DECODER_VERSION,
        points=tuple(part.values),
        raw=raw,
        redactions=dict(redactor.redactions),
    )
    return PreparedCommand(command, len(part.raws))


def pooled(drafts: Sequence[RecordDraft], words: TextPool, digester: Digester) -> tuple[Record, ...]:
    """The records, with their texts put into the pool."""
    words.add_all(text for draft in drafts for text in (draft.text, draft.path, draft.command))
    words.add_all(file.path for draft in drafts for file in draft.more)
    return tuple(
        msgspec.structs.replace(
            draft.record,
            text=words.add(draft.text),
            path=words.add(draft.path),
            command=words.add(draft.command),
            input_digest=None if draft.input_key is None else digester.number(draft.input_key),
            more_files=tuple(_file_change(file, words) for file in draft.more),
        )
        for draft in drafts
    )


def _file_change(file: ChangedFile, words: TextPool) -> FileChange:
    path = words.add(file.path)
    assert path is not None, "a text has a place"
    return FileChange(path, file.lines_added, file.lines_removed)


def _raw(raws: Iterable[tuple[SectionContext, bytes]], signal: Signal, redactor: RawRedactor) -> str:
    contexts, records = zip(*raws, strict=True)
    return assembled(signal, (context.branch for context in contexts), redactor.clean(records))
