"""The tools at `/mcp` of the API, by streamable HTTP: a route like every other, each request with a key of its own.

A tool asks what a route answers, as whoever sent the message; so memberships and refusals hold here as well.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import msgspec
import trio
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from quart_trio import QuartTrio
from quart_trio.wrappers import TrioResponse
from werkzeug.datastructures import MultiDict
from werkzeug.routing import Map, Rule

from aggregates.scores.grades import PromptGrade, grade_text
from svc_http.asking.tools import build, refused
from svc_http.bodies import HttpError, check_content_type, unavailable
from svc_http.lane import beside
from svc_http.params import ByKey, Query
from svc_http.ports import Service, Unavailable
from svc_http.routes import scores, sub_sessions
from svc_http.routing import Plain, Routes, attach, by_credentials, caller_of_intake, path_id

PATH = "/mcp"
BODY_BYTES_MAX = 256 * 1024
"""Of one message: the longest holds a prompt to grade."""
ANSWER_SECONDS_MAX = 30.0
_CALL = "svc.call"
"""Where a message bears whose request it is."""
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding")
_MESSAGE = Plain("application/json", {"type": "object"})
_ROUTES = {route.path: route for family in (scores, sub_sessions) for route in family.routes if route.method == "GET"}
_PATHS = Map([Rule(path, endpoint=path) for path in _ROUTES]).bind("svc")


@asynccontextmanager
async def with_tools(api: QuartTrio, service: Service) -> AsyncIterator[None]:
    """Let the API serve the tools at their path; they work until the end of the block."""
    tools = build(_ask, _graded, service.settings.version).streamable_http_app(
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
        request = call.request
        check_content_type(request, "application/json")
        data = (await call.body.sent(BODY_BYTES_MAX)).unpacked(BODY_BYTES_MAX)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_THE_BODY}

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


def _sender(ctx: Context[Any, Any]) -> ByKey:
    message = ctx.request_context.request
    assert message is not None, "it came by HTTP"
    sender: ByKey = message.scope[_CALL]
    return sender


async def _graded(ctx: Context[Any, Any], text: str) -> PromptGrade:
    return await beside(_sender(ctx).body.cpu, len(text), partial(grade_text, text))


class _Question(ByKey, frozen=True):
    """What a tool asks a route, as the sender of the message."""

    asked: Query

    @property
    def query(self) -> Query:
        return self.asked


async def _ask(ctx: Context[Any, Any], path: str, query: dict[str, object]) -> Any:
    sender = _sender(ctx)
    name, texts = _PATHS.match(path)
    asked = MultiDict({of: str(value) for of, value in query.items()})
    try:
        ids = {of: path_id(text, of) for of, text in texts.items()}
        answer = await _ROUTES[name].handler(
            _Question(sender.service, sender.request, sender.body, sender.caller, asked), **ids
        )
    except (HttpError, Unavailable) as error:
        raise refused(str(error)) from error
    return msgspec.to_builtins(answer)
