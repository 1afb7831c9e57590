"""What an agent's session file holds, exchange by exchange, and what became of each."""

from typing import Annotated, Literal

import msgspec

from aggregates.event import Reason, Refused, Reply
from aggregates.records.record import Count, Id
from aggregates.telemetry.draft import RecordDraft
from aggregates.times import INSTANT_MAX_US

BATCH_RECORDS_MAX = 200
RECORDS_MAX = 10_000  # of one exchange over the network: a longer one is sent in pieces
CWD_CHARACTERS_MAX = 32_767
Instant = Annotated[int, msgspec.Meta(ge=0, lt=INSTANT_MAX_US)]
What = Literal["prompt", "response", "records", "exchange"]  # a part, or where the whole was unreadable, all of it


class TypedPrompt(msgspec.Struct, frozen=True, omit_defaults=True):
    line_id: Id  # the id of the line it was first written on, whichever session's file repeats it
    text: Annotated[str, msgspec.Meta(pattern=r"\S")]
    at_us: Instant
    host_prompt_id: Id | None = None
    cwd: Annotated[str, msgspec.Meta(max_length=CWD_CHARACTERS_MAX)] | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    at_us: Instant
    elapsed_ms: Count | None = None  # from the prompt to the agent's last line; None where the lines have no times


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt, what was done about it, and the answer; no prompt before a session's first, or for a sub-agent."""

    agent_session_id: Id
    prompt: TypedPrompt | None = None
    answer: Answer | None = None
    drafts: Annotated[tuple[RecordDraft, ...], msgspec.Meta(max_length=RECORDS_MAX)] = ()
    finished: bool = True  # whether the file says that nothing more comes; if not, later lines may still complete it
    last_us: int = 0


class NotTaken(msgspec.Struct, frozen=True):
    what: What
    message: str


class Taken(msgspec.Struct):
    """What became of an exchange."""

    created: int = 0  # prompts, responses and batches of records that are new
    known: int = 0  # those that had been there before
    repeated: bool = False  # its prompt was had from another session's file; what it caused is not taken twice
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
