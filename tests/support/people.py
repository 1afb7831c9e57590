"""A small company for tests: Ana owns Acme, Ben is a member, Eve belongs to Other."""

from hashlib import sha256
from uuid import UUID

from aggregates.event import Reason, Refused, Scope
from aggregates.people.acts import CreateDeveloper, CreateOrganization, IssueKey, PeopleAct, StartMembership
from aggregates.people.decide import PeopleReply, decide_people
from aggregates.people.directory import Directory
from tests.support.log import named

ACME, OTHER = named("acme"), named("other")
ANA, BEN, EVE = named("ana"), named("ben"), named("eve")
NOW_US = 1_785_585_600_000_000  # 2026-08-01T12:00:00Z, a Saturday


def key_of(name: str) -> str:
    """A well-formed key that is always the same for a name."""
    return "svc_" + sha256(name.encode()).hexdigest()[:43]


ANA_KEY, BEN_KEY, EVE_KEY = key_of("ana"), key_of("ben"), key_of("eve")
ANA_SCOPE = Scope(ACME, ANA)


def issue(key: str, organization_id: UUID, developer_id: UUID, expires_at_us: int | None = None) -> IssueKey:
    """The command that makes a key known; the key's id comes from its text."""
    return IssueKey(
        credential_id=named(key),
        organization_id=organization_id,
        developer_id=developer_id,
        key_digest=sha256(key.encode()).hexdigest(),
        key_start=key[:12],
        expires_at_us=expires_at_us,
    )


def carry_out(directory: Directory, command: PeopleAct, now_us: int = NOW_US) -> PeopleReply:
    events, reply = decide_people(command, directory, now_us)
    for stream_id, event in events:
        directory.apply(stream_id, event)
    return reply


def why(reply: object) -> Reason:
    """Why it was refused, which it was."""
    assert isinstance(reply, Refused)
    return reply.reason


FOUNDING: tuple[PeopleAct, ...] = (
    CreateOrganization(organization_id=ACME, name="Acme"),
    CreateOrganization(organization_id=OTHER, name="Other"),
    CreateDeveloper(developer_id=ANA, display_name="Ana"),
    CreateDeveloper(developer_id=BEN, display_name="Ben", timezone="Europe/Berlin"),
    CreateDeveloper(developer_id=EVE, display_name="Eve"),
    StartMembership(organization_id=ACME, developer_id=ANA, role="owner"),
    StartMembership(organization_id=ACME, developer_id=BEN),
    StartMembership(organization_id=OTHER, developer_id=EVE, role="owner"),
    issue(ANA_KEY, ACME, ANA),
    issue(BEN_KEY, ACME, BEN),
    issue(EVE_KEY, OTHER, EVE),
)


def company() -> Directory:
    directory = Directory()
    for command in FOUNDING:
        assert not isinstance(carry_out(directory, command), Refused)
    return directory
