"""One HTTP listener: finds the route, names the request, answers errors, and counts what it did.

Quart's own dispatch pushes two contexts, opens a cookie session and sends five signals for every request; none of
that is used here, so a listener goes from the route straight to its handler, which gets the request as an argument
(some 40 µs less a request).
"""

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from itertools import count
from typing import Concatenate
from uuid import uuid4

import msgspec
import structlog
from quart.wrappers import Request as QuartRequest
from quart.wrappers import Websocket
from quart_trio import QuartTrio
from quart_trio.wrappers import TrioResponse
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from aggregates.people.directory import Principal
from svc_http.auth import KEY_PATTERN, administrator
from svc_http.bodies import ClientGone, Request
from svc_http.connection import Connection
from svc_http.errors import HttpError, error_response, not_found, unavailable
from svc_http.ports import Service, Unavailable

Endpoint = Callable[..., Awaitable[TrioResponse]]
"""Gets the request, and the ids in its path as keyword arguments."""


CLIENT_GONE = 499
"""The status that the log shows where the client hung up before it was answered."""


_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


NO_ROUTE = "none"
"""The route of what no route answers, in logs and metrics; the path itself may hold anything."""


PATH_CHARS_SHOWN = 200
"""How much of an unknown path an error repeats."""


log = structlog.get_logger()


class Listener(QuartTrio):
    """A Quart application without the parts that no route needs."""

    request_class = Request
    asgi_http_class = Connection

    def __init__(self, name: str, body_bytes_max: int, service: Service) -> None:
        super().__init__("svc_http", static_folder=None)
        self.listener = name
        self._service = service
        self.config["MAX_CONTENT_LENGTH"] = body_bytes_max
        self.url_map.merge_slashes = False  # a path that is slightly wrong is a 404, not a redirect
        self._routes = self.url_map.bind("svc")
        self._endpoints: dict[str, Endpoint] = {}
        self._fixed: dict[tuple[str, str], Endpoint] = {}
        """Routes without an id in their path, found by one look-up."""
        self._fixed_methods: dict[str, set[str]] = {}
        """What such a path takes: the same path is never an id of another route."""

    def serve(self, method: str, path: str, endpoint: Endpoint) -> None:
        """Answer this method and path."""
        name = f"{method} {path}"
        self.add_url_rule(path, name, endpoint, methods=[method], provide_automatic_options=False)
        self._endpoints[name] = endpoint
        if "<" not in path:
            self._fixed[method, path] = endpoint
            self._fixed_methods.setdefault(path, set()).update((method, "HEAD") if method == "GET" else (method,))

    async def handle_request(self, request: QuartRequest) -> TrioResponse:
        """Answer one request, whatever happens, and count it."""
        assert isinstance(request, Request)
        started = time.perf_counter()
        request_id = _request_id(request)
        named = REQUEST_ID.set(request_id)
        route, status = NO_ROUTE, CLIENT_GONE
        try:
            try:
                route, endpoint, ids = self._found(request)
                response = await endpoint(request, **ids)
            except ClientGone:
                raise
            except Exception as error:
                response = await _failed(request, error, request_id)
            response.headers["X-Request-Id"] = request_id
            status = response.status_code
            return response
        finally:
            self._note(request, request_id, route, status, time.perf_counter() - started)
            REQUEST_ID.reset(named)

    def _note(self, request: Request, request_id: str, route: str, status: int, seconds: float) -> None:
        """Count the request; it is a line in the log only where the operator wants that."""
        self._service.observe(self.listener, request.method, route, status, seconds)
        if self._service.settings.access_log:
            duration_ms = round(seconds * 1_000, 3)
            log.info(
                "request",
                listener=self.listener,
                method=request.method,
                route=route,
                status=status,
                duration_ms=duration_ms,
                request_id=request_id,
            )

    def _found(self, request: Request) -> tuple[str, Endpoint, Mapping[str, str]]:
        """The route's path, its endpoint, and the ids in the path. Raises werkzeug's `NotFound`, `MethodNotAllowed`."""
        if request.scope["path"].startswith("//"):
            raise NotFound  # werkzeug drops all but one slash: what a proxy keeps away as /v1/admin would get by
        fixed = self._fixed.get((request.method, request.path))
        if fixed is not None:
            return request.path, fixed, {}
        taken = self._fixed_methods.get(request.path)
        if taken is not None and request.method not in taken:
            raise MethodNotAllowed(taken)
        rule, ids = self._routes.match(request.path, request.method, return_rule=True)
        return rule.rule, self._endpoints[rule.endpoint], ids

    async def handle_websocket(self, websocket: Websocket) -> TrioResponse:
        """There is no WebSocket route."""
        response = error_response(not_found(f"no WebSocket at {websocket.path[:PATH_CHARS_SHOWN]}"))
        response.headers["X-Request-Id"] = new_request_id()
        return response


