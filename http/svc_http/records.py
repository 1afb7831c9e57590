"""What routes of administration answer, and take: a file of its own, for the commands that ask them start fast."""

from typing import Literal
from uuid import UUID

import msgspec

from aggregates.people.directory import Activation, Developer, Key

LINK_SECONDS = 60  # how long a link waits to be followed, unless another time is asked for
AuditForm = Literal["ndjson", "csv"]


class DeveloperShown(Developer, frozen=True, kw_only=True):
    """A developer, and how far they have come."""

    activation: Activation


class KeyShown(Key, frozen=True, kw_only=True):
    """A new key, with its text, this once; that of an existing one was not sent."""

    key: str | None


class LinkShown(msgspec.Struct, frozen=True, kw_only=True):
    """A new link that signs a developer in once; its path on the private listener is shown this once."""

    id: UUID
    link_id: UUID
    organization_id: UUID
    developer_id: UUID
    created_at: str
    expires_at: str
    used: bool
    path: str


class OperatorLink(msgspec.Struct):
    """A link that opens the operator's pages once; its path is shown this once."""

    path: str
    expires_at: str
