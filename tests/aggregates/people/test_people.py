"""Decisions about people and keys, and what the directory makes of them."""

import re
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from aggregates.event import Reason, Refused, Scope
from aggregates.ids import credential_stream, membership_stream
from aggregates.people import acts, directory as records, entry
from aggregates.people.decide import decide_people
from aggregates.people.directory import Directory
from aggregates.times import iso
from tests.support.basics import ACME, ANA, BEN, EVE, NOW_US, OTHER, carry_out, company, issue, key_of, named, why
from tests.support.tables import beside, each_of

_TEAM, _STAY = named("team"), named("stay")
_ANA_SCOPE, _ANAS_KEY = Scope(ACME, ANA), key_of("ana")
_ANA_MEMBERSHIP = membership_stream(ACME, ANA)
_BEN_MEMBERSHIP = membership_stream(ACME, BEN)
_VOID = "this key was revoked or has expired; ask for a new one"


def _two_owners() -> Directory:
    """Ben owns Acme as well, so that Ana can leave."""
    directory = company()
    carry_out(directory, acts.ChangeMembership(membership_id=_BEN_MEMBERSHIP, role="owner"))
    return directory


def _opens(directory: Directory, key: str, now_us: int = NOW_US) -> entry.Principal | str:
    try:
        found = entry.authenticate(directory, sha256(key.encode()).hexdigest(), now_us)
        return msgspec.structs.replace(found, key=None)
    except entry.NotProven as error:
        return str(error)


# --- keys ---------------------------------------------------------------------------------------------------


def test_a_key_opens_its_developers_scope_with_the_role_of_the_membership() -> None:
    """Identity comes from the key, the role from the membership as it stands."""
    directory = _two_owners()
    assert _opens(directory, _ANAS_KEY) == entry.Principal(_ANA_SCOPE, "owner")
    carry_out(directory, acts.ChangeMembership(membership_id=_ANA_MEMBERSHIP, role="member"))
    assert _opens(directory, _ANAS_KEY) == entry.Principal(_ANA_SCOPE, "member")


def test_a_revoked_key_is_void_at_once_and_an_expiring_one_from_that_moment_on() -> None:
    """Revoking again changes nothing; the record keeps the first time."""
    directory, revoke = company(), acts.RevokeKey(credential_id=named(_ANAS_KEY))
    first = carry_out(directory, revoke)
    assert _opens(directory, _ANAS_KEY) == _VOID
    assert carry_out(directory, revoke, NOW_US + 1_000_000) == first
    assert isinstance(first, records.Key)
    assert first.revoked_at == "2026-08-01T12:00:00Z"
    carry_out(directory, issue(key_of("brief"), ACME, ANA, expires_at_us=NOW_US + 10))
    assert isinstance(_opens(directory, key_of("brief"), NOW_US + 9), entry.Principal)
    assert _opens(directory, key_of("brief"), NOW_US + 10) == _VOID


def test_the_keys_of_a_former_member_open_nothing_should_they_return() -> None:
    """A membership can end and begin again on the same stream; it is another one, and the first stays in the record."""
    directory = _two_owners()
    carry_out(directory, acts.EndMembership(membership_id=_ANA_MEMBERSHIP))
    assert _opens(directory, _ANAS_KEY) == "the developer of this key is no longer a member of the organization"
    assert entry.principal(directory, _ANA_SCOPE) is None
    again = carry_out(directory, acts.StartMembership(organization_id=ACME, developer_id=ANA), NOW_US + 5)
    assert isinstance(again, records.Membership)
    assert _opens(directory, _ANAS_KEY) == _VOID
    carry_out(directory, issue(key_of("new"), ACME, ANA))
    assert _opens(directory, key_of("new")) == entry.Principal(_ANA_SCOPE, "member")
    assert directory.version(_ANA_MEMBERSHIP) == 3
    found = [each for each in directory.all(records.Membership) if each.developer_id == ANA]
    assert [(each.id == _ANA_MEMBERSHIP, each.active) for each in found] == [(True, False), (False, True)]
    assert found[1] == again
    first, second = found
    assert carry_out(directory, acts.EndMembership(membership_id=first.id)) == first
    assert isinstance(carry_out(directory, acts.ChangeMembership(membership_id=first.id, role="owner")), Refused)
    changed = carry_out(directory, acts.ChangeMembership(membership_id=second.id, role="owner"))
    assert isinstance(changed, records.Membership)
    assert (changed.id, changed.role) == (second.id, "owner")


def test_a_key_is_found_on_the_stream_of_its_digest() -> None:
    """So that the store itself would refuse the same key twice."""
    command = issue(key_of("new"), ACME, BEN)
    events, reply = decide_people(command, company(), NOW_US)
    assert [new.stream_id for new in events] == [credential_stream(command.key_digest)]
    assert isinstance(reply, records.Key)
    assert reply.key_start == key_of("new")[:12]


