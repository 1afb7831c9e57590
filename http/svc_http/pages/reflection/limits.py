"""Time and limits: what held one's requests up, on which days, and what to do about it."""

from collections import defaultdict
from collections.abc import Sequence

from quart import Response

from aggregates.scores.throttle import Detector
from aggregates.times import Window, parse_instant
from projections.scores.throttle import ShownEvent, personal_throttle
from svc_http.pages import charts
from svc_http.pages.door import BySignIn
from svc_http.pages.home import PERIODS, days_of, period_or_month
from svc_http.pages.words import CAUSES, counted, duration, short_day
from svc_http.routing import Routes

EVENTS_SHOWN = 20
REQUESTS_MAX = 20_000  # the newest of the time, so that nobody waits for the page; the API looks at more
PERIODS_SHOWN = {name: label for name, label in PERIODS.items() if name != "all"}
routes = Routes()


@routes("GET /limits", "Time lost to limits and failures.")
async def limits(call: BySignIn) -> Response:
    name, window, periods = period_or_month(call, PERIODS_SHOWN)
    days = days_of(call, window)
    found = await call.read(personal_throttle, window, REQUESTS_MAX)
    events = [] if found is None else found.events
    lost: defaultdict[Detector, float] = defaultdict(float)
    for event in events:
        lost[event.detector] += event.estimated_delay_secs
    by_day = _by_day(events, days)
    return await call.show(
        "reflection/limits.html",
        period=name,
        periods=periods,
        found=found,
        causes=CAUSES,
        lost=lost,
        events=events[:EVENTS_SHOWN],
        days=[(day, *counts) for day, counts in zip(days, by_day, strict=True)],
        chart=charts.bars(
            "Time lost by day",
            [
                charts.Bar(
                    (label := short_day(day.start_us, call.own_zone)),
                    (("missed", seconds),),
                    f"{label}: {duration(seconds)} in {counted(times, 'event')}",
                )
                for day, (times, seconds) in zip(days, by_day, strict=True)
            ],
            duration,
        ),
    )


def _by_day(events: Sequence[ShownEvent], days: Sequence[Window]) -> list[tuple[int, float]]:
    """How often and how many seconds, of each day."""
    times, seconds = [0] * len(days), [0.0] * len(days)
    for event in events:
        at_us = parse_instant(event.timestamp)
        place = next((place for place, day in enumerate(days) if day.start_us <= at_us < day.end_us), None)
        if place is not None:
            times[place] += 1
            seconds[place] += event.estimated_delay_secs
    return list(zip(times, seconds, strict=True))
