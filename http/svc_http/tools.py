"""The seven tools of MCP, each a read of the API: they change nothing, and quote what somebody else wrote."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pkgutil import get_data
from typing import Annotated, Any

import httpx
import msgspec
import trio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from pydantic import Field
from quart_trio import QuartTrio
from quart_trio.wrappers import TrioResponse
from werkzeug.routing import Map, Rule

from aggregates.event import Unavailable
from aggregates.ids import plain
from aggregates.judging.prompt import next_habit
from aggregates.scores.prompt_grade import GRADED_BYTES_MAX, PromptGrade, grade_text
from projections import CostBy
from projections.sub_sessions.goals import WORDS_CHARACTERS_MAX
from projections.sub_sessions.rows import GoalOutcome
from svc_http.bodies import HttpError, check_content_type, unavailable
from svc_http.pages.words import HABITS, NEXT_HABIT
from svc_http.params import ByKey
from svc_http.ports import Service, beside
from svc_http.records import TODAY, span_of, today_in
from svc_http.routes import scores, sub_sessions
from svc_http.routing import Plain, Routes, attach, by_credentials, caller_of_intake, path_ids

PATH = "/mcp"
BODY_BYTES_MAX = 256 * 1024  # of one message: the longest holds a prompt to grade
ANSWER_SECONDS_MAX = 30.0
GOALS_MAX = 50
QUOTED_CHARACTERS_MAX = 120
_WORDS = msgspec.toml.decode(get_data(__name__, "tools.toml") or b"", type=dict[str, str])
NOTE = _WORDS["note"]
Found = dict[str, Any]
Asker = Context[Any, Any]
Ask = Callable[[Asker, str, dict[str, object]], Awaitable[Any]]
"""What a route of the API answers to the person who asks in this request; to a POST the query is its body. Raises
`ToolError`."""
Grade = Callable[[Asker, str], Awaitable[PromptGrade]]
Days = Annotated[int | str, Field(description="The last so many days; or `all`, or a month as 2026-03.")]
Limit = Annotated[int, Field(ge=1, le=GOALS_MAX)]
_V3 = "/v1/score_v3"
_QUOTED = ("title", "name")
_PARTS = ("boundary", "floor", "rubric", "outcome", "rework")
_CALL = "svc.call"  # where a message bears whose request it is
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding")
_MESSAGE = Plain("application/json", {"type": "object"})
SEARCH = f"{_V3}/goals/search"
_ROUTES = {
    route.path: route
    for family in (scores, sub_sessions)
    for route in family.routes
    if route.method == "GET" or route.path == SEARCH
}
_PATHS = Map([Rule(path, endpoint=path) for path in _ROUTES]).bind("svc")


def chosen(found: Mapping[str, Any], what: str) -> Found:
    """The fields of what the API answers that are told of this; words that somebody wrote are quoted."""
    return {name: quoted(found[name]) if name in _QUOTED else found[name] for name in _WORDS[what].split()}


def quoted(text: object) -> Found:
    """One line of it, without characters that steer anything, and its end cut off."""
    line = " ".join(plain(str(text or "")).split())
    cut = line if len(line) <= QUOTED_CHARACTERS_MAX else line[: QUOTED_CHARACTERS_MAX - 1] + "…"
    return {"quoted_data": cut}


def build(ask: Ask, grade: Grade, version: str) -> MCPServer[Any]:
    """The server with its tools, over a way to ask and one to grade. `version`: of svc."""
    server: MCPServer[Any] = MCPServer(
        "svc",
        instructions=_WORDS["instructions"].format(note=NOTE),
        version=version,
        log_level="WARNING",
        subscriptions=False,
    )
    read_only = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    for name, function in vars(_Tools).items():
        if not name.startswith("_"):
            about = f"{' '.join(function.__doc__.split())} {NOTE}"
            tool = getattr(_Tools(ask, grade), name)
            server.tool(description=about, annotations=read_only, structured_output=True)(tool)
    return server


class _Tools:
    def __init__(self, ask: Ask, grade: Grade) -> None:
        self._ask = ask
        self._grade = grade

    async def my_day(
        self, ctx: Asker, date: Annotated[str | None, Field(pattern=r"^\d{4}-\d\d-\d\d$")] = None
    ) -> Found:
        """The caller's day in figures: goals, prompts, tokens, cost. Today, unless a date (YYYY-MM-DD) is given."""
        return chosen(await self._ask(ctx, f"{_V3}/today-summary", {} if date is None else {"date": date}), "day")

    async def my_goals(
        self,
        ctx: Asker,
        limit: Limit = 10,
        days: Days = "all",
        outcome: GoalOutcome | None = None,
        words: Annotated[str | None, Field(max_length=WORDS_CHARACTERS_MAX)] = None,
    ) -> Found:
        """The caller's goals, the newest first: how each came out, and how many came out how. With words: those in
        which all of them were said, as far back as a second leads."""
        query = await self._span(ctx, days) | {"limit": limit} | ({"outcome": outcome} if outcome else {})
        found = await self._ask(ctx, *((SEARCH, {**query, "words": words}) if words else (f"{_V3}/goals", query)))
        told = chosen(found, "found" if words else "goals")
        return {**told, "goals": [chosen(each, "goal") for each in found["goals"]]}

    async def explain_goal(self, ctx: Asker, id: Annotated[str, Field(pattern=r"^[0-9a-fA-F-]{8,36}$")]) -> Found:
        """Why a goal of the caller is judged as it is. The id is one that my_goals gives, or its first 8 characters."""
        goal = await self._ask(ctx, f"{_V3}/sub-sessions/{id}", {})
        why = await self._ask(ctx, f"{_V3}/sub-sessions/{id}/explain", {})
        evidence = ("evidence_for", "evidence_against")  # the words in which it was seen are not given
        return {
            **chosen(goal, "explained"),
            "verdict": why["verdict"],
            **{part: why[part]["text"] for part in _PARTS},
            **{side: [each["what"] for each in why["outcome"][side]] for side in evidence},
        }

    async def my_habits(self, ctx: Asker, days: Days = 30) -> Found:
        """How often the caller's prompts show each of the seven habits, and which to practise next."""
        found = await self._ask(ctx, f"{_V3}/skill", await self._span(ctx, days))
        trained = next_habit(found["per_boolean"], found["per_boolean_counts"])
        return {
            **chosen(found, "skill"),
            "what_a_prompt_does": dict(HABITS),
            "next_habit": trained and NEXT_HABIT[trained],
        }

    async def my_limits(self, ctx: Asker, days: Days = 30) -> Found:
        """What rate limits, errors of servers and outages cost the caller."""
        return dict((await self._ask(ctx, "/v1/intelligence/throttle", await self._span(ctx, days)))["summary"])

    async def my_cost(self, ctx: Asker, days: Days = 30, by: CostBy = "model") -> Found:
        """What the caller's goals cost, and that of goals not reached. A null cost is not known whole."""
        found = await self._ask(ctx, f"{_V3}/cost", {**await self._span(ctx, days), "by": by})
        groups = [chosen(each, "cost_group") for each in found["groups"][:GOALS_MAX]]
        return {**{sums: chosen(found[sums], "cost") for sums in ("total", "not_reached")}, "groups": groups}

    async def grade_prompt(
        self, ctx: Asker, text: Annotated[str, Field(min_length=1, max_length=GRADED_BYTES_MAX)]
    ) -> Found:
        """Grade a prompt before it is sent: the habits it shows, and what to add. Nothing of it is stored."""
        if len(text.encode(errors="replace")) > GRADED_BYTES_MAX:
            raise ToolError(f"the text is longer than {GRADED_BYTES_MAX} bytes; shorten it")
        graded = await self._grade(ctx, text)
        applying = [each for each in graded.habits if each.applies]
        return {
            **{name: getattr(graded, name) for name in ("kind_told", "score", "grade_told")},
            "score_interval": msgspec.to_builtins(graded.score_interval),
            "shown": [HABITS[each.boolean] for each in applying if each.earned],
            "missing": [NEXT_HABIT[each.boolean] for each in applying if not (each.earned or each.unsure)],
        }

    async def _span(self, ctx: Asker, days: int | str) -> dict[str, object]:
        """As the pages count them."""
        today, _ = today_in((await self._ask(ctx, *TODAY))["range"])
        try:
            return span_of({"days": str(days)}, today)[0]
        except ValueError as error:
            raise ToolError(str(error)) from error


