"""`svc audit`: every act of administration, from the log."""

from typing import get_args

import click

from svc.cli import Command
from svc.cli.access import reach
from svc.cli.common import run, say, settings_option
from svc.settings import Settings
from svc_http.records import AuditForm


@click.command(name="audit", cls=Command, example="svc audit --format csv > acts.csv")
@settings_option
@click.option("--format", "form", type=click.Choice(get_args(AuditForm)), default="ndjson", show_default=True)
def audit(settings: Settings, form: AuditForm) -> None:
    """Print who changed what when: people, keys, teams, settings.

    The oldest act comes first; links, backfills and forgetting are among them. Names are those of today.
    """
    say(run(_file, settings, form).decode().rstrip("\n"))


async def _file(settings: Settings, form: AuditForm) -> bytes:
    async with reach(settings) as access:
        return (await access.admin("GET", "/v1/admin/audit", params={"format": form})).content
