"""The seven habits: how often each shows, week by week, in one's own words, and whether it pays."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from quart import Response

from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores import prompt_grade
from aggregates.scores.insights import PAYS_MIN, USUAL_GOALS, pays
from aggregates.times import US_PER_DAY, Window
from projections.scores import skill
from projections.scores.score import newest_at
from svc_http.pages import charts
from svc_http.pages.charts import Bar
from svc_http.pages.door import BySignIn, form_of
from svc_http.pages.figures import WEEKS_SHOWN, labels_of
from svc_http.pages.period import period_of
from svc_http.pages.words import HABITS, counted, number
from svc_http.ports import beside
from svc_http.routing import Routes

EXAMPLES_DAYS = 90  # examples are of the last days of the chosen time: older words tell little of how one works now
routes = Routes()


@routes("GET /habits", "The seven habits.")
async def habits(call: BySignIn) -> Response:
    (window, period), weeks = await period_of(call), call.windows("weekly", WEEKS_SHOWN)
    recent = Window(max(window.start_us, window.end_us - EXAMPLES_DAYS * US_PER_DAY), window.end_us)
    counts, by_week, best, missed, told, newest = await call.read(
        lambda reader, scope: (
            skill.habit_counts(reader, scope, window),
            [skill.habit_counts(reader, scope, each) for each in weeks],
            skill.best_shown(reader, scope, recent),
            skill.newest_missed(reader, scope, recent),
            pays(skill.decided_goals(reader, scope)),
            newest_at(reader, scope),
        )
    )
    labelled = list(zip(labels_of(call, weeks), by_week, strict=True))
    return await call.show(
        "reflection/habits.html",
        **period,
        graded=counts.sample_count,
        newest_at=newest,
        habits=[_drawn(each, counts, labelled) for each in BOOLEANS],
        best=best,
        missed=missed,
        weeks_shown=WEEKS_SHOWN,
        pays=told,
        pays_min=PAYS_MIN,
        usual_goals=USUAL_GOALS,
        text="",
        grade=None,
    )


def _drawn(
    name: BooleanName, counts: skill.HabitCounts, by_week: Sequence[tuple[str, skill.HabitCounts]]
) -> dict[str, Any]:
    """One habit, as the page has it."""
    hits, of, unsure = counts.of(name)
    weeks = [(label, *week.of(name)) for label, week in by_week]
    bars = [
        Bar(label, (("reached", shown), ("missed", count - shown)), f"Week of {label}: {_sentence(shown, count)}")
        for label, shown, count, _ in weeks
    ]
    return {
        "name": name,
        "hits": hits,
        "of": of,
        "unsure": unsure,
        "bar": charts.share(_sentence(hits, of), (("reached", hits), ("missed", of - hits))),
        "weeks": weeks,
        "chart": charts.bars(f"{HABITS[name]}: prompts by week", bars, number),
    }


def _sentence(shown: float, of: int) -> str:
    return f"about {number(shown)} of {counted(of, 'prompt')}"


@routes("POST /habits/grade", "Grade a prompt as one types; nothing is stored.")
async def grade(call: BySignIn) -> Response:
    text, found = (await form_of(call)).get("prompt", ""), None
    is_long = len(text.encode()) > prompt_grade.GRADED_BYTES_MAX
    if text.strip() and not is_long:
        found = await beside(call.body.cpu, len(text), partial(prompt_grade.grade_text, text))
    # htmx shows no answer that is an error.
    status = 400 if is_long and "HX-Request" not in call.request.headers else 200
    return await call.show("reflection/grade.html", status, text=text, grade=found, is_long=is_long)
