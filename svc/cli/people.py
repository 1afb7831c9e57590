"""`svc org`, `developer`, `member`, `team` and `key`: who there is and what is set, also against a running server."""

import sys
from hashlib import sha256
from typing import Any, get_args

import click
import msgspec

from aggregates.ids import KEY_START_CHARACTERS
from aggregates.people.acts import RETENTION_DAYS_MAX, TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST, Channel, Role, Schedule
from aggregates.people.directory import Developer, Key, Membership, Organization, Team, TeamMembership
from svc.cli.access import Access, NotFound
from svc.cli.common import Family, Names, columns, minute, organization_option, say
from svc_http.records import DeveloperShown, KeyShown

FOREVER = "forever"
KEY_LINE_CHARACTERS_MAX = 1_000
role_option = click.option("--role", type=click.Choice(get_args(Role)), default="member", show_default=True)
timezone_option = click.option(
    "--timezone", metavar="ZONE", help="IANA name, like Europe/Berlin: whose days and weeks count."
)
language_option = click.option("--language", metavar="TAG", help="Language tag, like en or pt-BR.")
email_option = click.option(
    "--email", metavar="ADDRESS", help="By which a sign-in provider knows them, and for mail about reports."
)
report_option = click.option(
    "--report",
    "report_schedules",
    type=click.Choice(get_args(Schedule)),
    multiple=True,
    help="A report that is made by itself; may be given more than once.",
)
notice_option = click.option(
    "--notice",
    "report_notices",
    type=click.Choice(get_args(Channel)),
    multiple=True,
    help="How they hear that a report is finished; may be given more than once.",
)
org = Family("org", help="Organizations and their settings.")
developer = Family("developer", help="Developers, their profiles, and how far each has come.")
member = Family("member", help="Who belongs to an organization, and as what.")
team = Family("team", help="Teams: who sees whose sums.")
key = Family("key", help="Keys with which agents and people reach the server.")


@columns("organization", "id", "text may leave", "redaction", "telemetry kept", "texts kept", "team minimum")
def _organizations(each: Organization, _names: Names) -> tuple[str, ...]:
    kept = (each.retention_days_telemetry, each.retention_days_text)
    times = (FOREVER if value is None else f"{value} days" for value in kept)
    leaves, redacted = ("yes" if value else "no" for value in (each.text_leaves, each.redaction))
    return (each.name, str(each.id), leaves, redacted, *times, str(each.team_minimum))


@org.command("list", show=_organizations, example="svc org list")
async def list_organizations(access: Access) -> list[Organization]:
    """Show every organization and its settings."""
    return await access.listed(Organization)


@org.command("create", show=_organizations, example='svc org create "Second team"')
@click.argument("name")
async def create_organization(access: Access, name: str) -> Organization:
    """Found an organization."""
    return await access.create(Organization, name=name)


def days(value: str) -> int | str:
    """A number of them, or for ever."""
    return FOREVER if value == FOREVER else click.IntRange(1, RETENTION_DAYS_MAX)(value)


@org.command("set", show=_organizations, example="svc org set --retention-days-text 90 --no-text-leaves")
@click.argument("organization", required=False)
@click.option("--name")
@click.option("--text-leaves/--no-text-leaves", default=None, help="Whether texts may go to a text model.")
@click.option("--redaction/--no-redaction", default=None, help="Whether secrets are taken out before texts are stored.")
@click.option("--retention-days-telemetry", type=days, help="How long raw telemetry is kept, or forever.")
@click.option("--retention-days-text", type=days, help="How long texts are kept, or forever.")
@click.option(
    "--team-minimum",
    type=click.IntRange(TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST),
    help="Members at work on a day from which their team sees how it came out.",
)
async def set_organization(access: Access, organization: str | None, **settings: Any) -> Organization:
    """Change settings of ORGANIZATION, given by name or id.

    What is not named stays.
    """
    wanted = {name: None if value == FOREVER else value for name, value in settings.items() if value is not None}
    return await access.change(await access.find(Organization, organization), **wanted)


