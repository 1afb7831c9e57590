"""`svc key`: issue, revoke and list keys, also against a running server."""

from uuid import UUID

import click
from rich.console import Console
from rich.table import Table

from aggregates.people import KeyRecord
from svc.access import Issued, reach
from svc.cli.common import json_option, print_json, run, settings_from, var_option
from svc.settings import Settings


@click.group()
def key() -> None:
    """Keys with which agents and people reach the server."""


@key.command()
@var_option
@json_option
@click.option("--developer", type=click.UUID, help="Whose key it is; may be left out while there is only one.")
@click.option("--prefix", type=click.Choice(["svc", "gck"]), default="svc", show_default=True)
@click.option("--name", help="What the key is for.")
def issue(var: str | None, as_json: bool, developer: UUID | None, prefix: str, name: str | None) -> None:
    """Make a key. It is shown this once.

    Example: svc key issue --name laptop
    """
    issued = run(_issue, settings_from(var=var), developer, prefix, name)
    if as_json:
        print_json(issued)
    else:
        click.echo(issued.key)
        click.echo(f"key {issued.record.key_id} of developer {issued.record.developer_id}", err=True)


async def _issue(settings: Settings, developer: UUID | None, prefix: str, name: str | None) -> Issued:
    async with reach(settings) as access:
        return await access.issue(developer, prefix, name)


@key.command()
@var_option
@click.argument("key_id", type=click.UUID)
def revoke(var: str | None, key_id: UUID) -> None:
    """Make a key void, from the very next request on.

    Example: svc key revoke 7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11
    """
    run(_revoke, settings_from(var=var), key_id)
    click.echo(f"key {key_id} is revoked", err=True)


async def _revoke(settings: Settings, key_id: UUID) -> None:
    async with reach(settings) as access:
        await access.revoke(key_id)


@key.command("list")
@var_option
@json_option
def list_keys(var: str | None, as_json: bool) -> None:
    """Show every key by its first characters.

    Example: svc key list --json
    """
    keys = run(_list, settings_from(var=var))
    if as_json:
        print_json(keys)
        return
    table = Table("key id", "begins with", "name", "developer", "issued", "state")
    for each in keys:
        state = "revoked" if each.revoked else "active"
        table.add_row(each.key_id, each.key_start, each.name or "", each.developer_id, each.issued_at, state)
    Console().print(table)


async def _list(settings: Settings) -> list[KeyRecord]:
    async with reach(settings) as access:
        return await access.keys()
