"""`svc org`, `svc developer` and `svc member`: who there is and what is set for them, also against a running server."""

from collections.abc import Callable
from typing import Any, get_args

import click

from aggregates.people.commands import RETENTION_DAYS_MAX
from aggregates.people.directory import Developer, Membership, Organization, Record
from aggregates.people.events import Role, Schedule
from svc.cli.access import Access, NotFound
from svc.cli.common import Columns, Names, minute, reaching
from svc_http.routes.people import DeveloperShown

FOREVER = "forever"
organization_option = click.option(
    "--organization", metavar="ORG", help="Its name or id; may be left out while there is only one."
)
role_option = click.option("--role", type=click.Choice(get_args(Role)), default="member", show_default=True)


# --- organizations ----------------------------------------------------------------------------------------


@click.group()
def org() -> None:
    """Organizations and their settings."""


def _organization_row(each: Organization, _names: Names) -> tuple[str, ...]:
    kept = (each.retention_days_telemetry, each.retention_days_text)
    days = (FOREVER if value is None else f"{value} days" for value in kept)
    leaves, redacted = ("yes" if value else "no" for value in (each.text_leaves, each.redaction))
    return (each.name, str(each.id), leaves, redacted, *days)


_ORGANIZATIONS = Columns(
    ("organization", "id", "text may leave", "redaction", "telemetry kept", "texts kept"), _organization_row
)


@org.command("list")
@reaching(_ORGANIZATIONS)
async def list_organizations(access: Access) -> list[Organization]:
    """Show every organization and its settings.

    Example: svc org list
    """
    return await access.listed(Organization)


@org.command("create")
@reaching(_ORGANIZATIONS)
@click.argument("name")
async def create_organization(access: Access, name: str) -> Organization:
    """Found an organization.

    Example: svc org create "Second team"
    """
    return await access.create(Organization, name=name)


class Days(click.ParamType):  # type: ignore[type-arg]
    """A number of days, or for ever."""

    name = "DAYS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Days as a number; `forever` as it is."""
        if value == FOREVER:
            return FOREVER
        return click.IntRange(1, RETENTION_DAYS_MAX).convert(value, param, ctx)


@org.command("set")
@reaching(_ORGANIZATIONS)
@click.argument("organization", required=False)
@click.option("--name")
@click.option("--text-leaves/--no-text-leaves", default=None, help="Whether texts may go to a text model.")
@click.option("--redaction/--no-redaction", default=None, help="Whether secrets are taken out before texts are stored.")
@click.option("--retention-days-telemetry", type=Days(), help="How long raw telemetry is kept, or forever.")
@click.option("--retention-days-text", type=Days(), help="How long texts are kept, or forever.")
async def set_organization(access: Access, organization: str | None, **settings: Any) -> Record:
    """Change settings of ORGANIZATION, given by name or id.

    What is not named stays.

    Example: svc org set --retention-days-text 90 --no-text-leaves
    """
    wanted = {name: None if value == FOREVER else value for name, value in settings.items() if value is not None}
    return await access.change(await access.organization(organization), **wanted)


# --- developers -------------------------------------------------------------------------------------------


@click.group()
def developer() -> None:
    """Developers, their profiles, and how far each has come."""


def _developer_row(each: Developer, _names: Names) -> tuple[str, ...]:
    state = each.activation.replace("_", " ") if isinstance(each, DeveloperShown) else ""
    reports = ", ".join(each.report_schedules) or "none"
    return each.display_name, str(each.id), each.timezone, each.language or "", reports, state


_DEVELOPERS = Columns(("developer", "id", "time zone", "language", "reports", "activation"), _developer_row)


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


@developer.command("list")
@reaching(_DEVELOPERS)
@organization_option
async def list_developers(access: Access, organization: str | None) -> list[DeveloperShown]:
    """Show every developer, and how far each has come.

    Waiting, key configured, or with a first prompt.

    Example: svc developer list
    """
    everybody = await access.developers()
    if organization is None:
        return everybody
    wanted = (await access.organization(organization)).id
    members = await access.listed(Membership, organization_id=wanted)
    inside = {each.developer_id for each in members if each.active}
    return [each for each in everybody if each.id in inside]


