"""Commands that keep the data, and that end it: backup, restore, verify, export, forget, retention."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from aggregates.ids import plain
from aggregates.people.directory import Developer, Membership
from svc.cli import Command
from svc.cli.access import REPLAY, Access, NotReached, chosen, reach
from svc.cli.common import Shown, counted, data_options, run, say, sentences, show_table, tell, working
from svc.log.folder import LOCK, held
from svc.process import POLL_SECONDS
from svc.settings import Settings

if TYPE_CHECKING:
    import trio
    from rich.status import Status

    from aggregates.decide import ForgetDeveloper
    from svc.log.store import EventStore
    from svc.maintenance.verify import Verified

ORDER_STANDS = "the order stands: the service goes on with it while it runs, and at each start"


@click.command("backup", cls=Command, example="svc backup /backups/svc-2026-01-05.tar")
@click.argument("target", type=click.Path(path_type=Path))
@data_options
def backup_(settings: Settings, as_json: bool, target: Path) -> None:
    """TARGET is a new folder, or a .tar file. A backup holds the keys that open the texts: keep it as safe as the
    folder itself.
    """
    from svc.maintenance.backup import MaintenanceError, back_up

    with working("backing up", "nothing was backed up, and nothing is left of it; run it again") as heard:
        if settings.store is not None:
            raise MaintenanceError(
                "nothing was backed up: the log is in PostgreSQL, whose own backup holds all of it (pg_dump, or point "
                "in time); keep the master key file as safe as that, and see docs/cluster.md"
            )
        manifest = back_up(settings.var_path, target, heard)
    tell(manifest, as_json, f"{target} holds {len(manifest.files)} files and the log up to position {manifest.head}")


@click.command("restore", cls=Command, example="svc restore /backups/svc-2026-01-05.tar --var /srv/svc")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@data_options
def restore_(settings: Settings, as_json: bool, source: Path) -> None:
    """The scores are built from the log at the next start."""
    from svc.maintenance.backup import restore

    path = settings.var_path
    there = path.exists()
    with working("restoring", "nothing was restored; run it again") as heard, held(path):
        try:
            manifest = restore(source, path, heard)
        except BaseException:
            if {each.name for each in path.iterdir()} == {LOCK}:  # as it was, that is
                (path / LOCK).unlink()
                if not there:
                    path.rmdir()
            raise
    tell(manifest, as_json, f"{path} holds the log up to position {manifest.head}; `svc serve --var {path}` starts it")


@click.command("verify", cls=Command, example="svc verify --var /srv/svc")
@data_options
def verify_(settings: Settings, as_json: bool) -> None:
    """Every event, the scores against a replay, every file of the archive; also while the server runs. Changes nothing.
    Ends with 1 where something is wrong.
    """
    from svc.maintenance.verify import verify

    _check_data(settings)
    with working("verifying", "nothing was changed, and nothing is known; run it again") as heard:
        verified = run(verify, settings.place, heard)
    tell(verified, as_json, _show)
    if not verified.clean:
        raise SystemExit(1)


def _show(verified: "Verified") -> None:
    if verified.clean:
        scores = f"the scores up to position {verified.position}" if verified.position else "no scores yet"
        say(f"clean: {verified.events} events, {scores}, {counted(verified.archive_files, 'file')} of the archive")
        return
    rows = ((finding.part, finding.where, finding.what, finding.do) for finding in verified.findings)
    show_table(("part", "where", "what is wrong", "what to do"), rows)
    if verified.more:
        say(f"and {verified.more} more")


@click.command("export", cls=Command, example="svc export Ana ./ana")
@click.argument("developer")
@click.argument("target", type=click.Path(path_type=Path))
@data_options
def export_(settings: Settings, as_json: bool, developer: str, target: Path) -> None:
    """DEVELOPER is a name or an id. TARGET holds their texts as well.

    \b
    events.jsonl    what was captured or decided, in order
    sub_sessions, prompts, requests    what was concluded, .jsonl and .parquet
    """
    from svc.maintenance.export import export

    with working("exporting") as heard, _log_and(settings, developer) as (store, developer_id, _):
        exported = export(settings.var_path, store, developer_id, target, heard)
    counts = f"{exported.events} events, {exported.sub_sessions} sub-sessions, {exported.prompts} prompts"
    tell(exported, as_json, f"{target} holds {counts}, {exported.requests} requests")


@click.command("forget", cls=Command, example="svc forget Kim")
@click.argument("developer")
@click.option("--yes", is_flag=True, help="Do not ask.")
@data_options
def forget_(settings: Settings, as_json: bool, developer: str, yes: bool) -> None:
    """DEVELOPER is a name or an id. Their keys are revoked and their memberships ended. There is no way back. Backups
    that were made before hold their texts and their key: delete those as well. Broken off, it goes on at the next
    start.
    """
    with sentences(), _log_and(settings, developer) as (store, developer_id, who):
        if not yes:
            click.confirm(f"Destroy all texts of {plain(who)} for good?", abort=True, err=True)
        carried_out(settings, store, developer_id)
    tell({"developer_id": developer_id}, as_json, f"the texts of {who} are gone; old backups may still hold them")


@contextlib.contextmanager
def _log_and(settings: Settings, developer: str) -> Iterator[tuple["EventStore", UUID, str]]:
    """The log, the developer who was named by id or name, and how to speak of them. Raises `NotFound`."""
    from svc.actors.administration import load_directory
    from svc.log.opening import open_log

    _check_data(settings)
    with contextlib.closing(open_log(settings.place)[0]) as store:
        names = {str(each.id): each.display_name for each in load_directory(store).all(Developer)}
        developer_id = chosen("developer", names, developer)
        yield store, UUID(developer_id), f"{names[developer_id]} ({developer_id})"


def _check_data(settings: Settings) -> None:
    from svc.log.opening import holds_data
    from svc.logs import set_up_logs

    set_up_logs("error")
    if not holds_data(settings.place):
        raise click.ClickException(f"{settings.var} holds no data; name the folder with --var")


def carried_out(settings: Settings, store: "EventStore", developer_id: UUID) -> None:
    """Give the order and wait for it; after Ctrl-C, say that the order stands."""
    import trio

    from aggregates.decide import ForgetDeveloper
    from svc.actors.administration import load_directory

    async def main(ordered: trio.Event) -> None:
        memberships = load_directory(store).all(Membership)
        mine = [each.organization_id for each in memberships if each.developer_id == developer_id]
        order = ForgetDeveloper(organization_id=mine[-1] if mine else UUID(int=0), developer_id=developer_id)
        async with reach(settings) as access:
            await give(order, access, store, status, ordered)

    ordered = trio.Event()
    with Shown(stderr=True, highlight=False).status("forgetting") as status:
        try:
            run(main, ordered)
        except click.Abort:
            if not ordered.is_set():
                raise
            raise click.ClickException(f"interrupted, but {ORDER_STANDS}") from None


async def give(
    order: "ForgetDeveloper", access: Access, store: "EventStore", status: "Status", ordered: "trio.Event"
) -> None:
    """Give the order; return once it is carried out. Raises `NotReached`, also where a build fails."""
    import trio

    from svc.maintenance.texts import open_orders

    earlier = await access.ask("GET", REPLAY)  # a build that failed before says nothing of this order
    await access.send(order)
    ordered.set()
    try:
        while any(each.developer_id == order.developer_id for each in open_orders(store)):
            replay = await access.ask("GET", REPLAY)
            if replay["state"] == "running":
                earlier = None
                status.update(f"forgetting: building the scores anew, {replay['done']} of {replay['of']} events")
            elif replay["state"] == "failed" and replay != earlier:
                raise NotReached("the scores could not be built anew; the service tries again, and its log says why")
            await trio.sleep(POLL_SECONDS)
    except NotReached as error:
        raise NotReached(f"{error}; {ORDER_STANDS}") from error


@click.command("retention", cls=Command, example="svc retention --var /srv/svc")
@data_options
def retention_(settings: Settings, as_json: bool) -> None:
    """A running server does so by itself, every hour."""
    _check_data(settings)

    async def apply() -> int:
        from svc.jobs.nodes import alone
        from svc.service import open_service

        with held(settings.var_path):
            async with open_service(settings) as service, alone(service.store.shared, "retention"):
                return await service.retention.apply()

    with Shown(stderr=True).status("looking"):
        events = run(apply)
    tell({"events": events}, as_json, f"{events} facts lost a text that was too old")
