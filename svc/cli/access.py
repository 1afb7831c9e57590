"""How a command reaches the data: by the routes of administration, in this process or in the server that holds it."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

import msgspec

from aggregates.event import Mendable
from svc.cli import Found
from svc.log.folder import SOCKET, FolderInUse, held, internal_secret, socket_path
from svc.outward import Answer, answered, reason_in
from svc.process import MIB_BYTES
from svc.settings import Settings

REMOTE_TIMEOUT_SECONDS = 60.0  # how long a command waits for one answer of the running server
ANSWER_BYTES_MAX = 256 * MIB_BYTES  # of one answer: a million acts of an audit log
PAGE_RECORDS = 500  # records a command asks the running server for at once; the most a listing gives
BUSY, BUSY_TRIES, BUSY_SECONDS = 503, 12, 5.0  # so often a command asks a busy server, each so long after the last
REPLAY, FORGET = "/v1/admin/control/replay", "/v1/admin/control/forget"
NAMES_SHOWN = 10  # so many names stand in one sentence


class NotReached(Mendable):
    """The data cannot be reached; the message says why and what to do."""


class NotFound(Mendable):
    """What was named is not there, or is not the only one; the message says what to type instead."""


Send = Callable[..., Answer]  # method, path, seconds; `headers` and `content` beside


@contextlib.contextmanager
def reach(settings: Settings) -> Iterator["Access"]:
    """Hold the folder, or talk to the server that does. Raises `NotReached`."""
    from svc.log.opening import holds_data  # late, as all that takes long to import: help waits for none of it

    var = settings.var_path
    if not holds_data(settings.place) and not (var / SOCKET).exists():
        raise NotReached(f"{var} holds no data yet; run `svc init --var {var}` or `svc serve --var {var}` first")
    try:
        with held(var), _served_here(settings) as send:
            yield Access(send, internal_secret(var), 1)
        return
    except FolderInUse:
        if not (var / SOCKET).exists():
            raise NotReached(f"another svc process holds {var} but serves nothing; wait until it is done") from None
    with socket_path(var) as path:  # never over TCP: after a crash anybody may listen on the server's port
        yield Access(partial(answered, bytes_max=ANSWER_BYTES_MAX, socket=path), internal_secret(var))


@contextlib.contextmanager
def _served_here(settings: Settings) -> Iterator[Send]:
    """The service, in a thread of this process."""
    import httpx
    from anyio.from_thread import start_blocking_portal

    from svc.service import open_service
    from svc_http.app import build_api

    with start_blocking_portal("trio") as portal:
        hosted = portal.wrap_async_context_manager(open_service(settings))
        # Cast: httpx and quart write the same ASGI in different types.
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=cast(Any, build_api(hosted.__enter__()))))

        def send(method: str, address: str, seconds: float, **more: Any) -> Answer:
            found = portal.call(partial(client.request, method, address, timeout=seconds, **more))
            return Answer(found.status_code, found.content, found.headers)

        try:
            yield send
        finally:
            hosted.__exit__(None, None, None)  # in order, also after Ctrl-C: its thread hears nothing of that


class Access:
    """The routes of administration. People are named by their id or, where that is the only one, by their name."""

    def __init__(self, send: Send, secret: str, tries: int = BUSY_TRIES) -> None:
        self._send = send
        self._headers = {"X-Internal-Secret": secret}
        self._tries = tries

    def asked(self, method: str, path: str, body: object = None, **query: object) -> Answer:
        """What a route answers, whatever its status; a body is sent as JSON. Raises `NotReached`."""
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            address = f"http://localhost{path}?{urlencode(query)}" if query else f"http://localhost{path}"
            content = None if body is None else msgspec.json.encode(body)
            return self._send(method, address, REMOTE_TIMEOUT_SECONDS, headers=headers, content=content)
        except UnicodeEncodeError as error:
            raise NotReached("what was typed is not in UTF-8: type it again") from error
        except OSError as error:
            raise NotReached(f"the running server does not answer: {error}") from error

    def admin(self, method: str, path: str, body: object = None, **query: object) -> bytes:
        """What a route answers. Raises `NotReached` where it refuses."""
        for left in reversed(range(self._tries)):
            answer = self.asked(method, path, body, **query)
            if answer.status < 300:
                return answer.content
            if answer.status != BUSY or not left:
                break
            time.sleep(BUSY_SECONDS)
        reason = reason_in(answer.content) or f"{method} {path} is answered with {answer.status}"
        raise NotReached(f"refused: {reason.removeprefix('$: ').removeprefix('$.')}")

    def ask(self, method: str, path: str, body: object = None, **query: object) -> Any:
        return msgspec.json.decode(self.admin(method, path, body, **query) or b"null")

    def listed(self, kind: str, **ids: str | None) -> list[Found]:
        """Every record of a kind, page by page, narrowed by the ids that are given."""
        wanted = {name: each for name, each in ids.items() if each is not None}
        found: list[Found] = []
        while True:
            page = self.ask("GET", f"/v1/admin/{kind}s", limit=PAGE_RECORDS, offset=len(found), **wanted)
            found += page
            if len(page) < PAGE_RECORDS:
                return found

    def create(self, kind: str, **body: Any) -> Found:
        """A new record; what is None is left out."""
        sent = {name: value for name, value in body.items() if value is not None}
        return cast(Found, self.ask("POST", f"/v1/admin/{kind}s", sent))

    def change(self, kind: str, known: Found, **body: Any) -> Found:
        """The record after a change; here None is sent, as null."""
        return cast(Found, self.ask("PATCH", f"/v1/admin/{kind}s/{known['id']}", body))

    def end(self, kind: str, known: Found) -> None:
        self.ask("DELETE", f"/v1/admin/{kind}s/{known['id']}")

    def find(self, kind: str, named: str | None) -> Found:
        """The one that was named; the only one where none was. Raises `NotFound`."""
        known = self.listed(kind)  # what has ended is named by its id only
        names = {each["id"]: each.get("display_name") or each["name"] for each in known}
        names |= {each["id"]: "" for each in known if not each.get("active", True)}
        wanted = chosen(kind, names, named)
        return next(each for each in known if each["id"] == wanted)

    def id_of(self, kind: str, named: str | None) -> str | None:
        """The id of the one that was named; None where none was. Raises `NotFound`."""
        return None if named is None else self.find(kind, named)["id"]

    def organizations(self, named: str | None) -> list[str]:
        """The one that was named, or every one. Raises `NotFound`."""
        found = self.id_of("organization", named)
        return [each["id"] for each in self.listed("organization")] if found is None else [found]

    def names(self) -> dict[str, str]:
        return {each["id"]: each["display_name"] for each in self.listed("developer")}

    def member(self, named: str | None, organization: str | None) -> Found:
        """The current membership of the developer that was named; of the only member where none was."""
        scope, names = self.id_of("organization", organization), self.names()
        current = [each for each in self.listed("membership", organization_id=scope) if each["active"]]
        members = {each["developer_id"]: names[each["developer_id"]] for each in current}
        whose = chosen("developer", members if named is None else names, named)
        found = [each for each in current if each["developer_id"] == whose]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFound(f"{names[whose]} is no member there; `svc member list` shows who is")
        raise NotFound(f"{names[whose]} has {len(found)} memberships there; say which by --organization")


def chosen(what: str, names: Mapping[str, str], named: str | None) -> str:
    """By id, else by name, else by name in any case; without either, the only one there is. Raises `NotFound`."""
    if named is None:
        if len(names) == 1:
            return next(iter(names))
        which = "which one (--developer)" if what == "developer" else "which one"
        raise NotFound(f"there are {len(names)} {what}s; say {which}, by its name or id: {_some(names.values())}")
    found = (
        [each for each in names if each == named.lower()]
        or [each for each, name in names.items() if name == named]
        or [each for each, name in names.items() if name.casefold() == named.casefold()]
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{len(found)} {what}s are called {named!r}; use the id: {_some(found)}")
    command = "org" if what == "organization" else what
    there = f"there is {_some(names.values())} (`svc {command} list` shows their ids)"
    raise NotFound(f"there is no {what} {named!r}; {there}")


def _some(names: Iterable[str]) -> str:
    shown = [name for name in names if name]
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return (", ".join(shown[:NAMES_SHOWN]) or "none") + more
