"""`svc team`: teams and who is in them; also against a running server."""

from typing import Any

import click

from aggregates.people.shown import KeyRecord, TeamMembershipRecord, TeamRecord
from svc.cli.access import Issued, People
from svc.cli.common import json_option, minute, print_json, var_option
from svc.cli.people import organization_option, show, with_people


@click.group()
def team() -> None:
    """Teams: who sees whose sums."""


@team.command("list")
@var_option
@json_option
def list_teams(var: str | None, as_json: bool) -> None:
    """Show every team, inactive ones too.

    Example: svc team list
    """
    _show_teams(with_people(lambda people: people.listed("teams", TeamRecord), var), as_json)


@team.command()
@click.argument("name")
@organization_option
@var_option
@json_option
def create(name: str, organization: str | None, var: str | None, as_json: bool) -> None:
    """Form a team called NAME.

    Example: svc team create Core
    """

    async def form(people: People) -> TeamRecord:
        scope = (await people.organization(organization)).id
        return await people.create("teams", TeamRecord, organization_id=scope, name=name)

    _show_teams(with_people(form, var), as_json)


@team.command()
@click.argument("name")
@var_option
def end(name: str, var: str | None) -> None:
    """Make the team NAME, given by name or id, inactive.

    Example: svc team end Core
    """

    async def over(people: People) -> str:
        found = await people.team(name)
        await people.end("teams", found.id)
        return found.name

    click.echo(f"team {with_people(over, var)} has ended", err=True)


@team.command()
@click.argument("name")
@var_option
@json_option
def members(name: str, var: str | None, as_json: bool) -> None:
    """Show who is in the team NAME, and who was.

    Example: svc team members Core
    """
    names: dict[str, str] = {}

    async def listed(people: People) -> list[TeamMembershipRecord]:
        wanted = (await people.team(name)).id
        names.update(await people.names())
        return await people.listed("team-memberships", TeamMembershipRecord, team_id=wanted)

    _show_stays(with_people(listed, var), names, as_json)


@team.command()
@click.argument("name")
@click.argument("who")
@var_option
@json_option
def add(name: str, who: str, var: str | None, as_json: bool) -> None:
    """Put WHO into the team NAME.

    Example: svc team add Core Kim
    """
    names: dict[str, str] = {}

    async def join(people: People) -> TeamMembershipRecord:
        found, person = await people.team(name), await people.developer(who)
        names[person.id] = person.display_name
        return await people.create("team-memberships", TeamMembershipRecord, team_id=found.id, developer_id=person.id)

    _show_stays(with_people(join, var), names, as_json)


@team.command()
@click.argument("name")
@click.argument("who")
@var_option
def remove(name: str, who: str, var: str | None) -> None:
    """End the stay of WHO in the team NAME.

    Example: svc team remove Core Kim
    """

    async def leave(people: People) -> str:
        stay = await people.stay(await people.team(name), await people.developer(who))
        await people.end("team-memberships", stay.id)
        return who

    click.echo(f"{with_people(leave, var)} is no longer in team {name}", err=True)


def _show_teams(records: Any, as_json: bool) -> None:
    def row(each: TeamRecord) -> tuple[str, ...]:
        return each.name, each.id, each.organization_id, "active" if each.active else f"ended {minute(each.ended_at)}"

    show(records, as_json, ("team", "id", "organization id", "state"), row)


def _show_stays(records: Any, names: dict[str, str], as_json: bool) -> None:
    def row(each: TeamMembershipRecord) -> tuple[str, ...]:
        return names.get(each.developer_id, ""), each.developer_id, minute(each.started_at), minute(each.ended_at)

    show(records, as_json, ("developer", "developer id", "since", "until"), row)


# `svc key`: issue, revoke and list keys, also against a running server.


@click.group()
def key() -> None:
    """Keys with which agents and people reach the server."""


@key.command()
@var_option
@json_option
@click.option("--developer", metavar="WHO", help="Whose key, by name or id; may be left out while there is only one.")
@click.option("--organization", metavar="ORG", help="For which of the developer's organizations, where there are more.")
@click.option("--prefix", type=click.Choice(["svc", "gck"]), default="svc", show_default=True)
@click.option("--name", help="What the key is for.")
@click.option("--expires", metavar="TIME", help="When it ends, ISO 8601. [default: when it is revoked]")
def issue(
    var: str | None,
    as_json: bool,
    developer: str | None,
    organization: str | None,
    prefix: str,
    name: str | None,
    expires: str | None,
) -> None:
    """Make a key. It is shown this once.

    Example: svc key issue --developer Kim --name laptop
    """

    async def make(people: People) -> Issued:
        scope = None if organization is None else (await people.organization(organization)).id
        return await people.issue(
            developer_id=(await people.developer(developer)).id,
            organization_id=scope,
            prefix=prefix,
            name=name,
            expires_at=expires,
        )

    issued = with_people(make, var)
    if as_json:
        print_json(issued)
    else:
        click.echo(issued.key)
        click.echo(f"key {issued.record.key_id} of developer {issued.record.developer_id}", err=True)


@key.command()
@var_option
@click.argument("key")
def revoke(var: str | None, key: str) -> None:
    """Make KEY void, from the very next request on.

    KEY is its id, or the twelve characters that it begins with.

    Example: svc key revoke svc_Jx3kQ9aP
    """

    async def end(people: People) -> str:
        found = (await people.key(key)).key_id
        await people.end("keys", found)
        return found

    click.echo(f"key {with_people(end, var)} is revoked", err=True)


@key.command("list")
@var_option
@json_option
@click.option("--developer", metavar="WHO", help="Those of one developer only.")
def list_keys(var: str | None, as_json: bool, developer: str | None) -> None:
    """Show every key by its first characters.

    Example: svc key list --json
    """

    names: dict[str, str] = {}

    async def listed(people: People) -> list[KeyRecord]:
        names.update(await people.names())
        narrowed = {} if developer is None else {"developer_id": (await people.developer(developer)).id}
        return await people.listed("keys", KeyRecord, **narrowed)

    keys = with_people(listed, var)
    head = ("key id", "begins with", "name", "developer", "developer id", "issued", "expires", "state")
    show(keys, as_json, head, lambda each: _row(each, names.get(each.developer_id, "")))


def _row(each: KeyRecord, developer: str) -> tuple[str, ...]:
    state = "revoked" if each.revoked else "active"
    return (
        each.key_id,
        each.key_start,
        each.name or "",
        developer,
        each.developer_id,
        minute(each.issued_at),
        minute(each.expires_at),
        state,
    )
