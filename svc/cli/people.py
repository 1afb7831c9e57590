"""`svc org`, `svc developer` and `svc member`: who there is and what is set for them, also against a running server."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, get_args
from uuid import UUID

import click

from aggregates.people.commands import RETENTION_DAYS_MAX
from aggregates.people.records import Role, Schedule
from aggregates.people.shown import DeveloperRecord, MembershipRecord, OrganizationRecord
from svc.cli.access import Access, NotFound, People, reach
from svc.cli.common import json_option, minute, print_json, run, settings_from, show_table, var_option
from svc.settings import Settings
from svc_http.routes.people import DeveloperShown

T = TypeVar("T")

FOREVER = "forever"
organization_option = click.option(
    "--organization", metavar="ORG", help="Its name or id; may be left out while there is only one."
)
role_option = click.option("--role", type=click.Choice(get_args(Role)), default="member", show_default=True)


def with_people(work: Callable[..., Awaitable[T]], var: str | None, *args: Any) -> T:
    """Run what a command does with people, on the folder or through the server that holds it."""

    async def main(settings: Settings) -> T:
        async with reach(settings) as access:
            return await work(People(access.admin), *args)

    return run(main, settings_from(var=var))


async def organizations(access: Access, named: str | None) -> list[UUID]:
    """The one that was named, or every one. Raises `NotFound`."""
    people = People(access.admin)
    if named is None:
        return [UUID(each.id) for each in await people.listed("organizations", OrganizationRecord)]
    return [UUID((await people.organization(named)).id)]


def show(records: Any, as_json: bool, head: tuple[str, ...], row: Callable[[Any], tuple[str, ...]]) -> None:
    """One record, or a list of them, as JSON or as a table."""
    if as_json:
        print_json(records)
        return
    show_table(head, map(row, records if isinstance(records, list) else [records]))


# --- organizations ----------------------------------------------------------------------------------------


@click.group()
def org() -> None:
    """Organizations and their settings."""


@org.command("list")
@var_option
@json_option
def list_organizations(var: str | None, as_json: bool) -> None:
    """Show every organization and its settings.

    Example: svc org list
    """
    _show_organizations(with_people(lambda people: people.listed("organizations", OrganizationRecord), var), as_json)


@org.command("create")
@click.argument("name")
@var_option
@json_option
def create_organization(name: str, var: str | None, as_json: bool) -> None:
    """Found an organization.

    Example: svc org create "Second team"
    """
    made = with_people(lambda people: people.create("organizations", OrganizationRecord, name=name), var)
    _show_organizations(made, as_json)


class Days(click.ParamType):  # type: ignore[type-arg]
    """A number of days, or for ever."""

    name = "DAYS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Days as a number; `forever` as it is."""
        if value == FOREVER:
            return FOREVER
        return click.IntRange(1, RETENTION_DAYS_MAX).convert(value, param, ctx)


@org.command("set")
@click.argument("organization", required=False)
@click.option("--name")
@click.option("--text-leaves/--no-text-leaves", default=None, help="Whether texts may go to a text model.")
@click.option("--redaction/--no-redaction", default=None, help="Whether secrets are taken out before texts are stored.")
@click.option("--retention-days-telemetry", type=Days(), help="How long raw telemetry is kept, or forever.")
@click.option("--retention-days-text", type=Days(), help="How long texts are kept, or forever.")
@var_option
@json_option
def set_organization(organization: str | None, var: str | None, as_json: bool, **settings: Any) -> None:
    """Change settings of ORGANIZATION, given by name or id.

    What is not named stays.

    Example: svc org set --retention-days-text 90 --no-text-leaves
    """
    wanted = {name: None if value == FOREVER else value for name, value in settings.items() if value is not None}

    async def change(people: People) -> OrganizationRecord:
        found = await people.organization(organization)
        return await people.change("organizations", found.id, OrganizationRecord, wanted)

    _show_organizations(with_people(change, var), as_json)


def _show_organizations(records: Any, as_json: bool) -> None:
    head = ("organization", "id", "text may leave", "redaction", "telemetry kept", "texts kept")

    def row(each: OrganizationRecord) -> tuple[str, ...]:
        kept = (each.retention_days_telemetry, each.retention_days_text)
        days = (FOREVER if value is None else f"{value} days" for value in kept)
        return (each.name, each.id, _yes(each.text_leaves), _yes(each.redaction), *days)

    show(records, as_json, head, row)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


# --- developers -------------------------------------------------------------------------------------------


@click.group()
def developer() -> None:
    """Developers, their profiles, and how far each has come."""


@developer.command("list")
@organization_option
@var_option
@json_option
def list_developers(organization: str | None, var: str | None, as_json: bool) -> None:
    """Show every developer, and how far each has come.

    Waiting, key configured, or with a first prompt.

    Example: svc developer list
    """

    async def listed(people: People) -> list[DeveloperShown]:
        everybody = await people.listed("developers", DeveloperShown)
        if organization is None:
            return everybody
        wanted = (await people.organization(organization)).id
        members = await people.listed("memberships", MembershipRecord, organization_id=wanted)
        inside = {each.developer_id for each in members if each.active}
        return [each for each in everybody if each.id in inside]

    _show_developers(with_people(listed, var), as_json)


