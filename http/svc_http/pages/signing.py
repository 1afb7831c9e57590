"""The way in and out: a key or a one-time link becomes a sign-in, and the files that every page needs."""

from hashlib import sha256

from quart import Response

from aggregates.event import Refused
from aggregates.ids import credential_stream, link_stream
from aggregates.people.acts import EndSignIn, UseLink
from aggregates.people.directory import Developer, Key, Link
from aggregates.people.entry import principal, root_of
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
async def sign_in_page(call: Call, to: str | None = None, wrong: str | None = None, status: int = 200) -> Response:
    values = {"next": to or local_path(call.query.get("next")), "wrong": wrong, "provider": call.service.provider}
    return await rendering.html("sign-in.html", values, status)


@routes(f"POST {SIGN_IN}", "Sign in with a key.")
async def sign_in(call: Call) -> Response:
    fields = await form_of(call)
    key, to = fields.get("key", "").strip(), local_path(fields.get("next"))
    try:
        who = developer_of(call.service, key)
    except HttpError as error:
        await note_wrong(call.service, call.request, [key], error)
        return await sign_in_page(call, to, error.message, error.status)
    known = call.service.directory.get(Key, credential_stream(sha256(key.encode()).hexdigest()))
    assert known is not None, "a key that opens is known"
    return await open_sign_in(call.service, call.request, to, who, root_of(call.service.directory, known), known)


@routes("GET /open/<token>", "Whose pages a link opens, and the button that opens them.")
async def link_page(call: Call, token: str) -> Response:
    """Changes nothing, so that whoever only looks, like a mail scanner or a preview, uses no link up."""
    link = await _waiting(call, token)
    person = None if link is None else call.service.directory.get(Developer, link.developer_id)
    return await rendering.html("open.html", {"person": person, "token": token})


@routes("POST /open/<token>", "Sign in by a link, once.")
async def open_by_link(call: Call, token: str) -> Response:
    service, link = call.service, await _waiting(call, token)
    if link is None:
        service.operators.use(digest_of(token))
        return await open_operator(service, call.request)
    who = principal(service.directory, link.scope)
    if who is None or isinstance(await service.administer(UseLink(link_id=link.id)), Refused):
        raise HttpError(410, _GONE)
    return await open_sign_in(service, call.request, "/", who, link.root)


async def _waiting(call: Call, token: str) -> Link | None:
    """The link that waits to be used, once and within its time; None: one of the operator's. Raises `HttpError` 410."""
    service, now_us = call.service, call.service.now_us()
    digest = digest_of(token) if len(token) <= LINK_CHARACTERS_MAX else ""
    if service.operators.waits(digest, now_us):
        return None
    link = service.directory.get(Link, link_stream(digest))
    if link is None or not link.opens(now_us):
        raise HttpError(410, _GONE)
    if service.directory.membership(link.scope) is None:
        raise HttpError(410, "The developer of this link is no longer a member of the organization.")
    if not await may_let_in(service, link.by, link.developer_id):
        raise HttpError(410, _TOO_LATE)
    return link


@routes("POST /sign-out", "End this browser's sign-in.")
async def sign_out(call: BySignIn) -> Response:
    await carried_out(call.service, EndSignIn(sign_in_id=call.sign_in.id))
    return forget_cookie(call.request, rendering.redirect(SIGN_IN))


@routes("GET /static/<name>", "A style sheet, a script or a picture of the pages.")
async def static(call: Call, name: str) -> Response:
    return rendering.static_file(name)
