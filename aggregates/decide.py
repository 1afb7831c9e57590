"""Deciding about captures: a command and what is known, in; events and a reply, out.

`decide` is insert-first: a stream that was not loaded is taken to be empty, and the store refuses the append where
that was wrong. The actor then loads `touched_streams` and decides again, now knowing what stands there.
"""

from hashlib import blake2b
from uuid import UUID

import msgspec

from aggregates import commands as c
from aggregates import events as e
from aggregates.canonical import canonical_bytes
from aggregates.commands import Done, Reason, Refused, Reply
from aggregates.corrections import corrected
from aggregates.digests import Digester
from aggregates.ids import (
    attempt_stream,
    batch_stream,
    corrections_stream,
    forget_stream,
    operation_stream,
    session_stream,
)
from aggregates.redaction import redact
from aggregates.reports import decide_report, report_streams
from aggregates.streams import AnswerState, OperationState, PromptState, SessionState, Streams
from aggregates.words import Words


class Decision(msgspec.Struct, frozen=True):
    """What to append, and what to answer once it is on disk."""

    events: tuple[tuple[UUID, e.Event], ...]
    reply: Reply


class Context(msgspec.Struct, frozen=True):
    """What enters from outside: the time of receipt, the developer's digester, whether secrets are taken out."""

    now_us: int
    digester: Digester
    redaction: bool


def touched_streams(command: c.AnyCommand) -> tuple[UUID, ...]:
    """Every stream whose state the decision looks at."""
    match command:
        case c.CapturePrompt():
            return (command.prompt_id, *_session_streams(command, command.agent_session_id))
        case c.CaptureResponse(response_operation_id=None):
            return (command.prompt_id,)
        case c.CaptureResponse(response_operation_id=str() as operation_id):
            return (command.prompt_id, operation_stream(command.developer_id, operation_id))
        case c.CaptureRecords(agent_session_id=None) | c.CaptureMetrics(agent_session_id=None):
            return (_batch_of(command),)
        case c.CaptureRecords(agent_session_id=str() as session) | c.CaptureMetrics(agent_session_id=str() as session):
            return (_batch_of(command), *_session_streams(command, session))
        case c.ReportCommand():
            return report_streams(command)
        case c.ForgetDeveloper():
            return (forget_stream(command.developer_id),)
        case _:
            return (corrections_stream(command.developer_id),)


def _session_streams(command: c.Command, agent_session_id: str) -> tuple[UUID, UUID]:
    return session_stream(agent_session_id), attempt_stream(command.developer_id, agent_session_id)


def required_streams(command: c.AnyCommand) -> tuple[UUID, ...]:
    """The streams that must be loaded before the first decision, since they are expected to exist."""
    match command:
        case c.CaptureResponse():
            return (command.prompt_id,)
        case c.EditTitle() | c.CompleteSetup() | c.Correction() | c.ReportCommand() | c.ForgetDeveloper():
            return touched_streams(command)
        case _:
            return ()


def decide(command: c.AnyCommand, streams: Streams, context: Context) -> Decision:
    """What follows from a command, given the states of the streams that are known."""
    match command:
        case c.CapturePrompt():
            return _capture_prompt(command, streams, context)
        case c.CaptureResponse():
            return _capture_response(command, streams, context)
        case c.CaptureRecords():
            return _capture_records(command, streams, context)
        case c.CaptureMetrics():
            return _capture_metrics(command, streams, context)
        case c.EditTitle():
            return _edit_title(command, context)
        case c.CorrectGap() | c.CorrectGoal() | c.CorrectRework() | c.CorrectIntent():
            event = corrected(command, context.now_us)
            return Decision(((corrections_stream(command.developer_id), event),), Done(True, command.capture_id))
        case c.CompleteSetup():
            return _complete_setup(command, context)
        case c.ReportCommand():
            return Decision(*decide_report(command, streams, context.now_us))
        case c.ForgetDeveloper():
            return _order_to_forget(command, context)


# --- prompts --------------------------------------------------------------------------------------------------


def _capture_prompt(command: c.CapturePrompt, streams: Streams, context: Context) -> Decision:
    known = streams.get(command.prompt_id)
    if isinstance(known, PromptState):
        return _again(command, known, context)
    claim = _claim(command, command.agent_session_id, streams, context)
    if isinstance(claim.reply, Refused):
        return claim
    captured = _prompt_captured(command, context)
    return Decision((*claim.events, (command.prompt_id, captured)), Done(True, command.prompt_id))


