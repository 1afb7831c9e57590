"""Commands of whoever runs a server: init, serve, status; backup, restore, verify, export, forget, retention."""

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click
import msgspec
from rich.filesize import decimal
from rich.markup import escape
from rich.panel import Panel

from aggregates.event import Scope
from aggregates.ids import plain
from svc.cli import Command, Found, common, no_collection
from svc.cli.access import FORGET, REPLAY, Access, NotReached, chosen, reach
from svc.log.folder import LOCK, held
from svc.process import FIRST_LINK_SECONDS, POLL_SECONDS, typed
from svc.settings import Settings

if TYPE_CHECKING:
    from svc.log.store import EventStore
    from svc.maintenance.verify import Verified
    from svc.serving import Initialized, Listening
    from svc.views.replay import Progress

STORE_HELP = "postgresql://… for a log that several nodes share. [default: the folder]"


@click.command(cls=Command, example="svc init --var var --owner Ana")
@click.option("--var", metavar="DIR", help=common.VAR_HELP)
@click.option("--store", metavar="URL", help=STORE_HELP)
@common.json_option
@click.option("--organization", default="My team", show_default=True, help="Name of the organization.")
@click.option("--owner", default="Owner", show_default=True, help="Display name of its first developer.")
def init(var: str | None, store: str | None, as_json: bool, organization: str, owner: str) -> None:
    """`svc serve` does so by itself.

    Makes an organization, its owner, one key and the internal secret. The key is shown this once. For a store that
    nodes share it makes the master key file as well, where that is missing: each node needs a copy of it.
    """
    settings = common.settings_from(var=var, store=store)
    if settings.master_key_file is not None and settings.store is not None:
        from svc.log.opening import make_missing_master_key

        common.hear_warnings()
        if make_missing_master_key(Path(settings.master_key_file).expanduser(), settings.store):
            there = f"the master key is in {settings.master_key_file}"
            common.say(f"{there}: without it no text can be read again", err=True)

    async def found() -> "Initialized | None":
        from svc.service import open_service
        from svc.serving import initialize

        with held(settings.var_path):
            async with open_service(settings) as service:
                return await initialize(service, settings.var_path, organization, owner)

    made = common.run(found)
    if made is None:
        raise click.ClickException(f"{settings.var} is set up already; `svc key issue` makes another key")
    common.tell(made, as_json, partial(_welcome, settings))


@click.command(cls=Command, example="svc serve --var var --intake 127.0.0.1:4318 --api 127.0.0.1:8318")
@click.option("--var", metavar="DIR", help=common.VAR_HELP)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--intake", metavar="HOST:PORT", help="Public listener. [default: 127.0.0.1:4318]")
@click.option("--api", metavar="HOST:PORT", help="Private listener. [default: 127.0.0.1:8318]")
@click.option("--tls-certificate", metavar="FILE", help="PEM certificate for both listeners.")
@click.option("--tls-key", metavar="FILE", help="PEM key for both listeners.")
@click.option("--catalog", metavar="SOURCE", help="List prices: genai-prices, a FILE or a URL. [default: genai-prices]")
@click.option("--log-level", help="debug, info, warning or error. [default: info]")
@click.option("--mcp", is_flag=True, default=None, help="Let agents ask at /mcp of the API (extra `mcp`).")
@click.option("--access-log", is_flag=True, default=None, help="Log every request; those that break always are.")
def serve(**flags: str | bool | None) -> None:
    """Prints one line when it is ready: ready intake=URL api=URL. SIGTERM or Ctrl-C stops it."""
    settings = common.settings_from(**flags)
    with no_collection():
        from svc.logs import set_up_logs
        from svc.serving import serve as serve_until_stopped

    set_up_logs(settings.log_level)

    def ready(addresses: "Listening") -> None:
        if addresses.link is not None:
            common.say(f"Open this once within {FIRST_LINK_SECONDS // 60} minutes: {addresses.link}", err=True)
        common.say(f"ready intake={addresses.intake_url} api={addresses.api_url}")

    common.run(serve_until_stopped, settings, ready, partial(_welcome, settings))


