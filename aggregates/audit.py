"""Who changed what when: the acts of administration, as the log tells them; nothing is kept a second time.

Signing in and using a key are no acts of administration, so no list tells when somebody was at work.
"""

from collections.abc import Iterable, Mapping
from pkgutil import get_data
from uuid import UUID

import msgspec

from aggregates.event import DeveloperEvent, RecordedEvent, Scope
from aggregates.ids import membership_stream
from aggregates.people import directory as records
from aggregates.people.acts import StartMembership
from aggregates.people.directory import Directory
from aggregates.prices.catalog import RequestsRepriced
from aggregates.reports.events import BackfillRequested
from aggregates.times import iso, parse_instant

OPERATOR = "operator"  # whoever holds the internal secret, by the command line or by HTTP
WORDS: Mapping[str, str] = msgspec.toml.decode(get_data(__name__, "audit.toml") or b"")
TOPICS = tuple(WORDS)
_BACK_IN = "took back in as a member"
_NAMED_APART = frozenset(
    {"received_at_us", "by", "organization_id", "developer_id", "key_digest", "administered", "forgotten"}
)


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One act. Names are those of today."""

    position: int  # of the event in the log
    at: str
    by: str  # the id of a member, or `operator`
    by_name: str
    topic: str
    what: str
    organization_id: str | None
    developer_id: str | None  # whom it is about, where it is about a person
    about: str
    details: dict[str, str]  # the fields of the event besides


def acts(told: Iterable[RecordedEvent], directory: Directory) -> list[Act]:
    """In the order of the log; what is no act is left out, as signing out oneself."""
    found = (each for each in told if each.event.TOPIC in WORDS)
    return [_act(each, directory) for each in found if getattr(each.event, "administered", True)]


def _act(told: RecordedEvent, directory: Directory) -> Act:
    event, subject = told.event, _subject(told, directory)
    by: UUID | None = getattr(event, "by", None)
    values = msgspec.structs.asdict(event)
    developer_id = values.get("developer_id") or getattr(subject, "developer_id", None)
    team = directory.get(records.Team, subject.team_id) if isinstance(subject, records.TeamMembership) else None
    organization_id = values.get("organization_id") or getattr(team or subject, "organization_id", None)
    about = [] if developer_id is None else [directory.name_of(developer_id) or str(developer_id)]
    if isinstance(subject, records.Key):
        about += [f"{subject.key_start}…", *filter(None, [subject.name])]
    elif isinstance(named := team or subject, records.Organization | records.Team):
        about.append(named.name)
    comes_back = False
    if isinstance(event, StartMembership):
        stays = directory.all(records.Membership, scope=Scope(event.organization_id, event.developer_id))
        comes_back = any(parse_instant(each.started_at) < event.received_at_us for each in stays)
    return Act(
        position=told.position,
        at=iso(event.received_at_us),
        by=OPERATOR if by is None else str(by),
        by_name=OPERATOR if by is None else directory.name_of(by) or str(by),
        topic=event.TOPIC,
        what=_BACK_IN if comes_back else WORDS[event.TOPIC],
        organization_id=None if organization_id is None else str(organization_id),
        developer_id=None if developer_id is None else str(developer_id),
        about=", ".join(about),
        details={name: str(value) for name, value in values.items() if name not in _NAMED_APART and value is not None},
    )


def _subject(told: RecordedEvent, directory: Directory) -> records.Record | None:
    event = told.event
    if isinstance(event, DeveloperEvent | BackfillRequested | RequestsRepriced):
        return None
    found = directory.record(told.stream_id)
    if isinstance(found, records.Claim):
        stream = directory.stream_of(records.Key, found.id) or found.id
        found = directory.record(stream)
    return found


def within(found: Iterable[Act], organization_id: UUID, directory: Directory) -> list[Act]:
    """The acts of one organization: those on it and in it, and those on the profiles of its people."""
    wanted = str(organization_id)

    def is_of(act: Act) -> bool:
        if act.organization_id is not None or act.developer_id is None:
            return act.organization_id == wanted
        stream = membership_stream(organization_id, UUID(act.developer_id))
        return directory.get(records.Membership, stream) is not None

    return [each for each in found if is_of(each)]
