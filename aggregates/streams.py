"""The small streams that decisions about captures rest on, and how each event changes them."""

from collections.abc import Mapping
from typing import TypeVar
from uuid import UUID

import msgspec

from aggregates import events as e
from aggregates.report_events import ReportEvent
from aggregates.report_state import ReportState, SlotState, evolve_report

_T = TypeVar("_T")


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


class Taken(msgspec.Struct, frozen=True):
    """A stream of which only its existence matters."""


StreamState = SessionState | PromptState | OperationState | ReportState | SlotState | Taken
Streams = Mapping[UUID, object]
"""Stream id → its state. A decision asks for the kind of state that it knows, so no slice needs the others' types."""


def evolve(state: StreamState | None, event: e.Event) -> StreamState:
    """The state of a stream after one more event."""
    match event:
        case e.SessionClaimed():
            return SessionState(event.organization_id, event.developer_id)
        case e.PromptCaptured():
            return PromptState(
                event.organization_id,
                event.developer_id,
                event.agent_session_id,
                event.source,
                event.prompt_digest,
            )
        case e.PromptAnswered() if isinstance(state, PromptState):
            answer = AnswerState(
                event.content_digest, event.response_operation_id, event.cost_catalog_revision, event.cost_kind
            )
            return msgspec.structs.replace(state, answer=answer)
        case e.ProvenanceFilled() if isinstance(state, PromptState) and state.answer is not None:
            filled = msgspec.structs.replace(
                state.answer,
                cost_catalog_revision=_first(state.answer.cost_catalog_revision, event.cost_catalog_revision),
                cost_kind=_first(state.answer.cost_kind, event.cost_kind),
            )
            return msgspec.structs.replace(state, answer=filled)
        case e.OperationClaimed():
            return OperationState(event.prompt_id)
        case ReportEvent():
            return evolve_report(state if isinstance(state, ReportState) else None, event) or Taken()
        case _:
            return state or Taken()


def _first(stored: _T | None, offered: _T | None) -> _T | None:
    return stored if stored is not None else offered
