"""Where a page is that had another address: old links and bookmarks lead there, with what they asked."""

from quart import Response
from quart_trio.wrappers import TrioResponse

from svc_http.pages.words import SAID
from svc_http.params import Call
from svc_http.routing import Routes

routes = Routes()


def new_address(path: str, query: str) -> str:
    """The query goes along, before the place in the page that the new address names."""
    old = next(each for each in SAID.moved if path == each or (each.endswith("/") and path.startswith(each)))
    to, _, place = (SAID.moved[old] + path[len(old) :]).partition("#")
    to += f"{'&' if '?' in to else '?'}{query}" if query else ""
    return f"{to}#{place}" if place else to


async def moved(call: Call, rest: str = "") -> Response:
    to = new_address(call.request.path, call.request.query_string.decode("ascii", "replace"))
    return TrioResponse(b"", 308, {"Location": to}, content_type="text/plain")


for _old in SAID.moved:
    routes(f"GET {_old}{'<path:rest>' if _old.endswith('/') else ''}", "A page that has another address now.")(moved)
