"""The list of goals: by time, outcome, kind, agent and project, in the order asked for."""

from typing import Any, get_args
from urllib.parse import urlencode

from quart import Response

from projections.sub_sessions.goals import Goals, Sort, goals
from projections.sub_sessions.rows import GoalOutcome
from svc_http.pages.door import BySignIn
from svc_http.pages.period import NAMES, period_of
from svc_http.pages.words import SAID, STATES
from svc_http.params import OFFSET_MAX, Query, integer
from svc_http.routes.goals import page_of_goals, wanted
from svc_http.routing import Routes

PAGE_ROWS = 50
TABS: tuple[GoalOutcome, ...] = ("reached", "undecided", "not_reached", "repeated", "going_on", "not_counted")
SORTS: dict[Sort, str] = {
    "started": "newest",
    "cost": "cost",
    "tokens": "tokens",
    "duration": "time taken",
    "turns": "turns",
    "grade": "grade",
}
assert {*SORTS} == {*get_args(Sort)}
FILTERS = ("outcome", "intent_class", "agent", "project", "overridden", "sort", "order")
"""The parameters of the address beside the period; they are those of the API."""
routes = Routes()


def page_number(call: BySignIn) -> int:
    return min(max(integer(call.query, "page") or 1, 1), OFFSET_MAX // PAGE_ROWS)


@routes("GET /goals", "The goals, with filters.")
async def list_goals(call: BySignIn) -> Response:
    window, period = await period_of(call)
    found = await call.read(goals, wanted(call.query, window), *page_of_goals(call.query))
    return await call.show("goals.html", **period, **shown_of(call.query, found))


def shown_of(query: Query, found: Goals) -> dict[str, Any]:
    """What the list shows of what was asked and found."""
    asked = {name: query[name] for name in FILTERS if query.get(name)}
    time = {name: query[name] for name in NAMES if query.get(name)}

    def link(**other: str | None) -> str:
        """The list with something asked otherwise; None: no more."""
        return f"/goals?{urlencode({name: text for name, text in (time | asked | other).items() if text})}"

    return {
        "found": found,
        "asked": {name: asked.get(name, "") for name in FILTERS},
        "link": link,
        "is_later": bool(query.get("cursor")),
        "tabs": TABS,
        "sorts": SORTS,
        "reasons": SAID.reasons,
        "undecided": SAID.undecided,
        "states": STATES,
        "projects": [*found.projects, None] if found.projects else [],
    }
