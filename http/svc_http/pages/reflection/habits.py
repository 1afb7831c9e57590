"""The seven habits: how often each shows, week by week, in one's own words, and whether it pays."""

from collections.abc import Sequence
from functools import partial

import msgspec
from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores.grades import GRADED_BYTES_MAX, grade_text
from aggregates.scores.habits import PAYS_MIN, USUAL_GOALS, Pay, pays
from aggregates.times import US_PER_DAY, Window
from projections.reader import Reader
from projections.scores.habits import ShownHabit, ShownHabits, best_shown, decided_goals, newest_missed
from projections.scores.skill import HabitCounts, habit_counts
from projections.sub_sessions.goals import newest_us
from svc_http.lane import beside
from svc_http.pages import charts
from svc_http.pages.door import BySignIn
from svc_http.pages.home import PERIODS, period_of
from svc_http.pages.words import HABITS, counted, number, short_day
from svc_http.routing import Routes

WEEKS_SHOWN = 12
EXAMPLES_DAYS = 90  # examples are of the last days of the chosen time: older words tell little of how one works now
routes = Routes()


class Look(msgspec.Struct, frozen=True):
    counts: HabitCounts
    weeks: list[HabitCounts]
    best: ShownHabits
    missed: ShownHabits
    pays: list[Pay]
    newest_us: int | None


class Shown(msgspec.Struct, frozen=True):
    """One habit, as the page has it."""

    name: BooleanName
    hits: int
    sure: int
    one_sided: int
    unsure: int
    bar: Markup
    weeks: list[tuple[str, int, int, int, int]]
    """Label, shown, of so many; seen where the judge can say no more than that; unsure."""
    chart: Markup
    best: ShownHabit | None
    missed: ShownHabit | None


def _look(reader: Reader, scope: Scope, window: Window, weeks: Sequence[Window]) -> Look:
    recent = Window(max(window.start_us, window.end_us - EXAMPLES_DAYS * US_PER_DAY), window.end_us)
    return Look(
        counts=habit_counts(reader, scope, window),
        weeks=[habit_counts(reader, scope, each) for each in weeks],
        best=best_shown(reader, scope, recent),
        missed=newest_missed(reader, scope, recent),
        pays=pays(decided_goals(reader, scope)),
        newest_us=newest_us(reader, scope),
    )


@routes("GET /habits", "The seven habits.")
async def habits(call: BySignIn) -> Response:
    name, window = period_of(call)
    weeks = call.windows("weekly", WEEKS_SHOWN)
    look = await call.read(_look, window, weeks)
    labels = [short_day(each.start_us, call.own_zone) for each in weeks]
    return await call.show(
        "reflection/habits.html",
        period=name,
        periods=PERIODS,
        look=look,
        habits=[_shown(look, each, labels) for each in BOOLEANS],
        weeks_shown=WEEKS_SHOWN,
        pays_min=PAYS_MIN,
        usual_goals=USUAL_GOALS,
        text="",
        grade=None,
    )


def _shown(look: Look, name: BooleanName, labels: Sequence[str]) -> Shown:
    hits, sure, one_sided, unsure = look.counts.of(name)
    weeks = [(label, *week.of(name)) for label, week in zip(labels, look.weeks, strict=True)]
    bars = [
        charts.Bar(
            label,
            (("reached", shown), ("missed", of - shown), ("one-sided", one), ("undecided", unknown)),
            f"Week of {label}: {_sentence(shown, of, one, unknown)}",
        )
        for label, shown, of, one, unknown in weeks
    ]
    parts = (("reached", hits), ("missed", sure - hits))
    return Shown(
        name=name,
        hits=hits,
        sure=sure,
        one_sided=one_sided,
        unsure=unsure,
        bar=charts.share(_sentence(hits, sure, one_sided, unsure), parts),
        weeks=weeks,
        chart=charts.bars(f"{HABITS[name]}: prompts by week", bars, number),
        best=look.best[name],
        missed=look.missed[name],
    )


def _sentence(shown: int, sure: int, one_sided: int, unsure: int) -> str:
    more = f", {number(one_sided)} more seen, without a rate" if one_sided else ""
    more += f", {number(unsure)} more unsure" if unsure else ""
    return f"{number(shown)} of {counted(sure, 'prompt')}{more}"


@routes("POST /habits/grade", "Grade a prompt as one types; nothing is stored.")
async def grade(call: BySignIn) -> Response:
    text, found = (await call.form()).get("prompt", ""), None
    is_long = len(text.encode()) > GRADED_BYTES_MAX
    if text.strip() and not is_long:
        found = await beside(call.body.cpu, len(text), partial(grade_text, text))
    # htmx shows no answer that is an error.
    status = 413 if is_long and "HX-Request" not in call.request.headers else 200
    return await call.show("reflection/grade.html", status, text=text, grade=found, is_long=is_long)
