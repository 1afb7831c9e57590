"""The figures of a calendar window: score, speed, tokens, skill and the insight summary; and tokens over many."""

from collections.abc import Callable, Sequence
from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope
from aggregates.people.directory import Principal, stays_in
from aggregates.scores.peers import cohort_of
from aggregates.times import RANGE_DEFAULT_DAYS, US_PER_DAY, Window, WindowName
from projections.prices.models import rightsizing as usage_of_models
from projections.reader import Reader
from projections.scores import integrity as flags
from projections.scores import score as scores
from projections.scores import skill as skills
from projections.scores.integrity import trivia_trend
from projections.scores.peers import peer_comparison
from projections.scores.throttle import personal_throttle, team_throttle
from svc_http.errors import HttpError, bad_request, json_reply
from svc_http.listener import Personal
from svc_http.params import (
    WINDOWS_SHOWN,
    Query,
    asked_periods,
    from_and_to,
    from_until,
    integer,
    limit,
    offset,
    time,
    window_name,
    windows,
    zone_of,
)
from svc_http.ports import Service
from svc_http.routes.team import team_id, team_of, zone_asked

TREND_POINTS_DEFAULT = 12


TREND_POINTS_MAX = 52


WindowQuery = Callable[[Reader, Scope, WindowName, Sequence[Window]], object]


def _of_windows(query: WindowQuery) -> Personal:
    """The route of a query over the last windows, the current one last."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        name = window_name(request.args)
        shown = windows(service, caller, name, WINDOWS_SHOWN)
        return json_reply(await service.read(caller.scope, query, name, shown))

    return handler


score = _of_windows(scores.score)


speed = _of_windows(scores.speed)


tokens = _of_windows(scores.tokens)


skill = _of_windows(skills.skill)


insight_summary = _of_windows(skills.insight_summary)


async def token_trend(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The tokens of the last windows, 12 by default, clamped to 1-52."""
    name = window_name(request.args)
    points = min(max(integer(request.args, "points", TREND_POINTS_DEFAULT), 1), TREND_POINTS_MAX)
    shown = windows(service, caller, name, points + 1)
    return json_reply(await service.read(caller.scope, scores.token_trend, name, shown))


# What throttling cost, and what each model was used for.

OFFSET_MINUTES = (-12 * 60, 14 * 60)
"""The zones there are, in minutes east of UTC, both included."""


RIGHTSIZING_DAYS = 90


async def throttle(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The caller's own; whole, or 503."""
    window = from_and_to(request.args, _offset_zone(request.args), service.now_us())
    found = await service.read(caller.scope, personal_throttle, window)
    if found is None:
        # Trying again would not help, so there is no Retry-After.
        raise HttpError(503, "the range holds more requests than one read may look at; ask for a shorter range")
    return json_reply(found)


async def throttle_of_team(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Those who were in a team of the caller on each day together, naming nobody; who left since is among them."""
    wanted, zone = team_id(request.args), _offset_zone(request.args)
    window = from_and_to(request.args, zone, service.now_us())
    stays = stays_in(service.directory, team_of(service, caller, wanted), window, zone)
    return json_reply(await service.read(caller.scope, team_throttle, stays, window))


async def rightsizing(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What each model was used for, and each month."""
    zone = zone_of(service, caller)
    window = from_until(request.args, zone, service.now_us(), RIGHTSIZING_DAYS * US_PER_DAY)
    return json_reply(await service.read(caller.scope, usage_of_models, window, zone))


def _offset_zone(query: Query) -> timezone:
    minutes = integer(query, "tz_offset", 0)
    least, most = OFFSET_MINUTES
    if not least <= minutes <= most:
        raise bad_request(f"tz_offset must be minutes east of UTC, from {least} to {most}")
    return timezone(timedelta(minutes=minutes))


# What was flagged: counted by kind in a window, over the periods of a range, and one by one.


async def integrity(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The kinds that were flagged in the window."""
    (window,) = windows(service, caller, window_name(request.args), 1)
    return json_reply(await service.read(caller.scope, flags.integrity, window))


async def trend(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Every kind in every period; empty periods are there with zeros."""
    asked = asked_periods(service, caller, request.args)
    points = await service.read(caller.scope, flags.integrity_trend, asked.window, asked.buckets)
    return json_reply(asked.trend(points))


async def recent(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The flags themselves, newest first; those of the last four weeks by default."""
    query = request.args
    from_us = time(query, "from", zone_of(service, caller))
    if from_us is None:
        from_us = service.now_us() - RANGE_DEFAULT_DAYS * US_PER_DAY
    rows, skipped = limit(query), offset(query)
    return json_reply(await service.read(caller.scope, flags.recent_flags, from_us, rows, skipped))


# How the caller's completion rate compares with that of the caller's teams.


async def comparison(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The cohort is that of the caller's active teams; nobody chooses it."""
    zone = _zone(service, caller, request.args)
    window = from_and_to(request.args, zone, service.now_us())
    cohort = cohort_of(service.directory, caller.scope)
    return json_reply(await service.read(caller.scope, peer_comparison, cohort, window, zone))


def _zone(service: Service, caller: Principal, query: Query) -> ZoneInfo:
    """The zone of `tz`, else that of the caller's profile. Raises `HttpError` 400."""
    return zone_asked(query) if query.get("tz", "").strip() else zone_of(service, caller)


# Counts over the calendar periods of a range.


async def trivia(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What fell below the substance floor, and why; empty periods are there with zeros."""
    asked = asked_periods(service, caller, request.args)
    points = await service.read(caller.scope, trivia_trend, asked.window, asked.buckets)
    return json_reply(asked.trend(points))
