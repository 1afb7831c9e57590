"""A command, and the answer to one: what every slice that decides has in common."""

from collections.abc import Mapping
from enum import Enum
from typing import TypedDict
from uuid import UUID

import msgspec

from aggregates.event import Digester, Event, Scope


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="command"):
    """A wish of one developer; it may be refused."""

    organization_id: UUID
    developer_id: UUID

    @property
    def scope(self) -> Scope:
        return Scope(self.organization_id, self.developer_id)


class Origin(TypedDict):
    """What each event tells of the command that it comes from."""

    received_at_us: int
    organization_id: UUID
    developer_id: UUID


def origin(command: Command, now_us: int) -> Origin:
    return {"received_at_us": now_us, "organization_id": command.organization_id, "developer_id": command.developer_id}


class Reason(Enum):
    NOT_FOUND = "not found"
    CONFLICT = "conflict"
    FOREIGN_SESSION = "foreign session"
    INVALID = "invalid"


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A command that was not carried out, and the sentence for the person who sent it."""

    reason: Reason
    message: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A command that is on disk. `created` is False where it had been carried out before."""

    created: bool
    id: UUID | None = None


Reply = Done | Refused


class Decision(msgspec.Struct, frozen=True):
    """What to append, and what to answer once it is on disk."""

    events: tuple[tuple[UUID, Event], ...]
    reply: Reply


class Context(msgspec.Struct, frozen=True):
    """What enters from outside: the time of receipt, the developer's digester, whether secrets are taken out."""

    now_us: int
    digester: Digester
    redaction: bool


class Exists(msgspec.Struct, frozen=True):
    """A stream of which only its existence matters."""


Streams = Mapping[UUID, object]
"""Stream id → its state. A decision asks for the kind of state that it knows, so no slice needs the others' types."""
