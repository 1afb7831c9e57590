"""`svc open`: a link that signs a browser in once."""

import click
import msgspec

from svc.cli import Command
from svc.cli.access import NotReached, reach
from svc.cli.common import json_option, organization_option, print_json, run, say, settings_option
from svc.settings import Settings
from svc_http.records import LINK_SECONDS, LinkShown, OperatorLink


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    expires_at: str


@click.command(name="open", cls=Command, example="svc open --var var --print")
@settings_option
@json_option
@click.option("--developer", metavar="NAME", help="Whose pages; may be left out while there is only one member.")
@organization_option
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
    """Open the pages in a browser, without a key.

    Prints a link whose button works once, within a minute. Whoever can read the data folder may do this, for
    any developer.
    """
    made = run(_link, settings, developer, organization, operator)
    if as_json:
        print_json(made)
        return
    say(made.url)
    if not only_print:
        import webbrowser

        say(f"Its button works once, within {LINK_SECONDS} seconds.", err=True)
        webbrowser.open(made.url)


async def _link(settings: Settings, developer: str | None, organization: str | None, operator: bool) -> Opened:
    from svc.serving import browsable
    from svc_http.ports import Status

    async with reach(settings) as access:
        status = await access.ask(Status, "GET", "/v1/admin/control/status")
        if status.api is None or status.state != "serving":
            raise NotReached(f"no server runs over {settings.var}; start it with `svc serve --var {settings.var}`")
        if operator:
            offered = await access.ask(OperatorLink, "POST", "/v1/admin/operator-links")
            return Opened(url=browsable(status.api) + offered.path, expires_at=offered.expires_at)
        member = await access.member(developer, organization)
        body = {"developer_id": member.developer_id, "organization_id": member.organization_id}
        made = await access.ask(LinkShown, "POST", "/v1/admin/links", body)
        return Opened(url=browsable(status.api) + made.path, expires_at=made.expires_at)
