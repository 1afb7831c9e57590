"""What a team did and spent together: counts from its minimum on, costs, hours of throttling; nobody's score."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from quart import Response

from aggregates.event import Scope
from aggregates.people.directory import (
    Developer,
    Directory,
    Membership,
    Organization,
    Stay,
    Team,
    TeamMembership,
    stays_in,
)
from aggregates.times import Window, equal_windows
from projections.prices.spending import TeamCost, TeamWindow, team_cost
from projections.reader import Reader
from projections.reports.days import TeamDay, team_day, withheld
from projections.scores.throttle import ThrottleSummary, team_throttle
from svc_http.bodies import HttpError
from svc_http.pages.door import BySignIn
from svc_http.pages.home import PERIODS, days_of, period_or_month
from svc_http.pages.rendering import text_of
from svc_http.pages.words import CAUSES
from svc_http.params import SHOWN_CHARACTERS
from svc_http.routes.scores import team_of
from svc_http.routing import Routes

PERIODS_SHOWN = {name: PERIODS[name] for name in ("7", "30")}  # each day is a read for each member
THROTTLE_REQUESTS_MAX = 30_000  # of the newest of all members, so that nobody waits for the page; the API looks at more
routes = Routes()


class Look(msgspec.Struct, frozen=True):
    days: list[TeamDay]
    throttle: ThrottleSummary
    is_partial: bool  # whether not every request was looked at for throttling


class DayShown(msgspec.Struct, frozen=True):
    start_us: int
    counts: TeamDay
    told: bool  # whether enough were at work for how the day came out


def _owners(directory: Directory, organization_id: UUID) -> list[str]:
    """Who can take people in, by name."""
    owners = [each for each in directory.all(Membership) if each.active and each.role == "owner"]
    here = (directory.get(Developer, each.developer_id) for each in owners if each.organization_id == organization_id)
    return [each.display_name for each in here if each is not None]


def _look(reader: Reader, scope: Scope, days: Sequence[Sequence[Stay]], stays: Sequence[Stay], window: Window) -> Look:
    impact = team_throttle(reader, scope, stays, window, THROTTLE_REQUESTS_MAX)
    return Look([team_day(reader, scope, each, labels=False) for each in days], impact.summary, impact.is_partial)


@routes("GET /team", "What a team did and spent together.")
async def team(call: BySignIn) -> Response:
    teams = call.service.directory.teams_of(call.scope)
    chosen = team_of(call, _asked(call)) if "team" in call.query else next(iter(teams), None)
    owners = _owners(call.service.directory, call.scope.organization_id)
    if chosen is None:
        return await call.show("organization/team.html", team=None, owners=owners)
    name, window, periods = period_or_month(call, PERIODS_SHOWN)
    directory, zone, days = call.service.directory, call.own_zone, days_of(call, window)
    stays = [stays_in(directory, chosen, each, zone) for each in days]
    look = await call.read(_look, stays, stays_in(directory, chosen, window, zone), window)
    organization = directory.get(Organization, call.scope.organization_id)
    assert organization is not None, "a member's organization is there"
    minimum = organization.team_minimum
    shown = [
        DayShown(day.start_us, counts, withheld(counts, minimum) is None)
        for day, counts in zip(days, look.days, strict=True)
        if counts.members_active
    ]
    return await call.show(
        "organization/team.html",
        team=chosen,
        owners=owners,
        since=min(each.started_at for each in directory.all(TeamMembership) if each.team_id == chosen.id),
        period=name,
        periods=periods,
        days=shown[::-1],
        told=[each.counts for each in shown if each.told],
        minimum=minimum,
        cost=await _cost(call, chosen, window),
        look=look,
        causes=CAUSES,
    )


def _asked(call: BySignIn) -> UUID:
    text = call.query["team"]
    try:
        return UUID(text)
    except ValueError as error:
        raise HttpError(404, f"no team {text[:SHOWN_CHARACTERS]!r} of yours") from error


async def _cost(call: BySignIn, team: Team, window: Window) -> TeamCost:
    """Of the days, and of as many before."""
    directory, zone = call.service.directory, call.own_zone
    previous, current = (TeamWindow(each, stays_in(directory, team, each, zone)) for each in equal_windows(window, 2))
    before, now = await call.service.team_spending(call.scope, (previous, current))
    developers = (directory.get(Developer, each.developer_id) for each in current.stays)
    return team_cost({each.id: each.display_name for each in developers if each is not None}, now, before)


@routes("GET /team/lead", "What a lead sees, and cannot see.")
async def lead(call: BySignIn) -> Response:
    return await call.show("organization/lead.html", told=text_of("lead"))
