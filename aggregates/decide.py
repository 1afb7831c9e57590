"""Deciding about captures: a command and what is known, in; events and a reply, out.

`decide` is insert-first: a stream that was not loaded is taken to be empty, and the store refuses the append where
that was wrong. The actor then loads `touched_streams` and decides again, now knowing what stands there.
"""

from uuid import UUID

import msgspec

from aggregates.capture.commands import CaptureMetrics, CapturePrompt, CaptureRecords, CaptureResponse, CompleteSetup
from aggregates.capture.decide import (
    AnswerState,
    OperationState,
    PromptState,
    SessionState,
    batch_of,
    capture_metrics,
    capture_prompt,
    capture_records,
    capture_response,
    cleaned,
    session_streams,
)
from aggregates.capture.events import (
    OperationClaimed,
    PromptAnswered,
    PromptCaptured,
    ProvenanceFilled,
    SessionClaimed,
    SetupCompleted,
)
from aggregates.command import Command, Context, Decision, Done, Exists, Streams, origin
from aggregates.event import Event, Words
from aggregates.ids import forget_stream, operation_stream, overrides_stream
from aggregates.reports.decide import ReportState, SlotState, decide_report, evolve_report, report_streams
from aggregates.reports.events import AnyReportCommand, ReportCommand, ReportEvent
from aggregates.retained import ForgetOrdered
from aggregates.sub_sessions.sub_session import (
    AnyOverride,
    EditTitle,
    OverrideCommand,
    OverrideGap,
    OverrideGoal,
    OverrideIntent,
    OverrideRework,
    TitleEdited,
    overridden,
)


class ForgetDeveloper(Command, frozen=True, kw_only=True, tag="forget-developer"):
    """Forget a developer: their texts go for good, what was counted stays."""


AnyCommand = (
    CapturePrompt
    | CaptureResponse
    | CaptureRecords
    | CaptureMetrics
    | EditTitle
    | AnyOverride
    | CompleteSetup
    | AnyReportCommand
    | ForgetDeveloper
)


def touched_streams(command: AnyCommand) -> tuple[UUID, ...]:
    match command:
        case CapturePrompt():
            return (command.prompt_id, *session_streams(command, command.agent_session_id))
        case CaptureResponse(response_operation_id=None):
            return (command.prompt_id,)
        case CaptureResponse(response_operation_id=str() as operation_id):
            return (command.prompt_id, operation_stream(command.developer_id, operation_id))
        case CaptureRecords(agent_session_id=None) | CaptureMetrics(agent_session_id=None):
            return (batch_of(command),)
        case CaptureRecords(agent_session_id=str() as session) | CaptureMetrics(agent_session_id=str() as session):
            return (batch_of(command), *session_streams(command, session))
        case ReportCommand():
            return report_streams(command)
        case ForgetDeveloper():
            return (forget_stream(command.developer_id),)
        case _:
            return (overrides_stream(command.developer_id),)


def required_streams(command: AnyCommand) -> tuple[UUID, ...]:
    """The streams that must be loaded before the first decision, since they are expected to exist."""
    match command:
        case CaptureResponse():
            return (command.prompt_id,)
        case EditTitle() | CompleteSetup() | OverrideCommand() | ReportCommand() | ForgetDeveloper():
            return touched_streams(command)
        case _:
            return ()


def decide(command: AnyCommand, streams: Streams, context: Context) -> Decision:
    match command:
        case CapturePrompt():
            return capture_prompt(command, streams, context)
        case CaptureResponse():
            return capture_response(command, streams, context)
        case CaptureRecords():
            return capture_records(command, streams, context)
        case CaptureMetrics():
            return capture_metrics(command, streams, context)
        case EditTitle():
            return _edit_title(command, context)
        case OverrideGap() | OverrideGoal() | OverrideRework() | OverrideIntent():
            event = overridden(command, context.now_us)
            return Decision(((overrides_stream(command.developer_id), event),), Done(True, command.capture_id))
        case CompleteSetup():
            by, key_prefix = origin(command, context.now_us), command.key_prefix
            completed = SetupCompleted(**by, plugin_version=command.plugin_version, key_prefix=key_prefix)
            return Decision(((overrides_stream(command.developer_id), completed),), Done(True))
        case ReportCommand():
            return Decision(*decide_report(command, streams, context.now_us))
        case ForgetDeveloper():
            # Each order is a fact of its own: a person who was forgotten may come back, and be forgotten again.
            ordered = ForgetOrdered(**origin(command, context.now_us))
            return Decision(((forget_stream(command.developer_id), ordered),), Done(True))


def _edit_title(command: EditTitle, context: Context) -> Decision:
    summary = command.summary
    edited = TitleEdited(
        **origin(command, context.now_us),
        turn_id=command.turn_id,
        title=Words(cleaned(command.title, context)[0]),
        summary=None if summary is None else Words(cleaned(summary, context)[0]),
    )
    return Decision(((overrides_stream(command.developer_id), edited),), Done(True, command.turn_id))


StreamState = SessionState | PromptState | OperationState | ReportState | SlotState | Exists


def evolve(state: StreamState | None, event: Event) -> StreamState:
    match event:
        case SessionClaimed():
            return SessionState(event.organization_id, event.developer_id)
        case PromptCaptured():
            return PromptState(
                event.organization_id, event.developer_id, event.agent_session_id, event.source, event.prompt_digest
            )
        case PromptAnswered() if isinstance(state, PromptState):
            answer = AnswerState(
                event.content_digest, event.response_operation_id, event.cost_catalog_revision, event.cost_kind
            )
            return msgspec.structs.replace(state, answer=answer)
        case ProvenanceFilled() if isinstance(state, PromptState) and state.answer is not None:
            revision, kind = state.answer.cost_catalog_revision, state.answer.cost_kind
            filled = msgspec.structs.replace(
                state.answer,
                cost_catalog_revision=event.cost_catalog_revision if revision is None else revision,
                cost_kind=event.cost_kind if kind is None else kind,
            )
            return msgspec.structs.replace(state, answer=filled)
        case OperationClaimed():
            return OperationState(event.prompt_id)
        case ReportEvent():
            return evolve_report(state if isinstance(state, ReportState) else None, event) or Exists()
        case _:
            return state or Exists()
