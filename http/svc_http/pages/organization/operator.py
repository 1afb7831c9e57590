"""How the server is, and every act of administration, for whoever runs it."""

from urllib.parse import urlencode

from quart import Response

from aggregates.audit import Act, within
from aggregates.people.directory import Developer, Organization, forget_requests
from aggregates.times import INSTANT_MAX_US, parse_instant
from svc_http.pages import rendering
from svc_http.pages.door import OPERATOR_NAV, SIGN_IN, ByOperator, digest_of, operator_text
from svc_http.routes.people import audit_file
from svc_http.routing import Routes

ACTS_SHOWN = 100  # the newest; the files have all
SERVER = OPERATOR_NAV[0][0]
routes = Routes()


@routes(f"GET {SERVER}", "How the server is: intake, lag, disk, backups, what failed.")
async def server(call: ByOperator) -> Response:
    call.check_runs_the_server()
    shown = await call.service.status(by_kind=False)
    asked, directory = forget_requests(call.service.directory), call.service.directory
    asking = [(each, asked[each.id]) for each in directory.all(Developer) if each.id in asked]
    return await call.show("organization/server.html", shown=shown, asking=asking)


@routes("POST /operator/replay", "Build the scores anew from the log.")
async def replay(call: ByOperator) -> Response:
    call.check_runs_the_server()
    call.service.start_replay(None)
    return rendering.redirect(f"{SERVER}?said=replaying")


@routes("POST /operator/sign-out", "End what this browser may do for the operator.")
async def sign_out(call: ByOperator) -> Response:
    call.check_runs_the_server()
    call.service.operators.end(digest_of(operator_text(call.request)))
    return rendering.redirect(SIGN_IN)


@routes("GET /operator/audit", "Who changed what when.")
async def audit(call: ByOperator) -> Response:
    found = await _acts(call)
    asked = {name: call.query.get(name, "") for name in ("from", "to")}
    organizations = {str(each.id): each.name for each in call.service.directory.all(Organization)}
    shown = found[: -ACTS_SHOWN - 1 : -1]
    return await call.show(
        "organization/audit.html",
        acts=shown,
        total=len(found),
        organizations=organizations,
        asked=asked,
        query=f"?{urlencode(asked)}" if any(asked.values()) else "",
    )


@routes("GET /operator/audit.csv", "Every act, as a table.")
async def audit_table(call: ByOperator) -> Response:
    return audit_file(await _acts(call), "csv")


@routes("GET /operator/audit.ndjson", "Every act, a line each.")
async def audit_lines(call: ByOperator) -> Response:
    return audit_file(await _acts(call), "ndjson")


async def _acts(call: ByOperator) -> list[Act]:
    """Those of the days that were asked for, all without; oldest first."""
    found = await call.service.acts()
    if call.organization_id is not None:
        found = within(found, call.organization_id, call.service.directory)
    zone, asked = call.own_zone, call.query
    start_us = (call.time("from", zone) if asked.get("from") else None) or 0
    end_us = (call.time("to", zone) if asked.get("to") else None) or INSTANT_MAX_US
    return [each for each in found if start_us <= parse_instant(each.at) < end_us]
