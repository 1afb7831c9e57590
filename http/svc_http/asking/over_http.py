"""The tools at `/mcp` of the API, by streamable HTTP: each request carries a key, and sees what that key may see.

Every question goes through the API itself, so its hosts, budgets, memberships and refusals hold here as well.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import msgspec
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings

from svc_http.asking.tools import build, refused

PATH = "/mcp"
BODY_BYTES_MAX = 256 * 1024
"""Of one message: the longest holds a prompt to grade."""
_KEY_CHECK = "/v1/sub-sessions/accuracy"
"""A cheap read that every key may make; asked before a message is looked at."""
_CARRIED = ("authorization", "host", "origin")
App = Callable[[Any, Any, Any], Awaitable[None]]


@asynccontextmanager
async def with_tools(api: App, version: str) -> AsyncIterator[App]:
    """The API with the tools at their path; they work until the end of the block."""
    server = build(_ask(api), version)
    tools = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY_BYTES_MAX,
        # The API refuses foreign hosts and origins itself.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await api(scope, receive, send)
        elif (answer := await _asked(api, scope, _KEY_CHECK, {})).is_success:
            await tools(scope, receive, send)
        else:
            await _passed_on(answer, send)

    async with tools.router.lifespan_context(tools):
        yield routed


def _ask(api: App) -> Callable[[Context[Any, Any], str, dict[str, object]], Awaitable[Any]]:
    async def ask(ctx: Context[Any, Any], path: str, query: dict[str, object]) -> Any:
        request = ctx.request_context.request
        assert request is not None, "it came by HTTP"
        answer = await _asked(api, request.scope, path, query)
        if answer.is_success:
            return msgspec.json.decode(answer.content)
        raise refused(_message(answer))

    return ask


async def _asked(api: App, scope: Any, path: str, query: dict[str, object]) -> httpx.Response:
    """What the API answers to the sender of this request."""
    carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    headers = {name: carried[name] for name in _CARRIED if name in carried}
    transport = httpx.ASGITransport(app=cast(Any, api), client=tuple(scope.get("client") or ("127.0.0.1", 0)))
    async with httpx.AsyncClient(transport=transport, base_url="http://svc", headers=headers) as client:
        return await client.get(path, params={name: str(value) for name, value in query.items()})


def _message(answer: httpx.Response) -> str:
    try:
        return str(msgspec.json.decode(answer.content, type=dict[str, Any])["message"])
    except (msgspec.DecodeError, KeyError):
        return f"svc answered {answer.status_code}"


async def _passed_on(answer: httpx.Response, send: Any) -> None:
    headers = [(name, value) for name, value in answer.headers.raw if name.lower() != b"transfer-encoding"]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})