@developer.command("create")
@reaching(_DEVELOPERS)
@click.argument("name")
@organization_option
@role_option
@_profile
@click.option("--same-name", is_flag=True, help="Also where somebody is called so; then only ids tell them apart.")
async def create_developer(
    access: Access, name: str, organization: str | None, role: Role, same_name: bool, **profile: Any
) -> Developer:
    """Enter a developer called NAME, as a member.

    `svc key issue --developer NAME` then makes a key. A name may be an e-mail address.

    Example: svc developer create Kim --timezone Asia/Seoul
    """
    scope = (await access.organization(organization)).id
    if not same_name:
        await _refuse_same_name(access, name)
    wanted = {field: value for field, value in profile.items() if value}
    made = await access.create(Developer, display_name=name, **wanted)
    await access.create(Membership, organization_id=scope, developer_id=made.id, role=role)
    return made


async def _refuse_same_name(access: Access, name: str) -> None:
    """Two of one name can be told apart by their ids only. Raises `NotFound`."""
    for developer_id, known in (await access.names()).items():
        if known.casefold() == name.casefold():
            raise NotFound(
                f"{known} ({developer_id}) is there already: take another name, or give --same-name; then both are "
                "named by their ids. `svc member add` takes somebody who is there into another organization"
            )


@developer.command("set")
@reaching(_DEVELOPERS)
@click.argument("who")
@click.option("--name", "display_name")
@_profile
@click.option("--no-reports", is_flag=True, help="No report is made by itself any more.")
async def set_developer(access: Access, who: str, no_reports: bool, **profile: Any) -> Record:
    """Change the profile of WHO, given by name or id.

    What is not named stays.

    Example: svc developer set Kim --timezone Europe/Berlin --report weekly
    """
    wanted = {field: value for field, value in profile.items() if value}
    if no_reports:
        wanted["report_schedules"] = []
    return await access.change(await access.developer(who), **wanted)


# --- members ----------------------------------------------------------------------------------------------


@click.group()
def member() -> None:
    """Who belongs to an organization, and as what."""


def _member_row(each: Membership, names: Names) -> tuple[str, ...]:
    developer_id, since, until = each.developer_id, minute(each.started_at), minute(each.ended_at)
    return names.get(developer_id, ""), str(developer_id), str(each.organization_id), each.role, since, until


_MEMBERS = Columns(("developer", "developer id", "organization id", "role", "since", "until"), _member_row, named=True)


@member.command("list")
@reaching(_MEMBERS)
@organization_option
async def list_members(access: Access, organization: str | None) -> list[Membership]:
    """Show memberships, former ones too.

    Example: svc member list --json
    """
    narrowed = {} if organization is None else {"organization_id": (await access.organization(organization)).id}
    return await access.listed(Membership, **narrowed)


@member.command("add")
@reaching(_MEMBERS)
@click.argument("who")
@organization_option
@role_option
async def add_member(access: Access, who: str, organization: str | None, role: Role) -> Membership:
    """Take WHO into an organization, for the first time or again.

    Example: svc member add Kim --role owner
    """
    scope = (await access.organization(organization)).id
    found = (await access.developer(who)).id
    return await access.create(Membership, organization_id=scope, developer_id=found, role=role)


@member.command("set")
@reaching(_MEMBERS)
@click.argument("who")
@organization_option
@click.option("--role", type=click.Choice(get_args(Role)), required=True)
async def set_member(access: Access, who: str, organization: str | None, role: Role) -> Record:
    """Give WHO another role.

    Example: svc member set Kim --role owner
    """
    found = await access.membership(await access.developer(who), organization)
    return await access.change(found, role=role)


@member.command("remove")
@reaching()
@click.argument("who")
@organization_option
async def remove_member(access: Access, who: str, organization: str | None) -> str:
    """End the membership of WHO, given by name or id.

    Their keys open nothing any more; what they did stays.

    Example: svc member remove Kim
    """
    found = await access.developer(who)
    await access.end(await access.membership(found, organization))
    return f"{found.display_name} is no longer a member"
