"""Decide about captures: prompts, responses, batches of records and of metric points."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b, sha256
from operator import attrgetter
from uuid import UUID

import msgspec
import rfc8785
from msgspec import inspect
from msgspec.structs import replace

from aggregates.capture import events
from aggregates.event import (
    Command,
    Context,
    Decision,
    DeveloperEvent,
    Done,
    Event,
    Reason,
    Redacted,
    S,
    Scope,
    Streams,
    Words,
    origin,
    refused,
    shaped,
)
from aggregates.ids import attempt_stream, batch_stream, operation_stream, session_stream


class AnswerState(msgspec.Struct, frozen=True):
    content_digest: bytes
    cost_catalog_revision: int | None
    cost_kind: str | None
    responded_at_us: int | None = None
    reader_version: int = 1


class TranscriptBatchState(msgspec.Struct, frozen=True):
    """Every account that was taken of the same records: a later import, or a newer reader, may have another."""

    digests: frozenset[bytes]
    reader_version: int


class PromptState(msgspec.Struct, frozen=True):
    scope: Scope
    agent_session_id: str
    source: str
    prompt_digest: bytes
    submitted_at_us: int | None = None
    reader_version: int = 1
    answer: AnswerState | None = None

    @property
    def line(self) -> tuple[object, ...]:
        """What a line of an agent's file keeps, however it is read."""
        return self.scope, self.agent_session_id, self.source, self.submitted_at_us


CaptureState = events.SessionClaimed | events.OperationClaimed | PromptState | TranscriptBatchState
"""A claim is its own state."""


def evolve_capture(state: object, event: Event) -> CaptureState | None:
    """None where the event says nothing that a later command depends on."""
    match event:
        case events.SessionClaimed() | events.OperationClaimed():
            return event
        case events.PromptCaptured():
            return shaped(PromptState, event, answer=state.answer if isinstance(state, PromptState) else None)
        case events.PromptAnswered() if isinstance(state, PromptState):
            return replace(state, answer=None if event.withdraws else shaped(AnswerState, event))
        case events.ProvenanceFilled() if isinstance(state, PromptState) and state.answer is not None:
            told = {name: getattr(event, name) for name in _PROVENANCE if getattr(state.answer, name) is None}
            return replace(state, answer=replace(state.answer, **told))
        case events.RecordsCaptured() if event.raw is None:
            batch = TranscriptBatchState(frozenset({_account_digest(event)}), event.decoder_version)
            if not isinstance(state, TranscriptBatchState):
                return batch
            newest = max(state.reader_version, batch.reader_version)
            return TranscriptBatchState(state.digests | batch.digests, newest)
    return None


def _account_digest(event: events.RecordsCaptured) -> bytes:
    return blake2b(msgspec.msgpack.encode(event.records), digest_size=16).digest()


_PROVENANCE = ("cost_catalog_revision", "cost_kind")


def capture_streams(command: events.AnyCapture) -> tuple[UUID, ...]:
    if isinstance(command, events.CaptureResponse):
        operation_id = command.response_operation_id
        operations = () if operation_id is None else (operation_stream(command.developer_id, operation_id),)
        return command.prompt_id, *former_stream(command), *operations
    own, session_id = _own_stream(command), command.agent_session_id
    if session_id is None:
        return (own,)
    return own, *former_stream(command), session_stream(session_id), attempt_stream(command.developer_id, session_id)


def former_stream(command: events.AnyCapture) -> tuple[UUID, ...]:
    """Where it stands if an older reader of agents' files took it under another name."""
    match command:
        case events.CapturePrompt() | events.CaptureResponse() if command.former_prompt_id is not None:
            return (command.former_prompt_id,)
        case events.RecordsCaptured() if any(record.former_id for record in command.records):
            return (_batch_stream(command, (record.former_id or record.record_id for record in command.records)),)
        case _:
            return ()


def _own_stream(command: events.CapturePrompt | events.RecordsCaptured | events.MetricsCaptured) -> UUID:
    if isinstance(command, events.CapturePrompt):
        return command.prompt_id
    told = command.records if isinstance(command, events.RecordsCaptured) else command.points
    return _batch_stream(command, (each.record_id for each in told))


def _batch_stream(command: events.Telemetry, record_ids: Iterable[str]) -> UUID:
    digest = blake2b("".join(f"{each}\x1f" for each in record_ids).encode(), digest_size=16)
    return batch_stream(command.developer_id, command.agent_session_id or "", digest.hexdigest())


