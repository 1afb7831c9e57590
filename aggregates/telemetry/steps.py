"""An exchange of a session file as the commands of a plugin and of telemetry.

Every id comes from the lines' own ids, so the same exchange gives the same commands whenever, and by whichever road, it
is taken: a prompt that a forked session repeats is the same prompt.
"""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID, uuid5

import msgspec

from aggregates.capture.commands import (
    TRANSCRIPT_SUFFIX,
    CapturePrompt,
    CaptureRecords,
    CaptureResponse,
    ResponseContent,
)
from aggregates.event import Digester, Scope
from aggregates.ids import prompt_stream
from aggregates.telemetry.batches import captured_records
from aggregates.telemetry.exchanges import BATCH_RECORDS_MAX, Answer, Exchange, TypedPrompt, What

_LINE_NAMESPACE = UUID("0d0f7a3e-5a0e-5d6b-9f0e-6d1f0f3a7b52")


class Sender(msgspec.Struct, frozen=True):
    """Whose exchanges they are, and which agent's."""

    scope: Scope
    source: str
    digester: Digester


class Step(NamedTuple):
    """One command of an exchange."""

    what: What
    command: CapturePrompt | CaptureResponse | CaptureRecords


def steps(exchange: Exchange, sender: Sender) -> Iterator[Step]:
    prompt, answer = exchange.prompt, exchange.answer
    if prompt is not None:
        yield Step("prompt", _prompt(prompt, exchange.agent_session_id, sender))
    if prompt is not None and answer is not None:
        yield Step("response", _response(prompt, answer, sender))
    for batch in batches(exchange, sender):
        yield Step("records", batch)


def _prompt(prompt: TypedPrompt, agent_session_id: str, sender: Sender) -> CapturePrompt:
    scope, client_event_id = sender.scope, uuid5(_LINE_NAMESPACE, prompt.line_id)
    return CapturePrompt(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        prompt_id=prompt_stream(scope.developer_id, client_event_id),
        agent_session_id=agent_session_id,
        source=sender.source + TRANSCRIPT_SUFFIX,
        text=prompt.text,
        client_event_id=client_event_id,
        host_prompt_id=prompt.host_prompt_id,
        submitted_at_us=prompt.at_us,
        cwd=prompt.cwd,
    )


def _response(prompt: TypedPrompt, answer: Answer, sender: Sender) -> CaptureResponse:
    """It carries no tokens: the requests' records do."""
    scope, client_event_id = sender.scope, uuid5(_LINE_NAMESPACE, prompt.line_id)
    return CaptureResponse(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        prompt_id=prompt_stream(scope.developer_id, client_event_id),
        content=ResponseContent(response_text=answer.text, elapsed_ms=answer.elapsed_ms),
        response_operation_id=str(uuid5(client_event_id, "response")),
        responded_at_us=answer.at_us,
    )


def batches(exchange: Exchange, sender: Sender) -> Iterator[CaptureRecords]:
    """The records in batches; none reaches beyond its exchange, so it is the same batch next time."""
    for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
        drafts = exchange.drafts[start : start + BATCH_RECORDS_MAX]
        yield captured_records(drafts, exchange.agent_session_id, sender.source, sender.scope, sender.digester)
