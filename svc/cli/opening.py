"""`svc open` and `svc audit`: a link that signs a browser in once, and who changed what."""

from typing import get_args

import click

from svc.cli import Command, Found
from svc.cli.access import NotReached, reach
from svc.cli.common import ORGANIZATION, data_options, print_json, run, say, settings_option
from svc.settings import Settings
from svc_http.records import LINK_SECONDS, AuditForm


@click.command(cls=Command, example="svc audit --format csv > acts.csv")
@settings_option
@click.option("--format", "form", type=click.Choice(get_args(AuditForm)), default="ndjson", show_default=True)
def audit(settings: Settings, form: AuditForm) -> None:
    """The oldest act comes first; links, backfills and forgetting are among them. Names are those of today."""

    async def file() -> bytes:
        async with reach(settings) as access:
            return (await access.admin("GET", "/v1/admin/audit", params={"format": form})).content

    say(run(file).decode().rstrip("\n"))


@click.command("open", cls=Command, params=[ORGANIZATION], example="svc open --var var --print")
@data_options
@click.option("--developer", metavar="NAME", help="Whose pages; may be left out while there is only one member.")
@click.option("--operator", is_flag=True, help="The pages of whoever runs the server instead.")
@click.option("--print", "only_print", is_flag=True, help="Only print the link.")
def open_pages(
    settings: Settings,
    as_json: bool,
    developer: str | None,
    organization: str | None,
    operator: bool,
    only_print: bool,
) -> None:
    """Prints a link whose button works once, within a minute. Whoever can read the data folder may do this, for
    any developer.
    """
    made = run(_link, settings, developer, organization, operator)
    if as_json:
        print_json(made)
        return
    say(made["url"])
    if not only_print:
        import webbrowser

        say(f"Its button works once, within {LINK_SECONDS} seconds.", err=True)
        webbrowser.open(made["url"])


async def _link(settings: Settings, developer: str | None, organization: str | None, operator: bool) -> Found:
    from svc.serving import browsable

    async with reach(settings) as access:
        status = await access.ask("GET", "/v1/admin/control/status")
        if status["api"] is None or status["state"] != "serving":
            raise NotReached(f"no server runs over {settings.var}; start it with `svc serve --var {settings.var}`")
        if operator:
            made = await access.create("operator-link")
        else:
            member = await access.member(developer, organization)
            made = await access.create(
                "link", developer_id=member["developer_id"], organization_id=member["organization_id"]
            )
        return {"url": browsable(status["api"]) + made["path"], "expires_at": made["expires_at"]}
