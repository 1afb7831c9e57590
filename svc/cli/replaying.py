"""`svc replay`: build the scores anew from the log, or prove that they come out the same."""

import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from svc.access import reach
from svc.checking import Checked, check
from svc.cli.common import json_option, print_json, run, settings_from, var_option
from svc.event_log import open_log
from svc.limits import PROJECT_EVENTS_MAX
from svc.logs import set_up_logs
from svc.rebuilding import BuildStep
from svc.replay import Progress as Report
from svc.replay import build
from svc.settings import Settings


@click.command()
@var_option
@json_option
@click.option("--rules", type=int, help="Rule set to judge by. [default: the newest]")
@click.option("--check", "only_check", is_flag=True, help="Build twice and compare with the serving tables.")
@click.option("--build", "build_path", type=click.Path(path_type=Path), hidden=True)
@click.option("--batch-events", type=int, default=PROJECT_EVENTS_MAX, hidden=True)
@click.option("--up-to", type=int, hidden=True)
def replay(
    var: str | None,
    as_json: bool,
    rules: int | None,
    only_check: bool,
    build_path: Path | None,
    batch_events: int,
    up_to: int | None,
) -> None:
    """Build every score anew from the log, beside the serving tables, then serve from the new ones.

    Works offline and against a running server. Example: svc replay --check
    """
    settings = settings_from(var=var)
    if build_path is not None:
        _build(settings, build_path, batch_events, up_to)
    elif only_check:
        _check(settings, as_json)
    else:
        with _bar() as bar:
            run(_replay, settings, rules, _shown_on(bar, "replaying"))
        click.echo("the scores were built anew from the log", err=True)


async def _replay(settings: Settings, rules: int | None, report: Report) -> None:
    async with reach(settings) as access:
        await access.replay(rules, report)


def _build(settings: Settings, path: Path, batch_events: int, up_to: int | None) -> None:
    """What the child process does: one JSON line of progress a step; its log goes to standard error."""
    set_up_logs("warning")

    def report(done: int, of: int) -> None:
        sys.stdout.write(msgspec.json.encode(BuildStep(done, of)).decode() + "\n")
        sys.stdout.flush()

    store, vault = open_log(settings.var_path)
    try:
        build(path, store, vault.known_digester, report, batch_events=batch_events, up_to=up_to)
    finally:
        store.close()


def _check(settings: Settings, as_json: bool) -> None:
    with _bar() as bar:
        checked = run(check, settings.var_path, _shown_on(bar, "building twice"))
    if as_json:
        print_json(checked)
    else:
        _show(checked)
    if not checked.identical:
        raise SystemExit(1)


def _show(checked: Checked) -> None:
    table = Table("table", "live", "first build", "second build", title=f"up to position {checked.position}")
    for row in checked.tables:
        same = row.live == row.first == row.second
        table.add_row(row.table, row.live[:12], row.first[:12], row.second[:12], style="" if same else "bold red")
    console = Console()
    console.print(table)
    console.print("identical" if checked.identical else "DIFFERENT", style="green" if checked.identical else "bold red")
    if checked.failed:
        console.print(f"{checked.failed} facts could not be derived; see the table failed", style="bold red")


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _shown_on(bar: Progress, description: str) -> Report:
    task = bar.add_task(description, total=None)

    def report(done: int, of: int) -> None:
        bar.update(task, completed=done, total=of)

    return report
