"""The first start: one organization, its owner, one key and the internal secret."""

import hashlib
import uuid
from pathlib import Path

import msgspec

from aggregates.people import (
    CreateDeveloper,
    CreateOrganization,
    IssueKey,
    PeopleCommand,
    PeopleRefused,
    StartMembership,
)
from aggregates.scope import Scope
from svc.secrets_file import NAME as SECRET_NAME
from svc.secrets_file import new_key
from svc.service import RunningService

KEY_START_CHARACTERS = 12


class Initialized(msgspec.Struct, frozen=True, kw_only=True):
    """What a new folder got. The key is shown this once."""

    organization_id: uuid.UUID
    developer_id: uuid.UUID
    key: str
    internal_secret_file: str


async def initialize(
    service: RunningService, var: Path, organization: str = "My team", owner: str = "Owner"
) -> Initialized | None:
    """Set an empty folder up; None where a key was ever issued. What a broken-off run left behind is used.

    Prices come first in either case: the requests of the first capture are priced by them.
    """
    await service.prices.start()
    if service.directory.keys():
        return None
    scope = await _owner(service, organization, owner)
    key = new_key("svc")
    await _administer(service, issue_key(scope.organization_id, scope.developer_id, key, "first key"))
    return Initialized(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        key=key,
        internal_secret_file=str(var / SECRET_NAME),
    )


async def _owner(service: RunningService, organization: str, owner: str) -> Scope:
    """The owner there is, or a new one in a new organization."""
    for membership in service.directory.memberships():
        return Scope(uuid.UUID(membership.organization_id), uuid.UUID(membership.developer_id))
    scope = Scope(uuid.uuid4(), uuid.uuid4())
    await _administer(service, CreateOrganization(organization_id=scope.organization_id, name=organization))
    await _administer(service, CreateDeveloper(developer_id=scope.developer_id, display_name=owner))
    membership_of_owner = StartMembership(
        organization_id=scope.organization_id, developer_id=scope.developer_id, role="owner"
    )
    await _administer(service, membership_of_owner)
    return scope


def issue_key(organization_id: uuid.UUID, developer_id: uuid.UUID, key: str, name: str | None) -> IssueKey:
    """The command that makes a key known by its digest."""
    return IssueKey(
        credential_id=uuid.uuid4(),
        organization_id=organization_id,
        developer_id=developer_id,
        key_digest=hashlib.sha256(key.encode()).hexdigest(),
        key_start=key[:KEY_START_CHARACTERS],
        name=name,
    )


async def _administer(service: RunningService, command: PeopleCommand) -> None:
    reply = await service.administer(command)
    assert not isinstance(reply, PeopleRefused), f"a new folder refuses nothing: {reply}"