def _profile(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a profile."""
    for option in (
        click.option("--timezone", metavar="ZONE", help="IANA name, like Europe/Berlin: whose days and weeks count."),
        click.option("--language", metavar="TAG", help="Language tag, like en or pt-BR."),
        click.option(
            "--report",
            "report_schedules",
            type=click.Choice(get_args(Schedule)),
            multiple=True,
            help="A report that is made by itself; may be given more than once.",
        ),
    ):
        command = option(command)
    return command


@developer.command("create")
@click.argument("name")
@organization_option
@role_option
@_profile
@click.option("--same-name", is_flag=True, help="Also where somebody is called so; then only ids tell them apart.")
@var_option
@json_option
def create_developer(
    name: str,
    organization: str | None,
    role: Role,
    same_name: bool,
    var: str | None,
    as_json: bool,
    **profile: Any,
) -> None:
    """Enter a developer called NAME, as a member.

    `svc key issue --developer NAME` then makes a key. A name may be an e-mail address.

    Example: svc developer create Kim --timezone Asia/Seoul
    """
    wanted = {field: value for field, value in profile.items() if value}

    async def create(people: People) -> DeveloperRecord:
        scope = (await people.organization(organization)).id
        if not same_name:
            await _refuse_same_name(people, name)
        made = await people.create("developers", DeveloperRecord, display_name=name, **wanted)
        await people.create("memberships", MembershipRecord, organization_id=scope, developer_id=made.id, role=role)
        return made

    _show_developers(with_people(create, var), as_json)


async def _refuse_same_name(people: People, name: str) -> None:
    """Two of one name can be told apart by their ids only. Raises `NotFound`."""
    for developer_id, known in (await people.names()).items():
        if known.casefold() == name.casefold():
            raise NotFound(
                f"{known} ({developer_id}) is there already: take another name, or give --same-name; then both are "
                "named by their ids. `svc member add` takes somebody who is there into another organization"
            )


@developer.command("set")
@click.argument("who")
@click.option("--name", "display_name")
@_profile
@click.option("--no-reports", is_flag=True, help="No report is made by itself any more.")
@var_option
@json_option
def set_developer(who: str, no_reports: bool, var: str | None, as_json: bool, **profile: Any) -> None:
    """Change the profile of WHO, given by name or id.

    What is not named stays.

    Example: svc developer set Kim --timezone Europe/Berlin --report weekly
    """
    wanted = {field: value for field, value in profile.items() if value}
    if no_reports:
        wanted["report_schedules"] = []

    async def change(people: People) -> DeveloperRecord:
        return await people.change("developers", (await people.developer(who)).id, DeveloperRecord, wanted)

    _show_developers(with_people(change, var), as_json)


def _show_developers(records: Any, as_json: bool) -> None:
    head = ("developer", "id", "time zone", "language", "reports", "activation")

    def row(each: DeveloperRecord) -> tuple[str, ...]:
        state = each.activation.replace("_", " ") if isinstance(each, DeveloperShown) else ""
        return (
            each.display_name,
            each.id,
            each.timezone,
            each.language or "",
            ", ".join(each.report_schedules) or "none",
            state,
        )

    show(records, as_json, head, row)


# --- members ----------------------------------------------------------------------------------------------


@click.group()
def member() -> None:
    """Who belongs to an organization, and as what."""


@member.command("list")
@organization_option
@var_option
@json_option
def list_members(organization: str | None, var: str | None, as_json: bool) -> None:
    """Show memberships, former ones too.

    Example: svc member list --json
    """
    names: dict[str, str] = {}

    async def listed(people: People) -> list[MembershipRecord]:
        narrowed = {} if organization is None else {"organization_id": (await people.organization(organization)).id}
        names.update(await people.names())
        return await people.listed("memberships", MembershipRecord, **narrowed)

    _show_members(with_people(listed, var), names, as_json)


@member.command("add")
@click.argument("who")
@organization_option
@role_option
@var_option
@json_option
def add_member(who: str, organization: str | None, role: Role, var: str | None, as_json: bool) -> None:
    """Take WHO into an organization, for the first time or again.

    Example: svc member add Kim --role owner
    """
    names: dict[str, str] = {}

    async def add(people: People) -> MembershipRecord:
        scope = {"organization_id": (await people.organization(organization)).id}
        found = await people.developer(who)
        names.update(await people.names())
        return await people.create("memberships", MembershipRecord, **scope, developer_id=found.id, role=role)

    _show_members(with_people(add, var), names, as_json)


@member.command("set")
@click.argument("who")
@organization_option
@click.option("--role", type=click.Choice(get_args(Role)), required=True)
@var_option
@json_option
def set_member(who: str, organization: str | None, role: Role, var: str | None, as_json: bool) -> None:
    """Give WHO another role.

    Example: svc member set Kim --role owner
    """
    names: dict[str, str] = {}

    async def change(people: People) -> MembershipRecord:
        found = await people.membership(await people.developer(who), organization)
        names.update(await people.names())
        return await people.change("memberships", found.id, MembershipRecord, {"role": role})

    _show_members(with_people(change, var), names, as_json)


@member.command("remove")
@click.argument("who")
@organization_option
@var_option
def remove_member(who: str, organization: str | None, var: str | None) -> None:
    """End the membership of WHO, given by name or id.

    Their keys open nothing any more; what they did stays.

    Example: svc member remove Kim
    """

    async def remove(people: People) -> str:
        found = await people.developer(who)
        await people.end("memberships", (await people.membership(found, organization)).id)
        return found.display_name

    click.echo(f"{with_people(remove, var)} is no longer a member", err=True)


def _show_members(records: Any, names: dict[str, str], as_json: bool) -> None:
    def row(each: MembershipRecord) -> tuple[str, ...]:
        name = names.get(each.developer_id, "")
        stay = minute(each.started_at), minute(each.ended_at)
        return name, each.developer_id, each.organization_id, each.role, *stay

    show(records, as_json, ("developer", "developer id", "organization id", "role", "since", "until"), row)
