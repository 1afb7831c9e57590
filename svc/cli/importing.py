"""`svc import`: read what an agent has already written on this machine."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from svc.cli import Command
from svc.cli.common import ORGANIZATION, Shown, data_options, run, show_fields, tell, working
from svc.connect.connections import Server, checked_url, known_key
from svc.importing.importer import ANSWER_SECONDS, FORMATS, PATH, Destination, ImportReport, import_into
from svc.log.folder import SOCKET
from svc.outward import Answer
from svc.settings import Settings

import_ = click.Group("import")


# What every agent has below; the command's name says which.
@click.command("of-an-agent", params=[ORGANIZATION])
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option(
    "--developer", metavar="WHO", help="Whose sessions, by name or id; may be left out while there is only one member."
)
@click.option("--url", help="Another machine's intake, as for `svc connect`.")
@click.option("--key", envvar="SVC_KEY", help="Your key there. [env: SVC_KEY; default: that of `svc connect`]")
@data_options
@click.pass_context
def _of_an_agent(
    context: click.Context,
    settings: Settings,
    as_json: bool,
    path: Path | None,
    developer: str | None,
    organization: str | None,
    url: str | None,
    key: str | None,
) -> None:
    import trio

    from svc.log.opening import holds_data

    agent = str(context.command.name)
    transcripts = FORMATS[agent]
    found = [path.expanduser()] if path else transcripts.folders
    named = " and no ".join(map(str, found))
    following = (
        f"name another folder or a file, as in `svc import {agent} PATH`, or use the agent first. "
        f"`svc connect {agent}` has it send what it does from now on"
    )
    if not any(each.exists() for each in found):
        raise click.ClickException(f"there is no {named}; {following}")
    if url is None and not (holds_data(settings.place) or (settings.var_path / SOCKET).exists()):
        raise click.ClickException(
            f"there is no server's data in {settings.var_path}, and no other server was named. Where svc runs on this "
            f"machine, name its folder: svc import {agent} --var DIR. Where it runs on another, name its intake and "
            f"your key: svc import {agent} --url http://HOST:4318 --key KEY"
        )
    var_named = context.get_parameter_source("settings") is ParameterSource.COMMANDLINE
    if url is not None and (developer or organization or var_named):
        raise click.UsageError(
            "--url names another machine's server, and the key says whose sessions they are: leave out --var, "
            "--developer and --organization"
        )
    what_holds = "what was read so far is kept; run it again for the rest, nothing counts twice"
    with working("importing", what_holds) as progress:
        if url is None:
            report = run(_import, settings, agent, found, progress, developer, organization)
        else:
            now_us = time.time_ns() // 1_000
            destination = intake(Server(checked_url(url), key or known_key(url)), agent)
            report = trio.run(partial(import_into, destination, transcripts, found, progress, now_us=now_us))
    tell(report, as_json, _show if report.files else f"no sessions of {agent} lie under {named}; {following}")


for _agent, _transcripts in FORMATS.items():
    _about = f"""Import {_transcripts.what}: a folder, or one file. Running it again adds nothing.

    Without PATH the agent's own folder is read: {_transcripts.place}

    The sessions go into the folder of a server on this machine (--var), or to another machine's (--url), where the
    key says whose they are.
    """
    _example = f"svc import {_agent} --url http://svc.example:4318 --key KEY"
    import_.add_command(
        Command(name=_agent, callback=_of_an_agent.callback, params=_of_an_agent.params, help=_about, example=_example)
    )


def intake(server: Server, agent: str) -> Destination:
    """A server by its intake, with a developer's key."""
    import trio

    async def ask(body: bytes) -> Answer:
        asked = partial(server.asked, "POST", PATH, msgspec.Raw(body), ANSWER_SECONDS)
        return await trio.to_thread.run_sync(asked)

    return Destination(server.url, ask, source=agent)


async def _import(
    settings: Settings, agent: str, paths: Sequence[Path], progress: Callable[[int, int], None], *whose: str | None
) -> ImportReport:
    from svc.cli.access import reach

    async with reach(settings) as access:
        member = await access.member(*whose)

        async def ask(body: bytes) -> Answer:
            headers = {"Content-Type": "application/json"}
            answer = await access.answered("POST", "/v1/admin/control/import", content=body, headers=headers)
            return Answer(answer.status_code, answer.content, answer.headers)

        named = {name: member[name] for name in ("organization_id", "developer_id")}
        destination, now_us = Destination("the server", ask, source=agent, **named), time.time_ns() // 1_000
        return await import_into(destination, FORMATS[agent], paths, progress, now_us=now_us)


def _show(report: ImportReport) -> None:
    found = msgspec.to_builtins(report)
    passed_over = found.pop("passed_over")
    found |= found.pop("tokens") | {"torn": len(report.torn), "refused": len(report.refused)}
    show_fields((name, f"{number:,}") for name, number in found.items())
    console = Shown(soft_wrap=True, highlight=False)
    if passed_over:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in passed_over.items())
        console.print(f"passed over: {kinds}", markup=False)
    for torn in report.torn:
        console.print(f"torn: {torn.file}, line {torn.line}: {torn.reason}", style="yellow", markup=False)
    for refusal in report.refused:
        console.print(f"refused: {refusal.file}, {refusal.what}: {refusal.message}", style="yellow", markup=False)
