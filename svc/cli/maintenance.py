"""Commands that keep the data, and that end it: backup, restore, verify, export, forget, retention."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar
from uuid import UUID

import click
import trio
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from aggregates.decide import ForgetDeveloper
from aggregates.people.directory import Developer, Directory, Membership
from svc.actors.administration import load_directory
from svc.app import open_service
from svc.cli.access import Access, NotReached, chosen, reach
from svc.cli.common import interruptible, json_option, print_json, progress, run, settings_from, show_table, var_option
from svc.limits import FORGET_FAILED_SECONDS, POLL_SECONDS
from svc.log.folder import LOCK, held
from svc.log.sqlite import EVENTS_FILE, open_log
from svc.log.store import EventStore
from svc.maintenance.backup import MaintenanceError, Manifest, back_up, restore
from svc.maintenance.export import Exported, export
from svc.maintenance.forget import open_orders
from svc.maintenance.keys import OnProgress
from svc.maintenance.verify import Verified, verify
from svc.observe.logs import set_up_logs
from svc.settings import Settings
from svc_http.ports import ReplayStatus

P = ParamSpec("P")
T = TypeVar("T")


@click.command("backup")
@click.argument("target", type=click.Path(path_type=Path))
@var_option
@json_option
def backup_(target: Path, var: str | None, as_json: bool) -> None:
    """Copy everything to TARGET, also while the server runs.

    TARGET is a new folder, or a .tar file. A backup holds the keys that open the texts: keep it as safe as the
    folder itself.

    Example: svc backup /backups/svc-2026-01-05.tar
    """
    with interruptible("nothing was backed up, and nothing is left of it; run it again"), _bar() as bar:
        manifest = _sentences(back_up, settings_from(var=var).var_path, target, _shown_on(bar, "backing up"))
    _say(manifest, as_json, f"{target} holds {len(manifest.files)} files and the log up to position {manifest.head}")


@click.command("restore")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@var_option
@json_option
def restore_(source: Path, var: str | None, as_json: bool) -> None:
    """Put a backup into an empty folder, every byte checked.

    The scores are built from the log at the next start.

    Example: svc restore /backups/svc-2026-01-05.tar --var /srv/svc
    """
    path = settings_from(var=var).var_path
    with interruptible("nothing was restored; run it again"), _bar() as bar:
        manifest = _sentences(_restored, source, path, _shown_on(bar, "restoring"))
    _say(manifest, as_json, f"{path} holds the log up to position {manifest.head}; `svc serve --var {path}` starts it")


def _restored(source: Path, var: Path, heard: OnProgress) -> Manifest:
    there = var.exists()
    try:
        with held(var):
            return restore(source, var, heard)
    except BaseException:
        if not there and {each.name for each in var.iterdir()} <= {LOCK}:
            shutil.rmtree(var)
        raise


@click.command("verify")
@var_option
@json_option
def verify_(var: str | None, as_json: bool) -> None:
    """Check the log, the scores and the archive.

    Every event, the scores against a replay, every file of the archive; also while the server runs. Changes nothing.
    Ends with 1 where something is wrong.

    Example: svc verify --var /srv/svc
    """
    settings = settings_from(var=var)
    set_up_logs("error")
    _log_of(settings)
    with interruptible("nothing was changed, and nothing is known; run it again"), _bar() as bar:
        verified = run(verify, settings.var_path, _shown_on(bar, "verifying"))
    if as_json:
        print_json(verified)
    else:
        _show(verified)
    if not verified.clean:
        raise SystemExit(1)


def _show(verified: Verified) -> None:
    if verified.clean:
        scores = f"the scores up to position {verified.position}" if verified.position else "no scores yet"
        files = "1 file" if verified.archive_files == 1 else f"{verified.archive_files} files"
        click.echo(f"clean: {verified.events} events, {scores}, {files} of the archive")
        return
    rows = ((finding.part, finding.where, finding.what, finding.do) for finding in verified.findings)
    show_table(("part", "where", "what is wrong", "what to do"), rows)
    if verified.more:
        click.echo(f"and {verified.more} more")


@click.command("export")
@click.argument("developer")
@click.argument("target", type=click.Path(path_type=Path))
@var_option
@json_option
def export_(developer: str, target: Path, var: str | None, as_json: bool) -> None:
    """Write all data of DEVELOPER into TARGET, a new folder.

    DEVELOPER is a name or an id. TARGET holds their texts as well.

    \b
    events.jsonl    what was captured or decided, in order
    sub_sessions, prompts, requests    what was concluded, .jsonl and .parquet

    Example: svc export Ana ./ana
    """
    settings = settings_from(var=var)
    with _bar() as bar:
        exported = _sentences(_exported, settings, developer, target, _shown_on(bar, "exporting"))
    counts = f"{exported.events} events, {exported.sub_sessions} sub-sessions, {exported.prompts} prompts"
    _say(exported, as_json, f"{target} holds {counts}, {exported.requests} requests")


def _exported(settings: Settings, developer: str, target: Path, heard: OnProgress) -> Exported:
    store, _ = open_log(_log_of(settings))
    try:
        return export(settings.var_path, store, _named(load_directory(store), developer), target, heard)
    finally:
        store.close()


@click.command("forget")
@click.argument("developer")
@click.option("--yes", is_flag=True, help="Do not ask.")
@var_option
@json_option
def forget_(developer: str, yes: bool, var: str | None, as_json: bool) -> None:
    """Take the texts of DEVELOPER away for good; counts stay.

    DEVELOPER is a name or an id. Their keys are revoked and their memberships ended. There is no way back. Backups
    that were made before hold their texts and their key: delete those as well. Broken off, it goes on at the next
    start.

    Example: svc forget Kim
    """
    settings = settings_from(var=var)
    set_up_logs("error")
    store, _ = _sentences(open_log, _log_of(settings))
    try:
        directory = _sentences(load_directory, store)
        developer_id = _sentences(_named, directory, developer)
        who = _shown_name(directory, developer_id)
        if not yes:
            click.confirm(f"Destroy all texts of {who} for good?", abort=True, err=True)
        carried_out(settings, store, developer_id)
    finally:
        store.close()
    _say({"developer_id": developer_id}, as_json, f"the texts of {who} are gone; old backups may still hold them")


ORDER_STANDS = "the order stands: the service goes on with it while it runs, and at each start"


def carried_out(settings: Settings, store: EventStore, developer_id: UUID) -> None:
    """Give the order and wait for it; after Ctrl-C, say that the order stands."""
    console = Console(stderr=True, highlight=False)
    with console.status("forgetting") as status:
        waiting = Waiting(console.print, status.update)
        try:
            run(_forgotten, settings, store, developer_id, waiting)
        except click.Abort:
            if not waiting.ordered:
                raise
            raise click.ClickException(f"interrupted, but {ORDER_STANDS}") from None


async def _forgotten(settings: Settings, store: EventStore, developer_id: UUID, waiting: "Waiting") -> None:
    memberships = load_directory(store).all(Membership)
    mine = [each.organization_id for each in memberships if each.developer_id == developer_id]
    async with reach(settings) as access:
        organization_id = mine[-1] if mine else UUID(int=0)
        order = ForgetDeveloper(organization_id=organization_id, developer_id=developer_id)
        await waiting.for_order(access, store, order)


class Waiting:
    """Waits until the service has forgotten somebody, and shows its progress."""

    def __init__(self, say: Callable[[str], None], show: Callable[[str], None]) -> None:
        """`say` writes a line that stays, `show` one that the next replaces."""
        self.ordered = False
        self._say = say
        self._show = show
        self._told = False
        self._failed_polls = 0

    async def for_order(self, access: Access, store: EventStore, order: ForgetDeveloper) -> None:
        """Give the order; return once it is carried out. Raises `NotReached`, also where builds keep failing."""
        earlier = await access.replay_status()
        await access.send(order)
        self.ordered = True
        while any(each.developer_id == order.developer_id for each in open_orders(store)):
            try:
                status = await access.replay_status()
                if status != earlier:  # a build that failed before says nothing of this order
                    earlier = ReplayStatus()
                    self._look(status)
            except NotReached as error:
                raise NotReached(f"{error}; {ORDER_STANDS}") from error
            await trio.sleep(POLL_SECONDS)

    def _look(self, status: ReplayStatus) -> None:
        if status.state == "running":
            self._show(f"forgetting: building the scores anew, {status.done} of {status.of} events")
        if status.state != "failed":
            return
        if not self._told:
            self._say("the scores could not be built anew; the service tries again, and its log says why")
            self._told = True
        self._failed_polls += 1
        if self._failed_polls * POLL_SECONDS >= FORGET_FAILED_SECONDS:
            raise NotReached("the scores could not be built anew, again and again: see the log of the service")


@click.command("retention")
@var_option
@json_option
def retention_(var: str | None, as_json: bool) -> None:
    """Take away now what has outlived its organization's retention.

    A running server does so by itself, every hour.

    Example: svc retention --var /srv/svc
    """
    settings = settings_from(var=var)
    set_up_logs("error")
    _log_of(settings)
    with Console(stderr=True).status("looking"):
        events = run(_expired, settings)
    _say({"events": events}, as_json, f"{events} facts lost a text that was too old")


async def _expired(settings: Settings) -> int:
    with held(settings.var_path):
        async with open_service(settings) as service:
            return await service.retention.apply()


def _log_of(settings: Settings) -> Path:
    if not (settings.var_path / EVENTS_FILE).exists():
        raise click.ClickException(f"{settings.var} holds no data; name the folder with --var")
    return settings.var_path


def _named(directory: Directory, developer: str) -> UUID:
    developers = directory.all(Developer)
    return chosen("developer", developers, [each.display_name for each in developers], developer).id


def _shown_name(directory: Directory, developer_id: UUID) -> str:
    names = (each.display_name for each in directory.all(Developer) if each.id == developer_id)
    return f"{next(names)} ({developer_id})"


def _sentences(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:

    async def main() -> T:
        return work(*args, **kwargs)

    try:
        return run(main)
    except MaintenanceError as error:
        raise click.ClickException(str(error)) from error


def _say(result: object, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(result)
    else:
        click.echo(sentence, err=True)


def _bar() -> Progress:
    return progress(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())


def _shown_on(bar: Progress, description: str) -> OnProgress:
    task = bar.add_task(description, total=None)

    def heard(done: int, of: int) -> None:
        bar.update(task, completed=done, total=of)

    return heard
