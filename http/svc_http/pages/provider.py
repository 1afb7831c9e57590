"""Signing in by the organization's own provider: a browser goes there, and comes back with a code that works once.

The browser keeps a random text in a cookie of its own. What goes to the provider is made of it by a one-way function,
so only the browser that went can come back, to whichever node. Nothing is kept here meanwhile.
"""

import hmac
import secrets
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, unquote
from uuid import UUID

from quart import Request, Response

from aggregates.event import Refused
from aggregates.ids import link_stream
from aggregates.people.acts import LinkIdentity, OfferLink, UseLink
from aggregates.people.directory import Identity, Link
from aggregates.people.entry import (
    Account,
    NotProven,
    Principal,
    developer_behind,
    membership_of,
    principal,
    root_of,
)
from aggregates.times import US_PER_SECOND
from svc_http.bodies import HttpError
from svc_http.pages import rendering
from svc_http.pages.door import (
    COOKIE_BYTES,
    COOKIE_CHARACTERS_MAX,
    SIGN_IN,
    BySignIn,
    carried_out,
    cookie_name,
    digest_of,
    form_of,
    is_secure,
    local_path,
    open_sign_in,
)
from svc_http.params import Call
from svc_http.ports import Provider, Service
from svc_http.routing import Routes, note_wrong

ERRAND_SECONDS = 600  # how long somebody may take to sign in there
TO_CHARACTERS_MAX = 512
BACK = f"{SIGN_IN}/back"
_NOT_BEGUN = "this sign-in was not begun in this browser, was ended already, or took over ten minutes; begin it again"
_REFUSAL_CHARACTERS_MAX = 40
routes = Routes()


class Errand(NamedTuple):
    """What a browser keeps while it is away."""

    text: str
    link: str
    """Of a link that signs a developer in once: the account is then linked to that developer. Empty: no such wish."""
    to: str

    def made(self, what: str) -> str:
        """Told to others, and of no use to find the text: 64 hex digits."""
        return hmac.new(self.text.encode(), what.encode(), sha256).hexdigest()


@routes(f"POST {SIGN_IN}/provider", "Go to the provider to sign in.")
async def go(call: Call) -> Response:
    fields = await form_of(call)
    return await _sent_away(call, Errand(_random(), "", local_path(fields.get("next"))))


@routes("POST /mine/provider", "Go to the provider to link one's account there.")
async def go_and_link(call: BySignIn) -> Response:
    _provider(call)
    link = _random()
    offer = OfferLink(
        link_id=link_stream(digest_of(link)),
        organization_id=call.scope.organization_id,
        developer_id=call.scope.developer_id,
        expires_at_us=call.service.now_us() + ERRAND_SECONDS * US_PER_SECOND,
        came_by=root_of(call.service.directory, call.sign_in),
    )
    await carried_out(call.service, offer, call.scope.developer_id)
    return await _sent_away(call, Errand(_random(), link, "/mine?said=saved"))


async def _sent_away(call: Call, errand: Errand) -> Response:
    """By a page that goes on by itself: the policy lets no form lead to another server."""
    provider, request = _provider(call), call.request
    address = await provider.address(_back(request), *(errand.made(each) for each in ("state", "nonce", "verifier")))
    response = await rendering.going_on(address, f"To {provider.name}")
    to = errand.to if len(errand.to) <= TO_CHARACTERS_MAX else "/"
    kept = f"{errand.text}.{errand.link}.{quote(to, safe='')}"
    response.set_cookie(
        _cookie(request), kept, ERRAND_SECONDS, path=SIGN_IN, httponly=True, secure=is_secure(request), samesite="Lax"
    )
    return response


@routes(f"GET {BACK}", "Where the provider sends a browser back to.")
async def come_back(call: Call) -> Response:
    provider, request = _provider(call), call.request
    errand = _errand(request)
    if errand is None or not hmac.compare_digest(errand.made("state").encode(), call.query.get("state", "").encode()):
        raise HttpError(403, _NOT_BEGUN)
    try:
        code = _code(call, provider)
        account = await provider.account(_back(request), code, errand.made("nonce"), errand.made("verifier"))
        who, came_by = await _person(call.service, account, errand.link)
    except NotProven as error:
        refused = HttpError(403, f"{provider.name} does not open these pages: {error}")
        await note_wrong(call.service, request, [], refused)
        raise refused from error
    response = await open_sign_in(call.service, request, errand.to, who, came_by)
    response.delete_cookie(_cookie(request), path=SIGN_IN, httponly=True, secure=is_secure(request), samesite="Lax")
    return response


def _code(call: Call, provider: Provider) -> str:
    code = call.query.get("code", "")
    if not code or "error" in call.query:
        why = "".join(each for each in call.query.get("error", "") if each.isalnum() or each == "_")
        raise NotProven(f"it says {why[:_REFUSAL_CHARACTERS_MAX] or 'nothing'}; sign in again")
    return code


async def _person(service: Service, account: Account, link: str) -> tuple[Principal, UUID | None]:
    """The member behind an account, which is linked to them from now on; and by whose link that came, if by another
    member's. Raises `NotProven`."""
    directory, known = service.directory, service.directory.get(Identity, account.identity_id)
    came_by = None if known is None or known.ended else root_of(directory, known)
    if link:
        offered = directory.get(Link, link_stream(digest_of(link)))
        if offered is None or isinstance(await service.administer(UseLink(link_id=offered.id)), Refused):
            raise NotProven("the link of this sign-in was used, or its time is over; begin it again")
        developer_id, who, came_by = offered.developer_id, principal(directory, offered.scope), offered.root
    else:
        developer_id = developer_behind(account, directory)
        member = membership_of(directory, developer_id)
        who = None if member is None else principal(directory, member.scope)
    if who is None:
        raise NotProven("you are no longer a member of an organization here")
    if known is None or known.ended or known.developer_id != developer_id:
        command = LinkIdentity(
            identity_id=account.identity_id, issuer=account.issuer, developer_id=developer_id, came_by=came_by
        )
        await carried_out(service, command, developer_id)
    return who, came_by


def _provider(call: Call) -> Provider:
    if call.service.provider is None:
        raise HttpError(404, "this server has no sign-in but by keys and links")
    return call.service.provider


def _back(request: Request) -> str:
    """As the provider knows it; it sends nobody to an address that was not registered there."""
    return f"{'https' if is_secure(request) else 'http'}://{request.host}{BACK}"


def _cookie(request: Request) -> str:
    return f"provider_{cookie_name(request)}"


def _errand(request: Request) -> Errand | None:
    text, _, rest = request.cookies.get(_cookie(request), "").partition(".")
    link, _, to = rest.partition(".")
    if not 0 < len(text) <= COOKIE_CHARACTERS_MAX or len(link) > COOKIE_CHARACTERS_MAX:
        return None
    return Errand(text, link, local_path(unquote(to)))


def _random() -> str:
    return secrets.token_urlsafe(COOKIE_BYTES)
