"""Who may see a page: a browser that signed in, looked up anew for every request; and how it is kept from being used.

A cookie holds a random text of which the log knows a digest. Other programs on this machine share a browser's cookies
for 127.0.0.1, whatever their port, so a change is taken only from a page of this very server.
"""

import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from quart import Request, Response, request
from quart_trio import QuartTrio
from quart_trio.wrappers import TrioResponse

from aggregates.event import Refused, Scope
from aggregates.ids import sign_in_stream
from aggregates.people.acts import OpenSignIn, PeopleAct
from aggregates.people.budgets import ADDRESS, DEVELOPER
from aggregates.people.directory import Developer, Key, Record, SignIn
from aggregates.people.entry import OPERATOR_HOURS, SIGN_IN_IDLE_DAYS, Principal, begun, signed_in
from aggregates.times import zone_named
from svc_http.bodies import Body, HttpError, check_content_type, refusal
from svc_http.pages import rendering
from svc_http.params import ByKey, Call
from svc_http.ports import Service
from svc_http.routing import Route, address_of, count_spent, is_own_origin, line_of, path_id, spend

_W = TypeVar("_W", bound=str)
COOKIE = "svc_session"
COOKIE_BYTES = 32
COOKIE_CHARACTERS_MAX = 64
FORM_BYTES_MAX = 256 * 1024  # a form holds names, dates and at most one prompt
FORM_FIELDS_MAX = 32
SIGN_IN = "/sign-in"
BROWSER_CHARACTERS_MAX = 60


class BySignIn(ByKey, frozen=True):
    """A request of a browser that signed in, for its developer's own pages."""

    sign_in: SignIn

    @property
    def developer(self) -> Developer:
        assert self.profile is not None, "whoever is signed in is known"
        return self.profile

    @property
    def is_owner(self) -> bool:
        return self.caller.role == "owner"

    async def show(self, name: str, status: int = 200, **values: Any) -> TrioResponse:
        """A page in the developer's own frame."""
        return await _framed(self, name, status, values, self.developer, self.scope, self.is_owner)

    async def form(self) -> dict[str, str]:
        """The fields of the form that was sent."""
        return await form_of(self)


class ByOperator(Call, frozen=True):
    """A request of whoever runs the server, or of an owner for the people of their organization."""

    organization_id: UUID | None = None  # the owner's; None: all there are
    by: UUID | None = None  # the owner; None: whoever holds the internal secret
    sign_in: SignIn | None = None

    @property
    def own_zone(self) -> ZoneInfo:
        """The owner's; UTC for whoever runs the server."""
        return zone_named("UTC" if self.by is None else self.service.directory.timezone(self.by))

    def check_runs_the_server(self) -> None:
        """Raises `HttpError` 403."""
        if self.organization_id is not None:
            raise HttpError(403, _RUNS_THE_SERVER)

    async def show(self, name: str, status: int = 200, **values: Any) -> TrioResponse:
        owner = None if self.by is None else self.service.directory.get(Developer, self.by)
        scope = None if owner is None or self.organization_id is None else Scope(self.organization_id, owner.id)
        return await _framed(self, name, status, values, owner, scope, owner is not None)

    async def form(self) -> dict[str, str]:
        return await form_of(self)


async def _framed(
    call: BySignIn | ByOperator,
    name: str,
    status: int,
    values: Mapping[str, Any],
    me: Developer | None,
    scope: Scope | None,
    is_owner: bool,
) -> TrioResponse:
    """A page in the frame of a developer; None: of whoever runs the server."""
    teams = [] if scope is None else call.service.directory.teams_of(scope)
    frame = {
        "me": {"display_name": "Operator"} if me is None else me,
        "is_owner": is_owner,
        "is_operator": me is None,
        "teams": teams,
        "zone": call.own_zone,
        "path": call.request.path,
        "version": call.service.settings.version,
        "said": SAID.get(call.query.get("said", "")),
        "nav": OPERATOR_NAV if me is None else [*NAV, *(TEAM_NAV if teams else ()), *(OWNER_NAV if is_owner else ())],
    }
    return await rendering.html(name, frame | dict(values), status)