def _welcome(settings: Settings, made: "Initialized") -> None:
    """To standard error, so that standard output keeps its one line for scripts."""
    folder = [] if settings.var == Settings().var else ["--var", settings.var]
    text = (
        f"Your key, shown this once:\n\n  [bold]{made.key}[/bold]\n\n"
        f"Organization {made.organization_id}\nDeveloper    {made.developer_id}"
    )
    console = common.Shown(stderr=True, highlight=False, soft_wrap=True)
    console.print(Panel.fit(text, title="svc is set up"))
    # Not in the box, which would cut a long path off.
    console.print(f"Internal secret in {escape(made.internal_secret_file)}")
    following = escape(typed("import", "claude-code", *folder))
    console.print(f"Next: [bold]{following}[/bold] reads what you have done so far.")


def _show_status(found: Found) -> None:
    """Every field as the JSON has it; below what somebody has to see to."""
    people, found["events"] = found["developers"], found["log"].pop("events")
    rows = {name: value for name, value in found.items() if not isinstance(value, list)}
    common.show_fields((name, escape(_told(value, name))) for name, value in rows.items())
    fields = "display_name developer_id activation active unusable_email unknown_agents"
    common.show_records(fields.split(), people)
    if used := [each for each in found["budgets"] if each["used"] or each["refused"]]:
        common.show_records(list(used[0]), used)
    names = {each["developer_id"]: f"{each['display_name']} ({each['developer_id']})" for each in people}
    missing = [names.get(each, each) for each in found["missing_keys"]]
    common.show_text("status", **found, missing=missing)


def _told(value: object, name: str) -> str:
    if isinstance(value, dict):
        known = ((key, _told(each, f"{name} {key}")) for key, each in value.items())
        return ", ".join(f"{key.replace('_', ' ')} {told}" for key, told in known if told)
    if isinstance(value, int) and not isinstance(value, bool):
        return decimal(value) if "bytes" in name else f"{value:,}"
    return common.cell({name: value}, name, {})


@click.command(cls=common.Reaching, show=_show_status, example="svc status --var var")
def status(access: Access) -> Any:
    """Where no server runs, the folder itself is looked at."""
    return access.ask("GET", "/v1/admin/control/status")


ORDER_STANDS = "the order stands: the service goes on with it while it runs, and at each start"


@click.command("backup", cls=Command, example="svc backup /backups/svc-2026-01-05.tar")
@click.argument("target", type=click.Path(path_type=Path))
@common.data_options
def backup_(settings: Settings, as_json: bool, target: Path) -> None:
    """TARGET is a new folder, or a .tar file. A backup holds the keys that open the texts: keep it as safe as the
    folder itself.
    """
    from aggregates.event import Mendable
    from svc.maintenance.backup import back_up

    with common.working("backing up", "nothing was backed up, and nothing is left of it; run it again") as heard:
        if settings.store is not None:
            raise Mendable(
                "nothing was backed up: the log is in PostgreSQL, whose own backup holds all of it (pg_dump, or point "
                "in time); keep the master key file as safe as that, and see docs/cluster.md"
            )
        manifest = back_up(settings.var_path, target, heard)
    held_now = f"{len(manifest.files)} files and the log up to position {manifest.head}"
    common.tell(manifest, as_json, f"{target} holds {held_now}")


@click.command("restore", cls=Command, example="svc restore /backups/svc-2026-01-05.tar --var /srv/svc")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@common.data_options
def restore_(settings: Settings, as_json: bool, source: Path) -> None:
    """The scores are built from the log at the next start."""
    from svc.maintenance.backup import restore

    path = settings.var_path
    there = path.exists()
    with common.working("restoring", "nothing was restored; run it again") as heard, held(path):
        try:
            manifest = restore(source, path, heard)
        except BaseException:
            if {each.name for each in path.iterdir()} == {LOCK}:  # as it was, that is
                (path / LOCK).unlink()
                if not there:
                    path.rmdir()
            raise
    said = f"{path} holds the log up to position {manifest.head}; `svc serve --var {path}` starts it"
    common.tell(manifest, as_json, said)


@click.command("verify", cls=Command, example="svc verify --var /srv/svc")
@common.data_options
def verify_(settings: Settings, as_json: bool) -> None:
    """Every event, the scores against a replay, every file of the archive; also while the server runs. Changes nothing.
    Ends with 1 where something is wrong.
    """
    from svc.maintenance.verify import verify

    _check_data(settings)
    with common.working("verifying", "nothing was changed, and nothing is known; run it again") as heard:
        verified = common.run(verify, settings.place, heard)
    common.tell(verified, as_json, _show_verified)
    if not verified.clean:
        raise SystemExit(1)


