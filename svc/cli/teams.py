"""`svc team`: teams and who is in them; also against a running server."""

from typing import Any

import click

from aggregates.people import TeamMembershipRecord, TeamRecord
from svc.cli.common import json_option, var_option
from svc.cli.people import organization_option, show, with_people
from svc.cli.shown import minute
from svc.people_access import People


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
