"""Oneself beside one's own past, and beside the nameless members of one's teams."""

from collections.abc import Sequence

import msgspec
from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.scores.grades import PEER_RANGES_MAX, PEERS_MIN, Comparison, Tally, cohort_of
from aggregates.times import Window, equal_windows
from projections.reader import Reader
from projections.scores.score import peer_comparison, tally
from svc_http.pages import charts
from svc_http.pages.door import BySignIn
from svc_http.pages.home import PERIODS, goal_bars, period_of
from svc_http.pages.rates import Rate
from svc_http.pages.words import number, short_day
from svc_http.routing import Routes

WEEKS_SHOWN = 12
routes = Routes()


class Past(msgspec.Struct, frozen=True):
    now: Tally
    before: Tally  # of as long a time before it
    weeks: list[Tally]


def _past(reader: Reader, scope: Scope, windows: Sequence[Window], weeks: Sequence[Window]) -> Past:
    before, now = (tally(reader, scope, each) for each in windows)
    return Past(now, before, [tally(reader, scope, each) for each in weeks])


@routes("GET /compared", "Beside one's own past, and nameless peers.")
async def compared(call: BySignIn) -> Response:
    name, window = period_of(call)
    weeks = call.windows("weekly", WEEKS_SHOWN)
    past = await call.read(_past, equal_windows(window, 2), weeks)
    labels = [short_day(each.start_us, call.own_zone) for each in weeks]
    cohort = cohort_of(call.service.directory, call.scope)
    # The days of a period are the same until midnight, so looking at them again is no further range.
    admitted = call.service.peer_ranges.admits(call.scope.developer_id, window, call.service.now_us())
    found = await call.read(peer_comparison, cohort, window, call.own_zone) if admitted else None
    return await call.show(
        "reflection/compared.html",
        period=name,
        periods=PERIODS,
        now=Rate(past.now),
        before=Rate(past.before),
        weeks=list(zip(labels, map(Rate, past.weeks), strict=True)),
        chart=charts.bars("Goals by week: reached, and the others", goal_bars(past.weeks, labels), number),
        cohort=len(cohort),
        found=found,
        place=None if found is None else _place(found),
        peers_min=PEERS_MIN,
        ranges_max=PEER_RANGES_MAX,
    )


def _place(found: Comparison) -> Markup | None:
    peers, fits = found.distribution, found.interval
    if peers is None:
        return None
    mine = None if found.my_score is None or fits is None else (fits.low, found.my_score, fits.high)
    about = f"Half of the group lies between {peers.p25:.0f} and {peers.p75:.0f} percent, the middle at {peers.p50:.0f}"
    yours = "" if mine is None else f"; yours is {mine[1]:.0f}, likely {mine[0]:.0f} to {mine[2]:.0f}"
    return charts.place(about + yours, (peers.p25, peers.p50, peers.p75), mine)
