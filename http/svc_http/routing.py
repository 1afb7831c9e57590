"""Routes, and who may call them; keys and memberships are looked up anew on every request."""

import hmac
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal, TypeVar, cast
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
import structlog
import trio
from quart import Request, Response, request
from quart_trio import QuartTrio
from werkzeug.datastructures import Headers

from aggregates.event import Scope
from aggregates.people import entry
from projections.sub_sessions.rows import begun_by
from svc_http.bodies import AT_ONCE_MAX, Body, HttpError, found, json_reply, unauthorized
from svc_http.params import SHOWN_CHARACTERS, Arguments, ByKey, BySecret, Call, Parameter, Schema
from svc_http.ports import Service

KEY_SHOWN_CHARACTERS = 12  # of a key in the log: as many as `svc key list` shows
WRONG_KEY_SECONDS_MAX = 2.0  # whoever guesses waits so long at most, and is answered 401 then, never 429
_DELAYED = trio.Semaphore(64)
log = structlog.get_logger()
KEY_PATTERN = re.compile(r"(svc|gck)_[A-Za-z0-9_-]{43}")
_BEARER = "bearer "
_TWO = "two different credentials were sent; send one"
SHORT_ID = re.compile(r"[0-9a-fA-F]{8}")
_OF_GOALS = ("sub_session_id", "goal_id")
Identify = Callable[[Service, Headers], entry.Principal]
Admit = Callable[[Service, Request, "Route"], Awaitable[Call | Response]]
"""Who asks for what the route is about, or an answer that leads elsewhere. Raises `HttpError`."""
_H = TypeVar("_H", bound=Callable[..., Awaitable[object]])
_Listeners = Literal["api", "intake", "both"]


class Plain(msgspec.Struct, frozen=True):
    media: str
    schema: Schema


class Route(msgspec.Struct, frozen=True):
    """A route and what the description says of it; errors that follow from its kind are added there."""

    method: str
    path: str
    handler: Callable[..., Awaitable[object]]
    about: str
    query: tuple[Parameter, ...]
    answers: Any  # what the status carries: a type, `Plain`, or a query; else a mapping from status to that
    body: Any  # a type, or a `Plain` one
    listeners: _Listeners
    status: int = 200
    body_required: bool = True

    @property
    def kind(self) -> type[Call]:
        return cast(type[Call], self.handler.__annotations__["call"])


class Routes(list[Route]):
    """The routes of one family, each entered by the decorator of its `async def (call, …)`; None is answered as 204."""

    # An argument `body` is the body, decoded, and `form` one of a page; the others are ids of the path. Types are told
    # by the annotations.

    def __init__(self, listeners: _Listeners = "api") -> None:
        super().__init__()
        self._listeners = listeners

    def __call__(self, at: str, about: str, query: tuple[Parameter, ...] = (), **told: Any) -> Callable[[_H], _H]:
        method, _, path = at.partition(" ")

        def enter(handler: _H) -> _H:
            said = handler.__annotations__
            usual = {"answers": said["return"], "body": said.get("body"), "listeners": self._listeners}
            self.append(Route(method, path, handler, about, query, **(usual | told)))
            return handler

        return enter

    def reads(
        self, path: str, about: str, query: Callable[..., object], *by: Arguments, missing: str = "", **told: Any
    ) -> None:
        """GET what a query finds by the id of the path and by parameters. `missing`: its 404, with that id."""
        parameters = tuple(parameter for each in by for parameter in each.parameters)

        @self(f"GET {path}", about, parameters, answers=query, **told)
        async def handler(call: ByKey, **ids: UUID) -> object:
            values = [value for each in by for value in each.read(call)]
            answer = await call.read(query, *ids.values(), *values)
            return found(answer, missing.format(*ids.values())) if missing else answer


def attach(app: QuartTrio, service: Service, admit: Admit, routes: Iterable[Route]) -> None:
    """Let a listener serve the routes; nobody reaches a handler without what its route demands."""
    for route in routes:
        name, endpoint = f"{route.method} {route.path}".replace(".", " "), _endpoint(service, admit, route)
        app.add_url_rule(route.path, name, endpoint, methods=[route.method], provide_automatic_options=False)


