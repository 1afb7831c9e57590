"""What a team did and spent together: counts from its minimum on, costs, hours of throttling; nobody's score."""

from uuid import UUID

from quart import Response

from aggregates.people.directory import Developer, Directory, Membership, Organization, TeamMembership, stays_in
from aggregates.times import equal_windows
from projections.reports import team_day, withheld
from projections.scores.throttle import team_throttle
from svc_http.pages.door import BySignIn
from svc_http.pages.home import PERIODS, days_of, period_or_month
from svc_http.pages.rendering import text_of
from svc_http.pages.words import CAUSES
from svc_http.routes.scores import spent_by_team, team_of
from svc_http.routing import Routes, path_id

PERIODS_SHOWN = {name: PERIODS[name] for name in ("7", "30")}  # each day is a read for each member
THROTTLE_REQUESTS_MAX = 30_000  # of the newest of all members, so that nobody waits for the page; the API looks at more
routes = Routes()


def _owners(directory: Directory, organization_id: UUID) -> list[str]:
    """Who can take people in, by name."""
    owners = [each for each in directory.all(Membership) if each.active and each.role == "owner"]
    here = (directory.get(Developer, each.developer_id) for each in owners if each.organization_id == organization_id)
    return [each.display_name for each in here if each is not None]


@routes("GET /team", "What a team did and spent together.")
async def team(call: BySignIn) -> Response:
    directory, zone, organization_id = call.service.directory, call.own_zone, call.scope.organization_id
    asked, teams = call.query.get("team"), directory.teams_of(call.scope)
    chosen = next(iter(teams), None) if asked is None else team_of(call, path_id(asked, "team_id"))
    owners = _owners(directory, organization_id)
    if chosen is None:
        return await call.show("organization/team.html", team=None, owners=owners)
    name, window, periods = period_or_month(call, PERIODS_SHOWN)
    days, stays = days_of(call, window), stays_in(directory, chosen, window, zone)
    by_day = [stays_in(directory, chosen, each, zone) for each in days]
    counts, impact = await call.read(
        lambda reader, scope: (
            [team_day(reader, scope, each, labels=False) for each in by_day],
            team_throttle(reader, scope, stays, window, THROTTLE_REQUESTS_MAX),
        )
    )
    organization = directory.get(Organization, organization_id)
    assert organization is not None, "a member's organization is there"
    minimum = organization.team_minimum
    # Whether enough were at work for how the day came out.
    shown = [
        (day.start_us, each, withheld(each, minimum) is None)
        for day, each in zip(days, counts, strict=True)
        if each.members_active
    ]
    return await call.show(
        "organization/team.html",
        team=chosen,
        owners=owners,
        since=min(each.started_at for each in directory.all(TeamMembership) if each.team_id == chosen.id),
        period=name,
        periods=periods,
        days=shown[::-1],
        told=[each for _, each, is_told in shown if is_told],
        minimum=minimum,
        cost=await spent_by_team(call, chosen, equal_windows(window, 2), zone),
        impact=impact,
        causes=CAUSES,
    )


@routes("GET /team/lead", "What a lead sees, and cannot see.")
async def lead(call: BySignIn) -> Response:
    return await call.show("organization/lead.html", told=text_of("lead"))