_RUNS_THE_SERVER = "this is for whoever runs the server, who types `svc open --operator` there"
_OWNERS = "this is for owners of the organization, and for whoever runs the server"
NAV: list[tuple[str, str]] = [
    ("/", "Home"),
    ("/goals", "Goals"),
    ("/habits", "Habits"),
    ("/limits", "Time"),
    ("/cost", "Cost"),
    ("/reports", "Reports"),
    ("/compared", "Compared"),
    ("/mine", "Mine"),
]
"""Address and name, in the order of the head of every page."""
TEAM_NAV: list[tuple[str, str]] = [("/team", "Team")]  # of whoever is in one
OWNER_NAV: list[tuple[str, str]] = [("/operator/people", "People")]
OPERATOR_NAV: list[tuple[str, str]] = [
    ("/operator/server", "Server"),
    ("/operator/people", "People"),
    ("/operator/audit", "Audit log"),
]
SAID: dict[str, str] = {
    "counts": "Your word counts from now on, in every figure of yours; the comparison with colleagues ignores it.",
    "split": "Another goal begins here from now on, and each of the two counts for itself.",
    "back": "Your word is taken back; what was judged counts again.",
    "named": "The new title stands.",
    "saved": "Saved.",
    "key-revoked": "The key opens nothing any more. Browsers that signed in with it are signed out, others are not.",
    "signed-out": "That browser is signed out.",
    "unlinked": "That account opens your pages no longer.",
    "kept": "It stays, and is asked about no more.",
    "kept-here": "It stays. This browser came by another member's link itself, so your other browsers go on asking.",
    "left": "You are in that team no longer, and count in none of its days from tomorrow on.",
    "report-deleted": "The report is deleted.",
    "replaying": "The scores are being built anew from the log.",
    "asked": "You asked to be forgotten. Whoever runs this server sees it.",
    "asked-back": "You ask no longer to be forgotten. Nothing was deleted.",
}
"""What a page says after a button, by the word in its address."""


def chosen(name: str, text: str, words: Collection[_W]) -> _W:
    """Raises `HttpError` 400 for any other word."""
    for word in words:
        if word == text:
            return word
    raise HttpError(400, f"{name} must be one of {', '.join(words)}")


async def form_of(call: Call) -> dict[str, str]:
    """Raises `HttpError`: 415, 413 or 400."""
    check_content_type(call.request, "application/x-www-form-urlencoded")
    data = (await call.body.sent(FORM_BYTES_MAX)).unpacked(FORM_BYTES_MAX)
    try:
        fields = parse_qs(
            data.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX, encoding="utf-8", errors="strict"
        )
    except ValueError as error:
        raise HttpError(400, "the form cannot be read; load the page again") from error
    if any("\0" in text for texts in fields.values() for text in texts):
        raise HttpError(400, "the form holds a NUL character; send the text without it")
    return {name: texts[-1] for name, texts in fields.items()}


# --- sign-ins ---------------------------------------------------------------------------------------------------


def cookie_name(request: Request) -> str:
    """A name for each port: two servers on one machine do not sign each other's people out."""
    port = urlsplit(f"//{request.host}").port
    return COOKIE if port is None else f"{COOKIE}_{port}"


def operator_text(request: Request) -> str:
    """What the cookie of the operator holds; empty where there is none."""
    text = request.cookies.get(f"operator_{cookie_name(request)}", "")
    return text if len(text) <= COOKIE_CHARACTERS_MAX else ""


async def open_operator(service: Service, request: Request) -> Response:
    """Let this browser stand for whoever runs the server, on these pages alone."""
    text = secrets.token_urlsafe(COOKIE_BYTES)
    service.operators.begin(digest_of(text), service.now_us())
    response = await _let_in(request, OPERATOR_NAV[0][0])
    name, secure = f"operator_{cookie_name(request)}", is_secure(request)
    response.set_cookie(
        name, text, OPERATOR_HOURS * 3_600, path="/operator", httponly=True, secure=secure, samesite="Strict"
    )
    return response


def sign_in_of(service: Service, request: Request) -> SignIn | None:
    """Whose browser this is, as things stand now."""
    return sign_in_by(service, request.cookies.get(cookie_name(request), ""))


def sign_in_by(service: Service, text: str) -> SignIn | None:
    if not text or len(text) > COOKIE_CHARACTERS_MAX:
        return None
    return signed_in(service.directory, sign_in_stream(digest_of(text)), service.now_us())


