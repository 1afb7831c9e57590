"""`svc import`: read what an agent has already written on this machine."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from aggregates.event import Mendable
from aggregates.ids import KEY_START_CHARACTERS
from svc.cli import Command
from svc.cli.access import reach
from svc.cli.common import ORGANIZATION, data_options, say, show_fields, show_text, tell, working
from svc.connect.connections import Server, checked_url, known_key, note_archive_read
from svc.importing.exchange import Found, TornLine
from svc.importing.importer import FORMATS, QUIET_US, Ask, Destination, ImportReport, Refusal, import_into, intake
from svc.log.folder import SOCKET, running
from svc.process import typed
from svc.settings import Settings

WATCH_SECONDS = 60
_THEIRS = "another developer's agent session"  # stands in the refusal of one
_FOR_GOOD = "Sessions stay with whom they are first imported for."
import_ = click.Group("import")
Sessions = Mapping[str, Sequence[Found]]  # by agent
Progress = Callable[[int, int], None]

_OF = "Whose sessions, by name or id; may be left out while there is only one member."
_KEY = "Your key there. [env: SVC_KEY; default: that of `svc connect`]"
WHOSE = (
    ORGANIZATION,
    click.Option(["--developer"], metavar="WHO", help=_OF),
    click.Option(["--url"], help="Another machine's intake, as for `svc connect`."),
    click.Option(["--key"], envvar="SVC_KEY", help=_KEY),
)


class Whose(NamedTuple):
    """A folder here, or another machine's server, and a developer in it."""

    settings: Settings
    url: str | None
    key: str | None
    developer: str | None
    organization: str | None

    def _check(self, context: click.Context) -> None:
        from svc.log.opening import holds_data

        var_path, agent = self.settings.var_path, context.command.name
        if self.url is None and not (holds_data(self.settings.place) or (var_path / SOCKET).exists()):
            raise click.ClickException(
                f"there is no server's data in {var_path}, and no other server was named. Where svc runs on this "
                f"machine, name its folder: svc import {agent} --var DIR. Where it runs on another, name its intake "
                f"and your key: svc import {agent} --url http://HOST:4318 --key KEY"
            )
        var_named = context.get_parameter_source("settings") is ParameterSource.COMMANDLINE
        if self.url is not None and (self.developer or self.organization or var_named):
            raise click.UsageError(
                "--url names another machine's server, and the key says whose sessions they are: leave out --var, "
                "--developer and --organization"
            )

    def take(self, sessions: Sessions, *, again: bool = False) -> dict[str, ImportReport]:
        self._check(click.get_current_context())
        what_holds = "what was read so far is kept; run it again for the rest, nothing counts twice"
        with working("importing", what_holds) as progress:
            if self.url is None:
                return self._here(sessions, progress, again)
            server = Server(checked_url(self.url), self.key or known_key(self.url))
            if not again:
                whose = f"For the owner of the key {server.key[:KEY_START_CHARACTERS]}… at {server.url}."
                say(f"{whose} {_FOR_GOOD}", err=True)
            return _import(server.url, intake(server), sessions, progress)

    def say_next(self, files: int) -> None:
        """Where what was imported is seen; on standard error, beside any JSON."""
        if not files:
            return
        folder = () if self.settings.var == Settings().var else ("--var", self.settings.var)
        if self.url is not None:
            following = "the pages of that server, or `svc goals --api URL`, show the goals"
        elif running(self.settings.var_path) is None:
            following = f"`{typed('serve', *folder)}` shows the goals on its pages"
        else:
            following = f"`{typed('open', *folder)}` opens the pages, `{typed('goals', *folder)}` lists the goals"
        say(f"Next: {following}.", err=True)

    def _here(self, sessions: Sessions, progress: Progress, again: bool) -> dict[str, ImportReport]:
        with reach(self.settings) as access:
            member, names = access.member(self.developer, self.organization), access.names()
            if not again:
                say(f"For {names[member['developer_id']]}; --developer names another. {_FOR_GOOD}", err=True)
            named = {name: member[name] for name in ("organization_id", "developer_id")}
            ask = partial(access.asked, "POST", "/v1/admin/control/import")
            return _import("the server", ask, sessions, progress, **named)


class Importing(Command):
    """Its function gets for whom it is."""

    def __init__(self, *, callback: Callable[..., None], params: Sequence[click.Parameter] = (), **more: Any) -> None:
        def begun(**given: Any) -> None:
            callback(Whose(**{name: given.pop(name) for name in Whose._fields}), **given)

        super().__init__(callback=begun, params=[*params, *WHOSE], **more)
        data_options(self)