@columns("developer", "id", "time zone", "language", "reports", "activation")
def _developers(each: Developer, _names: Names) -> tuple[str, ...]:
    state = each.activation.replace("_", " ") if isinstance(each, DeveloperShown) else ""
    reports = ", ".join(each.report_schedules) or "none"
    return each.display_name, str(each.id), each.timezone, each.language or "", reports, state


@developer.command("list", show=_developers, example="svc developer list")
@organization_option
async def list_developers(access: Access, organization: str | None) -> list[DeveloperShown]:
    """Show every developer, and how far each has come.

    Waiting, key configured, or with a first prompt.
    """
    everybody = await access.listed(DeveloperShown)
    if organization is None:
        return everybody
    members = await access.listed(Membership, organization_id=await access.id_of(Organization, organization))
    inside = {each.developer_id for each in members if each.active}
    return [each for each in everybody if each.id in inside]


@developer.command("create", show=_developers, example="svc developer create Kim --timezone Asia/Seoul")
@click.argument("name")
@organization_option
@role_option
@email_option
@report_option
@notice_option
@language_option
@timezone_option
@click.option("--same-name", is_flag=True, help="Also where somebody is called so; then only ids tell them apart.")
async def create_developer(
    access: Access, name: str, organization: str | None, role: Role, same_name: bool, **profile: Any
) -> Developer:
    """Enter a developer called NAME, as a member.

    `svc key issue --developer NAME` then makes a key. A name may be an e-mail address.
    """
    scope = (await access.find(Organization, organization)).id
    for developer_id, known in ({} if same_name else await access.names()).items():
        if known.casefold() == name.casefold():
            raise NotFound(
                f"{known} ({developer_id}) is there already: take another name, or give --same-name; then both are "
                "named by their ids. `svc member add` takes somebody who is there into another organization"
            )
    wanted = {field: value for field, value in profile.items() if value}
    made = await access.create(Developer, display_name=name, **wanted)
    await access.create(Membership, organization_id=scope, developer_id=made.id, role=role)
    return made


@developer.command("set", show=_developers, example="svc developer set Kim --timezone Europe/Berlin --report weekly")
@click.argument("who")
@click.option("--name", "display_name")
@email_option
@report_option
@notice_option
@language_option
@timezone_option
@click.option("--no-reports", is_flag=True, help="No report is made by itself any more.")
@click.option("--no-notices", is_flag=True, help="They are told of no report any more.")
@click.option("--no-email", is_flag=True, help="The e-mail address is taken away.")
async def set_developer(
    access: Access, who: str, no_reports: bool, no_notices: bool, no_email: bool, **profile: Any
) -> Developer:
    """Change the profile of WHO, given by name or id.

    What is not named stays.
    """
    wanted = {field: value for field, value in profile.items() if value}
    if no_reports:
        wanted["report_schedules"] = []
    if no_notices:
        wanted["report_notices"] = []
    if no_email:
        wanted["email"] = ""
    return await access.change(await access.find(Developer, who), **wanted)


@columns("developer", "developer id", "organization id", "role", "since", "until", named=True)
def _members(each: Membership, names: Names) -> tuple[str, ...]:
    developer_id, since, until = each.developer_id, minute(each.started_at), minute(each.ended_at)
    return names.get(developer_id, ""), str(developer_id), str(each.organization_id), each.role, since, until


@member.command("list", show=_members, example="svc member list --json")
@organization_option
async def list_members(access: Access, organization: str | None) -> list[Membership]:
    """Show memberships, former ones too."""
    return await access.listed(Membership, organization_id=await access.id_of(Organization, organization))


