"""The way in and out: a key or a one-time link becomes a sign-in, and the files that every page needs."""

import hmac
import secrets
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, unquote
from uuid import UUID

from msgspec.structs import asdict
from quart import Request, Response

from aggregates.event import Refused, shaped
from aggregates.ids import link_stream, sign_in_stream
from aggregates.people import entry
from aggregates.people.acts import EndSignIn, LinkIdentity, OpenSignIn, UseLink
from aggregates.people.directory import Developer, Identity, Link, Membership
from aggregates.times import US_PER_SECOND
from svc_http.bodies import Form, HttpError, accepted
from svc_http.pages import door, rendering
from svc_http.pages.words import SAID
from svc_http.params import Call
from svc_http.ports import Provider, Service
from svc_http.routes.people import digest_of, new_link
from svc_http.routing import developer_of, note_wrong

LINK_CHARACTERS_MAX = 64


async def sign_in_page(call: Call, to: str | None = None, wrong: str | None = None, status: int = 200) -> Response:
    values = {"next": to or local_path(call.query.get("next")), "wrong": wrong, "provider": call.service.provider}
    return await rendering.html("sign-in.html", values, status)


async def sign_in(call: Call, form: Form) -> Response:
    key, to = form.get("key", "").strip(), local_path(form.get("next"))
    try:
        who = developer_of(call.service, key)
    except HttpError as error:
        await note_wrong(call.service, call.request, [key], error)
        return await sign_in_page(call, to, error.message, error.status)
    return await open_sign_in(call.service, call.request, to, who, entry.root_of(call.service.directory, who.key))


async def link_page(call: Call, token: str) -> Response:
    """Changes nothing, so that whoever only looks, like a mail scanner or a preview, uses no link up."""
    link = await _waiting(call, token)
    person = None if link is None else call.service.directory.get(Developer, link.developer_id)
    return await rendering.html("open.html", {"person": person, "token": token})


async def open_by_link(call: Call, token: str) -> Response:
    service, link = call.service, await _waiting(call, token)
    if link is None:
        text = secrets.token_urlsafe(door.COOKIE_BYTES)
        service.operator_links.pop(digest_of(token), None)
        service.operator_browsers.begin(digest_of(text), service.now_us())
        response = await _let_in(call.request, "/administration/server")
        cookie = f"operator_{door.cookie_name(call.request)}"
        return keep(call.request, response, cookie, text, entry.OPERATOR_HOURS * 3_600, "/administration")
    who = entry.principal(service.directory, link.scope)
    if who is None or isinstance(await service.administer(UseLink(link_id=link.id)), Refused):
        raise HttpError(410, SAID["refused"]["gone"])
    return await open_sign_in(service, call.request, "/", who, link.root)


async def _waiting(call: Call, token: str) -> Link | None:
    """The link that waits to be used, once and within its time; None: one of the operator's. Raises `HttpError` 410."""
    service, now_us = call.service, call.service.now_us()
    digest = digest_of(token) if len(token) <= LINK_CHARACTERS_MAX else ""
    if service.operator_links.stands(digest, now_us):
        return None
    link = service.directory.get(Link, link_stream(digest))
    if link is None or not link.opens(now_us):
        raise HttpError(410, SAID["refused"]["gone"])
    if not await may_let_in(service, link.by, link.developer_id):
        raise HttpError(410, SAID["refused"]["too-late"])
    return link


async def sign_out(call: door.BySignIn) -> Response:
    accepted(await call.service.administer(EndSignIn(sign_in_id=call.sign_in.id)))
    return keep(call.request, rendering.redirect(door.SIGN_IN), door.cookie_name(call.request), "", 0)


async def static(call: Call, name: str) -> Response:
    return rendering.static_file(name)


# --- by the organization's own provider --------------------------------------------------------------------------
# A browser goes there, and comes back with a code that works once. It keeps a random text in a cookie of its own. What
# goes to the provider is made of it by a one-way function, so only the browser that went can come back, to whichever
# node. Nothing is kept here meanwhile.

ERRAND_SECONDS = 600  # how long somebody may take to sign in there
TO_CHARACTERS_MAX = 512
BACK = f"{door.SIGN_IN}/back"
_REFUSAL_CHARACTERS_MAX = 40


class Errand(NamedTuple):
    """What a browser keeps while it is away."""

    text: str
    link: str  # one that signs a developer in once, to whom the account is then linked; empty: no such wish
    to: str

    def made(self, what: str) -> str:
        """Told to others, and of no use to find the text: 64 hex digits."""
        return hmac.new(self.text.encode(), what.encode(), sha256).hexdigest()


async def go(call: Call, form: Form) -> Response:
    return await _sent_away(call, Errand(secrets.token_urlsafe(door.COOKIE_BYTES), "", local_path(form.get("next"))))


async def go_and_link(call: door.BySignIn) -> Response:
    _provider(call)
    until_us = call.service.now_us() + ERRAND_SECONDS * US_PER_SECOND
    link, offer = new_link(call.scope, until_us, entry.root_of(call.service.directory, call.sign_in))
    await call.act(offer)
    return await _sent_away(call, Errand(secrets.token_urlsafe(door.COOKIE_BYTES), link, "/settings?said=saved"))


async def _sent_away(call: Call, errand: Errand) -> Response:
    """By a page that goes on by itself: the policy lets no form lead to another server."""
    provider, request = _provider(call), call.request
    address = await provider.address(_back(request), *(errand.made(each) for each in ("state", "nonce", "verifier")))
    response = await rendering.going_on(address, f"To {provider.name}")
    to = errand.to if len(errand.to) <= TO_CHARACTERS_MAX else "/"
    kept = f"{errand.text}.{errand.link}.{quote(to, safe='')}"
    return keep(request, response, _cookie(request), kept, ERRAND_SECONDS, door.SIGN_IN, "Lax")


