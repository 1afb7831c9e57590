"""What every fact has: the base of all events, wherever they are defined."""

from typing import ClassVar
from uuid import UUID

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every fact. `received_at_us`: microseconds since 1970, UTC, when the server took it."""

    TOPIC: ClassVar[str]
    VERSION: ClassVar[int] = 1

    received_at_us: int


class DeveloperEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A fact within one developer's scope; its words are sealed under that developer's key."""

    organization_id: UUID
    developer_id: UUID