@member.command("add", show=_members, example="svc member add Kim --role owner")
@click.argument("who")
@organization_option
@role_option
async def add_member(access: Access, who: str, organization: str | None, role: Role) -> Membership:
    """Take WHO into an organization, for the first time or again."""
    scope, found = await access.find(Organization, organization), await access.find(Developer, who)
    return await access.create(Membership, organization_id=scope.id, developer_id=found.id, role=role)


@member.command("set", show=_members, example="svc member set Kim --role owner")
@click.argument("who")
@organization_option
@click.option("--role", type=click.Choice(get_args(Role)), required=True)
async def set_member(access: Access, who: str, organization: str | None, role: Role) -> Membership:
    """Give WHO another role."""
    return await access.change(await access.member(who, organization), role=role)


@member.command("remove", example="svc member remove Kim")
@click.argument("who")
@organization_option
async def remove_member(access: Access, who: str, organization: str | None) -> str:
    """End the membership of WHO, given by name or id.

    Their keys open nothing any more; what they did stays.
    """
    found = await access.member(who, organization)
    await access.end(found)
    return f"{(await access.names())[found.developer_id]} is no longer a member"


@columns("team", "id", "organization id", "state")
def _teams(each: Team, _names: Names) -> tuple[str, ...]:
    state = "active" if each.active else f"ended {minute(each.ended_at)}"
    return each.name, str(each.id), str(each.organization_id), state


@columns("developer", "developer id", "since", "until", named=True)
def _team_members(each: TeamMembership, names: Names) -> tuple[str, ...]:
    developer_id = each.developer_id
    return names.get(developer_id, ""), str(developer_id), minute(each.started_at), minute(each.ended_at)


@team.command("list", show=_teams, example="svc team list")
async def list_teams(access: Access) -> list[Team]:
    """Show every team, inactive ones too."""
    return await access.listed(Team)


@team.command("create", show=_teams, example="svc team create Core")
@click.argument("name")
@organization_option
async def create_team(access: Access, name: str, organization: str | None) -> Team:
    """Form a team called NAME."""
    return await access.create(Team, organization_id=(await access.find(Organization, organization)).id, name=name)


@team.command("end", example="svc team end Core")
@click.argument("name")
async def end_team(access: Access, name: str) -> str:
    """Make the team NAME, given by name or id, inactive."""
    found = await access.find(Team, name)
    await access.end(found)
    return f"team {found.name} has ended"


@team.command("members", show=_team_members, example="svc team members Core")
@click.argument("name")
async def list_team_members(access: Access, name: str) -> list[TeamMembership]:
    """Show who is in the team NAME, and who was."""
    return await access.listed(TeamMembership, team_id=(await access.find(Team, name)).id)


@team.command("add", show=_team_members, example="svc team add Core Kim")
@click.argument("name")
@click.argument("who")
async def add_team_member(access: Access, name: str, who: str) -> TeamMembership:
    """Put WHO into the team NAME."""
    found, person = await access.find(Team, name), await access.find(Developer, who)
    return await access.create(TeamMembership, team_id=found.id, developer_id=person.id)


@team.command("remove", example="svc team remove Core Kim")
@click.argument("name")
@click.argument("who")
async def remove_team_member(access: Access, name: str, who: str) -> str:
    """End the stay of WHO in the team NAME."""
    found, person = await access.find(Team, name), await access.find(Developer, who)
    for each in await access.listed(TeamMembership, team_id=found.id, developer_id=person.id):
        if each.active:
            await access.end(each)
            return f"{who} is no longer in team {name}"
    raise NotFound(f"{person.display_name} is not in team {found.name}; `svc team members` shows who is")


class Issued(msgspec.Struct, frozen=True):
    """A new key: its text, shown this once, and its record."""

    key: str | None
    record: Key


def _show_issued(issued: Issued) -> None:
    if issued.key is not None:
        say(issued.key)
    say(f"key {issued.record.key_id} of developer {issued.record.developer_id}", err=True)


