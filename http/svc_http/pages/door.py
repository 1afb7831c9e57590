"""Who may see a page: a browser that signed in, looked up anew for every request; and how it is kept from being used.

A cookie holds a random text of which the log knows a digest. Other programs on this machine share a browser's cookies
for 127.0.0.1, whatever their port, so a change is taken only from a page of this very server.
"""

from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from quart import Request, Response, request
from quart_trio.wrappers import TrioResponse

from aggregates.ids import sign_in_stream
from aggregates.people.acts import PeopleAct
from aggregates.people.directory import SignIn
from aggregates.people.entry import ADDRESS, DEVELOPER, principal, signed_in
from aggregates.times import zone_named
from svc_http.bodies import Body, Form, HttpError, accepted
from svc_http.pages import period, rendering
from svc_http.pages.words import SAID, local
from svc_http.params import ByKey, Call
from svc_http.ports import Service
from svc_http.routes.people import digest_of
from svc_http.routing import Route, address_of, body_of, is_own_origin, spend

COOKIE = "svc_session"
COOKIE_BYTES = 32
COOKIE_CHARACTERS_MAX = 64
SIGN_IN = "/sign-in"
_OF_ONE_PAGE = ("page", "cursor", "said", "about")


async def _act(self: "BySignIn | ByOperator", command: PeopleAct) -> None:
    """Raises `HttpError` with what was wrong."""
    accepted(await self.service.administer(command, self.by))


async def _show(self: "BySignIn | ByOperator", name: str, status: int = 200, **values: Any) -> TrioResponse:
    """A page in the frame of the developer who is signed in, or of the operator."""
    who, sent = self if isinstance(self, BySignIn) else self.owner, [*self.query.items()]
    menu = "operators_menu" if who is None else "menu" if who.caller.role == "owner" else "own_menu"
    frame: dict[str, Any] = {
        "call": self,
        "is_operator": who is None,
        "me": {"display_name": "Operator"} if who is None else who.profile,
        "teams": [] if who is None else self.service.directory.teams_of(who.scope),
        "nav": SAID["heads"]["operators_pages" if who is None else "pages"],
        "menu": SAID["heads"][menu],
        "zone": self.own_zone,
        "this_year": local(self.service.now_us(), self.own_zone).year,
        "path": self.request.path,
        # The period goes along with every link of the head; what else narrows the page, with every link of the period.
        "kept": urlencode([each for each in sent if each[0] in period.NAMES]),
        "narrowed": [each for each in sent if each[0] not in (*period.NAMES, *_OF_ONE_PAGE)],
        "said": SAID["said"].get(self.query.get("said", "")),
    }
    asked = values.get("period")
    wrong = isinstance(asked, period.Period) and asked.wrong is not None
    return await rendering.html(name, frame | values, 400 if wrong else status)


class BySignIn(ByKey, frozen=True):
    """A request of a browser that signed in, for its developer's own pages."""

    sign_in: SignIn
    act, show = _act, _show

    @property
    def by(self) -> UUID:
        return self.scope.developer_id


class ByOperator(Call, frozen=True):
    """A request of whoever runs the server, or of an owner for the people of their organization."""

    owner: BySignIn | None = None  # None: whoever holds the internal secret
    zone: str = "UTC"  # of the developer who is signed in by the same browser
    act, show = _act, _show

    @property
    def organization_id(self) -> UUID | None:
        """The owner's; None: all there are."""
        return None if self.owner is None else self.owner.scope.organization_id

    @property
    def by(self) -> UUID | None:
        return None if self.owner is None else self.owner.scope.developer_id

    @property
    def own_zone(self) -> ZoneInfo:
        return zone_named(self.zone) if self.owner is None else self.owner.own_zone

    def check_runs_the_server(self) -> None:
        """Raises `HttpError` 403."""
        if self.owner is not None:
            raise HttpError(403, "this is for whoever runs the server, who types `svc open --operator` there")


async def error_page(service: Service, error: HttpError) -> Response:
    """In the frame of whoever is signed in."""
    told, body, found = rendering.error_told(service, error), Body(request), sign_in_of(service, request)
    who = None if found is None else principal(service.directory, found.scope)
    if _is_operator(service, request):
        page = await ByOperator(service, request, body).show("told.html", error.status, **told)
    elif found is not None and who is not None:
        page = await BySignIn(service, request, body, who, found).show("told.html", error.status, **told)
    else:
        page = await rendering.html("told.html", told, error.status)
    page.headers.update(error.headers)
    return page


