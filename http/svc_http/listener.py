"""One HTTP listener: a Quart application whose answers bear a request id and whose errors are JSON."""

import re
import time
from collections.abc import Iterator, Set
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from math import inf
from typing import cast
from uuid import uuid4

import structlog
from hypercorn import typing
from quart import Response, current_app, has_websocket_context, request, websocket
from quart_trio import QuartTrio
from trio import CancelScope, Event, current_time, move_on_after, sleep_forever, sleep_until
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.http import dump_cookie

from aggregates.event import Unavailable
from svc_http.bodies import SMALL_BYTES_MAX, ErrorBody, HttpError, json_reply, unavailable
from svc_http.ports import NotRefreshed, Service
from svc_http.routing import KEY_PATTERN, is_own_origin

CLIENT_GONE = 499  # the status that the log shows where the client hung up before it was answered
ROUTE = "route"  # where the request's scope tells the route that answers it, without its ids
NO_ROUTE = "none"  # the route of what no route answers, in logs and metrics; the path itself may hold anything
PATH_CHARS_SHOWN = 200  # how much of an unknown path an error repeats
UNREAD_BYTES_MAX = 64 * 1024 * 1024  # how much of a refused body still arrives before the answer
UNREAD_SECONDS_MAX = 10.0  # and how long that may take
LARGE_BYTES_PER_SECOND = 24 * 1024 * 1024  # all bodies together, each beyond `SMALL_BYTES_MAX`: else the loop gets slow
AT_ONCE_SECONDS = 0.01  # of that pace, 250 KB, come without a rest: a rest costs the loop as much as an export's head
WRITE_SECONDS_MAX = 20.0  # how long a client may leave a piece of an answer untaken
_NEEDLESS_CODING = re.compile(rb"%(?:2[def]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae]|25)", re.IGNORECASE)
"""What stands for itself, a slash, a backslash or a percent sign: a proxy that keeps /v1/admin away compares the path
as it was sent."""
POSITION_HEADER, POSITION_COOKIE = "X-Svc-Position", "svc_position"
POSITION_SECONDS = 60  # how long a browser sends a position back; every node holds it long before
_POSITION = re.compile(r"[0-9]{1,18}")
_READS = ("GET", "HEAD")
_OF_THE_NODE = ("/health", "/metrics")  # routes that tell of the node, and wait for nothing
_HOST = re.compile(r":[0-9]*$")
_ADDRESS = re.compile(r"[0-9.]+|\[[0-9a-f:.%]+\]")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
log = structlog.get_logger()


# --- around every request -------------------------------------------------------------------------------


async def _begin(service: Service, *, captures: bool) -> None:
    """Refuse what two programs might read differently. Raises `HttpError`, `NotFound`, `Unavailable`.

    Where nodes share a log, nobody is shown less than another node has told them is stored. An edit speaks of what its
    sender has seen, and waits as a read does. `captures`: writes of this listener do not.
    """
    scope, headers = request.scope, request.headers
    path = scope["path"]
    if request.url_rule:
        cast(dict[str, object], scope)[ROUTE] = request.url_rule.rule
    if "Content-Length" in headers and "Transfer-Encoding" in headers:
        raise HttpError(400, "send Content-Length or Transfer-Encoding, not both", {"Connection": "close"})
    if not path.startswith("/") or path.startswith("//"):
        raise NotFound  # werkzeug drops all but one slash: what a proxy keeps away as /v1/admin would get by
    if _NEEDLESS_CODING.search(scope.get("raw_path", b"")):
        raise HttpError(404, "the path percent-encodes letters, digits or slashes; send them as they are")
    if not captures:
        _check_browser(service.settings.api_hosts)
    waits = service.shared_position() is not None and not path.startswith(_OF_THE_NODE)
    if waits and (request.method in _READS or not captures):
        told = headers.get(POSITION_HEADER) or request.cookies.get(POSITION_COOKIE, "")
        if _POSITION.fullmatch(told):
            await service.reach(int(told))


