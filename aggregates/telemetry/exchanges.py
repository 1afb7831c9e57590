"""What an agent's session file holds, exchange by exchange, and what became of each."""

from typing import Literal

import msgspec

from aggregates.event import Reason, Refused, Reply
from aggregates.telemetry.draft import RecordDraft

BATCH_RECORDS_MAX = 200
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
