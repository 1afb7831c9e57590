"""Who changed what when: from the events of the log, with the names of today."""

import csv
from io import StringIO
from typing import Any
from uuid import UUID

import msgspec
import pytest

from aggregates.audit import OPERATOR, Act, acts, within
from aggregates.event import Event, RecordedEvent
from aggregates.ids import forget_stream, membership_stream, sign_in_stream
from aggregates.people import acts as people
from aggregates.people.acts import PeopleAct
from aggregates.people.decide import decide_people
from aggregates.people.directory import Directory
from aggregates.reports.events import BackfillRequested
from aggregates.retained import ForgetOrdered
from svc_http.routes.people import as_table
from tests.support.basics import ACME, ANA, BEN, BEN_KEY, EVE, NOW_US, OTHER, company, issue, key_of, named

TEAM, SOME = named("core"), named("some stream")


class Book:
    """A directory, and what stands in the log of it."""

    def __init__(self) -> None:
        self.directory: Directory = company()
        self.told: list[RecordedEvent] = []

    def does(self, command: PeopleAct, *, as_ana: bool = False) -> None:
        decided, _ = decide_people(command, self.directory, NOW_US, ANA if as_ana else None)
        for new in decided:
            self.directory.apply(new.stream_id, new.event)
            self.stands(new.event, new.stream_id)

    def stands(self, event: Event, stream_id: UUID = SOME) -> None:
        self.told.append(RecordedEvent(stream_id, 1, event, len(self.told) + 1))

    @property
    def acts(self) -> list[Act]:
        return acts(self.told, self.directory)


@pytest.fixture
def book() -> Book:
    return Book()


COMMANDS: list[tuple[PeopleAct, str, str, dict[str, str]]] = [
    (people.ChangeOrganization(organization_id=ACME, team_minimum=5), "organization.changed", "Acme",
     {"team_minimum": "5"}),
    (people.ChangeDeveloper(developer_id=BEN, timezone="Asia/Seoul"), "developer.changed", "Ben",
     {"timezone": "Asia/Seoul"}),
    (people.ChangeMembership(membership_id=membership_stream(ACME, BEN), role="lead"), "membership.changed", "Ben",
     {"role": "lead", "membership_id": str(membership_stream(ACME, BEN))}),
    (people.RevokeKey(credential_id=named(BEN_KEY)), "credential.revoked", f"Ben, {BEN_KEY[:12]}…",
     {"credential_id": str(named(BEN_KEY))}),
    (people.RequestForget(developer_id=BEN), "forget.requested", "Ben", {}),
    (people.CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"), "team.created", "Core",
     {"team_id": str(TEAM), "name": "Core"}),
]  # fmt: skip


OF_A_PERSON = ("developer.changed", "forget.requested")
"""These are of no one organization."""


@pytest.mark.parametrize(("command", "topic", "about", "details"), COMMANDS, ids=[each[1] for each in COMMANDS])
def test_an_act_says_who_what_and_when(
    book: Book, command: PeopleAct, topic: str, about: str, details: dict[str, str]
) -> None:
    book.does(command, as_ana=True)
    (act,) = book.acts
    assert (act.by, act.by_name, act.at) == (str(ANA), "Ana", "2026-08-01T12:00:00Z")
    assert (act.topic, act.about, act.details) == (topic, about, details)
    assert act.organization_id == (None if topic in OF_A_PERSON else str(ACME))


def test_who_comes_back_is_told_apart_from_who_is_new(book: Book) -> None:
    start = people.StartMembership(organization_id=ACME, developer_id=BEN, role="member")
    for at_us, what in ((NOW_US, "took in as a member"), (NOW_US + 1, "took back in as a member")):
        book.stands(msgspec.structs.replace(start, received_at_us=at_us))
        assert book.acts[-1].what == what


def test_a_stay_tells_the_person_and_the_team(book: Book) -> None:
    book.does(people.CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"))
    book.does(people.AddTeamMember(team_membership_id=named("stay"), team_id=TEAM, developer_id=BEN))
    act = book.acts[-1]
    assert (act.what, act.about, act.organization_id) == ("put into a team", "Ben, Core", str(ACME))


def test_backfills_and_forgetting_are_acts(book: Book) -> None:
    asked = BackfillRequested(
        received_at_us=NOW_US, backfill_id=TEAM, organization_id=ACME, from_us=0, to_us=1, sub_sessions=0, by=ANA
    )
    book.stands(asked)
    book.stands(ForgetOrdered(received_at_us=NOW_US, organization_id=ACME, developer_id=BEN), forget_stream(BEN))
    assert [(each.by_name, each.what, each.about) for each in book.acts] == [
        ("Ana", "had a range judged again", ""),
        (OPERATOR, "ordered to forget", "Ben"),
    ]


def test_nothing_tells_when_somebody_was_at_work_and_no_digest_of_a_key(book: Book) -> None:
    book.does(people.OpenSignIn(sign_in_id=sign_in_stream("x"), organization_id=ACME, developer_id=BEN))
    book.does(people.NoteKeyUse(credential_id=named(BEN_KEY), last_used_on="2026-08-01"))
    assert book.acts == []
    command = issue(key_of("new"), ACME, BEN)
    book.does(command)
    assert command.key_digest not in msgspec.json.encode(book.acts).decode() + as_table(book.acts).decode()


def test_an_organization_sees_its_own(book: Book) -> None:
    book.does(people.ChangeOrganization(organization_id=ACME, team_minimum=5))
    book.does(people.ChangeOrganization(organization_id=OTHER, team_minimum=5))
    book.does(people.ChangeDeveloper(developer_id=EVE, timezone="Asia/Seoul"))
    link: Any = {"link_id": named("link"), "organization_id": OTHER, "developer_id": EVE}
    book.does(people.OfferLink(**link, expires_at_us=NOW_US + 1))
    assert [each.about for each in within(book.acts, ACME, book.directory)] == ["Acme"]
    assert [each.about for each in within(book.acts, OTHER, book.directory)] == ["Other", "Eve", "Eve"]


def test_both_files_hold_the_same(book: Book) -> None:
    """And a name that a table would take for a formula is none."""
    book.does(people.ChangeDeveloper(developer_id=BEN, display_name="=HYPERLINK(1)"))
    (act,) = book.acts
    assert msgspec.json.decode(msgspec.json.encode(act), type=Act) == act
    head, row = csv.reader(StringIO(as_table([act]).decode()))
    cells = dict(zip(head, row, strict=True))
    assert (cells["at"], cells["topic"], cells["about"]) == (act.at, act.topic, "'=HYPERLINK(1)")
