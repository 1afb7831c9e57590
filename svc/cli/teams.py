"""`svc team` and `svc key`: teams with who is in them, and keys; also against a running server."""

from uuid import UUID

import click
import msgspec

from aggregates.people.directory import Key, Team, TeamMembership
from svc.cli.access import Access
from svc.cli.common import Columns, Names, minute, reaching
from svc.cli.people import organization_option
from svc_http.routes.people import KeyShown


@click.group()
def team() -> None:
    """Teams: who sees whose sums."""


def _team_row(each: Team, _names: Names) -> tuple[str, ...]:
    state = "active" if each.active else f"ended {minute(each.ended_at)}"
    return each.name, str(each.id), str(each.organization_id), state


def _member_row(each: TeamMembership, names: Names) -> tuple[str, ...]:
    developer_id = each.developer_id
    return names.get(developer_id, ""), str(developer_id), minute(each.started_at), minute(each.ended_at)


_TEAMS = Columns(("team", "id", "organization id", "state"), _team_row)
_MEMBERS = Columns(("developer", "developer id", "since", "until"), _member_row, named=True)


@team.command("list")
@reaching(_TEAMS)
async def list_teams(access: Access) -> list[Team]:
    """Show every team, inactive ones too.

    Example: svc team list
    """
    return await access.listed(Team)


@team.command("create")
@reaching(_TEAMS)
@click.argument("name")
@organization_option
async def create_team(access: Access, name: str, organization: str | None) -> Team:
    """Form a team called NAME.

    Example: svc team create Core
    """
    scope = (await access.organization(organization)).id
    return await access.create(Team, organization_id=scope, name=name)


@team.command("end")
@reaching()
@click.argument("name")
async def end_team(access: Access, name: str) -> str:
    """Make the team NAME, given by name or id, inactive.

    Example: svc team end Core
    """
    found = await access.team(name)
    await access.end(found)
    return f"team {found.name} has ended"


@team.command("members")
@reaching(_MEMBERS)
@click.argument("name")
async def list_team_members(access: Access, name: str) -> list[TeamMembership]:
    """Show who is in the team NAME, and who was.

    Example: svc team members Core
    """
    return await access.listed(TeamMembership, team_id=(await access.team(name)).id)


@team.command("add")
@reaching(_MEMBERS)
@click.argument("name")
@click.argument("who")
async def add_team_member(access: Access, name: str, who: str) -> TeamMembership:
    """Put WHO into the team NAME.

    Example: svc team add Core Kim
    """
    found, person = await access.team(name), await access.developer(who)
    return await access.create(TeamMembership, team_id=found.id, developer_id=person.id)


@team.command("remove")
@reaching()
@click.argument("name")
@click.argument("who")
async def remove_team_member(access: Access, name: str, who: str) -> str:
    """End the stay of WHO in the team NAME.

    Example: svc team remove Core Kim
    """
    found = await access.team_membership(await access.team(name), await access.developer(who))
    await access.end(found)
    return f"{who} is no longer in team {name}"


# --- keys -------------------------------------------------------------------------------------------------


class Issued(msgspec.Struct, frozen=True):
    """A new key: its text, shown this once, and its record."""

    key: str
    record: Key


@click.group()
def key() -> None:
    """Keys with which agents and people reach the server."""


def _show_issued(issued: Issued) -> None:
    click.echo(issued.key)
    click.echo(f"key {issued.record.key_id} of developer {issued.record.developer_id}", err=True)


@key.command("issue")
@reaching(_show_issued)
@click.option("--developer", metavar="WHO", help="Whose key, by name or id; may be left out while there is only one.")
@click.option("--organization", metavar="ORG", help="For which of the developer's organizations, where there are more.")
@click.option("--prefix", type=click.Choice(["svc", "gck"]), default="svc", show_default=True)
@click.option("--name", help="What the key is for.")
@click.option("--expires", "expires_at", metavar="TIME", help="When it ends, ISO 8601. [default: when it is revoked]")
async def issue_key(access: Access, developer: str | None, organization: str | None, **wanted: str | None) -> Issued:
    """Make a key. It is shown this once.

    Example: svc key issue --developer Kim --name laptop
    """
    scope = None if organization is None else (await access.organization(organization)).id
    whose = (await access.developer(developer)).id
    shown = await access.create(KeyShown, organization_id=scope, developer_id=whose, **wanted)
    return Issued(shown.key, msgspec.convert(msgspec.structs.asdict(shown), Key))


@key.command("revoke")
@reaching()
@click.argument("key")
async def revoke_key(access: Access, key: str) -> str:
    """Make KEY void, from the very next request on.

    KEY is its id, or the twelve characters that it begins with.

    Example: svc key revoke svc_Jx3kQ9aP
    """
    found = await access.key(key)
    await access.end(found)
    return f"key {found.id} is revoked"


def _key_row(each: Key, names: Names) -> tuple[str, ...]:
    state = "revoked" if each.revoked else "active"
    whose = names.get(each.developer_id, ""), str(each.developer_id)
    return str(each.id), each.key_start, each.name or "", *whose, minute(each.issued_at), minute(each.expires_at), state


_KEYS = Columns(
    ("key id", "begins with", "name", "developer", "developer id", "issued", "expires", "state"), _key_row, named=True
)


@key.command("list")
@reaching(_KEYS)
@click.option("--developer", metavar="WHO", help="Those of one developer only.")
async def list_keys(access: Access, developer: str | None) -> list[Key]:
    """Show every key by its first characters.

    Example: svc key list --json
    """
    narrowed: dict[str, UUID] = {} if developer is None else {"developer_id": (await access.developer(developer)).id}
    return await access.listed(Key, **narrowed)
