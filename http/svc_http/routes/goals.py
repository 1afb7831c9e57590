"""The goals of a range: listed, counted, sorted, and found by words that were said in them."""

from typing import Annotated, get_args

import msgspec

from aggregates.reading.verdicts import INTENTS, Intent
from aggregates.times import Window
from projections import Sort
from projections.sub_sessions.goals import Cursor, Goals, Wanted, goals
from projections.sub_sessions.rows import GoalOutcome
from projections.sub_sessions.search import WORDS_CHARACTERS_MAX, FoundGoals, search
from svc_http import params
from svc_http.bodies import HttpError
from svc_http.ports import in_turn
from svc_http.routing import Routes

FOUND_MAX = 50
routes = Routes()
_OUTCOME = params.Parameter("outcome", {"enum": list(get_args(GoalOutcome))}, "Only those that came out so.")
_INTENT = params.Parameter("intent_class", {"enum": list(INTENTS)}, "Only those of this kind.")
_PROJECT = "Only those of a project, by its key or name; `unknown` where nothing told it."
_SPOKEN = params.Parameter(
    "overridden", {"enum": ["true", "false"]}, "Only those that the caller said something about."
)
_SORT = params.choice("sort", get_args(Sort), "started", "By what they are sorted; what is not known comes last.")
_ORDER = params.choice("order", ("desc", "asc"), "desc", "Whether the most, or the newest, comes first.")
_CURSOR = params.text_parameter("cursor", "The `next` of the page before.")
_LISTED = (
    *params.until_now("the oldest goal"),
    *(_OUTCOME, _INTENT, params.text_parameter("agent", "Only those worked on with this agent.")),
    *(params.text_parameter("project", _PROJECT), _SPOKEN, _SORT, _ORDER, params.LIMIT, _CURSOR),
)


@routes("GET /v1/score_v3/goals", "Goals with how they came out.", _LISTED)
async def goals_of_range(call: params.ByKey) -> Goals:
    window = call.from_until(call.own_zone, call.service.now_us())
    return await call.read(goals, wanted(call.query, window), *page_of_goals(call.query))


def page_of_goals(query: params.Query) -> tuple[int, Cursor | None]:
    """How many, and from where on."""
    return params.LIMIT.read(query), cursor_sent(query.get("cursor"))


def wanted(query: params.Query, window: Window) -> Wanted:
    """Which goals the query asks for, and in which order."""
    return Wanted(
        window=window,
        outcome=params.any_of(query, "outcome", get_args(GoalOutcome)),
        intent_class=params.any_of(query, "intent_class", INTENTS),
        agent=query.get("agent") or None,
        project=query.get("project") or None,
        overridden=params.any_of(query, "overridden", ("true", "false")) == "true",
        sort=_SORT.read(query),
        ascending=_ORDER.read(query) == "asc",
    )


def cursor_sent(text: str | None) -> Cursor | None:
    with params.refusing():
        return Cursor.read(text) if text else None


class SearchBody(msgspec.Struct, rename={"from_time": "from"}):
    words: Annotated[str, msgspec.Meta(max_length=WORDS_CHARACTERS_MAX)]
    from_time: str | None = None
    to: str | None = None
    outcome: GoalOutcome | None = None
    intent_class: Intent | None = None
    agent: str | None = None
    project: str | None = None
    overridden: bool | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=FOUND_MAX)] | None = None
    cursor: str | None = None


@routes("POST /v1/score_v3/goals/search", "Goals in which some words were said, as far back as a second leads.")
async def goals_with_words(call: params.ByKey, body: SearchBody) -> FoundGoals:
    asked = call.asking(msgspec.to_builtins(body))
    window = asked.from_until(call.own_zone, call.service.now_us())
    return await found_with(call, wanted(asked.query, window), body.words, body.limit or FOUND_MAX, body.cursor)


async def found_with(call: params.ByKey, which: Wanted, words: str, limit: int, cursor: str | None) -> FoundGoals:
    """One search at a time, whoever asks, charged to them. Raises `HttpError` 400."""
    if not words.strip():
        raise HttpError(400, "words is blank; send what was said in a prompt or an answer")
    after = cursor_sent(cursor)
    async with in_turn():
        return await call.read(search, which, words, limit, after, call.service.now_us)