def _request_id(request: Request) -> str:
    """The caller's own id where it is short and plain and no key that strayed into it, else a new one."""
    sent = request.headers.get("X-Request-Id")
    plain = sent is not None and _REQUEST_ID.fullmatch(sent) and not KEY_PATTERN.search(sent)
    return sent if sent is not None and plain else new_request_id()


async def _failed(request: Request, error: Exception, request_id: str) -> TrioResponse:
    """The answer to a request that failed. The body is taken in first, or the client would not see it."""
    answer = _http_error(request, error)
    if answer is None:
        log.error("a request broke", request_id=request_id, exc_info=error)
        answer = HttpError(500, f"internal error; the log knows more under request id {request_id}")
    await request.body.discard()
    return error_response(answer)


def _http_error(request: Request, error: Exception) -> HttpError | None:
    """The error as routes answer it; None for what is a fault of this program."""
    match error:
        case HttpError():
            return error
        case Unavailable():
            return unavailable(str(error))
        case NotFound():
            return not_found(f"no route {request.method} {request.path[:PATH_CHARS_SHOWN]}")
        case MethodNotAllowed():
            allowed = ", ".join(sorted(error.valid_methods or ()))
            message = f"{request.method} is not possible here; this route takes {allowed}"
            return HttpError(405, message, {"Allow": allowed})
        case HTTPException(code=int() as code):
            return HttpError(code, error.description or "the request cannot be served")
        case _:
            return None


# A route: what it answers to, and who may call it.

Open = Callable[Concatenate[Service, Request, ...], Awaitable[TrioResponse]]
"""A handler that needs no caller; ids of the path follow as keyword arguments."""


Personal = Callable[Concatenate[Service, Request, Principal, ...], Awaitable[TrioResponse]]
"""A handler of one developer's own data."""


Identify = Callable[[Service, Headers], Principal]


class Public(msgspec.Struct, frozen=True):
    """Anybody may call it."""

    method: str
    path: str
    handler: Open


class ByKey(msgspec.Struct, frozen=True):
    """A developer's key, or what the listener takes in its place."""

    method: str
    path: str
    handler: Personal


class BySecret(msgspec.Struct, frozen=True):
    """The internal secret."""

    method: str
    path: str
    handler: Open


Route = Public | ByKey | BySecret


def attach(listener: Listener, service: Service, identify: Identify, routes: Iterable[Route]) -> None:
    """Let a listener serve the routes; nobody reaches a handler without what its route demands."""
    for route in routes:
        listener.serve(route.method, route.path, _endpoint(service, identify, route))


def _endpoint(service: Service, identify: Identify, route: Route) -> Endpoint:
    match route:
        case Public(handler=handler):

            async def public(request: Request, **ids: str) -> TrioResponse:
                return await handler(service, request, **ids)

            return public
        case ByKey(handler=personal_handler):

            async def by_key(request: Request, **ids: str) -> TrioResponse:
                return await personal_handler(service, request, identify(service, request.headers), **ids)

            return by_key
        case BySecret(handler=admin_handler):

            async def by_secret(request: Request, **ids: str) -> TrioResponse:
                administrator(service, request.headers)
                return await admin_handler(service, request, **ids)

            return by_secret


# The name under which one request stands in the log and in its answer.

_PROCESS = uuid4().hex[:16]


_numbers = count(1)


REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is answered just now, also in the threads and tasks that it started: every line that they log
carries it."""


def new_request_id() -> str:
    """32 hex digits: the process, then the request. They name and protect nothing, so none of them is drawn anew."""
    return f"{_PROCESS}{next(_numbers):016x}"
