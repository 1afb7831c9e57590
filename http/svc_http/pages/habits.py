"""The seven habits: the next one to train, how often each shows, week by week, and whether it pays."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.judging.prompt import next_habit
from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores import prompt_grade
from aggregates.scores.insights import PAYS_MIN, USUAL_GOALS, pays
from aggregates.times import US_PER_DAY, Window, calendar_windows, parse_instant
from projections.reader import Reader
from projections.scores import skill
from svc_http.bodies import Form
from svc_http.pages import charts
from svc_http.pages.door import BySignIn
from svc_http.pages.period import period_of
from svc_http.pages.words import percent
from svc_http.ports import beside

WEEKS_SHOWN = 12
EXAMPLES_DAYS = 90  # examples are of the last days of the chosen time: older words tell little of how one works now


def _found(reader: Reader, scope: Scope, window: Window, zone: ZoneInfo) -> dict[str, Any]:
    found = skill.skill(reader, scope, "range", [window])
    newest_us = window.end_us - 1 if found.newest_at is None else parse_instant(found.newest_at)
    last_us = min(newest_us, window.end_us - 1)
    weeks = calendar_windows("weekly", zone, last_us, WEEKS_SHOWN)  # of the time that have work, and those before them
    recent = Window(max(window.start_us, last_us - EXAMPLES_DAYS * US_PER_DAY), window.end_us)
    by_week = [skill.habit_counts(reader, scope, each) for each in weeks]
    decided = skill.decided_goals(reader, scope)
    return {
        "found": found,
        "next": next_habit(found.per_boolean, found.per_boolean_counts),
        "habits": {each: _by_week(each, by_week) for each in BOOLEANS},
        "best": skill.best_shown(reader, scope, recent),
        "missed": skill.newest_missed(reader, scope, recent),
        "weeks": weeks,
        "last_us": min(weeks[-1].end_us, window.end_us) - 1,
        "decided": sum(each.goals for each in decided),
        "pays": pays(decided),
        "pays_min": PAYS_MIN,
        "usual_goals": USUAL_GOALS,
    }


async def habits(call: BySignIn) -> Response:
    period = await period_of(call)
    found = await call.read(_found, period.window, call.own_zone)
    return await call.show("reflection/habits.html", period=period, text="", grade=None, **found)


def _by_week(name: BooleanName, weeks: Sequence[skill.HabitCounts]) -> Markup:
    shares = [100 * each.hits[name] / each.applied[name] if each.applied[name] else None for each in weeks]
    return charts.spark(f"Percent by week, the oldest first: {' '.join(map(percent, shares))}", shares)


async def grade(call: BySignIn, form: Form) -> Response:
    text, found = form.get("prompt", ""), None
    is_long = len(text.encode()) > prompt_grade.GRADED_BYTES_MAX
    if text.strip() and not is_long:
        found = await beside(call.body.cpu, len(text), partial(prompt_grade.grade_text, text))
    # htmx shows no answer that is an error.
    status = 400 if is_long and "HX-Request" not in call.request.headers else 200
    return await call.show("reflection/grade.html", status, text=text, grade=found, is_long=is_long)
