"""Whether the service lives, and whether it is ready."""

from typing import Literal

import msgspec
from quart_trio.wrappers import TrioResponse

from svc_http.bodies import Request
from svc_http.catalog import NoSnapshot
from svc_http.errors import HttpError
from svc_http.ports import Service
from svc_http.replies import json_reply

_STORE_REASON = "event store unavailable"


class Health(msgspec.Struct):
    status: Literal["ok"] = "ok"


class NotReady(msgspec.Struct):
    reason: str
    status: Literal["unavailable"] = "unavailable"


async def intake_health(service: Service, request: Request) -> TrioResponse:
    """Plain text, and never a Retry-After: agents' exporters look at nothing else."""
    if await service.store_is_writable():
        return TrioResponse(b"ok", 200, content_type="text/plain")
    return TrioResponse(_STORE_REASON.encode(), 503, content_type="text/plain")


async def api_health(service: Service, request: Request) -> TrioResponse:
    """The process answers and its store takes events."""
    if not await service.store_is_writable():
        raise HttpError(503, _STORE_REASON)
    return json_reply(Health())


async def ready(service: Service, request: Request) -> TrioResponse:
    """Ready is: the store takes events, and prices are there."""
    if not await service.store_is_writable():
        return json_reply(NotReady(_STORE_REASON), 503)
    if service.catalog() is None:
        return json_reply(NoSnapshot(), 503)
    return json_reply(Health())
