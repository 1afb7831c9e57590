"""`svc backfill`: have sub-sessions of a range judged again, and follow how far it is."""

from typing import Any

import click
import msgspec
import trio
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from aggregates.backfills import BackfillRecord
from svc.access import Access, reach
from svc.cli.common import json_option, print_json, run, settings_from, var_option
from svc.cli.people import organizations
from svc.cli.shown import progress
from svc.limits import POLL_SECONDS
from svc.people_access import People
from svc.settings import Settings

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

    By the judges that there are now; it can be broken off at any time. A backfill that was broken off goes on when
    the folder is served, or when this is called again.

    Example: svc backfill --from 2026-08-01 --to 2026-08-31
    """
    with _bar() as bar:
        records = run(_backfill, settings_from(var=var), {"from": since, "to": until}, organization, developer, bar)
    if as_json:
        print_json(records)
        return
    for each in records:
        click.echo(f"organization {each.organization_id}: {each.done} sub-sessions judged again", err=True)


async def _backfill(
    settings: Settings, body: dict[str, Any], organization: str | None, developer: str | None, bar: Progress
) -> list[BackfillRecord]:
    async with reach(settings) as access:
        wanted = await organizations(access, organization)
        if developer is not None:
            body = body | {"developer_id": (await People(access.admin).developer(developer)).id}
        return [await _one(access, body | {"organization_id": str(each)}, bar) for each in wanted]


async def _one(access: Access, body: dict[str, Any], bar: Progress) -> BackfillRecord:
    """Begin it, or join it, and follow it to its end."""
    answer = await access.admin("POST", _CONTROL, json=body)
    record = msgspec.json.decode(answer.content, type=BackfillRecord)
    task = bar.add_task("", total=record.sub_sessions)
    while record.status == "running":
        await trio.sleep(POLL_SECONDS)
        answer = await access.admin("GET", _CONTROL, params={"limit": 500})
        found = msgspec.json.decode(answer.content, type=list[BackfillRecord])
        record = next(each for each in found if each.backfill_id == record.backfill_id)
        bar.update(task, completed=record.done)
    return record


def _bar() -> Progress:
    return progress(TextColumn("judging again"), BarColumn(), MofNCompleteColumn())
