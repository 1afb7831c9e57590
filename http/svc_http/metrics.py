"""`GET /metrics`: what was counted and measured, for Prometheus. No label holds an id or anybody's words."""

from quart_trio.wrappers import TrioResponse

from svc_http.bodies import Request
from svc_http.ports import Service


async def metrics(service: Service, request: Request) -> TrioResponse:
    """In the text format that the Accept header prefers."""
    text, media = service.metrics(request.headers.get("Accept", ""))
    return TrioResponse(text, 200, content_type=media)