def _again(command: c.CapturePrompt, known: PromptState, context: Context) -> Decision:
    same = (
        known.prompt_digest == context.digester.digest(command.text)
        and known.agent_session_id == command.agent_session_id
        and known.source == command.source
    )
    if same:
        return Decision((), Done(False, command.prompt_id))
    message = (
        f"client_event_id {command.client_event_id} was used before with another prompt_text, tool_session_id or "
        "source; send a new client_event_id for a new prompt"
    )
    return Decision((), Refused(Reason.CONFLICT, message))


def _prompt_captured(command: c.CapturePrompt, context: Context) -> e.PromptCaptured:
    text, redactions = _cleaned(command.text, context)
    cwd = command.cwd
    return e.PromptCaptured(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        prompt_id=command.prompt_id,
        agent_session_id=command.agent_session_id,
        source=command.source,
        prompt=Words(text),
        prompt_digest=context.digester.digest(command.text),
        redactions=redactions,
        client_event_id=command.client_event_id,
        host_prompt_id=command.host_prompt_id,
        submitted_at_us=command.submitted_at_us,
        cwd=None if cwd is None else Words(_cleaned(cwd, context)[0]),
        cwd_digest=None if cwd is None else context.digester.number(cwd),
        metadata=None if command.metadata_json is None else Words(_cleaned(command.metadata_json, context)[0]),
        original_char_count=command.original_char_count,
        untruncated_sha256=command.untruncated_sha256,
        truncated=command.truncated,
    )


# --- responses ------------------------------------------------------------------------------------------------


def _capture_response(command: c.CaptureResponse, streams: Streams, context: Context) -> Decision:
    prompt = streams.get(command.prompt_id)
    owner = (command.organization_id, command.developer_id)
    if not isinstance(prompt, PromptState) or (prompt.organization_id, prompt.developer_id) != owner:
        message = f"no prompt {command.prompt_id} of yours; capture it by POST /v1/prompts first"
        return Decision((), Refused(Reason.NOT_FOUND, message))
    operation = _operation(command, streams)
    if isinstance(operation, OperationState) and operation.prompt_id != command.prompt_id:
        message = (
            f"response_operation_id {command.response_operation_id} already belongs to another prompt; "
            "send a new one for each response"
        )
        return Decision((), Refused(Reason.CONFLICT, message))
    try:
        digest = context.digester.digest(canonical_bytes(command.content).decode())
    except ValueError as error:
        return Decision((), Refused(Reason.INVALID, f"the response has no canonical form: {error}"))
    if prompt.answer is None:
        return _first_answer(command, prompt, digest, context)
    if prompt.answer.content_digest != digest:
        message = f"prompt {command.prompt_id} already has a different response; a response is never replaced"
        return Decision((), Refused(Reason.CONFLICT, message))
    return _same_answer(command, prompt.answer, operation is not None, context)


def _operation(command: c.CaptureResponse, streams: Streams) -> OperationState | None:
    if command.response_operation_id is None:
        return None
    state = streams.get(operation_stream(command.developer_id, command.response_operation_id))
    return state if isinstance(state, OperationState) else None


def _first_answer(command: c.CaptureResponse, prompt: PromptState, digest: bytes, context: Context) -> Decision:
    """An operation is claimed in the same append as the answer, so here it never is already."""
    answered = _prompt_answered(command, prompt, digest, context)
    claim = _operation_claim(command, context)
    return Decision(((command.prompt_id, answered), *claim), Done(True, command.prompt_id))


def _same_answer(command: c.CaptureResponse, answer: AnswerState, claimed: bool, context: Context) -> Decision:
    """An identical retry may fill missing provenance; a differing one keeps the first values."""
    revision = command.cost_catalog_revision if answer.cost_catalog_revision is None else None
    kind = command.cost_kind if answer.cost_kind is None else None
    events: list[tuple[UUID, e.Event]] = []
    if revision is not None or kind is not None:
        filled = e.ProvenanceFilled(
            received_at_us=context.now_us,
            organization_id=command.organization_id,
            developer_id=command.developer_id,
            prompt_id=command.prompt_id,
            cost_catalog_revision=revision,
            cost_kind=kind,
        )
        events.append((command.prompt_id, filled))
    if not claimed:
        events.extend(_operation_claim(command, context))
    return Decision(tuple(events), Done(False, command.prompt_id))


def _operation_claim(command: c.CaptureResponse, context: Context) -> tuple[tuple[UUID, e.Event], ...]:
    if command.response_operation_id is None:
        return ()
    claim = e.OperationClaimed(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        response_operation_id=command.response_operation_id,
        prompt_id=command.prompt_id,
    )
    return ((operation_stream(command.developer_id, command.response_operation_id), claim),)