def decide_capture(command: events.AnyCapture, streams: Streams, context: Context) -> Decision:
    """An exact retry finds its stream taken; a session of another scope refuses every capture."""
    if isinstance(command, events.CaptureResponse):
        return _decide_response(command, streams, context)
    stream = _own_stream(command)
    known, former = streams.get(stream), next(map(streams.get, former_stream(command)), None)
    if isinstance(command, events.CapturePrompt):
        told = command.source, context.digester.digest(command.text), command.submitted_at_us, command.reader_version
        sent = cleared(PromptState(command.scope, command.agent_session_id, *told), context)
        if known is None and isinstance(former, PromptState) and former.line == sent.line:
            known, command = former, replace(command, prompt_id=former_stream(command)[0])
        if isinstance(known, PromptState):
            return _decide_known_prompt(command, known, sent, context)
    corrected = is_newer = False
    if isinstance(known, TranscriptBatchState) and isinstance(command, events.RecordsCaptured):
        corrected = _account_digest(cleared(command, context)) not in known.digests
        # Where a newer reader tells the same, it must count beside what this reader tells of copies.
        is_newer = command.decoder_version > known.reader_version
    if known is not None and not corrected and not is_newer:
        return Decision((), Done(False, stream))
    created = known is None or corrected
    corrected |= isinstance(former, TranscriptBatchState)
    claim = _claim(command, command.agent_session_id, streams, context)
    if not isinstance(claim.reply, Done):
        return claim
    return Decision((*claim.events, (stream, _captured(command, context))), Done(created, stream, corrected))


def _decide_known_prompt(
    command: events.CapturePrompt, known: PromptState, sent: PromptState, context: Context
) -> Decision:
    """A newer reader of the same line counts, and so does what it says of the answer."""
    stream, answer, found = command.prompt_id, known.answer, list[Event]()
    newer = sent.reader_version > known.reader_version and known.line == sent.line
    retried = {"answer": None, "submitted_at_us": sent.submitted_at_us}  # a retry may tell another time
    if replace(known, **retried, reader_version=sent.reader_version) != sent:
        if not newer:
            return refused(
                Reason.CONFLICT,
                f"client_event_id {command.client_event_id} was used before with another prompt_text, tool_session_id "
                "or source; send a new client_event_id for a new prompt",
            )
        found.append(_captured(command, context))
    if command.unanswered and answer is not None and answer.reader_version < sent.reader_version:
        found.append(shaped(events.PromptAnswered, command, received_at_us=context.now_us, content_digest=b""))
    return Decision(tuple((stream, each) for each in found), Done(bool(found), stream, bool(found)))


def _claim(command: Command | DeveloperEvent, session_id: str | None, streams: Streams, context: Context) -> Decision:
    """Of a foreign session nothing is kept but one flag per developer and session."""
    if session_id is None:
        return Decision((), Done(True))
    known = streams.get(session_stream(session_id))
    if isinstance(known, events.SessionClaimed) and known.scope == command.scope:
        return Decision((), Done(True))
    by = origin(command, context.now_us)
    if not isinstance(known, events.SessionClaimed):
        claimed = events.SessionClaimed(**by, agent_session_id=session_id)
        return Decision(((session_stream(session_id), claimed),), Done(True))
    attempt = attempt_stream(command.developer_id, session_id)
    attempted = (attempt, events.ForeignSessionAttempted(**by, agent_session_id=session_id))
    return refused(
        Reason.FOREIGN_SESSION,
        "tool_session_id belongs to another developer's agent session; nothing was stored. "
        "Agent session ids are unique: check that the agent is set up with its own key",
        *(() if attempt in streams else (attempted,)),
    )


def _captured(command: events.CapturePrompt | events.Telemetry, context: Context) -> Event:
    if isinstance(command, events.Telemetry):
        return replace(command, received_at_us=context.now_us)
    text, redactions = cleaned(command.text, context)
    cwd, metadata = command.cwd, command.metadata_json
    return shaped(
        events.PromptCaptured,
        command,
        received_at_us=context.now_us,
        prompt=Words(text),
        prompt_digest=context.digester.digest(command.text),
        redactions=redactions,
        cwd=None if cwd is None else Words(cleaned(cwd, context).text),
        cwd_digest=None if cwd is None else context.digester.number(cwd),
        metadata=None if metadata is None else Words(cleaned(metadata, context).text),
    )


def _decide_response(command: events.CaptureResponse, streams: Streams, context: Context) -> Decision:
    """An identical retry may fill missing provenance; a differing one only follows it in an import."""
    if command.former_prompt_id is not None and streams.get(command.prompt_id) is None:
        command = replace(command, prompt_id=command.former_prompt_id)
    prompt_id, operation_id = command.prompt_id, command.response_operation_id
    prompt = streams.get(prompt_id)
    if not isinstance(prompt, PromptState) or prompt.scope != command.scope:
        return refused(Reason.NOT_FOUND, f"no prompt {prompt_id} of yours; capture it by POST /v1/prompts first")
    by = origin(command, context.now_us)
    claim: tuple[tuple[UUID, Event], ...] = ()
    if operation_id is not None:
        stream = operation_stream(command.developer_id, operation_id)
        operation = streams.get(stream)
        if operation is None:
            claim = ((stream, events.OperationClaimed(**by, response_operation_id=operation_id, prompt_id=prompt_id)),)
        elif isinstance(operation, events.OperationClaimed) and operation.prompt_id != prompt_id:
            return refused(
                Reason.CONFLICT,
                f"response_operation_id {operation_id} already belongs to another prompt; send a new one for each "
                "response",
            )
    try:
        digest = context.digester.digest(canonical_bytes(command.content).decode())
    except ValueError as error:
        return refused(Reason.INVALID, f"the response has no canonical form: {error}")
    answer, of_files = prompt.answer, prompt.source.endswith(events.TRANSCRIPT_SUFFIX)
    if answer is None or (of_files and _follows(command, answer, digest)):
        answered = _prompt_answered(command, prompt, digest, context)
        return Decision(((prompt_id, answered), *claim), Done(True, prompt_id, answer is not None))
    if answer.content_digest != digest and not of_files:
        message = f"prompt {prompt_id} already has a different response; a response is never replaced"
        return refused(Reason.CONFLICT, message)
    told = {name: getattr(command, name) for name in _PROVENANCE if getattr(answer, name) is None}
    if any(value is not None for value in told.values()):
        claim = ((prompt_id, events.ProvenanceFilled(**by, prompt_id=prompt_id, **told)), *claim)
    return Decision(claim, Done(False, prompt_id))


