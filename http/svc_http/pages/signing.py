"""The way in and out: a key or a one-time link becomes a sign-in, and the files that every page needs."""

from hashlib import sha256

from quart import Response
from quart_trio.wrappers import TrioResponse

from aggregates.event import Refused
from aggregates.ids import credential_stream, link_stream
from aggregates.people.commands import EndSignIn, UseLink
from aggregates.people.directory import Key, Link
from aggregates.people.entry import principal
from svc_http.bodies import HttpError
from svc_http.pages import rendering
from svc_http.pages.door import (
    SIGN_IN,
    BySignIn,
    carried_out,
    digest_of,
    forget_cookie,
    form_of,
    local_path,
    may_let_in,
    open_operator,
    open_sign_in,
)
from svc_http.params import Call
from svc_http.routing import Routes, developer_of, note_wrong

LINK_CHARACTERS_MAX = 64
_GONE = (
    "This link was used, or its time is over. Ask whoever sent it to you; who runs the server types `svc open` there."
)
_TOO_LATE = (
    "This link was made before you began, and opens nothing any more. Sign in with a key, or ask whoever runs svc."
)
routes = Routes()


@routes(f"GET {SIGN_IN}", "Where a key opens the pages.")
async def sign_in_page(call: Call) -> Response:
    return await _sign_in_page(call, local_path(call.query.get("next")))


async def _sign_in_page(call: Call, to: str, wrong: str | None = None, status: int = 200) -> TrioResponse:
    return await rendering.html(
        "sign-in.html",
        {"next": to, "wrong": wrong, "version": call.service.settings.version, "provider": call.service.provider},
        status,
    )


@routes(f"POST {SIGN_IN}", "Sign in with a key.")
async def sign_in(call: Call) -> Response:
    fields = await form_of(call)
    key, to = fields.get("key", "").strip(), local_path(fields.get("next"))
    try:
        who = developer_of(call.service, key)
    except HttpError as error:
        await note_wrong(call.service, call.request, [key], error)
        return await _sign_in_page(call, to, error.message, error.status)
    known = call.service.directory.get(Key, credential_stream(sha256(key.encode()).hexdigest()))
    return await open_sign_in(call.service, call.request, to, who, None if known is None else known.key_id)


@routes("GET /open/<token>", "Sign in by a link, once.")
async def open_by_link(call: Call, token: str) -> Response:
    """410 unless it is good: a link is followed once, within its time, and only by who has its text."""
    if len(token) <= LINK_CHARACTERS_MAX and call.service.operators.uses(digest_of(token), call.service.now_us()):
        return await open_operator(call.service, call.request)
    link = None if len(token) > LINK_CHARACTERS_MAX else call.service.directory.get(Link, link_stream(digest_of(token)))
    if link is not None and not link.used and not await may_let_in(call.service, link.by, link.developer_id):
        raise HttpError(410, _TOO_LATE)
    if link is None or isinstance(await call.service.administer(UseLink(link_id=link.id)), Refused):
        raise HttpError(410, _GONE)
    who = principal(call.service.directory, link.scope)
    if who is None:
        raise HttpError(410, "The developer of this link is no longer a member of the organization.")
    return await open_sign_in(call.service, call.request, "/", who, None)


@routes("POST /sign-out", "End this browser's sign-in.")
async def sign_out(call: BySignIn) -> Response:
    await carried_out(call.service, EndSignIn(sign_in_id=call.sign_in.id))
    return forget_cookie(call.request, rendering.redirect(SIGN_IN))


@routes("GET /static/<name>", "A style sheet, a script or a picture of the pages.")
async def static(call: Call, name: str) -> Response:
    return rendering.static_file(name)
