"""What one's work cost, what held it up, which habits it shows, and how it compares: each page with its drawings."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any

from markupsafe import Markup
from quart import Response

from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores.grades import GRADED_BYTES_MAX, PEER_RANGES_MAX, PEERS_MIN, Comparison, cohort_of, grade_text
from aggregates.scores.insights import PAYS_MIN, USUAL_GOALS, pays
from aggregates.scores.throttle import Detector
from aggregates.times import US_PER_DAY, Window, equal_windows, local_date, parse_instant
from projections.prices import Spent, dearest, spent_by_model, spent_by_outcome, spent_in
from projections.scores.score import peer_comparison, tally
from projections.scores.skill import HabitCounts, best_shown, decided_goals, habit_counts, newest_missed
from projections.scores.throttle import personal_throttle
from projections.sub_sessions.rows import GoalOutcome, newest_us
from svc_http.lane import beside
from svc_http.pages import charts
from svc_http.pages.door import BySignIn, form_of
from svc_http.pages.home import PERIODS, cost_chart, days_of, goals_chart, period_of, period_or_month
from svc_http.pages.words import CAUSES, HABITS, STATES, counted, duration, number, short_day
from svc_http.routing import Routes

DEAREST_SHOWN = 10
EVENTS_SHOWN = 20
REQUESTS_MAX = 20_000  # the newest of the time, so that nobody waits for the page; the API looks at more
WEEKS_SHOWN = 12
EXAMPLES_DAYS = 90  # examples are of the last days of the chosen time: older words tell little of how one works now
_FAILED: tuple[GoalOutcome, ...] = ("not_reached", "rework")
routes = Routes()


@routes("GET /cost", "What the work cost.")
async def cost(call: BySignIn) -> Response:
    """By outcome, by model, by day, by goal; and how much of it nobody could price."""
    name, window, periods = period_or_month(call)
    days = days_of(call, window)
    outcomes, models, spent, goals = await call.read(
        lambda reader, scope: (
            spent_by_outcome(reader, scope, window),
            spent_by_model(reader, scope, window),
            spent_in(reader, scope, days),
            dearest(reader, scope, window, DEAREST_SHOWN),
        )
    )
    order = [*(each for each in STATES if each != "live"), "live"]
    return await call.show(
        "cost.html",
        period=name,
        periods=periods,
        outcomes=sorted(outcomes.items(), key=lambda each: order.index(each[0])),
        models=models,
        days=list(zip(days, spent, strict=True)),
        goals=goals,
        total=sum((each for _, each in outcomes.values()), Spent()),
        failed=sum((outcomes[each][1] for each in _FAILED if each in outcomes), Spent()),
        chart=cost_chart(spent, [short_day(each.start_us, call.own_zone) for each in days]),
    )


@routes("GET /limits", "Time lost to limits and failures.")
async def limits(call: BySignIn) -> Response:
    shown = {name: label for name, label in PERIODS.items() if name != "all"}
    (name, window, periods), zone = period_or_month(call, shown), call.own_zone
    found = await call.read(personal_throttle, window, REQUESTS_MAX)
    events = [] if found is None else found.events
    by_cause: defaultdict[Detector, float] = defaultdict(float)
    by_day: defaultdict[date, list[float]] = defaultdict(list)
    for event in events:
        by_cause[event.detector] += event.estimated_delay_secs
        by_day[local_date(parse_instant(event.timestamp), zone)].append(event.estimated_delay_secs)
    lost = [(each, by_day[local_date(each.start_us, zone)]) for each in days_of(call, window)]
    days = [(short_day(each.start_us, zone), len(seconds), sum(seconds)) for each, seconds in lost]
    bars = [
        charts.Bar(label, (("missed", seconds),), f"{label}: {duration(seconds)} in {counted(times, 'event')}")
        for label, times, seconds in days
    ]
    return await call.show(
        "reflection/limits.html",
        period=name,
        periods=periods,
        found=found,
        causes=CAUSES,
        lost=by_cause,
        events=events[:EVENTS_SHOWN],
        days=days,
        chart=charts.bars("Time lost by day", bars, duration),
    )


@routes("GET /compared", "Beside one's own past, and nameless peers.")
async def compared(call: BySignIn) -> Response:
    name, window = period_of(call)
    windows, weeks = equal_windows(window, 2), call.windows("weekly", WEEKS_SHOWN)
    *by_week, before, now = await call.read(
        lambda reader, scope: [tally(reader, scope, each) for each in (*weeks, *windows)]
    )
    labels = [short_day(each.start_us, call.own_zone) for each in weeks]
    cohort = cohort_of(call.service.directory, call.scope)
    # The days of a period are the same until midnight, so looking at them again is no further range.
    admitted = call.service.peer_ranges.admits(call.scope.developer_id, window, call.service.now_us())
    found = await call.read(peer_comparison, cohort, window, call.own_zone) if admitted else None
    return await call.show(
        "reflection/compared.html",
        period=name,
        periods=PERIODS,
        now=now,
        before=before,
        weeks=list(zip(labels, by_week, strict=True)),
        chart=goals_chart(by_week, labels),
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


# --- the seven habits: how often each shows, week by week, in one's own words, and whether it pays ---------------


@routes("GET /habits", "The seven habits.")
async def habits(call: BySignIn) -> Response:
    name, window = period_of(call)
    weeks = call.windows("weekly", WEEKS_SHOWN)
    recent = Window(max(window.start_us, window.end_us - EXAMPLES_DAYS * US_PER_DAY), window.end_us)
    counts, by_week, best, missed, told, newest = await call.read(
        lambda reader, scope: (
            habit_counts(reader, scope, window),
            [habit_counts(reader, scope, each) for each in weeks],
            best_shown(reader, scope, recent),
            newest_missed(reader, scope, recent),
            pays(decided_goals(reader, scope)),
            newest_us(reader, scope),
        )
    )
    labels = [short_day(each.start_us, call.own_zone) for each in weeks]
    return await call.show(
        "reflection/habits.html",
        period=name,
        periods=PERIODS,
        graded=counts.sample_count,
        newest_us=newest,
        habits=[_drawn(each, counts, list(zip(labels, by_week, strict=True))) for each in BOOLEANS],
        best=best,
        missed=missed,
        weeks_shown=WEEKS_SHOWN,
        pays=told,
        pays_min=PAYS_MIN,
        usual_goals=USUAL_GOALS,
        text="",
        grade=None,
    )


def _drawn(name: BooleanName, counts: HabitCounts, by_week: Sequence[tuple[str, HabitCounts]]) -> dict[str, Any]:
    """One habit, as the page has it."""
    hits, sure, one_sided, unsure = counts.of(name)
    weeks = [(label, *week.of(name)) for label, week in by_week]
    bars = [
        charts.Bar(
            label,
            (("reached", shown), ("missed", of - shown), ("one-sided", one), ("undecided", unknown)),
            f"Week of {label}: {_sentence(shown, of, one, unknown)}",
        )
        for label, shown, of, one, unknown in weeks
    ]
    parts = (("reached", hits), ("missed", sure - hits))
    return {
        "name": name,
        "hits": hits,
        "sure": sure,
        "one_sided": one_sided,  # seen where the judge can say no more than that
        "unsure": unsure,
        "bar": charts.share(_sentence(hits, sure, one_sided, unsure), parts),
        "weeks": weeks,
        "chart": charts.bars(f"{HABITS[name]}: prompts by week", bars, number),
    }


def _sentence(shown: int, sure: int, one_sided: int, unsure: int) -> str:
    more = f", {number(one_sided)} more seen, without a rate" if one_sided else ""
    more += f", {number(unsure)} more unsure" if unsure else ""
    return f"{number(shown)} of {counted(sure, 'prompt')}{more}"


@routes("POST /habits/grade", "Grade a prompt as one types; nothing is stored.")
async def grade(call: BySignIn) -> Response:
    text, found = (await form_of(call)).get("prompt", ""), None
    is_long = len(text.encode()) > GRADED_BYTES_MAX
    if text.strip() and not is_long:
        found = await beside(call.body.cpu, len(text), partial(grade_text, text))
    # htmx shows no answer that is an error.
    status = 413 if is_long and "HX-Request" not in call.request.headers else 200
    return await call.show("reflection/grade.html", status, text=text, grade=found, is_long=is_long)
