"""`/openapi.json` and `/docs`: the routes of both listeners, described for programs and for people."""

from collections.abc import Sequence

import msgspec
import trio
from quart import Request
from quart_trio.wrappers import TrioResponse

from svc_http.listener import Plain, Public, Route
from svc_http.ports import Service

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


def description_routes(intake: Sequence[Route], api: Sequence[Route]) -> tuple[Public, Public]:
    """The two routes; they describe themselves, too. The document is made once it is asked for."""
    made: dict[str, tuple[bytes, bytes]] = {}

    def make(version: str, url: str) -> tuple[bytes, bytes]:
        # Every type of every route is looked at when these are imported: no start and no command waits for that.
        from svc_http.openapi.document import document
        from svc_http.openapi.page import page

        found = document({"intake": intake, "api": (*api, *mine)}, version, url)
        return msgspec.json.encode(found), page(found).encode()

    async def texts(service: Service) -> tuple[bytes, bytes]:
        url = service.settings.ingest_url
        if url not in made:
            # It takes a tenth of a second, the first time.
            made[url] = await trio.to_thread.run_sync(make, service.settings.version, url)
        return made[url]

    async def openapi(service: Service, request: Request) -> TrioResponse:
        return TrioResponse((await texts(service))[0], 200, content_type="application/json")

    async def docs(service: Service, request: Request) -> TrioResponse:
        return TrioResponse(
            (await texts(service))[1], 200, headers=_PAGE_HEADERS, content_type="text/html; charset=utf-8"
        )

    mine = (
        Public("GET", "/openapi.json", openapi, "This document.", Plain("application/json", {"type": "object"})),
        Public("GET", "/docs", docs, "This document, for people.", Plain("text/html", {"type": "string"})),
    )
    return mine
