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
    """Set an empty folder up; None where it already holds an organization."""
    if service.directory.organizations():
        return None
    organization_id, developer_id, key = uuid.uuid4(), uuid.uuid4(), new_key("svc")
    await _administer(service, CreateOrganization(organization_id=organization_id, name=organization))
    await _administer(service, CreateDeveloper(developer_id=developer_id, display_name=owner))
    owner_role = StartMembership(organization_id=organization_id, developer_id=developer_id, role="owner")
    await _administer(service, owner_role)
    await _administer(service, issue_key(organization_id, developer_id, key, "first key"))
    return Initialized(
        organization_id=organization_id,
        developer_id=developer_id,
        key=key,
        internal_secret_file=str(var / SECRET_NAME),
    )


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
