"""The lists of goals and of what was not counted."""

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import parse_qsl, urlencode

from quart import Response

from aggregates.reading.verdicts import Intent
from projections.sub_sessions.listing import Wanted, goals
from projections.sub_sessions.rows import GoalOutcome
from svc_http.pages.door import BySignIn, chosen
from svc_http.pages.period import period_of
from svc_http.pages.words import AGENTS, SAID, STATES
from svc_http.params import OFFSET_MAX, integer
from svc_http.routing import Routes

PAGE_ROWS = 50
WORDS_CHARACTERS_MAX = 100
routes = Routes()


def page_number(call: BySignIn) -> int:
    return min(max(integer(call.query, "page") or 1, 1), OFFSET_MAX // PAGE_ROWS)


@routes("GET /goals", "The goals, with filters.")
async def list_goals(call: BySignIn) -> Response:
    query, kind, outcome = call.query, None, None
    if query.get("kind"):
        kind = chosen("kind", query["kind"], get_args(Intent))
    if query.get("outcome"):
        outcome = chosen("outcome", query["outcome"], get_args(GoalOutcome))
    agent, words = query.get("agent", "").strip() or None, query.get("words", "")[:WORDS_CHARACTERS_MAX]
    asked = {"outcome": outcome, "kind": kind, "agent": agent, "said": "said" in query, "words": words}
    return await _listed(call, "goals.html", asked, outcomes=STATES, asked=asked, agents=AGENTS, reasons=SAID.reasons)


async def _listed(call: BySignIn, template: str, wanted: Mapping[str, Any], **shown: Any) -> Response:
    (window, period), number = await period_of(call), page_number(call)
    asked = dict(parse_qsl(period["period"].query)) | {each: of for each, of in wanted.items() if of}
    base = f"{call.request.path}?{urlencode(asked)}"
    found = await call.read(goals, Wanted(window=window, **wanted), PAGE_ROWS, (number - 1) * PAGE_ROWS)
    shown |= {"number": number, "base": f"{base}&", "here": f"{base}&page={number}"}
    return await call.show(template, **period, found=found, **shown)