# --- by HTTP: a route like every other, each message with a key of its own ----------------------------------------


@asynccontextmanager
async def with_tools(api: QuartTrio, service: Service) -> AsyncIterator[None]:
    """Let the API serve the tools at their path; they work until the end of the block."""
    tools = build(_ask, _grade, service.settings.version).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY_BYTES_MAX,
        # The API refuses foreign hosts and origins itself.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    attach(api, service, by_credentials(caller_of_intake), new_routes(tools))
    async with tools.router.lifespan_context(tools):
        yield


def new_routes(tools: Any) -> Routes:
    """Only POST: nothing here opens a stream."""
    routes = Routes()

    @routes(f"POST {PATH}", "One message of MCP.", answers=_MESSAGE, body=_MESSAGE)
    async def message(call: ByKey) -> TrioResponse:
        check_content_type(call.request, "application/json")
        data = (await call.body.sent(BODY_BYTES_MAX)).unpacked(BODY_BYTES_MAX)
        headers = {name: value for name, value in call.request.headers.items() if name.lower() not in _OF_THE_BODY}

        async def of_call(scope: Any, receive: Any, send: Any) -> None:
            await tools({**scope, _CALL: call}, receive, send)

        transport = httpx.ASGITransport(app=of_call)
        try:
            with trio.fail_after(ANSWER_SECONDS_MAX):
                async with httpx.AsyncClient(transport=transport, base_url="http://svc", headers=headers) as client:
                    answer = await client.post(PATH, content=data)
        except trio.TooSlowError as error:
            raise unavailable(f"this took longer than {ANSWER_SECONDS_MAX} s; try again later") from error
        return TrioResponse(answer.content, answer.status_code, content_type=answer.headers.get("Content-Type"))

    return routes


def _sender(ctx: Asker) -> ByKey:
    message = ctx.request_context.request
    assert message is not None, "it came by HTTP"
    sender: ByKey = message.scope[_CALL]
    return sender


async def _grade(ctx: Asker, text: str) -> PromptGrade:
    return await beside(_sender(ctx).body.cpu, len(text), partial(grade_text, text))


async def _ask(ctx: Asker, path: str, query: dict[str, object]) -> Any:
    name, texts = _PATHS.match(path)
    question, route = _sender(ctx).asking(query), _ROUTES[name]
    try:
        values: Found = await path_ids(question, {}, texts)
        if route.body is not None:
            values = {"body": msgspec.convert(query, route.body)}
        return msgspec.to_builtins(await route.handler(question, **values))
    except (HttpError, Unavailable) as error:
        raise ToolError(error.told if isinstance(error, Unavailable) else error.message) from error