def _endpoint(service: Service, admit: Admit, route: Route) -> Callable[..., Awaitable[Response]]:
    takes = route.handler.__annotations__

    async def endpoint(**ids: str) -> Response:
        itself: Request = request._get_current_object()  # type: ignore[attr-defined]  # a proxy looks it up at each use
        call = await admit(service, itself, route)
        if isinstance(call, Response):
            return call
        try:
            values: dict[str, Any] = await path_ids(call, takes, ids)
            if "body" in takes:
                values["body"] = await call.body.json(route.body, b"" if route.body_required else b"{}")
            if "form" in takes:
                values["form"] = await call.body.form()
            answer = await route.handler(call, **values)
        except HttpError as error:
            if isinstance(call, ByKey) and route.method == "POST" and route.listeners != "api":
                told = (route.path, error.status, error.message, service.now_us())
                service.arrivals.refused(call.scope.developer_id, *told)
            raise
        finally:
            call.body.release()
            if isinstance(call, ByKey):
                megabytes, now_us = call.body.sent_bytes / entry.BYTES_PER_MEGABYTE, service.now_us()
                service.budgets.use(entry.ADDRESS[1], address_of(itself), megabytes, now_us)
                service.budgets.use("megabytes_per_minute", call.scope.developer_id, megabytes, now_us)
                service.budgets.use("cpu_seconds_per_minute", call.scope.developer_id, call.body.cpu.seconds, now_us)
        return answer if isinstance(answer, Response) else json_reply(answer, route.status)

    return endpoint


def by_credentials(identify: Identify) -> Admit:
    """Whoever sent a key, or the internal secret where the listener knows it. Wrong credentials are noted."""

    async def admit(service: Service, request: Request, route: Route) -> Call:
        headers = request.headers
        try:
            if route.kind is Call:
                return Call(service, request, Body(request))
            if route.kind is BySecret:
                if not _is_internal(service, headers):
                    caller_of_intake(service, headers)
                    why = "administration takes the internal secret in X-Internal-Secret, not a developer's key"
                    raise HttpError(403, why)
                if _delegated(headers) is not None:
                    why = "administration is not done on a developer's behalf; leave the delegation headers out"
                    raise HttpError(403, why)
                return BySecret(service, request, Body(request))
            caller = identify(service, headers)
        except HttpError as error:
            sent = (*headers.getlist("X-API-Key"), *headers.getlist("Authorization"))
            if error.status == 401 and (sent or "X-Internal-Secret" in headers):
                await note_wrong(service, request, sent, error)
            raise
        spend(service, request, entry.ADDRESS, address_of(request))
        is_capture = route.method == "POST" and route.listeners != "api"
        allowances = (*entry.DEVELOPER, *entry.CAPTURES) if is_capture else entry.DEVELOPER
        spend(service, request, allowances, caller.scope.developer_id)
        if caller.role == "reader" and route.method == "POST" and route.listeners == "intake":
            raise HttpError(403, "a reader captures nothing: whoever runs svc gives another role, by `svc member set`")
        return ByKey(service, request, body_of(request, route, caller), caller)

    return admit


_TURNS = defaultdict[UUID, trio.CapacityLimiter](lambda: trio.CapacityLimiter(AT_ONCE_MAX))  # one a developer


def body_of(request: Request, route: Route, caller: entry.Principal) -> Body:
    """What one developer sends is worked at a few at a time, so that nobody else waits behind a crowd of it."""
    return Body(request, _TURNS[caller.scope.developer_id] if route.method == "POST" else None)


async def path_ids(call: Call, takes: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, UUID | str]:
    """As the handler takes them. A goal's may be its first eight characters. Raises `HttpError` 404."""
    values: dict[str, UUID | str] = {}
    for name, text in ids.items():
        if name in _OF_GOALS and isinstance(call, ByKey) and SHORT_ID.fullmatch(text):
            begun = await call.read(begun_by, text.lower())
            if len(begun) > 1:
                raise HttpError(404, f"several of your goals begin with {text!r}; send the whole id")
            text = begun[0] if begun else text
        values[name] = text if takes.get(name) is str else path_id(text, name)
    return values