# --- refusals -----------------------------------------------------------------------------------------------


def _without_ana() -> Directory:
    directory = _two_owners()
    carry_out(directory, acts.EndMembership(membership_id=_ANA_MEMBERSHIP))
    return directory


def _with_team() -> Directory:
    directory = company()
    carry_out(directory, acts.CreateTeam(team_id=_TEAM, organization_id=ACME, name="Core"))
    carry_out(directory, acts.AddTeamMember(team_membership_id=_STAY, team_id=_TEAM, developer_id=ANA))
    return directory


_LAST_OWNER = [
    acts.EndMembership(membership_id=_ANA_MEMBERSHIP),
    acts.ChangeMembership(membership_id=_ANA_MEMBERSHIP, role="lead"),
    acts.ChangeMembership(membership_id=_ANA_MEMBERSHIP, role="reader"),
]
_OF = {"company": company, "with a team": _with_team, "without ana": _without_ana}


@beside()
def test_what_cannot_be_is_refused_with_a_reason_and_without_events(
    of: str, act: str, fields: dict[str, Any], says: str
) -> None:
    """A field that cannot be taken is named: blank and endless names, what nobody can read, what is no zone."""
    ids = {"ana's": _ANA_MEMBERSHIP}
    told = {name: ids.get(each) or named(each) if name.endswith("_id") else each for name, each in fields.items()}
    check_refused(_OF[of](), getattr(acts, act)(**told), says)


@each_of(
    [
        (issue(key_of("x"), OTHER, ANA), "conflict: "),
        (issue(key_of("x"), ACME, ANA, expires_at_us=NOW_US), "invalid: "),
        (issue(_ANAS_KEY, ACME, ANA), "conflict: "),
        (msgspec.structs.replace(issue(key_of("invalid: x"), ACME, ANA), name=""), "invalid: name"),
    ]
)
def test_a_key_that_cannot_be_is_refused(command: acts.PeopleAct, says: str) -> None:
    check_refused(company(), command, says)


def check_refused(directory: Directory, command: acts.PeopleAct, says: str) -> None:
    events, refused = decide_people(command, directory, NOW_US)
    assert events == []
    assert isinstance(refused, Refused)
    assert re.match(says, f"{refused.reason.name.lower().replace('_', ' ')}: {refused.message}")


@pytest.mark.parametrize("command", _LAST_OWNER)
def test_beside_a_second_owner_the_first_may_go(command: acts.PeopleAct) -> None:
    """An organization without an owner would have nobody who answers for it."""
    assert not isinstance(carry_out(_two_owners(), command), Refused)


def test_even_the_last_owner_can_be_forgotten_and_come_back() -> None:
    directory = company()
    forgotten = acts.EndMembership(membership_id=_ANA_MEMBERSHIP, forgotten=True)
    assert isinstance(carry_out(directory, forgotten), records.Membership)
    again = carry_out(directory, acts.StartMembership(organization_id=ACME, developer_id=ANA, role="owner"))
    assert isinstance(again, records.Membership)
    assert again.active


@each_of(
    [
        ("kim@straße.example", "kim@straße.example"),
        ("kim@straße.example", "kim@strasse.example"),
        ("\N{KELVIN SIGN}im@example.com", "kim@example.com"),
        ("kim@example.com", "\N{KELVIN SIGN}im@example.com"),
    ]
)
def test_an_address_that_is_not_ascii_lets_nobody_in(stored: str, sent: str) -> None:
    """An older version took one; not even whoever bears the very same comes in by it."""
    directory = company()
    directory.apply(BEN, acts.ChangeDeveloper(received_at_us=NOW_US, developer_id=BEN, email=stored))
    account = entry.Account(issuer="https://login.example", subject="kim", email=sent)
    with pytest.raises(entry.NotProven, match="nobody here has the e-mail address"):
        entry.developer_behind(account, directory)


@pytest.mark.parametrize("name", ["x" * 200, "김민준", "عائشة", "👩‍💻 Ada"])
def test_names_may_be_of_any_script_and_up_to_their_bound(name: str) -> None:
    changed = carry_out(company(), acts.ChangeDeveloper(developer_id=ANA, display_name=name))
    assert isinstance(changed, records.Developer)
    assert changed.display_name == name


# --- profiles and settings ----------------------------------------------------------------------------------


def test_settings_that_are_not_named_stay_as_they_were() -> None:
    """Secrets are redacted and texts may leave unless somebody says otherwise."""
    directory = company()
    assert directory.redaction_of(ACME)
    changed = carry_out(
        directory, acts.ChangeOrganization(organization_id=ACME, redaction=False, retention_days_text=30)
    )
    assert isinstance(changed, records.Organization)
    assert (changed.name, changed.text_leaves, changed.redaction) == ("Acme", True, False)
    assert (changed.retention_days_text, changed.retention_days_telemetry) == (30, None)
    kept = carry_out(directory, acts.ChangeOrganization(organization_id=ACME, retention_days_text=acts.KEPT_FOR_GOOD))
    assert isinstance(kept, records.Organization)
    assert kept.retention_days_text is None
    assert not directory.redaction_of(ACME)
    assert directory.redaction_of(OTHER)


