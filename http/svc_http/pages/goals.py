"""The list of goals: by time, outcome, kind, agent and project, in the order asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args
from urllib.parse import urlencode

from quart import Response

from projections import Sort
from projections.sub_sessions.goals import goals
from projections.sub_sessions.projects import projects_of
from projections.sub_sessions.rows import GoalOutcome
from projections.sub_sessions.search import WORDS_CHARACTERS_MAX
from svc_http.bodies import Form, HttpError
from svc_http.pages import rendering
from svc_http.pages.door import BySignIn
from svc_http.pages.period import NAMES, period_of
from svc_http.pages.words import KINDS, SAID, STATES
from svc_http.params import Query
from svc_http.routes.goals import FOUND_MAX, found_with, page_of_goals, wanted

TABS: tuple[GoalOutcome, ...] = ("reached", "undecided", "not_reached", "repeated", "going_on", "not_counted")
assert {*SAID.sorts} == {*get_args(Sort)}
FILTERS = ("outcome", "intent_class", "agent", "project", "overridden", "sort", "order")
"""The parameters of the address beside the period; they are those of the API."""
SEARCH = "/goals/search"
LinkTo = Callable[..., str]


async def list_goals(call: BySignIn) -> Response:
    period = await period_of(call)
    found = await call.read(goals, wanted(call.query, period.window), *page_of_goals(call.query))
    return await call.show("goals.html", period=period, **shown_of(call.query, await _projects(call)), found=found)


async def find_goals(call: BySignIn, form: Form) -> Response:
    """What was found has an address, which narrows the list and names the search; so one comes back to it."""
    words = form.get("words", "").strip()
    if not words:
        return rendering.redirect(link_of(carried(call.query))())
    if len(words) > WORDS_CHARACTERS_MAX:
        raise HttpError(400, f"look for at most {WORDS_CHARACTERS_MAX} characters")
    name = call.service.searches.keep(call.sign_in.id, words)
    return rendering.redirect(link_of(carried(call.query))(SEARCH, search=name))


async def found_goals(call: BySignIn) -> Response:
    words = looked_for(call)
    if words is None:
        gone = "search-gone" if "search" in call.query else None
        return rendering.redirect(link_of(carried(call.query))(said=gone))
    period = await period_of(call)
    found = await found_with(call, wanted(call.query, period.window), words, FOUND_MAX, call.query.get("cursor"))
    shown = shown_of(call.query, await _projects(call))
    return await call.show("goals.html", period=period, **shown | {"found": found, "words": words})


async def _projects(call: BySignIn) -> dict[str, str]:
    """Key → name, where a project is asked for."""
    if not call.query.get("project"):
        return {}
    return await call.read(lambda *who: {each.key: each.name for each in projects_of(*who).of.values()})


def looked_for(call: BySignIn) -> str | None:
    """Of the search that the address names."""
    return call.service.searches.words(call.sign_in.id, call.query.get("search", ""))


def carried(query: Query, names: Sequence[str] = FILTERS) -> dict[str, str]:
    """Of an address the period, and what else goes along with every link."""
    return {name: query[name] for name in (*NAMES, *names) if query.get(name)}


def link_of(asked: Mapping[str, str], here: str = "/goals") -> LinkTo:
    """Makes addresses with what is asked, something of it otherwise; None: no more."""

    def link(at: str = here, **other: object) -> str:
        sent = urlencode({name: value for name, value in {**asked, **other}.items() if value})
        return f"{at}?{sent}" if sent else at

    return link


def shown_of(query: Query, projects: Mapping[str, str]) -> dict[str, Any]:
    """What the list shows of what was asked for. `projects`: their names by their keys, which tell nobody anything."""
    called = {**STATES, **KINDS, "true": "that you corrected", "unknown": "of no known project", **projects}
    return {
        "asked": {name: query.get(name, "") for name in FILTERS},
        "called": called,
        "link": link_of(carried(query)),
        "to_goal": link_of(carried(query, (*FILTERS, "search"))),
        "search": query.get("search"),
        "narrowed_by": [(key, called.get(it, it)) for key in FILTERS[:5] if (it := query.get(key)) and it != "false"],
        "is_later": bool(query.get("cursor")),
        "tabs": TABS,
        "words": "",
    }