def path_id(text: str, name: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        what = name.removesuffix("_id").replace("sub_", "sub-").replace("_", " ")
        raise HttpError(404, f"no {what} {text[:SHOWN_CHARACTERS]!r}") from error


# --- budgets --------------------------------------------------------------------------------------------------


def address_of(request: Request) -> str:
    return request.remote_addr or "unknown"


def spend(service: Service, request: Request, names: tuple[str, ...], user: UUID | str) -> None:
    """Count one request of a developer or an address. Raises `HttpError` 429 where an allowance is used up."""
    now_us, budgets = service.now_us(), service.budgets
    over = budgets.exhausted(names, user, now_us)
    if over is None:
        budgets.use(names[0], user, 1, now_us)
        return
    whose = f"address {user}" if isinstance(user, str) else f"developer {user}"
    if over.is_new:
        log.warning("a budget is used up", budget=over.name, user=str(user), address=address_of(request))
    why = f"{whose} has used up {over.name} ({over.most}); send it again later, or ask whoever runs svc for more"
    raise HttpError(429, why, {"Retry-After": str(over.wait_seconds)})


# --- credentials ----------------------------------------------------------------------------------------------


def caller_of_api(service: Service, headers: Headers) -> entry.Principal:
    """The developer whose key was sent, or whom an internal caller named. Raises `HttpError` 401 or 403."""
    if not _is_internal(service, headers):
        return caller_of_intake(service, headers)
    scope = _delegated(headers)
    if scope is None:
        why = "a service principal has no data of its own; name a developer by X-Org-Id and X-Developer-Id"
        raise HttpError(403, why)
    found = entry.principal(service.directory, scope)
    if found is None:
        raise unauthorized("the developer of X-Developer-Id is no current member of the organization of X-Org-Id")
    return found


def _keys(headers: Headers) -> set[str]:
    """The different keys that were sent, whichever header they came in."""
    found = {value.strip() for value in headers.getlist("X-API-Key")}
    for value in headers.getlist("Authorization"):
        if value[: len(_BEARER)].lower() != _BEARER:
            raise unauthorized("the Authorization header must read: Bearer KEY")
        found.add(value[len(_BEARER) :].strip())
    return found


def caller_of_intake(service: Service, headers: Headers) -> entry.Principal:
    keys = _keys(headers)
    if len(keys) > 1:
        raise unauthorized(_TWO)
    if not keys:
        raise unauthorized("a key is needed: send Authorization: Bearer KEY, or X-API-Key: KEY")
    (key,) = keys
    return developer_of(service, key)


def developer_of(service: Service, key: str) -> entry.Principal:
    if KEY_PATTERN.fullmatch(key) is None:
        raise unauthorized("this is not a key of this service; keys are svc_ or gck_ and 43 characters")
    now_us = service.now_us()
    try:
        found = entry.authenticate(service.directory, sha256(key.encode()).hexdigest(), now_us)
    except entry.NotProven as error:
        raise unauthorized(str(error)) from error
    assert found.key is not None, "it was shown"
    service.uses.note(found.key.id, now_us)
    return found


async def note_wrong(service: Service, request: Request, sent: Iterable[str], error: HttpError) -> None:
    """Log credentials that were refused, by address, and let whoever sent many wait for the refusal."""
    address, now_us = address_of(request), service.now_us()
    starts = sorted({found[0][:KEY_SHOWN_CHARACTERS] for each in sent if (found := KEY_PATTERN.search(each))})
    log.warning("credentials refused", address=address, keys=",".join(starts), reason=error.message)
    over = service.budgets.exhausted((entry.WRONG_KEYS,), address, now_us)
    service.budgets.use(entry.WRONG_KEYS, address, 1, now_us)
    if over is not None and _DELAYED.value:  # beyond these a delay would only hold connections
        async with _DELAYED:
            await trio.sleep(min(over.wait_seconds, WRONG_KEY_SECONDS_MAX))


def _is_internal(service: Service, headers: Headers) -> bool:
    """Whether the internal secret was sent; a wrong one, or one beside a key, raises 401."""
    secrets = headers.getlist("X-Internal-Secret")
    if not secrets:
        return False
    if len(set(secrets)) > 1 or _keys(headers):
        raise unauthorized(_TWO)
    expected = service.settings.internal_secret
    if not expected or not hmac.compare_digest(secrets[0].encode(), expected.encode()):
        raise unauthorized("wrong internal secret")
    return True


def _delegated(headers: Headers) -> Scope | None:
    """The developer an internal caller speaks for; None where it speaks for itself."""
    found: list[str | None] = []
    for name in ("X-Org-Id", "X-Developer-Id"):
        sent = set(headers.getlist(name))
        if len(sent) > 1:  # for two programs to read differently
            raise HttpError(400, f"{name} was sent with two different values; send one")
        found.append(sent.pop() if sent else None)
    organization, developer = found
    if organization is None and developer is None:
        return None
    if organization is None or developer is None:
        raise HttpError(400, "X-Org-Id and X-Developer-Id go together; send both or neither")
    try:
        return Scope(UUID(organization), UUID(developer))
    except ValueError as error:
        raise HttpError(400, "X-Org-Id and X-Developer-Id must be UUIDs") from error


def is_own_origin(headers: Headers) -> bool:
    """Whether a browser says by Origin that a page of this very server asks."""
    try:
        here = urlsplit(headers.get("Origin", "")).netloc
    except ValueError:
        return False
    return bool(here) and here == headers.get("Host")