def _import(url: str, ask: Ask, sessions: Sessions, progress: Progress, **told: str) -> dict[str, ImportReport]:
    now_us = time.time_ns() // 1_000
    return {
        agent: import_into(Destination(url, ask, source=agent, **told), found, progress, now_us=now_us)
        for agent, found in sessions.items()
    }


def _of_an_agent(agent: str, whose: Whose, as_json: bool, path: Path | None) -> None:
    transcripts = FORMATS[agent]
    found = [path.expanduser()] if path else transcripts.folders
    named = " and no ".join(map(str, found))
    following = (
        f"name another folder or a file, as in `svc import {agent} PATH`, or use the agent first. "
        f"`svc connect {agent}` has it send what it does from now on"
    )
    if not any(each.exists() for each in found):
        raise click.ClickException(f"there is no {named}; {following}")
    report = whose.take({agent: transcripts.found(found)})[agent]
    tell(report, as_json, _show if report.files else f"no sessions of {agent} lie under {named}; {following}")
    whose.say_next(report.files)


for _agent, _transcripts in FORMATS.items():
    _about = f"""Import {_transcripts.what}: a folder, or one file. Running it again adds nothing.

    Without PATH the agent's own folder is read: {_transcripts.place}

    The sessions go into the folder of a server on this machine (--var), or to another machine's (--url), where the
    key says whose they are.
    """
    _example = f"svc import {_agent} --url http://svc.example:4318 --key KEY"
    _path = click.Argument(["path"], type=click.Path(path_type=Path), required=False)
    _reads = partial(_of_an_agent, _agent)
    import_.add_command(Importing(name=_agent, callback=_reads, params=[_path], help=_about, example=_example))


class _Day(click.DateTime):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(f"{datetime.now():%Y-%m-%d}" if value == "today" else value, param, ctx)


@import_.command(
    "agentsview", cls=Importing, example="svc import agentsview --url http://svc.example:4318 --key KEY --watch"
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--agent", metavar="NAME", help="This agent's sessions alone, as AgentsView or svc names it.")
@click.option("--since", type=_Day(), metavar="TIME", help="Only what goes on since: a date, a time, or today.")
@click.option("--all", "every", is_flag=True, help="Also those of agents that svc reads itself.")
@click.option("--watch", is_flag=True, help="Look every minute for what changed, until Ctrl-C.")
def _agentsview(
    whose: Whose, as_json: bool, file: Path | None, agent: str | None, since: datetime | None, every: bool, watch: bool
) -> None:
    """Import what AgentsView has gathered of agents. Running it again adds nothing.

    Without FILE it is ~/.agentsview/sessions.db, or $AGENTSVIEW_DATA_DIR/sessions.db; it is only read.
    """
    from svc.importing import agentsview

    archive = agentsview.Archive((file or agentsview.default_file()).expanduser())
    began = datetime.now()
    while True:
        try:
            chosen = archive.chosen(agent, since, every=every, quiet_before_us=time.time_ns() // 1_000 - QUIET_US)
            reports = whose.take(chosen, again=bool(archive.read)) if chosen else {}
            note_archive_read()
            if not watch:
                tell(reports, as_json, partial(_show_each, archive.missing))
                return whose.say_next(len(reports))
            for name, report in reports.items():
                if new := report.created + report.corrected:
                    say(f"{datetime.now():%H:%M} {name}: {report.prompts} prompts, {new} captures new")
        except (Mendable, click.ClickException) as error:
            if not watch or (isinstance(error, click.ClickException) and error.__cause__ is None):  # after Ctrl-C
                raise
            say(f"{error}; it is tried again in {WATCH_SECONDS} seconds", err=True)
        with suppress(KeyboardInterrupt):
            time.sleep(WATCH_SECONDS)
            continue
        return say(f"stopped; sessions read since {began:%H:%M}: {len(archive.read):,}")


def _show_each(missing: Sequence[TornLine], reports: dict[str, ImportReport]) -> None:
    for each in missing:
        say(f"{each.file}: {each.reason}", err=True)
    for agent, report in reports.items():
        say(f"\n{agent}")
        _show(report)
    if not reports:
        say(f"there is no session to import; those of {', '.join(FORMATS)} take --all")


def _show(report: ImportReport) -> None:
    found = msgspec.to_builtins(report)
    passed_over = found.pop("passed_over")
    found |= found.pop("tokens") | {"torn": len(report.torn), "refused": len(report.refused)}
    show_fields((name, f"{number:,}") for name, number in found.items())
    theirs = {_session(each) for each in report.refused if _THEIRS in each.message}
    moved = sum(_session(each) in theirs for each in report.refused)
    told = {"passed_over": passed_over, "torn": report.torn, "refused": report.refused}
    show_text("imported", **told, theirs=theirs, moved=moved, session_of=_session)


def _session(refusal: Refusal) -> str:
    return refusal.what.rpartition(" ")[2]
