"""Decide about captures: prompts, responses, batches of records and of metric points."""

from hashlib import blake2b
from uuid import UUID

import msgspec

from aggregates.capture.commands import CaptureMetrics, CapturePrompt, CaptureRecords, CaptureResponse, canonical_bytes
from aggregates.capture.events import (
    ForeignSessionAttempted,
    MetricsCaptured,
    OperationClaimed,
    PromptAnswered,
    PromptCaptured,
    ProvenanceFilled,
    RecordsCaptured,
    SessionClaimed,
    TracesCaptured,
)
from aggregates.command import Command, Context, Decision, Done, Reason, Refused, Streams, origin
from aggregates.event import Event, Words
from aggregates.ids import attempt_stream, batch_stream, operation_stream, session_stream
from aggregates.redaction.redaction import redact


class SessionState(msgspec.Struct, frozen=True):
    """Whose an agent session is."""

    organization_id: UUID
    developer_id: UUID


class AnswerState(msgspec.Struct, frozen=True):
    """The one answer of a prompt."""

    content_digest: bytes
    response_operation_id: str | None
    cost_catalog_revision: int | None
    cost_kind: str | None


class PromptState(msgspec.Struct, frozen=True):
    """A captured prompt, as far as later commands depend on it."""

    organization_id: UUID
    developer_id: UUID
    agent_session_id: str
    source: str
    prompt_digest: bytes
    answer: AnswerState | None = None


class OperationState(msgspec.Struct, frozen=True):
    """The prompt a response operation belongs to."""

    prompt_id: UUID


def session_streams(command: Command, agent_session_id: str) -> tuple[UUID, UUID]:
    return session_stream(agent_session_id), attempt_stream(command.developer_id, agent_session_id)


def capture_prompt(command: CapturePrompt, streams: Streams, context: Context) -> Decision:
    known = streams.get(command.prompt_id)
    if isinstance(known, PromptState):
        return _again(command, known, context)
    claim = _claim(command, command.agent_session_id, streams, context)
    if isinstance(claim.reply, Refused):
        return claim
    captured = _prompt_captured(command, context)
    return Decision((*claim.events, (command.prompt_id, captured)), Done(True, command.prompt_id))


def _again(command: CapturePrompt, known: PromptState, context: Context) -> Decision:
    digest = context.digester.digest(command.text)
    if (known.prompt_digest, known.agent_session_id, known.source) == (
        digest,
        command.agent_session_id,
        command.source,
    ):
        return Decision((), Done(False, command.prompt_id))
    message = (
        f"client_event_id {command.client_event_id} was used before with another prompt_text, tool_session_id or "
        "source; send a new client_event_id for a new prompt"
    )
    return _refused(Reason.CONFLICT, message)


def _prompt_captured(command: CapturePrompt, context: Context) -> PromptCaptured:
    text, redactions = cleaned(command.text, context)
    cwd = command.cwd
    return PromptCaptured(
        **origin(command, context.now_us),
        prompt_id=command.prompt_id,
        agent_session_id=command.agent_session_id,
        source=command.source,
        prompt=Words(text),
        prompt_digest=context.digester.digest(command.text),
        redactions=redactions,
        client_event_id=command.client_event_id,
        host_prompt_id=command.host_prompt_id,
        submitted_at_us=command.submitted_at_us,
        cwd=None if cwd is None else Words(cleaned(cwd, context)[0]),
        cwd_digest=None if cwd is None else context.digester.number(cwd),
        metadata=None if command.metadata_json is None else Words(cleaned(command.metadata_json, context)[0]),
        original_char_count=command.original_char_count,
        untruncated_sha256=command.untruncated_sha256,
        truncated=command.truncated,
    )


def capture_response(command: CaptureResponse, streams: Streams, context: Context) -> Decision:
    prompt = streams.get(command.prompt_id)
    owner = (command.organization_id, command.developer_id)
    if not isinstance(prompt, PromptState) or (prompt.organization_id, prompt.developer_id) != owner:
        message = f"no prompt {command.prompt_id} of yours; capture it by POST /v1/prompts first"
        return _refused(Reason.NOT_FOUND, message)
    operation_id = command.response_operation_id
    operation = None if operation_id is None else streams.get(operation_stream(command.developer_id, operation_id))
    if isinstance(operation, OperationState) and operation.prompt_id != command.prompt_id:
        message = (
            f"response_operation_id {operation_id} already belongs to another prompt; send a new one for each response"
        )
        return _refused(Reason.CONFLICT, message)
    try:
        digest = context.digester.digest(canonical_bytes(command.content).decode())
    except ValueError as error:
        return _refused(Reason.INVALID, f"the response has no canonical form: {error}")
    if prompt.answer is None:
        answered = _prompt_answered(command, prompt, digest, context)
        return Decision(
            ((command.prompt_id, answered), *_operation_claim(command, context)), Done(True, command.prompt_id)
        )
    if prompt.answer.content_digest != digest:
        message = f"prompt {command.prompt_id} already has a different response; a response is never replaced"
        return _refused(Reason.CONFLICT, message)
    return _same_answer(command, prompt.answer, operation is not None, context)


