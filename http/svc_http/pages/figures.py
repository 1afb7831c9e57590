"""Pages of figures: cost, time lost and comparison, each with its drawings."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from markupsafe import Markup
from quart import Response

from aggregates.scores import grades
from aggregates.scores.throttle import Detector
from aggregates.times import Window, calendar_windows, equal_windows, local_date, parse_instant
from projections.prices import Spent, dearest, spent_by_model, spent_by_outcome, spent_in
from projections.scores.score import peer_comparison, tally
from projections.scores.throttle import personal_throttle
from projections.sub_sessions.rows import NANO, GoalOutcome
from svc_http.pages import charts
from svc_http.pages.charts import Bar
from svc_http.pages.door import BySignIn
from svc_http.pages.period import period_of
from svc_http.pages.rendering import rate
from svc_http.pages.words import CAUSES, STATES, counted, duration, local, number, short_day, usd
from svc_http.routing import Routes

DAYS_DRAWN_MAX = 90
DEAREST_SHOWN = 10
EVENTS_SHOWN = 20
REQUESTS_MAX = 20_000  # the newest of the time, so that nobody waits for the page; the API looks at more
WEEKS_SHOWN = 12
_FAILED: tuple[GoalOutcome, ...] = ("not_reached", "repeated")
routes = Routes()


def days_of(call: BySignIn, window: Window) -> tuple[Window, ...]:
    """Its days, the last 90 of them at most."""
    first, last = (local_date(each, call.own_zone) for each in (window.start_us, window.end_us - 1))
    return calendar_windows("daily", call.own_zone, window.end_us - 1, min((last - first).days + 1, DAYS_DRAWN_MAX))


def labels_of(call: BySignIn, windows: Sequence[Window]) -> list[str]:
    zone, this_year = call.own_zone, local(call.service.now_us(), call.own_zone).year
    return [short_day(each.start_us, zone, this_year) for each in windows]


def _goals_chart(weeks: Sequence[grades.Tally], labels: Sequence[str]) -> Markup:
    bars = [
        Bar(
            label,
            (("reached", of.crushed), ("missed", of.decided - of.crushed), ("undecided", of.undecided)),
            f"Week of {label}: {rate(of)}",
        )
        for label, of in zip(labels, weeks, strict=True)
    ]
    return charts.bars("Goals by week: reached, and the others", bars, number)


def _cost_chart(spent: Sequence[Spent], labels: Sequence[str]) -> Markup:
    """What has a price; a hatched cap where some requests have none."""
    bars = [
        Bar(
            label,
            (("priced", each.cost_usd_nano),),
            f"{label}: {usd(each.cost_usd_nano / NANO)} for {counted(each.priced_requests, 'request')}"
            + (f"; {number(each.unpriced_requests)} more without a price" if each.unpriced_requests else ""),
            each.unpriced_requests > 0,
        )
        for label, each in zip(labels, spent, strict=True)
    ]
    return charts.bars("Cost by day", bars, lambda top: usd(top / NANO))


# --- cost, time lost, comparison ----------------------------------------------------------------------------------


@routes("GET /cost", "What the work cost.")
async def cost(call: BySignIn) -> Response:
    window, asked = await period_of(call)
    days = days_of(call, window)
    outcomes, models, spent, goals = await call.read(
        lambda reader, scope: (
            spent_by_outcome(reader, scope, window),
            spent_by_model(reader, scope, window),
            spent_in(reader, scope, days),
            dearest(reader, scope, window, DEAREST_SHOWN),
        )
    )
    return await call.show(
        "cost.html",
        **asked,
        outcomes=sorted(outcomes.items(), key=lambda each: [*STATES].index(each[0])),
        models=models,
        days=list(zip(days, spent, strict=True)),
        goals=goals,
        total=sum((each for _, each in outcomes.values()), Spent()),
        failed=sum((outcomes[each][1] for each in _FAILED if each in outcomes), Spent()),
        chart=_cost_chart(spent, labels_of(call, days)),
    )


@routes("GET /limits", "Time lost to limits and failures.")
async def limits(call: BySignIn) -> Response:
    window, asked = await period_of(call)
    found = await call.read(personal_throttle, window, REQUESTS_MAX)
    events = [] if found is None else found.events
    held, slow = [[each for each in events if (each.detector == "latency_spike") is late] for late in (False, True)]
    by_cause: defaultdict[Detector, float] = defaultdict(float)
    by_day: defaultdict[date, list[float]] = defaultdict(list)
    for event in held:
        by_cause[event.detector] += event.estimated_delay_secs
        by_day[local_date(parse_instant(event.timestamp), call.own_zone)].append(event.estimated_delay_secs)
    days = days_of(call, window)
    lost = (by_day[local_date(each.start_us, call.own_zone)] for each in days)
    rows = [(label, len(secs), sum(secs)) for label, secs in zip(labels_of(call, days), lost, strict=True)]
    bars = [
        Bar(label, (("missed", seconds),), f"{label}: {duration(seconds)} in {counted(times, 'event')}")
        for label, times, seconds in rows
    ]
    return await call.show(
        "reflection/limits.html",
        **asked,
        found=found,
        causes=CAUSES,
        lost=by_cause,
        held=held,
        slow=slow,
        shown=EVENTS_SHOWN,
        days=rows,
        chart=charts.bars("Time lost by day", bars, duration),
    )


@routes("GET /compared", "Beside one's own past, and nameless peers.")
async def compared(call: BySignIn) -> Response:
    window, asked = await period_of(call)
    windows, weeks = equal_windows(window, 2), call.windows("weekly", WEEKS_SHOWN)
    *by_week, before, now = await call.read(
        lambda reader, scope: [tally(reader, scope, each) for each in (*weeks, *windows)]
    )
    labels, cohort = labels_of(call, weeks), grades.cohort_of(call.service.directory, call.scope)
    # The days of a period are the same until midnight, so looking at them again is no further range.
    admitted = call.service.peer_ranges.admits(call.scope.developer_id, window, call.service.now_us())
    found = await call.read(peer_comparison, cohort, window, call.own_zone) if admitted else None
    return await call.show(
        "reflection/compared.html",
        **asked,
        now=now,
        before=before,
        weeks=list(zip(labels, by_week, strict=True)),
        chart=_goals_chart(by_week, labels),
        cohort=len(cohort),
        found=found,
        place=None if found is None else _place(found),
        peers_min=grades.PEERS_MIN,
        ranges_max=grades.PEER_RANGES_MAX,
    )


def _place(found: grades.Comparison) -> Markup | None:
    peers, fits = found.distribution, found.interval
    if peers is None:
        return None
    mine = None if found.my_score is None or fits is None else (fits.low, found.my_score, fits.high)
    about = f"Half of the group lies between {peers.p25:.0f} and {peers.p75:.0f} percent, the middle at {peers.p50:.0f}"
    yours = "" if mine is None else f"; yours is {mine[1]:.0f}, likely {mine[0]:.0f} to {mine[2]:.0f}"
    return charts.place(about + yours, (peers.p25, peers.p50, peers.p75), mine)