def _follows(command: events.CaptureResponse, answer: AnswerState, digest: bytes) -> bool:
    """What an import took while a turn was quiet gives way to what the agent said later, and to a newer reader's."""
    told, before = ((each.reader_version, each.responded_at_us or 0) for each in (command, answer))
    return answer.content_digest != digest and told >= before


def _prompt_answered(command: events.CaptureResponse, prompt: PromptState, digest: bytes, context: Context) -> Event:
    content = command.content
    text, redactions = (None, {}) if content.response_text is None else cleaned(content.response_text, context)
    return shaped(
        events.PromptAnswered,
        command,
        content,
        received_at_us=context.now_us,
        agent_session_id=prompt.agent_session_id,
        response=None if text is None else Words(text),
        content_digest=digest,
        redactions=redactions,
        elapsed_ms=None if content.elapsed_ms is None else round(content.elapsed_ms),
        cost_usd_nano=None if content.cost_usd is None else round(content.cost_usd * 1_000_000_000),
    )


def canonical_bytes(content: events.ResponseContent) -> bytes:
    """RFC 8785 JSON, absent fields null. `ValueError`: an integer beyond 2**53, a lone surrogate."""
    return rfc8785.dumps(msgspec.structs.asdict(content))


def content_hash(content: events.ResponseContent) -> str:
    """SHA-256, lower-case hex: what `response_content_hash` must equal."""
    return sha256(canonical_bytes(content)).hexdigest()


def cleaned(text: str, context: Context) -> Redacted:
    from aggregates.reading.redaction import redact  # late: loaded with the first text

    return redact(text) if context.redaction else Redacted(text, {})


# What stands in an event unsealed, names and ids, is bounded and holds no secrets. A name loses them like a text; an id
# that holds one becomes a keyed digest of itself: the same id still joins.

CLEAR_CHARACTERS_MAX = 1_024  # of a name or an id; a longer name is cut, a longer id digested
_MADE = re.compile(r"[0-9a-f]{32,64}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""A digest or a UUID: most ids, which need no look."""


def cleared(fact: S, context: Context) -> S:
    from aggregates.reading.redaction import redact_among  # late: loaded with the first text

    texts = [text for text in _strings([fact]) if _MADE.fullmatch(text) is None]
    found = redact_among(texts) if context.redaction else {}
    redacted = {texts[index]: each.text for index, each in found.items()}
    wrong = redacted.keys() | {text for text in texts if len(text) > CLEAR_CHARACTERS_MAX}
    return _without(fact, wrong, redacted, context) if wrong else fact


def _without(fact: S, wrong: set[str], redacted: dict[str, str], context: Context) -> S:
    strings, parts = _fields(type(fact))
    changed: dict[str, object] = {}
    for name in strings:
        text = getattr(fact, name)
        if text in wrong:
            digest = f"redacted-{context.digester.digest(text).hex()}"
            changed[name] = digest if name.endswith("_id") else redacted.get(text, text)[:CLEAR_CHARACTERS_MAX]
    for name in parts:
        changed[name] = tuple(_without(each, wrong, redacted, context) for each in getattr(fact, name))
    return msgspec.structs.replace(fact, **changed) if changed else fact


def _strings(facts: Sequence[msgspec.Struct]) -> set[str]:
    """What stands in facts of one class, and in their parts: mostly the same names again."""
    strings, parts = _fields(type(facts[0])) if facts else ([], [])
    found = set[str]().union(*(map(attrgetter(name), facts) for name in strings)) - {None}
    return found.union(*(_strings([part for each in facts for part in getattr(each, name)]) for name in parts))


@cache
def _fields(cls: type[msgspec.Struct]) -> tuple[list[str], list[str]]:
    """Those that hold a string, and those that hold further structs."""
    shape = inspect.type_info(cls)
    assert isinstance(shape, inspect.StructType)
    kinds = {field.name: field.type for field in shape.fields}
    told = {name: kind.types if isinstance(kind, inspect.UnionType) else (kind,) for name, kind in kinds.items()}
    strings = [name for name, types in told.items() if any(isinstance(each, inspect.StrType) for each in types)]
    tuples = {name: kind for name, kind in kinds.items() if isinstance(kind, inspect.VarTupleType)}
    return strings, [name for name, kind in tuples.items() if isinstance(kind.item_type, inspect.StructType)]