def _same_answer(command: CaptureResponse, answer: AnswerState, claimed: bool, context: Context) -> Decision:
    """An identical retry may fill missing provenance; a differing one keeps the first values."""
    revision = command.cost_catalog_revision if answer.cost_catalog_revision is None else None
    kind = command.cost_kind if answer.cost_kind is None else None
    events: list[tuple[UUID, Event]] = []
    if revision is not None or kind is not None:
        filled = ProvenanceFilled(
            **origin(command, context.now_us),
            prompt_id=command.prompt_id,
            cost_catalog_revision=revision,
            cost_kind=kind,
        )
        events.append((command.prompt_id, filled))
    if not claimed:
        events.extend(_operation_claim(command, context))
    return Decision(tuple(events), Done(False, command.prompt_id))


def _operation_claim(command: CaptureResponse, context: Context) -> tuple[tuple[UUID, Event], ...]:
    if command.response_operation_id is None:
        return ()
    claim = OperationClaimed(
        **origin(command, context.now_us),
        response_operation_id=command.response_operation_id,
        prompt_id=command.prompt_id,
    )
    return ((operation_stream(command.developer_id, command.response_operation_id), claim),)


def _prompt_answered(command: CaptureResponse, prompt: PromptState, digest: bytes, context: Context) -> PromptAnswered:
    content = command.content
    text, redactions = (None, {}) if content.response_text is None else cleaned(content.response_text, context)
    return PromptAnswered(
        **origin(command, context.now_us),
        prompt_id=command.prompt_id,
        agent_session_id=prompt.agent_session_id,
        response_operation_id=command.response_operation_id,
        response=None if text is None else Words(text),
        content_digest=digest,
        redactions=redactions,
        responded_at_us=command.responded_at_us,
        elapsed_ms=None if content.elapsed_ms is None else round(content.elapsed_ms),
        input_tokens=content.input_tokens,
        output_tokens=content.output_tokens,
        cache_read_tokens=content.cache_read_tokens,
        cache_creation_tokens=content.cache_creation_tokens,
        model=content.model,
        cost_usd_nano=None if content.cost_usd is None else round(content.cost_usd * 1_000_000_000),
        cost_catalog_revision=command.cost_catalog_revision,
        cost_kind=command.cost_kind,
    )


def capture_records(command: CaptureRecords, streams: Streams, context: Context) -> Decision:
    kind = TracesCaptured if command.signal == "traces" else RecordsCaptured
    captured = kind(
        **origin(command, context.now_us),
        agent_session_id=command.agent_session_id,
        source=command.source,
        decoder_version=command.decoder_version,
        records=command.records,
        words=Words(command.words),
        redactions=command.redactions,
        raw=None if command.raw is None else Words(command.raw),
    )
    return _capture_batch(command, captured, streams, context)


def capture_metrics(command: CaptureMetrics, streams: Streams, context: Context) -> Decision:
    captured = MetricsCaptured(
        **origin(command, context.now_us),
        agent_session_id=command.agent_session_id,
        source=command.source,
        decoder_version=command.decoder_version,
        points=command.points,
        redactions=command.redactions,
        raw=Words(command.raw),
    )
    return _capture_batch(command, captured, streams, context)


def _capture_batch(
    command: CaptureRecords | CaptureMetrics, captured: Event, streams: Streams, context: Context
) -> Decision:
    """An exact retry of a batch finds its stream taken; a session of another scope refuses it."""
    batch = batch_of(command)
    if batch in streams:
        return Decision((), Done(False, batch))
    if command.agent_session_id is None:
        return Decision(((batch, captured),), Done(True, batch))
    claim = _claim(command, command.agent_session_id, streams, context)
    if isinstance(claim.reply, Refused):
        return claim
    return Decision((*claim.events, (batch, captured)), Done(True, batch))


def batch_of(command: CaptureRecords | CaptureMetrics) -> UUID:
    digest = blake2b(digest_size=16)
    for each in command.records if isinstance(command, CaptureRecords) else command.points:
        digest.update(each.record_id.encode() + b"\x1f")
    return batch_stream(command.developer_id, command.agent_session_id or "", digest.hexdigest())


def _claim(command: Command, agent_session_id: str, streams: Streams, context: Context) -> Decision:
    stream = session_stream(agent_session_id)
    scope = (command.organization_id, command.developer_id)
    known = streams.get(stream)
    if isinstance(known, SessionState):
        if (known.organization_id, known.developer_id) == scope:
            return Decision((), Done(True))
        return _foreign(command, agent_session_id, streams, context)
    claimed = SessionClaimed(**origin(command, context.now_us), agent_session_id=agent_session_id)
    return Decision(((stream, claimed),), Done(True))


def _foreign(command: Command, agent_session_id: str, streams: Streams, context: Context) -> Decision:
    """Nothing of the capture is kept; one flag per developer and session is."""
    refusal = Refused(
        Reason.FOREIGN_SESSION,
        "tool_session_id belongs to another developer's agent session; nothing was stored. "
        "Agent session ids are unique: check that the agent is set up with its own key",
    )
    attempt = attempt_stream(command.developer_id, agent_session_id)
    if attempt in streams:
        return Decision((), refusal)
    attempted = ForeignSessionAttempted(**origin(command, context.now_us), agent_session_id=agent_session_id)
    return Decision(((attempt, attempted),), refusal)


def _refused(reason: Reason, message: str) -> Decision:
    return Decision((), Refused(reason, message))


def cleaned(text: str, context: Context) -> tuple[str, dict[str, int]]:
    if not context.redaction:
        return text, {}
    redacted = redact(text)
    return redacted.text, redacted.counts
