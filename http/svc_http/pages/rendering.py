"""Templates become answers: escaped, with headers that forbid everything not needed, small on the wire."""

import gzip
import re
from collections.abc import Callable, Mapping
from datetime import tzinfo
from functools import cache
from hashlib import sha256
from pkgutil import get_data
from typing import Any
from urllib.parse import urlsplit

import jinja2
import trio
from markupsafe import Markup, escape
from quart import request
from quart_trio.wrappers import TrioResponse

from aggregates.ids import plain
from aggregates.scores.grades import PEER_RANGES_MAX, PEERS_MIN, Tally
from aggregates.scores.insights import PAYS_MIN, USUAL_GOALS
from projections.explain.evidence import SENTENCES
from svc_http.bodies import HttpError
from svc_http.pages import charts, words
from svc_http.ports import Service

SMALL_BYTES = 1_000  # what is smaller gains nothing by being packed
GZIP_LEVEL = 5
TEXT_CHARACTERS = 4_000  # of a text that somebody else wrote; more is shown on demand
FILES = {  # what the browser fetches beside the page, each under a name that holds its hash
    "style.css": "text/css; charset=utf-8",
    "htmx-2.0.11.min.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Cookie, Accept-Encoding, HX-Request",
}
_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_CODE = re.compile(r"`([^`]+)`")


@cache
def environment() -> jinja2.Environment:
    """Made with the first page: nobody who starts the server waits for it."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("svc_http.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {each.__name__: _of_this_year(each) for each in words.DATED}
    made.filters |= {
        **words.FILTERS,
        "cut": cut,
        "coded": coded,
        "slashed": lambda path: Markup("/<wbr>").join(path.split("/")),  # so that no line ends within a name
        "likely": words.spread,
        "rate": rate,
        "habit_bar": charts.habit,
    }
    made.globals |= {**words.SAID, "habit_words": words.HABITS, "languages": words.LANGUAGES}
    made.globals |= {"file": file_url, "undecided": SENTENCES["undecided"]}
    made.globals |= {"pays_min": PAYS_MIN, "usual_goals": USUAL_GOALS}
    made.globals |= {"peers_min": PEERS_MIN, "ranges_max": PEER_RANGES_MAX}
    return made


def _of_this_year(dated: Callable[..., str]) -> Callable[..., str]:
    """A date, without the year where the page is of the same."""

    @jinja2.pass_context
    def shown(context: jinja2.runtime.Context, at: int | str | None, zone: tzinfo) -> str:
        return dated(at, zone, context.get("this_year"))

    return shown


def cut(text: str | None, characters: int = TEXT_CHARACTERS) -> str:
    """So much of a text that somebody wrote, without what steers a page instead of being seen."""
    shown = plain((text or "")[: characters + 1])
    return shown if len(shown) <= characters else shown[:characters].rstrip() + "…"


@cache
def text_of(name: str) -> Markup:
    """Paragraphs that docs/your-scores.md holds in the same words."""
    text = (get_data(__name__, f"templates/texts/{name}.md") or b"").decode()
    return Markup("").join(Markup("<p>{}</p>").format(coded(each)) for each in text.strip().split("\n\n"))


def coded(text: str) -> Markup:
    """With what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


async def html(name: str, values: Mapping[str, Any], status: int = 200) -> TrioResponse:
    """A page. Made on the loop: it takes a few milliseconds, and what it shows was read before."""
    await trio.lowlevel.checkpoint()
    body, headers = environment().get_template(name).render(values).encode(), dict(_HEADERS)
    if len(body) > SMALL_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
        body, headers["Content-Encoding"] = gzip.compress(body, GZIP_LEVEL, mtime=0), "gzip"
    return TrioResponse(body, status, headers, content_type="text/html; charset=utf-8")


def redirect(to: str) -> TrioResponse:
    """303: ask for that page by GET."""
    return TrioResponse(b"", 303, {"Location": to, **_HEADERS}, content_type="text/plain")


async def going_on(to: str, title: str = "Going on") -> TrioResponse:
    message = "Go on by the link, if your browser does not do it by itself."
    return await html("told.html", {"to": to, "title": title, "message": message, "progress": None, "goes_on": True})


def error_told(service: Service, error: HttpError) -> dict[str, Any]:
    """What told.html says of it, and how far a rebuild of the tables is, while there is one."""
    replay, said = service.replay_status(), words.SAID
    told = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
    message = told if request.routing_exception is None else said["refused"]["no-page"]
    progress = replay if error.status == 503 and replay.state == "running" and replay.of else None
    title = said["titles"].get(str(error.status), "Refused")
    return {"title": title, "message": message, "progress": progress, "to": _came_from(), "goes_on": False}


def _came_from() -> str:
    """The page of this server whose link or button led here; the first one where none is known."""
    came = urlsplit(request.referrer or "")
    is_here = came.netloc == request.host and came.path.startswith("/") and not came.path.startswith("//")
    return came._replace(scheme="", netloc="").geturl() if is_here else "/"


def rate(of: Tally) -> str:
    return words.rate_told(of.crushed, of.decided, of.undecided, of.interval()).replace(" %", "\u00a0%")


# --- files ------------------------------------------------------------------------------------------------------


@cache
def _file(name: str) -> tuple[bytes, bytes, str]:
    """As it is, packed, and twelve digits of its hash."""
    data = get_data(__name__, f"static/{name}")
    assert data is not None, name
    return data, gzip.compress(data, 9, mtime=0), sha256(data).hexdigest()[:12]


@cache
def file_url(name: str) -> Markup:
    """Where the browser fetches a file, for good: another content has another name."""
    stem, _, end = name.rpartition(".")
    return Markup(f"/static/{stem}.{_file(name)[2]}.{end}")


def static_file(named: str) -> TrioResponse:
    """Raises `HttpError` 404."""
    name = next((each for each in FILES if file_url(each) == f"/static/{named}"), None)
    if name is None:
        raise HttpError(404, "no such file; load the page again")
    data, small, _ = _file(name)
    headers = {**_FOR_GOOD, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        data, headers["Content-Encoding"] = small, "gzip"
    return TrioResponse(data, 200, headers, content_type=FILES[name])