@key.command("issue", show=_show_issued, example="svc key issue --developer Kim --name laptop")
@click.option("--developer", metavar="WHO", help="Whose key, by name or id; may be left out while there is only one.")
@click.option("--organization", metavar="ORG", help="For which of the developer's organizations, where there are more.")
@click.option("--prefix", type=click.Choice(["svc", "gck"]), default="svc", show_default=True)
@click.option("--name", help="What the key is for.")
@click.option("--expires", "expires_at", metavar="TIME", help="When it ends, ISO 8601. [default: when it is revoked]")
async def issue_key(access: Access, developer: str | None, organization: str | None, **wanted: str | None) -> Issued:
    """Make a key. It is shown this once."""
    scope = await access.id_of(Organization, organization)
    whose = (await access.find(Developer, developer)).id
    shown = await access.create(KeyShown, organization_id=scope, developer_id=whose, **wanted)
    return Issued(shown.key, msgspec.convert(shown, Key, from_attributes=True))


@key.command("import", show=_show_issued, example="svc key import --developer Kim < old-key.txt")
@click.option("--developer", metavar="WHO", help="Whose key, by name or id; may be left out while there is only one.")
@click.option("--organization", metavar="ORG", help="For which of the developer's organizations, where there are more.")
@click.option("--name", help="What the key is for.")
async def import_key(access: Access, developer: str | None, organization: str | None, name: str | None) -> Issued:
    """Let in a key that exists already.

    Such as a gck_ key of an older installation. It is read from standard input, or asked for. Only its hash and its
    first characters are kept, or even sent.
    """
    from svc_http.routing import KEY_PATTERN

    typed = sys.stdin is not None and sys.stdin.isatty()
    text = (click.prompt("key", hide_input=True) if typed else sys.stdin.readline(KEY_LINE_CHARACTERS_MAX)).strip()
    if KEY_PATTERN.fullmatch(text) is None:
        raise click.ClickException("this is no key: keys are svc_ or gck_ and 43 letters, digits, - or _")
    scope = await access.id_of(Organization, organization)
    whose = (await access.find(Developer, developer)).id
    known = {"key_digest": sha256(text.encode()).hexdigest(), "key_start": text[:KEY_START_CHARACTERS], "name": name}
    shown = await access.create(KeyShown, organization_id=scope, developer_id=whose, **known)
    return Issued(None, msgspec.convert(shown, Key, from_attributes=True))


@key.command("revoke", example="svc key revoke svc_Jx3kQ9aP")
@click.argument("key")
async def revoke_key(access: Access, key: str) -> str:
    """Make KEY void, from the very next request on.

    KEY is its id, or the twelve characters that it begins with.
    """
    known = await access.listed(Key)
    found = [each for each in known if str(each.id) == key.lower()] or [
        each for each in known if each.key_start == key[: len(each.key_start)] and not each.revoked
    ]
    if len(found) != 1:
        many = f"{len(found)} keys begin" if found else "no key has this id, and no active one begins"
        raise NotFound(f"{many} with {key[:KEY_START_CHARACTERS]!r}; `svc key list` shows those there are")
    await access.end(found[0])
    return f"key {found[0].id} is revoked"


@columns(
    "key id", "begins with", "name", "developer", "developer id", "issued", "expires", "last used", "state", named=True
)
def _keys(each: Key, names: Names) -> tuple[str, ...]:
    state = "revoked" if each.revoked else "active"
    whose = names.get(each.developer_id, ""), str(each.developer_id)
    times = minute(each.issued_at), minute(each.expires_at), each.last_used_on or ""
    return str(each.id), each.key_start, each.name or "", *whose, *times, state


@key.command("list", show=_keys, example="svc key list --json")
@click.option("--developer", metavar="WHO", help="Those of one developer only.")
async def list_keys(access: Access, developer: str | None) -> list[Key]:
    """Show every key by its first characters.

    Last used: on that day of UTC.
    """
    return await access.listed(Key, developer_id=await access.id_of(Developer, developer))