def _check_browser(api_hosts: Set[str]) -> None:
    """Keep web pages from elsewhere away from what is private. Raises `HttpError` 421 or 403."""
    # Anybody may set up a host name that leads here. Nobody owns a name without a dot, and an address is no name.
    host = _HOST.sub("", request.headers.get("Host", "")).lower().rstrip(".")
    nobodys = "." not in host or host.endswith(".localhost") or _ADDRESS.fullmatch(host)
    if not nobodys and host not in api_hosts:
        raise HttpError(421, f"{host[:PATH_CHARS_SHOWN]!r} is no name of this server; add it to its setting api_hosts")
    origin = request.headers.get("Origin")
    if request.method not in _READS and origin is not None and not is_own_origin(request.headers):
        raise HttpError(403, f"the page of {origin[:PATH_CHARS_SHOWN]!r} may change nothing here")


# --- errors ---------------------------------------------------------------------------------------------


async def _failed(error: Exception) -> Response:
    shown = _http_error(error)
    if shown.status == 413 and cast(Listener, current_app).listener == "api":
        shown = HttpError(400, shown.message)  # the contract has 413 on intake alone
    page = None if has_websocket_context() else current_app.config.get("ERROR_PAGE")
    if page is not None and "text/html" in request.headers.get("Accept", "") and not request.path.startswith("/v1/"):
        paged: Response = await page(shown)
        return paged
    response = json_reply(ErrorBody(shown.status, shown.message), shown.status)
    response.headers.update(shown.headers)
    if has_websocket_context():  # `after_request` is for HTTP alone
        response.headers["X-Request-Id"] = new_request_id()
    return response


def _http_error(error: Exception) -> HttpError:
    """The error as routes answer it; what is a fault of this program goes to the log."""
    match error:
        case HttpError():
            each: BaseException | None = error
            while each is not None:  # the frames of a refusal hold a large body until the collector comes by
                each.__traceback__ = None
                each = each.__cause__ or each.__context__
            return error
        case Unavailable():
            return unavailable(error.told)
        case NotRefreshed():
            return HttpError(502, str(error))
        case NotFound():
            asked = websocket if has_websocket_context() else request
            return HttpError(404, f"no route {asked.method} {asked.path[:PATH_CHARS_SHOWN]}")
        case MethodNotAllowed():
            # A path that a route spells out is that route's alone, though it may fit another one's id as well.
            spelled = [rule.methods or () for rule in current_app.url_map.iter_rules() if rule.rule == request.path]
            allowed = ", ".join(sorted(set(chain(*spelled)) or error.valid_methods or ()))
            message = f"{request.method} is not possible here; this route takes {allowed}"
            return HttpError(405, message, {"Allow": allowed})
        case HTTPException(code=int() as code):
            return HttpError(code, error.description or "the request cannot be served")
        case _:
            request_id = REQUEST_ID.get()
            log.error("a request broke", request_id=request_id, exc_info=error)
            return HttpError(500, f"internal error; the log knows more under request id {request_id}")


# --- slow clients ---------------------------------------------------------------------------------------


class Listener(QuartTrio):
    """A Quart application that names and counts its answers, and waits for slow clients, within bounds."""

    def __init__(self, name: str, service: Service, body_bytes_max: int) -> None:
        super().__init__("svc_http", static_folder=None)
        self.listener, self.service = name, service
        self.large = Pace(LARGE_BYTES_PER_SECOND)
        self.url_map.merge_slashes = False  # a path that is slightly wrong is a 404, not a redirect
        self.config["MAX_CONTENT_LENGTH"] = body_bytes_max
        self.before_request(partial(_begin, service, captures=name == "intake"))
        self.register_error_handler(Exception, _failed)

    async def asgi_app(
        self, scope: typing.Scope, receive: typing.ASGIReceiveCallable, send: typing.ASGISendCallable
    ) -> None:
        if scope["type"] != "http":
            return await super().asgi_app(scope, receive, send)
        headers = dict(scope["headers"])
        # The caller's own id where it is short and plain and no key that strayed into it.
        sent = headers.get(b"x-request-id", b"").decode("latin1")
        REQUEST_ID.set(sent if _REQUEST_ID.fullmatch(sent) and not KEY_PATTERN.search(sent) else new_request_id())
        with CancelScope() as whole:
            exchange = Exchange(self, scope, receive, send, whole)
            if int(headers.get(b"content-length", 0)) > UNREAD_BYTES_MAX:
                exchange.arrived.set()
            try:
                await super().asgi_app(scope, exchange.receive, exchange.send)
            finally:
                exchange.count(CLIENT_GONE)


