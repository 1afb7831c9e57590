"""From records to commands: those of an export, and those of a session file.

An export gives one for each agent session and agent, in the order of the document. A part is cut where it is full, at
the same places every time, so that a retry finds its batches taken.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from aggregates.capture import events
from aggregates.capture.events import DECODER_VERSION, CapturePrompt, CaptureResponse, MetricsCaptured, RecordsCaptured
from aggregates.event import Digester, Redacted, Scope, Words, shaped
from aggregates.ids import prompt_stream
from aggregates.records.record import TOKEN_KINDS, FileChange, Point, TextPool
from aggregates.telemetry.agents import Agent
from aggregates.telemetry.draft import BATCH_RECORDS_MAX, Exchange, RecordDraft, What
from aggregates.telemetry.envelope import LEVELS, SectionContext, Signal, assembled, without_secrets
from aggregates.telemetry.otlp import Fault

PART_RECORDS_MAX = 1_000
PART_BYTES_MAX = 512 * 1024
"""An event holds no more, unless a single record is larger: others wait no longer than for one part to be sealed."""
SESSIONS_MAX = 1_000  # agent sessions in one export; a collector that batches for a company has some dozens
HEADS_BYTES_MIN = 1024 * 1024
"""What stands above the records is kept with each part. All of it together may have so many bytes, or as many as the
export: what is stored grows with what was sent."""


class Part(msgspec.Struct):
    session: str | None
    agent: Agent
    raws: list[tuple[SectionContext, bytes]] = []
    drafts: list[RecordDraft] = []
    points: list[Point] = []
    size_bytes: int = 0


class ExportContext(msgspec.Struct, frozen=True):
    """What enters from outside: whose export it is, when it came, how texts are treated."""

    scope: Scope
    received_us: int
    digester: Digester
    redaction: bool


class PreparedCommand(NamedTuple):
    """A command, and how many records are lost where it is refused."""

    command: RecordsCaptured | MetricsCaptured
    records: int


class Batches:
    def __init__(self, export_bytes: int) -> None:
        self._open: dict[tuple[str | None, Agent], Part] = {}
        self._full: list[Part] = []
        self._heads_bytes_left = max(HEADS_BYTES_MIN, export_bytes)

    def room(self, session: str | None, agent: Agent, context: SectionContext, record_bytes: int) -> Part:
        """The part that a record of this size goes into. Raises `Fault` for too many sessions, or too much above."""
        key = (session, agent)
        part, head_bytes = self._open.get(key), context.head_bytes
        if part is None:
            if len(self._open) >= SESSIONS_MAX:
                raise Fault(f"an export may hold {SESSIONS_MAX} agent sessions; send fewer at once")
            room = Part(session, agent)
        else:
            added_bytes = 0 if part.raws and part.raws[-1][0] is context else head_bytes
            full = part.size_bytes + record_bytes + added_bytes > PART_BYTES_MAX or len(part.raws) >= PART_RECORDS_MAX
            room, head_bytes = (Part(session, agent), head_bytes) if full else (part, added_bytes)
        if head_bytes > self._heads_bytes_left:
            raise Fault("its resource and scope would be stored too often; send fewer agent sessions at once")
        self._heads_bytes_left -= head_bytes
        if part is not None and room is not part:
            self._full.append(part)
            del self._open[key]  # so that the new one stands at the end
        self._open[key] = room
        room.size_bytes += record_bytes + head_bytes
        return room

    def parts(self) -> list[Part]:
        """The full ones first, then the others in the order in which their sessions came up."""
        return [part for part in (*self._full, *self._open.values()) if part.raws]


def command_of(part: Part, means: ExportContext, signal: Signal) -> PreparedCommand:
    contexts, records = zip(*part.raws, strict=True)
    cleaned, redacted = without_secrets(records, _texts(part.drafts)) if means.redaction else (records, {})
    raw = Words(assembled(LEVELS[signal][0][0], contexts, cleaned))
    if signal != "metrics":
        kind = events.TracesCaptured if signal == "traces" else RecordsCaptured
        command = captured_records(part.drafts, part.session, part.agent, means, redacted, kind)
        return PreparedCommand(replace(command, raw=raw), len(records))
    redactions = Counter(kind for each in redacted.values() for kind in Counter(each.counts).elements())
    points = shaped(
        MetricsCaptured,
        means.scope,
        agent_session_id=part.session,
        source=part.agent,
        decoder_version=DECODER_VERSION,
        points=tuple(part.points),
        raw=raw,
        redactions=dict(redactions),
    )
    return PreparedCommand(points, len(records))


def _texts(drafts: Sequence[RecordDraft]) -> list[str]:
    texts = [text for draft in drafts for text in (draft.text, draft.path, draft.command) if text is not None]
    return texts + [file.path for draft in drafts for file in draft.more]


def captured_records(
    drafts: Sequence[RecordDraft],
    agent_session_id: str | None,
    source: str,
    means: "ExportContext | Sender",
    redacted: Mapping[str, Redacted] | None = None,
    kind: type[RecordsCaptured] = RecordsCaptured,
) -> RecordsCaptured:
    """`redacted`: what was found in the texts, where they were looked through before."""
    words = TextPool(redacted)
    words.add_all(_texts(drafts))
    records = tuple(
        draft.record
        if draft.text is draft.path is draft.command is draft.input_key is None and not draft.more
        else replace(
            draft.record,
            text=words.add(draft.text),
            path=words.add(draft.path),
            command=words.add(draft.command),
            input_digest=None if draft.input_key is None else means.digester.number(draft.input_key),
            more_files=tuple(
                FileChange(words.place_of(file.path), file.lines_added, file.lines_removed) for file in draft.more
            ),
        )
        for draft in drafts
    )
    return shaped(
        kind,
        means.scope,
        agent_session_id=agent_session_id,
        source=source,
        decoder_version=DECODER_VERSION,
        records=records,
        words=Words(words.words),
        redactions=dict(words.redactions),
    )


# An exchange of a session file becomes the commands of a plugin and of telemetry. Every id comes from the lines' own
# ids, so the same exchange gives the same commands whenever, and by whichever road, it is taken: a prompt that a forked
# session repeats is the same prompt.

_LINE_NAMESPACE = UUID("0d0f7a3e-5a0e-5d6b-9f0e-6d1f0f3a7b52")


class Sender(msgspec.Struct, frozen=True):
    scope: Scope
    source: str
    digester: Digester


class Step(NamedTuple):
    what: What
    command: CapturePrompt | CaptureResponse | RecordsCaptured


def steps(exchange: Exchange, sender: Sender) -> Iterator[Step]:
    """The prompt, its response, and records in batches; none reaches beyond its exchange, so it is the same again."""
    prompt, answer, scope = exchange.prompt, exchange.answer, sender.scope
    if prompt is not None:
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        former = None if prompt.former_id is None else uuid5(_LINE_NAMESPACE, prompt.former_id)
        capture = shaped(
            CapturePrompt,
            prompt,
            exchange,
            scope,
            prompt_id=prompt_stream(scope.developer_id, client_event_id),
            former_prompt_id=None if former is None else prompt_stream(scope.developer_id, former),
            source=sender.source + events.TRANSCRIPT_SUFFIX,
            client_event_id=client_event_id,
            submitted_at_us=prompt.at_us,
            unanswered=exchange.finished and answer is None,
        )
        yield Step("prompt", capture)
        if answer is not None:
            # Mostly without tokens: the records of the requests carry them.
            tokens = {name: answer.tokens.get(name) for name in TOKEN_KINDS}
            tokens["cache_creation_tokens"] = tokens.pop("cache_write_tokens")
            response = shaped(
                CaptureResponse,
                capture,
                content=shaped(events.ResponseContent, answer, response_text=answer.text, **tokens),
                response_operation_id=str(uuid5(client_event_id, "response")),
                responded_at_us=answer.at_us,
            )
            yield Step("response", response)
    for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
        drafts = exchange.drafts[start : start + BATCH_RECORDS_MAX]
        told = captured_records(drafts, exchange.agent_session_id, sender.source, sender)
        yield Step("records", replace(told, decoder_version=exchange.reader_version))