def _show_verified(verified: "Verified") -> None:
    found = msgspec.to_builtins(verified)
    findings = found.pop("findings")
    common.show_fields((name, common.cell(found, name, {})) for name in found)
    if findings:
        common.show_records(("part", "where", "what", "do"), findings)


@click.command("export", cls=Command, example="svc export Ana ./ana")
@click.argument("developer")
@click.argument("target", type=click.Path(path_type=Path))
@common.data_options
def export_(settings: Settings, as_json: bool, developer: str, target: Path) -> None:
    """DEVELOPER is a name or an id. TARGET holds their texts as well.

    \b
    events.jsonl    what was captured or decided, in order
    sub_sessions, prompts, requests    what was concluded, .jsonl and .parquet
    """
    from svc.maintenance.export import export

    with common.working("exporting") as heard, _log_and(settings, developer) as (store, scope, _):
        exported = export(settings.var_path, store, scope.developer_id, target, heard)
    counts = f"{exported.events} events, {exported.sub_sessions} sub-sessions, {exported.prompts} prompts"
    common.tell(exported, as_json, f"{target} holds {counts}, {exported.requests} requests")


@click.command("forget", cls=Command, example="svc forget Kim")
@click.argument("developer")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common.data_options
def forget_(settings: Settings, as_json: bool, developer: str, yes: bool) -> None:
    """DEVELOPER is a name or an id. Their keys are revoked and their memberships ended. There is no way back. Backups
    that were made before hold their texts and their key: delete those as well. Broken off, it goes on at the next
    start.
    """
    with _log_and(settings, developer) as (store, scope, who):
        if not yes:
            click.confirm(f"Destroy all texts of {plain(who)} for good?", abort=True, err=True)
        what_holds = f"if the order was given, {ORDER_STANDS}"
        with common.working("forgetting", what_holds) as heard, reach(settings) as access:
            give(scope, access, store, heard)
    said = f"the texts of {who} are gone; old backups may still hold them"
    common.tell({"developer_id": scope.developer_id}, as_json, said)


def give(scope: Scope, access: Access, store: "EventStore", heard: "Progress") -> None:
    """Give the order; return once it is carried out. Raises `NotReached`, also where a build fails."""
    from svc.maintenance.texts import open_orders

    earlier = access.ask("GET", REPLAY)  # a build that failed before says nothing of this order
    access.ask("POST", FORGET, scope)
    try:
        while any(each.developer_id == scope.developer_id for each in open_orders(store)):
            replay = access.ask("GET", REPLAY)
            if replay["state"] == "running":
                earlier = None
                heard(replay["done"], replay["of"])
            elif replay["state"] == "failed" and replay != earlier:
                raise NotReached("the scores could not be built anew; the service tries again, and its log says why")
            time.sleep(POLL_SECONDS)
    except NotReached as error:
        raise NotReached(f"{error}; {ORDER_STANDS}") from error


@contextlib.contextmanager
def _log_and(settings: Settings, developer: str) -> Iterator[tuple["EventStore", Scope, str]]:
    """The log, the developer who was named by id or name, and how to speak of them. Raises `NotFound`."""
    from aggregates.people.directory import Developer, Membership
    from svc.actors.administration import load_directory
    from svc.log.opening import open_log

    _check_data(settings)
    with contextlib.closing(open_log(settings.place)) as store:
        directory = load_directory(store)
        names = {str(each.id): each.display_name for each in directory.all(Developer)}
        found = chosen("developer", names, developer)
        theirs = [each.organization_id for each in directory.all(Membership) if str(each.developer_id) == found]
        yield store, Scope((theirs or [UUID(int=0)])[-1], UUID(found)), f"{names[found]} ({found})"


def _check_data(settings: Settings) -> None:
    from svc.log.opening import holds_data
    from svc.logs import set_up_logs

    set_up_logs("error")
    if not holds_data(settings.place):
        raise click.ClickException(f"{settings.var} holds no data; name the folder with --var")


@click.command("retention", cls=Command, example="svc retention --var /srv/svc")
@common.data_options
def retention_(settings: Settings, as_json: bool) -> None:
    """A running server does so by itself, every hour."""
    _check_data(settings)

    async def apply() -> int:
        from svc.jobs.nodes import alone
        from svc.service import open_service

        with held(settings.var_path):
            async with open_service(settings) as service, alone(service.store.shared, "retention"):
                return await service.retention.apply()

    with common.Shown(stderr=True).status("looking"):
        events = common.run(apply)
    common.tell({"events": events}, as_json, f"{events} facts lost a text that was too old")
