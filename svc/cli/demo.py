"""`svc demo`: a month of two imaginary developers, from transcripts to scores, on a folder of its own."""

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import click
import msgspec

from aggregates.event import Refused, Scope
from aggregates.people.acts import CreateDeveloper, StartMembership
from svc.cli import Command, main
from svc.cli.common import Shown, run, settings_from
from svc.log.folder import held, new_key
from svc.settings import Settings

if TYPE_CHECKING:
    from svc.service import RunningService

SHOWN = (("score", "--days", "31"), ("habits", "--days", "31"), ("goals", "--limit", "8"))
"""Commands that every developer has."""


class Person(msgspec.Struct, frozen=True):
    name: str
    scope: Scope
    key: str


@click.command(cls=Command, example="svc demo --var var/demo --keep")
@click.option("--var", "var", metavar="DIR", help="Folder for the demo's data. [default: a temporary one]")
@click.option("--keep", is_flag=True, help="Go on serving afterwards, until Ctrl-C.")
def demo(var: str | None, keep: bool) -> None:
    """Imports their bundled sample sessions into a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="svc-demo-") as temporary:
        run(_demo, settings_from(var=var or temporary, intake="127.0.0.1:0", api="127.0.0.1:0"), keep)


async def _demo(settings: Settings, keep: bool) -> None:
    import trio

    from svc.app import open_service
    from svc.serving import listening, stop_signal

    console = Shown(highlight=False, soft_wrap=True)
    with held(settings.var_path):
        async with open_service(settings, reporting=True) as service, listening(settings, service) as addresses:
            people, api = await _people(service, settings.var_path), addresses.api_url
            with tempfile.TemporaryDirectory(prefix="svc-demo-") as folder:
                await _import_all(service, people, Path(folder))
            for person in people:
                console.rule(f"[bold]{person.name}[/bold], this month")
                for command in SHOWN:
                    asked = [*command, "--api", api, "--key", person.key]
                    await trio.to_thread.run_sync(partial(main.main, asked, standalone_mode=False))
            if keep:
                console.print(f"\nServing on {api} until Ctrl-C. Ask it as one of them, for example:")
                for person in people:
                    console.print(f"svc goals --api {api} --key {person.key}  # {person.name}", markup=False)
                await stop_signal()


async def _people(service: "RunningService", var: Path) -> list[Person]:
    from svc.serving import initialize, issue_key

    made = await initialize(service, var, "Demo team", "Ana")
    if made is None:
        raise FileNotFoundError(f"{var} is set up already; the demo needs an empty folder")
    ben, key = Scope(made.organization_id, uuid4()), new_key("svc")
    for command in (
        CreateDeveloper(developer_id=ben.developer_id, display_name="Ben"),
        StartMembership(organization_id=ben.organization_id, developer_id=ben.developer_id),
        issue_key(ben.organization_id, ben.developer_id, key, "demo"),
    ):
        reply = await service.administer(command)
        assert not isinstance(reply, Refused), reply
    return [Person("Ana", Scope(made.organization_id, made.developer_id), made.key), Person("Ben", ben, key)]


async def _import_all(service: "RunningService", people: list[Person], folder: Path) -> None:
    from svc.actors.actors import SystemClock
    from svc.cli.sample import write_transcripts
    from svc.importing.claude_code import CLAUDE_CODE
    from svc.importing.importer import import_transcripts

    now_us = SystemClock().now_us()
    written = write_transcripts(folder, now_us=now_us)
    for person in people:
        digester, place = service.vault.digester(person.scope.developer_id), written[person.name]
        await import_transcripts(
            CLAUDE_CODE, place, service.send, lambda _: None, scope=person.scope, digester=digester, now_us=now_us
        )
