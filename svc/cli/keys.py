"""`svc key`: issue, revoke and list keys, also against a running server."""

import click

from aggregates.people import KeyRecord
from svc.cli.common import json_option, print_json, var_option
from svc.cli.people import show, with_people
from svc.cli.shown import minute
from svc.people_access import Issued, People


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
