"""The figures of a calendar window, trends, integrity, peers, and what throttling and models cost."""

from collections.abc import Callable, Sequence
from datetime import timedelta, timezone
from itertools import islice
from typing import Generic, TypeVar

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import stays_in
from aggregates.scores.peers import Comparison, cohort_of
from aggregates.times import RANGE_DEFAULT_DAYS, US_PER_DAY, Period, Window, WindowName, buckets, iso
from projections.prices.models import Rightsizing
from projections.prices.models import rightsizing as usage_of_models
from projections.reader import Reader
from projections.scores import integrity, score, skill, throttle
from svc_http.bodies import HttpError, bad_request
from svc_http.params import (
    FROM_TO,
    PAGE,
    PERIOD,
    SINCE,
    TZ,
    WINDOW,
    ByKey,
    Parameter,
    Query,
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
)
from svc_http.routes.team import NO_TEAM, TEAM_ID, team_id, team_of
from svc_http.routing import Routes

WINDOWS_SHOWN = 4
"""A sparkline has this many points; the last is the window asked for."""

POINTS_MAX = 1000
"""Of one trend: almost three years of days."""

OFFSET_MINUTES = (-12 * 60, 14 * 60)
"""The zones there are, in minutes east of UTC, both included."""

RIGHTSIZING_DAYS = 90
_P = TypeVar("_P")
_POINTS = clamped("points", 12, 52, "How many windows")
_TZ_OFFSET = Parameter(
    "tz_offset",
    {"type": "integer", "default": 0, "minimum": OFFSET_MINUTES[0], "maximum": OFFSET_MINUTES[1]},
    "The zone of bare dates, in minutes east of UTC.",
)
routes = Routes()


class Trend(msgspec.Struct, Generic[_P], frozen=True, rename={"from_time": "from"}):
    """The range that was asked for, and its periods."""

    from_time: str
    to: str
    period: Period
    points: Sequence[_P]


def _of_window(path: str, query: Callable[[Reader, Scope, WindowName, Sequence[Window]], object], about: str) -> None:
    """The route of a query over the last windows, the current one last."""

    @routes(f"GET /v1/score_v3/{path}", about, (WINDOW,), answers=query)
    async def handler(call: ByKey) -> object:
        name = WINDOW.read(call.query)
        return await call.read(query, name, windows(call, name, WINDOWS_SHOWN))


_of_window("score", score.score, "The completion rate of a window.")
_of_window("speed", score.speed, "How fast goals were reached.")
_of_window("tokens", score.tokens, "What reaching goals took in tokens.")
_of_window("skill", skill.skill, "Which habits prompts show.")
_of_window("insight/summary", skill.insight_summary, "The average prompt grade of a window.")


@routes("GET /v1/score_v3/tokens/trend", "The tokens of the last windows.", (WINDOW, _POINTS))
async def token_trend(call: ByKey) -> score.TokenTrend:
    name = WINDOW.read(call.query)
    return await call.read(score.token_trend, name, windows(call, name, _POINTS.read(call.query) + 1))


def _trend(
    path: str, query: Callable[[Reader, Scope, Window, list[Window]], Sequence[_P]], about: str, point: type[_P]
) -> None:
    """The route of counts over the calendar periods of a range; empty periods are there with zeros."""

    @routes(f"GET /v1/score_v3/{path}", about, (*FROM_TO, PERIOD), answers=Trend[point])  # type: ignore[valid-type]
    async def handler(call: ByKey) -> Trend[_P]:
        zone, period = call.zone, PERIOD.read(call.query)
        window = from_and_to(call, zone)
        periods = list(islice(buckets(window, period, zone), POINTS_MAX + 1))
        if len(periods) > POINTS_MAX:
            raise bad_request(
                f"the range has more than {POINTS_MAX} {period}s; ask for a shorter range, or for longer periods"
            )
        points = await call.read(query, window, periods)
        return Trend(iso(window.start_us), iso(window.end_us), period, points)


_trend("integrity/trend", integrity.integrity_trend, "Flags by period.", integrity.IntegrityPoint)
_trend("trivia/trend", integrity.trivia_trend, "Trivia by period.", integrity.TriviaPoint)


@routes("GET /v1/score_v3/integrity", "What was flagged in a window.", (WINDOW,))
async def flags(call: ByKey) -> integrity.Integrity:
    return await call.read(integrity.integrity, current_window(call))


@routes("GET /v1/score_v3/integrity/recent", "The flags themselves, newest first.", (SINCE, *PAGE))
async def recent_flags(call: ByKey) -> list[integrity.FlagRow]:
    """Those of the last four weeks by default."""
    from_us = time(call.query, "from", call.zone)
    if from_us is None:
        from_us = call.service.now_us() - RANGE_DEFAULT_DAYS * US_PER_DAY
    return await call.read(integrity.recent_flags, from_us, *page(call.query))


@routes("GET /v1/score_v3/peer-comparison", "The caller's completion rate beside the team's.", (*FROM_TO, TZ))
async def peers(call: ByKey) -> Comparison:
    """The cohort is that of the caller's active teams; nobody chooses it."""
    zone = tz_asked(call.query, call.zone)
    window = from_and_to(call, zone)
    return await call.read(score.peer_comparison, cohort_of(call.service.directory, call.scope), window, zone)


@routes("GET /v1/intelligence/throttle", "What throttling cost the caller.", (*FROM_TO, _TZ_OFFSET))
async def throttle_of_caller(call: ByKey) -> throttle.ThrottleImpact:
    """The caller's own; whole, or 503."""
    found = await call.read(throttle.personal_throttle, from_and_to(call, _offset_zone(call.query)))
    if found is None:
        # Trying again would not help, so there is no Retry-After.
        raise HttpError(503, "the range holds more requests than one read may look at; ask for a shorter range")
    return found


_TEAM_QUERY = (TEAM_ID, *FROM_TO, _TZ_OFFSET)


@routes("GET /v1/intelligence/throttle/team", "What it cost a team.", _TEAM_QUERY, refuses=NO_TEAM)
async def throttle_of_team(call: ByKey) -> throttle.ThrottleImpact:
    """Those who were in a team of the caller on each day together, naming nobody; who left since is among them."""
    wanted, zone = team_id(call.query), _offset_zone(call.query)
    window = from_and_to(call, zone)
    stays = stays_in(call.service.directory, team_of(call, wanted), window, zone)
    return await call.read(throttle.team_throttle, stays, window)


def _offset_zone(query: Query) -> timezone:
    minutes = integer(query, "tz_offset") or 0
    least, most = OFFSET_MINUTES
    if not least <= minutes <= most:
        raise bad_request(f"tz_offset must be minutes east of UTC, from {least} to {most}")
    return timezone(timedelta(minutes=minutes))


@routes("GET /v1/intelligence/rightsizing", "What each model was used for.", until_now(f"{RIGHTSIZING_DAYS} days ago"))
async def rightsizing(call: ByKey) -> Rightsizing:
    zone = call.zone
    return await call.read(usage_of_models, from_until(call, zone, RIGHTSIZING_DAYS * US_PER_DAY), zone)