@dataclass(eq=False)
class Exchange:
    """A request and its answer; an error waits until the body was received, else the client sees only a reset."""

    _listener: Listener
    _scope: typing.HTTPScope
    _receive: typing.ASGIReceiveCallable
    _send: typing.ASGISendCallable
    _whole: CancelScope
    _received_bytes: int = 0
    _answering: bool = False
    _ending: bool = False

    def __post_init__(self) -> None:
        self._began = time.perf_counter()
        self.arrived = Event()  # whether nothing more of the body is waited for

    async def receive(self) -> typing.ASGIReceiveEvent:
        """The next message; without its data once the answer stands."""
        message = await self._receive()
        if message["type"] != "http.request":
            self.arrived.set()
            if self._ending:
                # The server says so while it takes the last of the answer in. Quart would cancel the sender for that,
                # and with it the server's own closing of the connection, or its watch over an idle one.
                await sleep_forever()
            return message
        size_bytes = len(message.get("body", b""))
        self._received_bytes += size_bytes
        if not message.get("more_body", False) or self._received_bytes > UNREAD_BYTES_MAX:
            self.arrived.set()
        if self._received_bytes > SMALL_BYTES_MAX:
            await self._listener.large.take_turn(size_bytes)
        return {**message, "body": b""} if self._answering else message

    async def send(self, message: typing.ASGISendEvent) -> None:
        """Send a piece of the answer; give the client up that does not take it."""
        if message["type"] == "http.response.start":
            self.count(message["status"])
            self._answering = True
            if message["status"] >= 400:
                with move_on_after(UNREAD_SECONDS_MAX):
                    await self.arrived.wait()
            return await self._send({**message, "headers": [*message["headers"], *self._named(message)]})
        self._ending = message["type"] == "http.response.body" and not message.get("more_body", False)
        self._whole.deadline = current_time() + WRITE_SECONDS_MAX
        await self._send(message)
        if not self._ending:  # what follows the end takes no time, and moving a deadline takes some
            self._whole.deadline = inf

    def count(self, status: int) -> None:
        """Count the request once; it is a line in the log only where the operator wants that."""
        if self._answering:
            return
        method, route = self._scope["method"], cast(str, self._scope.get(ROUTE, NO_ROUTE))
        seconds, service = time.perf_counter() - self._began, self._listener.service
        service.observe(self._listener.listener, method, route, status, seconds)
        if service.settings.access_log:
            log.info(
                "request",
                listener=self._listener.listener,
                method=method,
                route=route,
                status=status,
                duration_ms=round(seconds * 1_000, 3),
                request_id=REQUEST_ID.get(),
            )

    def _named(self, message: typing.HTTPResponseStartEvent) -> Iterator[tuple[bytes, bytes]]:
        """What every answer bears; after a write the position, which the sender's next read brings back."""
        yield b"x-request-id", (REQUEST_ID.get() or "").encode()
        yield b"x-content-type-options", b"nosniff"
        if all(name != b"cache-control" for name, _ in message["headers"]):
            yield b"cache-control", b"no-store"
        position = self._listener.service.shared_position()
        if position is not None and self._scope["method"] not in _READS and message["status"] < 400:
            yield POSITION_HEADER.lower().encode(), str(position).encode()
            cookie = dump_cookie(POSITION_COOKIE, str(position), POSITION_SECONDS, httponly=True, samesite="Lax")
            yield b"set-cookie", cookie.encode()


class Pace:
    """So many bytes a second, whoever they come from; what comes after a pause may come at once, up to a bound."""

    def __init__(self, bytes_per_second: int) -> None:
        self._bytes_per_second = bytes_per_second
        self._free_at = -inf

    async def take_turn(self, size_bytes: int) -> None:
        now = current_time()
        self._free_at = max(self._free_at, now - AT_ONCE_SECONDS) + size_bytes / self._bytes_per_second
        if self._free_at > now:
            await sleep_until(self._free_at)


_PROCESS = uuid4().hex[:16]
_numbers = count(1)

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is answered just now, also in the threads and tasks that it started: every line that they log
carries it."""


def new_request_id() -> str:
    """32 hex digits: the process, then the request. They name and protect nothing, so none of them is drawn anew."""
    return f"{_PROCESS}{next(_numbers):016x}"