def test_a_developer_may_be_entered_with_a_profile() -> None:
    """Both events belong to the developer's own stream, and follow each other in version."""
    directory = Directory()
    reply = carry_out(
        directory,
        acts.CreateDeveloper(developer_id=ANA, display_name="Ana", timezone="Asia/Seoul", report_schedules=("weekly",)),
    )
    assert isinstance(reply, records.Developer)
    assert (reply.timezone, reply.language, reply.report_schedules) == ("Asia/Seoul", None, ("weekly",))
    assert directory.timezone(ANA) == "Asia/Seoul"
    assert directory.version(ANA) == 2


def test_who_asks_to_be_forgotten_waits_until_they_ask_no_longer() -> None:
    """Asking twice is refused, and so is taking back what nobody asked; whoever took it back may ask again."""
    directory, ask, withdraw = company(), acts.RequestForget(developer_id=BEN), acts.WithdrawForget(developer_id=BEN)
    assert why(carry_out(directory, withdraw)) is Reason.NOT_FOUND
    carry_out(directory, ask)
    assert records.forget_requests(directory) == {BEN: iso(NOW_US)}
    assert why(carry_out(directory, ask, NOW_US + 1)) is Reason.CONFLICT
    carry_out(directory, withdraw)
    assert records.forget_requests(directory) == {}
    assert decide_people(withdraw, directory, NOW_US)[0] == []
    carry_out(directory, ask, NOW_US + 1_000_000)
    assert records.forget_requests(directory) == {BEN: iso(NOW_US + 1_000_000)}
    carry_out(directory, acts.EndMembership(membership_id=_BEN_MEMBERSHIP, forgotten=True))
    assert records.forget_requests(directory) == {}, "it ends with the last membership"


# --- teams --------------------------------------------------------------------------------------------------


def test_a_team_member_belongs_to_the_team_until_removed_and_may_come_back() -> None:
    """Every stay has its own record, so that history stays."""
    directory = _with_team()
    assert [team.name for team in directory.teams_of(_ANA_SCOPE)] == ["Core"]
    removed = carry_out(directory, acts.RemoveTeamMember(team_membership_id=_STAY))
    assert isinstance(removed, records.TeamMembership)
    assert not removed.active
    assert directory.teams_of(_ANA_SCOPE) == []
    carry_out(directory, acts.AddTeamMember(team_membership_id=named("2"), team_id=_TEAM, developer_id=ANA))
    assert [stay.active for stay in directory.all(records.TeamMembership)] == [False, True]


def test_a_developer_of_two_organizations_has_in_each_the_teams_of_that_one() -> None:
    directory = _with_team()
    for command in (
        acts.StartMembership(organization_id=OTHER, developer_id=ANA),
        acts.CreateTeam(team_id=named("t2"), organization_id=OTHER, name="Elsewhere"),
        acts.AddTeamMember(team_membership_id=named("2"), team_id=named("t2"), developer_id=ANA),
    ):
        carry_out(directory, command)
    assert [team.name for team in directory.teams_of(_ANA_SCOPE)] == ["Core"]
    assert [team.name for team in directory.teams_of(Scope(OTHER, ANA))] == ["Elsewhere"]


def test_an_ended_team_has_no_members_and_takes_none() -> None:
    directory = _with_team()
    carry_out(directory, acts.EndTeam(team_id=_TEAM))
    assert directory.teams_of(_ANA_SCOPE) == []
    late = acts.AddTeamMember(team_membership_id=named("2"), team_id=_TEAM, developer_id=BEN)
    assert why(carry_out(directory, late)) is Reason.NOT_FOUND
    assert [team.active for team in directory.all(records.Team)] == [False]


# --- the directory ------------------------------------------------------------------------------------------


def test_lists_keep_the_order_of_events_and_what_has_ended() -> None:
    """Records are shown with ids and times as text."""
    directory = _two_owners()
    carry_out(directory, acts.EndMembership(membership_id=_ANA_MEMBERSHIP))
    memberships = directory.all(records.Membership)
    assert [m.developer_id for m in memberships] == [ANA, BEN, EVE]
    ended = memberships[0]
    assert (ended.id, ended.role, ended.active) == (_ANA_MEMBERSHIP, "owner", False)
    assert (ended.started_at, ended.ended_at) == ("2026-08-01T12:00:00Z",) * 2
    assert [o.name for o in directory.all(records.Organization)] == ["Acme", "Other"]
    assert [d.timezone for d in directory.all(records.Developer)] == ["UTC", "Europe/Berlin", "UTC"]
    assert directory.all(records.Key)[0].key_start == _ANAS_KEY[:12]
