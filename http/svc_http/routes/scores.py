"""The figures of a calendar window, trends, integrity, peers, and what throttling and models cost."""

from collections.abc import Callable, Sequence
from datetime import timedelta, timezone

from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope
from aggregates.people.directory import Principal, stays_in
from aggregates.scores.peers import cohort_of
from aggregates.times import RANGE_DEFAULT_DAYS, US_PER_DAY, Window, WindowName
from projections.reader import Reader
from projections.scores import integrity, score, skill
from projections.scores.score import peer_comparison
from projections.scores.throttle import personal_throttle, team_throttle
from projections.telemetry.usage import rightsizing as usage_of_models
from svc_http.errors import HttpError, bad_request, json_reply
from svc_http.listener import ByKey
from svc_http.params import (
    FROM_TO,
    PAGE,
    PERIOD,
    SINCE,
    TZ,
    WINDOW,
    Parameter,
    Query,
    Trend,
    asked_periods,
    clamped,
    current_window,
    from_and_to,
    from_until,
    integer,
    page,
    time,
    tz_asked,
    until_now,
    windows,
    zone_of,
)
from svc_http.ports import Service
from svc_http.routes.team import NO_TEAM, TEAM_ID, team_id, team_of

WINDOWS_SHOWN = 4
"""A sparkline has this many points; the last is the window asked for."""

OFFSET_MINUTES = (-12 * 60, 14 * 60)
"""The zones there are, in minutes east of UTC, both included."""

RIGHTSIZING_DAYS = 90
_POINTS = clamped("points", 12, 52, "How many windows")
_TZ_OFFSET = Parameter(
    "tz_offset",
    {"type": "integer", "default": 0, "minimum": OFFSET_MINUTES[0], "maximum": OFFSET_MINUTES[1]},
    "The zone of bare dates, in minutes east of UTC.",
)


async def token_trend(service: Service, request: Request, caller: Principal) -> TrioResponse:
    name = WINDOW.read(request.args)
    shown = windows(service, caller, name, _POINTS.read(request.args) + 1)
    return json_reply(await service.read(caller.scope, score.token_trend, name, shown))


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


def _offset_zone(query: Query) -> timezone:
    minutes = integer(query, "tz_offset", 0)
    least, most = OFFSET_MINUTES
    if not least <= minutes <= most:
        raise bad_request(f"tz_offset must be minutes east of UTC, from {least} to {most}")
    return timezone(timedelta(minutes=minutes))


async def rightsizing(service: Service, request: Request, caller: Principal) -> TrioResponse:
    zone = zone_of(service, caller)
    window = from_until(request.args, zone, service.now_us(), RIGHTSIZING_DAYS * US_PER_DAY)
    return json_reply(await service.read(caller.scope, usage_of_models, window, zone))


async def flags(service: Service, request: Request, caller: Principal) -> TrioResponse:
    window = current_window(service, caller, request.args)
    return json_reply(await service.read(caller.scope, integrity.integrity, window))


async def recent_flags(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Those of the last four weeks by default."""
    from_us = time(request.args, "from", zone_of(service, caller))
    if from_us is None:
        from_us = service.now_us() - RANGE_DEFAULT_DAYS * US_PER_DAY
    return json_reply(await service.read(caller.scope, integrity.recent_flags, from_us, *page(request.args)))


async def peers(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The cohort is that of the caller's active teams; nobody chooses it."""
    zone = tz_asked(request.args, zone_of(service, caller))
    window = from_and_to(request.args, zone, service.now_us())
    cohort = cohort_of(service.directory, caller.scope)
    return json_reply(await service.read(caller.scope, peer_comparison, cohort, window, zone))


def _of_window(path: str, query: Callable[[Reader, Scope, WindowName, Sequence[Window]], object], about: str) -> ByKey:
    """The route of a query over the last windows, the current one last."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        name = WINDOW.read(request.args)
        shown = windows(service, caller, name, WINDOWS_SHOWN)
        return json_reply(await service.read(caller.scope, query, name, shown))

    return ByKey("GET", f"/v1/score_v3/{path}", handler, about, query, (WINDOW,))


def _trend(
    path: str, query: Callable[[Reader, Scope, Window, list[Window]], Sequence[object]], about: str, point: type
) -> ByKey:
    """The route of counts over the calendar periods of a range; empty periods are there with zeros."""

    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        asked = asked_periods(service, caller, request.args)
        return json_reply(asked.trend(await service.read(caller.scope, query, asked.window, asked.buckets)))

    return ByKey("GET", f"/v1/score_v3/{path}", handler, about, Trend[point], (*FROM_TO, PERIOD))  # type: ignore[valid-type]


ROUTES = (
    _of_window("score", score.score, "The completion rate of a window."),
    _of_window("speed", score.speed, "How fast goals were reached."),
    _of_window("tokens", score.tokens, "What reaching goals took in tokens."),
    _of_window("skill", skill.skill, "Which habits prompts show."),
    _of_window("insight/summary", skill.insight_summary, "The average prompt grade of a window."),
    ByKey(
        "GET",
        "/v1/score_v3/tokens/trend",
        token_trend,
        "The tokens of the last windows.",
        score.token_trend,
        (WINDOW, _POINTS),
    ),
    ByKey("GET", "/v1/score_v3/integrity", flags, "What was flagged in a window.", integrity.integrity, (WINDOW,)),
    _trend("integrity/trend", integrity.integrity_trend, "Flags by period.", integrity.IntegrityPoint),
    _trend("trivia/trend", integrity.trivia_trend, "Trivia by period.", integrity.TriviaPoint),
    ByKey(
        "GET",
        "/v1/score_v3/integrity/recent",
        recent_flags,
        "The flags themselves, newest first.",
        integrity.recent_flags,
        (SINCE, *PAGE),
    ),
    ByKey(
        "GET",
        "/v1/score_v3/peer-comparison",
        peers,
        "The caller's completion rate beside the team's.",
        peer_comparison,
        (*FROM_TO, TZ),
    ),
    ByKey(
        "GET",
        "/v1/intelligence/throttle",
        throttle,
        "What throttling cost the caller.",
        personal_throttle,
        (*FROM_TO, _TZ_OFFSET),
    ),
    ByKey(
        "GET",
        "/v1/intelligence/throttle/team",
        throttle_of_team,
        "What it cost a team.",
        team_throttle,
        (TEAM_ID, *FROM_TO, _TZ_OFFSET),
        refuses=NO_TEAM,
    ),
    ByKey(
        "GET",
        "/v1/intelligence/rightsizing",
        rightsizing,
        "What each model was used for.",
        usage_of_models,
        until_now(f"{RIGHTSIZING_DAYS} days ago"),
    ),
)
