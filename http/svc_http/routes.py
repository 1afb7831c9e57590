"""A route: what it answers to, and who may call it."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Concatenate

import msgspec
from quart_trio.wrappers import TrioResponse
from werkzeug.datastructures import Headers

from aggregates.people import Principal
from svc_http.auth import administrator
from svc_http.bodies import Request
from svc_http.listener import Endpoint, Listener
from svc_http.ports import Service

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