def digest_of(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


async def open_sign_in(
    service: Service, request: Request, to: str, who: Principal, came_by: UUID | None, key: Key | None = None
) -> Response:
    """Begin another sign-in, whatever cookie came: nobody goes on with one that somebody else chose.

    `came_by`: the link of another member, if it began with one.
    """
    text = secrets.token_urlsafe(COOKIE_BYTES)
    command = OpenSignIn(
        sign_in_id=sign_in_stream(digest_of(text)),
        organization_id=who.scope.organization_id,
        developer_id=who.scope.developer_id,
        opened_by=None if key is None else key.id,
        browser=_browser(request),
        came_by=came_by,
    )
    await carried_out(service, command)
    response = await _let_in(request, to)
    response.set_cookie(
        cookie_name(request),
        text,
        max_age=SIGN_IN_IDLE_DAYS * 24 * 3_600,
        httponly=True,
        secure=is_secure(request),
        samesite="Strict",
    )
    return response


async def _let_in(request: Request, to: str) -> Response:
    """On to a page. Who comes from elsewhere, or may do so, takes a step of their own: on a redirection a browser would
    keep back the strict cookie that it was just given."""
    is_here = request.headers.get("Sec-Fetch-Site") in ("none", "same-origin")
    return rendering.redirect(to) if is_here else await rendering.going_on(to)


async def may_let_in(service: Service, by: UUID | None, developer_id: UUID) -> bool:
    """Whether a link of this maker may sign a developer in. A member's may not once the developer has begun: with it
    they would read all of a colleague's work."""
    if by is None or by == developer_id:
        return True
    if developer_id in begun(service.directory, service.uses):
        return False
    return developer_id not in await service.activation()


def is_secure(request: Request) -> bool:
    """Whether the browser came by TLS, to this server or to the proxy before it."""
    return "https" in (request.scheme, request.headers.get("X-Forwarded-Proto", ""))


def forget_cookie(request: Request, response: Response) -> Response:
    response.delete_cookie(cookie_name(request), httponly=True, secure=is_secure(request), samesite="Strict")
    return response


async def carried_out(service: Service, command: PeopleAct, by: UUID | None = None) -> Record:
    """Raises `HttpError` with what was wrong."""
    reply = await service.administer(command, by)
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return reply


def _browser(request: Request) -> str:
    """Enough to recognise it by: the program and the system that it names."""
    agent = request.headers.get("User-Agent", "")
    programs = (("Edg/", "Edge"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
    systems = (("Android", "Android"), ("iPhone", "iPhone"), ("Windows", "Windows"), ("Mac OS", "macOS"))
    program = next((name for mark, name in programs if mark in agent), "a browser")
    system = next((name for mark, name in (*systems, ("Linux", "Linux")) if mark in agent), "")
    return f"{program} on {system}" if system else program


def local_path(text: str | None) -> str:
    """A page of this server to go on to; home where the text names anything else."""
    if not text or not text.startswith("/") or text.startswith(("//", "/\\")) or not text.isprintable():
        return "/"
    return text


# --- routes -----------------------------------------------------------------------------------------------------


def check_same_origin(request: Request) -> None:
    """Whether a page of this very server sent it. Raises `HttpError` 403.

    A browser says so by Sec-Fetch-Site; one that does not, or is not on a secure or local address, by Origin.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if not (is_own_origin(request.headers) if site is None else site == "same-origin"):
        raise HttpError(403, "this was not sent by a page of this server; open the page and press the button there")


def attach_pages(app: QuartTrio, service: Service, routes: Iterable[Route]) -> None:
    """Let the listener serve pages; without a sign-in there is only the way to it."""
    for route in routes:
        name = f"page {route.method} {route.path}".replace(".", " ")
        endpoint = _endpoint(service, route)
        app.add_url_rule(route.path, name, endpoint, methods=[route.method], provide_automatic_options=False)


def _endpoint(service: Service, route: Route) -> Callable[..., Awaitable[Response]]:
    takes: Mapping[str, Any] = route.handler.__annotations__

    async def endpoint(**ids: str) -> Response:
        spend(service, request, ADDRESS, address_of(request))
        if request.method not in ("GET", "HEAD"):
            check_same_origin(request)
        call: Call
        if route.kind is ByOperator:
            answered = _operator(service, request)
            if isinstance(answered, Response):
                return answered
            call = answered
        elif route.kind is Call:
            call = Call(service, request, Body(request))
        else:
            found = sign_in_of(service, request)
            if found is None:
                return _to_sign_in(request)
            role = service.directory.membership(found.scope)
            assert role is not None, "a sign-in stands only for a member"
            who = Principal(found.scope, role.role)
            body = Body(request, line_of(who) if route.method == "POST" else None)
            call = BySignIn(service, request, body, who, found)
            spend(service, request, DEVELOPER, found.developer_id)
            service.uses.note(found.id, service.now_us())
        values: dict[str, Any] = {n: each if takes.get(n) is str else path_id(each, n) for n, each in ids.items()}
        try:
            answer = await route.handler(call, **values)
        finally:
            call.body.release()
            if isinstance(call, ByKey):
                count_spent(call)
        assert isinstance(answer, Response), route.path
        return answer

    return endpoint


def _operator(service: Service, request: Request) -> ByOperator | Response:
    """Raises `HttpError` 403 for a member who is no owner."""
    if service.operators.stands(digest_of(operator_text(request)), service.now_us()):
        return ByOperator(service, request, Body(request))
    found = sign_in_of(service, request)
    if found is None:
        return _to_sign_in(request)
    role = service.directory.membership(found.scope)
    spend(service, request, DEVELOPER, found.developer_id)
    if role is None or role.role != "owner":
        raise HttpError(403, _OWNERS)
    service.uses.note(found.id, service.now_us())
    return ByOperator(service, request, Body(request), found.organization_id, found.developer_id, found)


def _to_sign_in(request: Request) -> Response:
    """And back to where one was; a button that was pressed is to be pressed again."""
    back = request.full_path.rstrip("?") if request.method == "GET" else "/"
    to = SIGN_IN if back == "/" else f"{SIGN_IN}?next={quote(back, safe='/')}"
    if "HX-Request" in request.headers:
        return TrioResponse(b"", 200, {"HX-Redirect": to}, content_type="text/plain")
    return rendering.redirect(to)
