"""`svc replay`: build the scores anew from the log, or prove that they come out the same."""

from typing import Any

import click
import trio
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from aggregates.reports.decide import BackfillRecord
from svc.cli.access import reach
from svc.cli.checking import Checked, TableDigests, check
from svc.cli.common import interruptible, json_option, print_json, progress, run, settings_from, show_table, var_option
from svc.limits import POLL_SECONDS
from svc.log.sqlite import EVENTS_FILE, open_log
from svc.maintenance.keys import ADVICE, lost_keys
from svc.process import look_seldom
from svc.settings import Settings
from svc.views.replay import Progress as Report

DIGEST_CHARACTERS = 12
"""As much of a digest as a person compares."""

_INTERRUPTED = (
    "the scores are as they were; run it again. Under a running server the build goes on there, and serves when it is "
    "done: `svc status` shows how far it is"
)


@click.command()
@var_option
@json_option
@click.option("--rules", type=int, help="Rule set to judge by. [default: the newest]")
@click.option("--check", "only_check", is_flag=True, help="Build twice and compare with the serving tables.")
@click.option("--without-keys", is_flag=True, help="Also where key files are missing: their scores are then lost.")
def replay(var: str | None, as_json: bool, rules: int | None, only_check: bool, without_keys: bool) -> None:
    """Build every score anew from the log, or prove them (--check).

    The new tables are built beside those that serve, then serve instead of them. Works offline and against a running
    server. Where the key file of a developer is missing, nothing is built: without it their texts count for nothing.

    Example: svc replay --check
    """
    settings = settings_from(var=var)
    if only_check:
        _check(settings, as_json)
    else:
        if not without_keys:
            run(_refuse_without_keys, settings)
        look_seldom()
        with interruptible(_INTERRUPTED), _bar() as bar:
            run(_replay, settings, rules, _shown_on(bar, "replaying"))
        click.echo("the scores were built anew from the log", err=True)


async def _refuse_without_keys(settings: Settings) -> None:
    if not (settings.var_path / EVENTS_FILE).exists():
        return  # which is said by whoever wants to reach it
    store, _ = open_log(settings.var_path)
    try:
        lost = lost_keys(settings.var_path, store)
    finally:
        store.close()
    if lost:
        more = "" if len(lost) == 1 else f" and of {len(lost) - 1} more"
        raise click.ClickException(
            f"nothing was built: the key of {lost[0].who} is missing{more}; {lost[0].path}: {ADVICE}. "
            "--without-keys builds all the same"
        )


async def _replay(settings: Settings, rules: int | None, report: Report) -> None:
    async with reach(settings) as access:
        await access.replay(rules, report)


def _check(settings: Settings, as_json: bool) -> None:
    with interruptible("nothing was changed, and nothing is known; run it again"), _bar() as bar:
        checked = run(check, settings.var_path, _shown_on(bar, "building twice"))
    if as_json:
        print_json(checked)
    else:
        _show(checked)
    if not checked.identical:
        raise SystemExit(1)


def _show(checked: Checked) -> None:
    title = f"up to position {checked.position}"
    show_table(("table", "live", "first build", "second build", ""), map(_compared, checked.tables), title)
    click.secho("identical" if checked.identical else "DIFFERENT", fg="green" if checked.identical else "red")
    if checked.failed:
        click.secho(f"{checked.failed} facts could not be derived; see the table failed", fg="red")


def _compared(row: TableDigests) -> tuple[str, ...]:
    same = row.live == row.first == row.second
    digests = (each[:DIGEST_CHARACTERS] for each in (row.live, row.first, row.second))
    return row.table, *digests, "" if same else "DIFFERENT"


def _bar() -> Progress:
    return progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )


def _shown_on(bar: Progress, description: str) -> Report:
    task = bar.add_task(description, total=None)

    def report(done: int, of: int) -> None:
        bar.update(task, completed=done, total=of)

    return report


# `svc backfill`: have sub-sessions of a range judged again.

_CONTROL = "/v1/admin/control/backfill"


@click.command()
@var_option
@json_option
@click.option("--from", "since", required=True, metavar="TIME", help="First time, ISO 8601 or a date; UTC if bare.")
@click.option("--to", "until", required=True, metavar="TIME", help="Up to this time; a date is included.")
@click.option("--organization", metavar="ORG", help="Whose sub-sessions, by name or id. [default: every organization]")
@click.option("--developer", metavar="WHO", help="Only this developer's, by name or id.")
def backfill(
    var: str | None, as_json: bool, since: str, until: str, organization: str | None, developer: str | None
) -> None:
    """Judge again what started in a range of days.

    By the judges that there are now. The scores are built anew as `svc replay` does it, and the log keeps who asked.

    Example: svc backfill --from 2026-08-01 --to 2026-08-31
    """
    records = run(_backfill, settings_from(var=var), {"from": since, "to": until}, organization, developer)
    if as_json:
        print_json(records)
    for each in records:
        click.echo(f"organization {each.organization_id}: {each.done} sub-sessions judged again", err=True)
    if any(each.status != "completed" for each in records):
        raise click.ClickException("the build of the scores stopped; see the server's log")


async def _backfill(
    settings: Settings, body: dict[str, Any], organization: str | None, developer: str | None
) -> list[BackfillRecord]:
    async with reach(settings) as access:
        wanted = await access.organizations(organization)
        if developer is not None:
            body = body | {"developer_id": str((await access.developer(developer)).id)}
        bodies = [body | {"organization_id": str(each)} for each in wanted]
        begun = {(await access.ask(BackfillRecord, "POST", _CONTROL, json=each)).backfill_id for each in bodies}
        while True:
            known = await access.ask(list[BackfillRecord], "GET", _CONTROL, params={"limit": 500})
            found = [each for each in known if each.backfill_id in begun]
            if all(each.status != "running" for each in found):
                return found
            await trio.sleep(POLL_SECONDS)
