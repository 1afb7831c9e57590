"""The list of goals: by time, outcome, kind, agent and project, in the order asked for."""

from collections.abc import Callable
from typing import Any, get_args
from urllib.parse import urlencode

from quart import Response

from projections import Sort
from projections.sub_sessions.goals import goals
from projections.sub_sessions.rows import GoalOutcome
from projections.sub_sessions.search import WORDS_CHARACTERS_MAX
from svc_http.bodies import HttpError
from svc_http.pages import rendering
from svc_http.pages.door import BySignIn, form_of
from svc_http.pages.period import NAMES, period_of
from svc_http.pages.words import SAID
from svc_http.params import OFFSET_MAX, Query, integer
from svc_http.routes.goals import FOUND_MAX, found_with, page_of_goals, wanted
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
    return await call.show("goals.html", **period, **shown_of(call.query), found=found)


@routes("POST /goals/search", "Goals in which some words were said.")
async def find_goals(call: BySignIn) -> Response:
    """What narrows the list stands in the address. The words do not: proxies log addresses."""
    (window, period), fields = await period_of(call), await form_of(call)
    words = fields.get("words", "").strip()
    if not words:
        return rendering.redirect(link_of(call.query)())
    if len(words) > WORDS_CHARACTERS_MAX:
        raise HttpError(400, f"look for at most {WORDS_CHARACTERS_MAX} characters")
    found = await found_with(call, wanted(call.query, window), words, FOUND_MAX, fields.get("cursor"))
    return await call.show("goals.html", **period, **shown_of(call.query) | {"found": found, "words": words})


def link_of(query: Query) -> Callable[..., str]:
    """Makes the address of the list, with something asked otherwise; None: no more."""
    asked = {name: query[name] for name in (*NAMES, *FILTERS) if query.get(name)}

    def link(at: str = "/goals", **other: str | None) -> str:
        sent = urlencode({name: text for name, text in (asked | other).items() if text})
        return f"{at}?{sent}" if sent else at

    return link


def shown_of(query: Query) -> dict[str, Any]:
    """What the list shows of what was asked for."""
    return {
        "asked": {name: query.get(name, "") for name in FILTERS},
        "link": link_of(query),
        "is_later": bool(query.get("cursor")),
        "tabs": TABS,
        "sorts": SORTS,
        "reasons": SAID.reasons,
        "undecided": SAID.undecided,
        "words": "",
    }