async def come_back(call: Call) -> Response:
    provider, request = _provider(call), call.request
    text, _, rest = request.cookies.get(_cookie(request), "").partition(".")
    link, _, to = rest.partition(".")
    errand = Errand(text, link, local_path(unquote(to)))
    is_whole = 0 < len(text) <= door.COOKIE_CHARACTERS_MAX and len(link) <= door.COOKIE_CHARACTERS_MAX
    if not is_whole or not hmac.compare_digest(errand.made("state").encode(), call.query.get("state", "").encode()):
        raise HttpError(403, SAID["refused"]["not-begun"])
    try:
        code = call.query.get("code", "")
        if not code or "error" in call.query:
            why = "".join(each for each in call.query.get("error", "") if each.isalnum() or each == "_")
            raise entry.NotProven(f"it says {why[:_REFUSAL_CHARACTERS_MAX] or 'nothing'}; sign in again")
        account = await provider.account(_back(request), code, errand.made("nonce"), errand.made("verifier"))
        who, came_by = await _person(call.service, account, errand.link)
    except entry.NotProven as error:
        refused = HttpError(403, f"{provider.name} does not open these pages: {error}")
        await note_wrong(call.service, request, [], refused)
        raise refused from error
    response = await open_sign_in(call.service, request, errand.to, who, came_by)
    return keep(request, response, _cookie(request), "", 0, door.SIGN_IN, "Lax")


async def _person(service: Service, account: entry.Account, link: str) -> tuple[entry.Principal, UUID | None]:
    """The member behind an account, which is linked to them from now on; and by whose link that came, if by another
    member's. Raises `NotProven`."""
    directory, known = service.directory, service.directory.get(Identity, account.identity_id)
    came_by = None if known is None or known.ended else entry.root_of(directory, known)
    if link:
        offered = directory.get(Link, link_stream(digest_of(link)))
        if offered is None or isinstance(await service.administer(UseLink(link_id=offered.id)), Refused):
            raise entry.NotProven("the link of this sign-in was used, or its time is over; begin it again")
        developer_id, who, came_by = offered.developer_id, entry.principal(directory, offered.scope), offered.root
    else:
        developer_id = entry.developer_behind(account, directory)
        members = directory.all(Membership, active=True, developer_id=developer_id)  # the oldest first
        who = entry.principal(directory, members[0].scope) if members else None
    if who is None:
        raise entry.NotProven("you are no longer a member of an organization here")
    if known is None or known.ended or known.developer_id != developer_id:
        command = shaped(LinkIdentity, account, developer_id=developer_id, came_by=came_by)
        accepted(await service.administer(command, developer_id))
    return who, came_by


def _provider(call: Call) -> Provider:
    if call.service.provider is None:
        raise HttpError(404, "this server has no sign-in but by keys and links")
    return call.service.provider


def _back(request: Request) -> str:
    """As the provider knows it; it sends nobody to an address that was not registered there."""
    return door.own_address(request) + BACK


def _cookie(request: Request) -> str:
    return f"provider_{door.cookie_name(request)}"


# --- how a browser is let in -----------------------------------------------------------------------------------


async def open_sign_in(
    service: Service, request: Request, to: str, who: entry.Principal, came_by: UUID | None
) -> Response:
    """Always a new one, so nobody goes on with a cookie that somebody else chose; `came_by`: another's link."""
    text = secrets.token_urlsafe(door.COOKIE_BYTES)
    command = OpenSignIn(
        sign_in_id=sign_in_stream(digest_of(text)),
        **asdict(who.scope),
        opened_by=None if who.key is None else who.key.id,
        browser=_browser(request),
        came_by=came_by,
    )
    accepted(await service.administer(command))
    response = await _let_in(request, to)
    return keep(request, response, door.cookie_name(request), text, entry.SIGN_IN_IDLE_DAYS * 24 * 3_600)


async def _let_in(request: Request, to: str) -> Response:
    """On to a page. Who comes from elsewhere, or may do so, takes a step of their own: on a redirection a browser would
    keep back the strict cookie that it was just given."""
    is_here = request.headers.get("Sec-Fetch-Site") in ("none", "same-origin")
    return rendering.redirect(to) if is_here else await rendering.going_on(to)


async def may_let_in(service: Service, by: UUID | None, developer_id: UUID) -> bool:
    """Whether a link of this maker may sign a developer in. A member's may not once the developer has begun: with it
    they would read all of a colleague's work."""
    if by in (None, developer_id):
        return True
    has_begun = developer_id in entry.begun(service.directory, service.uses)
    return not has_begun and developer_id not in await service.activation()


def keep(
    request: Request, response: Response, name: str, text: str, seconds: int, path: str = "/", samesite: str = "Strict"
) -> Response:
    """A cookie, for so long; 0 takes it away."""
    secure = door.is_secure(request)
    response.set_cookie(name, text, seconds, path=path, httponly=True, secure=secure, samesite=samesite)
    return response


def _browser(request: Request) -> str:
    """Enough to recognise it by: the program and the system that it names."""
    agent = request.headers.get("User-Agent", "")
    programs = {"Edg/": "Edge", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari", "": "a browser"}
    systems = ("Android", "iPhone", "Windows", "Mac OS", "Linux")
    program = next(name for mark, name in programs.items() if mark in agent)
    return " on ".join([program, *(system for system in systems if system in agent)][:2]).replace("Mac OS", "macOS")


def local_path(text: str | None) -> str:
    """A page of this server to go on to; home where the text names anything else."""
    if not text or not text.startswith("/") or text.startswith(("//", "/\\")) or not text.isprintable():
        return "/"
    return text
