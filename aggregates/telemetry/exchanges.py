"""What an agent's session file holds, exchange by exchange, as the commands of a plugin and of telemetry.

Every id comes from the lines' own ids, so the same exchange gives the same commands whenever, and by whichever road, it
is taken: a prompt that a forked session repeats is the same prompt.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple
from uuid import UUID, uuid5

import msgspec

from aggregates.capture.commands import (
    TRANSCRIPT_SUFFIX,
    CapturePrompt,
    CaptureRecords,
    CaptureResponse,
    ResponseContent,
)
from aggregates.event import Digester, Reason, Refused, Reply, Scope
from aggregates.ids import prompt_stream
from aggregates.records.record import TextPool
from aggregates.telemetry.batches import pooled
from aggregates.telemetry.draft import RecordDraft

DECODER_VERSION = 1
BATCH_RECORDS_MAX = 200
_LINE_NAMESPACE = UUID("0d0f7a3e-5a0e-5d6b-9f0e-6d1f0f3a7b52")
What = Literal["prompt", "response", "records", "exchange"]
"""A part, or where the whole was unreadable, all of it."""


class TypedPrompt(msgspec.Struct, frozen=True, omit_defaults=True):
    line_id: str
    """The id of the line it was first written on, whichever session's file repeats it."""
    text: str
    at_us: int
    host_prompt_id: str | None = None
    cwd: str | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    at_us: int
    elapsed_ms: int | None = None
    """From the prompt to the agent's last line; None where the lines have no times."""


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt, what was done about it, and the answer; no prompt before a session's first, or for a sub-agent."""

    agent_session_id: str
    prompt: TypedPrompt | None = None
    answer: Answer | None = None
    drafts: tuple[RecordDraft, ...] = ()
    finished: bool = True
    """Whether the file says that nothing more comes; if not, later lines may still complete it."""
    last_us: int = 0


class Sender(msgspec.Struct, frozen=True):
    """Whose exchanges they are, and which agent's."""

    scope: Scope
    source: str
    digester: Digester


class Step(NamedTuple):
    """One command of an exchange."""

    what: What
    command: CapturePrompt | CaptureResponse | CaptureRecords


class NotTaken(msgspec.Struct, frozen=True):
    what: What
    message: str


class Taken(msgspec.Struct):
    """What became of an exchange."""

    created: int = 0
    """Prompts, responses and batches of records that are new."""
    known: int = 0
    """Those that had been there before."""
    repeated: bool = False
    """Its prompt was had from another session's file; what it caused is not taken twice."""
    refused: list[NotTaken] = []

    def heard(self, what: What, reply: Reply) -> bool:
        """Whether the exchange's next command is to follow."""
        if isinstance(reply, Refused):
            self.refused.append(NotTaken(what, reply.message))
            self.repeated = what == "prompt" and reply.reason is Reason.CONFLICT
            return not self.repeated
        self.created += reply.created
        self.known += not reply.created
        return True


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
        words = TextPool(redaction=True)
        records = pooled(exchange.drafts[start : start + BATCH_RECORDS_MAX], words, sender.digester)
        yield CaptureRecords(
            organization_id=sender.scope.organization_id,
            developer_id=sender.scope.developer_id,
            agent_session_id=exchange.agent_session_id,
            source=sender.source,
            decoder_version=DECODER_VERSION,
            records=records,
            words=words.words,
            redactions=dict(words.redactions),
        )
