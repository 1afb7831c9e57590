"""The two listeners and everything they serve; `tests/routes.txt` is the contract's list."""

from functools import cache, partial
from pkgutil import get_data

import msgspec
from quart_trio import QuartTrio
from quart_trio.wrappers import TrioResponse

from svc_http.bodies import EXPORT_BYTES_MAX, FRAME_BYTES_MAX
from svc_http.listener import Listener
from svc_http.pages import administration, figures, goals as goal_pages, reports as report_pages, settings, signing
from svc_http.pages.door import admit_to_pages, error_page, moved
from svc_http.pages.words import SAID
from svc_http.params import Call
from svc_http.ports import Service, beside
from svc_http.routes import capture, operations, otlp, people, reports, scores, sub_sessions
from svc_http.routing import Plain, Route, Routes, attach, by_credentials, caller_of_api, caller_of_intake

_PAGES = (signing, figures, goal_pages, report_pages, settings, administration)
_Addresses = dict[str, dict[str, tuple[str, str]]]  # page → method and path → who answers, and what it is
_FAMILIES = (operations, capture, scores, sub_sessions, reports, people, otlp)
_ROUTES = [route for family in _FAMILIES for route in family.routes]
_DESCRIPTION = Routes()
_PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


def intake_routes() -> list[Route]:
    return [each for each in _ROUTES if each.listeners != "api"]


def api_routes() -> list[Route]:
    """The private listener's, the description of both among them."""
    return [*(each for each in _ROUTES if each.listeners != "intake"), *_DESCRIPTION]


def page_routes() -> list[Route]:
    """What a person sees in a browser, as `pages/addresses.toml` lists it; no part of the description."""
    table = msgspec.toml.decode(get_data("svc_http.pages", "addresses.toml") or b"", type=_Addresses)
    routes = Routes()
    for page in _PAGES:
        for at, (handler, about) in table[page.__name__.rpartition(".")[2]].items():
            routes(at, about)(getattr(page, handler))
    for old in SAID["moved"]:
        routes(f"GET {old}{'<path:rest>' if old.endswith('/') else ''}", "A page that has another address now.")(moved)
    return routes


def build_intake(service: Service) -> QuartTrio:
    """The public listener: captures, and what is proxied to the outside. The internal secret means nothing here."""
    app = Listener("intake", service, EXPORT_BYTES_MAX)
    attach(app, service, by_credentials(caller_of_intake), intake_routes())
    return app


def build_api(service: Service) -> QuartTrio:
    """The private listener: reads, edits and administration."""
    app = Listener("api", service, FRAME_BYTES_MAX)
    attach(app, service, by_credentials(caller_of_api), api_routes())
    attach(app, service, admit_to_pages, page_routes())
    app.config["ERROR_PAGE"] = partial(error_page, service)
    return app


# --- the description of all routes but those of pages, for programs and for people --------------------------------


@cache
def _made(version: str, url: str) -> tuple[bytes, bytes]:
    # Every type of every route is looked at when these are imported: no start and no command waits for that.
    from svc_http.openapi import document, page

    found = document({"intake": intake_routes(), "api": api_routes()}, version, url)
    return msgspec.json.encode(found), page(found).encode()


async def _description(call: Call) -> tuple[bytes, bytes]:
    """It takes a tenth of a second, the first time."""
    settings = call.service.settings
    return await beside(call.body.cpu, 0, partial(_made, settings.version, settings.ingest_url))


@_DESCRIPTION("GET /openapi.json", "This document.", answers=Plain("application/json", {"type": "object"}))
async def openapi(call: Call) -> TrioResponse:
    text, _ = await _description(call)
    return TrioResponse(text, 200, content_type="application/json")


@_DESCRIPTION("GET /docs", "This document, for people.", answers=Plain("text/html", {"type": "string"}))
async def docs(call: Call) -> TrioResponse:
    _, text = await _description(call)
    return TrioResponse(text, 200, _PAGE_HEADERS, content_type="text/html; charset=utf-8")