def _prompt_answered(
    command: c.CaptureResponse, prompt: PromptState, digest: bytes, context: Context
) -> e.PromptAnswered:
    content = command.content
    text, redactions = (None, {}) if content.response_text is None else _cleaned(content.response_text, context)
    return e.PromptAnswered(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
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


# --- records, titles, setup -----------------------------------------------------------------------------------


def _capture_records(command: c.CaptureRecords, streams: Streams, context: Context) -> Decision:
    kind = e.TracesCaptured if command.signal == "traces" else e.RecordsCaptured
    captured = kind(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        agent_session_id=command.agent_session_id,
        source=command.source,
        decoder_version=command.decoder_version,
        records=command.records,
        words=Words(command.words),
        redactions=command.redactions,
        raw=None if command.raw is None else Words(command.raw),
    )
    return _capture_batch(command, captured, streams, context)


def _capture_metrics(command: c.CaptureMetrics, streams: Streams, context: Context) -> Decision:
    captured = e.MetricsCaptured(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        agent_session_id=command.agent_session_id,
        source=command.source,
        decoder_version=command.decoder_version,
        points=command.points,
        redactions=command.redactions,
        raw=Words(command.raw),
    )
    return _capture_batch(command, captured, streams, context)


def _capture_batch(
    command: c.CaptureRecords | c.CaptureMetrics, captured: e.Event, streams: Streams, context: Context
) -> Decision:
    """An exact retry of a batch finds its stream taken; a session of another scope refuses it."""
    batch = _batch_of(command)
    if batch in streams:
        return Decision((), Done(False, batch))
    claim = Decision((), Done(True))
    if command.agent_session_id is not None:
        claim = _claim(command, command.agent_session_id, streams, context)
    if isinstance(claim.reply, Refused):
        return claim
    return Decision((*claim.events, (batch, captured)), Done(True, batch))


def _batch_of(command: c.CaptureRecords | c.CaptureMetrics) -> UUID:
    digest = blake2b(digest_size=16)
    for each in command.records if isinstance(command, c.CaptureRecords) else command.points:
        digest.update(each.record_id.encode() + b"\x1f")
    return batch_stream(command.developer_id, command.agent_session_id or "", digest.hexdigest())


def _edit_title(command: c.EditTitle, context: Context) -> Decision:
    summary = command.summary
    edited = e.TitleEdited(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        turn_id=command.turn_id,
        title=Words(_cleaned(command.title, context)[0]),
        summary=None if summary is None else Words(_cleaned(summary, context)[0]),
    )
    return Decision(((corrections_stream(command.developer_id), edited),), Done(True, command.turn_id))


def _complete_setup(command: c.CompleteSetup, context: Context) -> Decision:
    completed = e.SetupCompleted(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        plugin_version=command.plugin_version,
        key_prefix=command.key_prefix,
    )
    return Decision(((corrections_stream(command.developer_id), completed),), Done(True))


def _order_to_forget(command: c.ForgetDeveloper, context: Context) -> Decision:
    """Each order is a fact of its own: who was forgotten may come back, and be forgotten again."""
    ordered = e.ForgetOrdered(
        received_at_us=context.now_us, organization_id=command.organization_id, developer_id=command.developer_id
    )
    return Decision(((forget_stream(command.developer_id), ordered),), Done(True))


# --- shared ---------------------------------------------------------------------------------------------------


def _claim(command: c.Command, agent_session_id: str, streams: Streams, context: Context) -> Decision:
    """Claim the agent session for the command's scope, or refuse where another scope holds it."""
    stream = session_stream(agent_session_id)
    scope = (command.organization_id, command.developer_id)
    known = streams.get(stream)
    if isinstance(known, SessionState):
        if (known.organization_id, known.developer_id) == scope:
            return Decision((), Done(True))
        return _foreign(command, agent_session_id, streams, context)
    claimed = e.SessionClaimed(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        agent_session_id=agent_session_id,
    )
    return Decision(((stream, claimed),), Done(True))


def _foreign(command: c.Command, agent_session_id: str, streams: Streams, context: Context) -> Decision:
    """Nothing of the capture is kept; one flag per developer and session is."""
    refusal = Refused(
        Reason.FOREIGN_SESSION,
        "tool_session_id belongs to another developer's agent session; nothing was stored. "
        "Agent session ids are unique: check that the agent is set up with its own key",
    )
    attempt = attempt_stream(command.developer_id, agent_session_id)
    if attempt in streams:
        return Decision((), refusal)
    attempted = e.ForeignSessionAttempted(
        received_at_us=context.now_us,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        agent_session_id=agent_session_id,
    )
    return Decision(((attempt, attempted),), refusal)


def _cleaned(text: str, context: Context) -> tuple[str, dict[str, int]]:
    if not context.redaction:
        return text, {}
    redacted = redact(text)
    return redacted.text, redacted.counts