def is_sent_again(form: Form, made: int) -> bool:
    """Whether a form was made before the newest of these, as one is that a browser sends anew with its page."""
    return form.get("after", str(made)) != str(made)


def cookie_name(request: Request) -> str:
    """A name for each port: two servers on one machine do not sign each other's people out."""
    port = urlsplit(f"//{request.host}").port
    return COOKIE if port is None else f"{COOKIE}_{port}"


def is_secure(request: Request) -> bool:
    """Whether the browser came by TLS, to this server or to the proxy before it."""
    return "https" in (request.scheme, request.headers.get("X-Forwarded-Proto", ""))


def own_address(request: Request) -> str:
    """Of this server, as its caller knows it."""
    return f"{'https' if is_secure(request) else 'http'}://{request.host}"


def operator_text(request: Request) -> str:
    """What the cookie of the operator holds; empty where there is none."""
    text = request.cookies.get(f"operator_{cookie_name(request)}", "")
    return text if len(text) <= COOKIE_CHARACTERS_MAX else ""


def _is_operator(service: Service, request: Request) -> bool:
    return service.operator_browsers.stands(digest_of(operator_text(request)), service.now_us())


def sign_in_of(service: Service, request: Request) -> SignIn | None:
    """Of the browser that asks, as things stand now."""
    text = request.cookies.get(cookie_name(request), "")
    if not text or len(text) > COOKIE_CHARACTERS_MAX:
        return None
    return signed_in(service.directory, sign_in_stream(digest_of(text)), service.now_us())


async def admit_to_pages(service: Service, request: Request, route: Route) -> Call | Response:
    """Without a sign-in there is only the way to it. Raises `HttpError`."""
    spend(service, request, ADDRESS, address_of(request))
    # A browser tells by Sec-Fetch-Site whose page sent it; one that does not, or is on no secure address, by Origin.
    site, is_read = request.headers.get("Sec-Fetch-Site"), request.method in ("GET", "HEAD")
    if not is_read and not (is_own_origin(request.headers) if site is None else site == "same-origin"):
        raise HttpError(403, "this was not sent by a page of this server; open the page and press the button there")
    if route.kind is Call:
        return Call(service, request, Body(request))
    found = sign_in_of(service, request)
    if route.kind is ByOperator and _is_operator(service, request):
        zone = "UTC" if found is None else service.directory.timezone(found.developer_id)
        return ByOperator(service, request, Body(request), zone=zone)
    if found is None:
        return _to_sign_in(request)
    spend(service, request, DEVELOPER, found.developer_id)
    who = principal(service.directory, found.scope)
    assert who is not None, "a sign-in stands only for a member"
    if route.kind is ByOperator and who.role != "owner":
        raise HttpError(403, "this is for owners of the organization, and for whoever runs the server")
    service.uses.note(found.id, service.now_us())
    call = BySignIn(service, request, body_of(request, route, who), who, found)
    return call if route.kind is BySignIn else ByOperator(service, request, call.body, call)


def _to_sign_in(request: Request) -> Response:
    """And back to where one was; a button that was pressed is to be pressed again."""
    back = request.full_path.rstrip("?") if request.method == "GET" else "/"
    to = SIGN_IN if back == "/" else f"{SIGN_IN}?next={quote(back, safe='/')}"
    if "HX-Request" in request.headers:
        return TrioResponse(b"", 200, {"HX-Redirect": to}, content_type="text/plain")
    if request.headers.get("Accept") == "text/event-stream":
        return TrioResponse(b"", 204)  # a browser asks no more for events
    return rendering.redirect(to)


# --- pages that had another address: old links and bookmarks lead on, with what they asked -------------------------


def new_address(path: str, query: str) -> str:
    """The query goes along, before the place in the page that the new address names."""
    old = next(each for each in SAID["moved"] if path == each or (each.endswith("/") and path.startswith(each)))
    to, _, place = (SAID["moved"][old] + path[len(old) :]).partition("#")
    to += f"{'&' if '?' in to else '?'}{query}" if query else ""
    return f"{to}#{place}" if place else to


async def moved(call: Call, rest: str = "") -> Response:
    to = new_address(call.request.path, call.request.query_string.decode("ascii", "replace"))
    return TrioResponse(b"", 308, {"Location": to}, content_type="text/plain")
