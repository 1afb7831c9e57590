"""Whose data a question is about."""

from uuid import UUID

import msgspec


class Scope(msgspec.Struct, frozen=True):
    """One developer within one organization: every personal query names it."""

    organization_id: UUID
    developer_id: UUID
