"""What requests there are in some bytes, as the listeners read them and as h11 does."""

from collections.abc import Sequence
from typing import NamedTuple

import h11

from svc_http.wire_heads import Head, Refused
from svc_http.wire_requests import Mark, Requests

BOUND = 2_000

Fields = list[tuple[bytes, bytes]]


class Seen(NamedTuple):
    """One request as far as it was read."""

    method: bytes
    target: bytes
    headers: Fields
    body: bytearray


class Reading(NamedTuple):
    """What was found in some bytes."""

    whole: list[Seen]
    refused: bool


def ours(pieces: Sequence[bytes]) -> Reading:
    """As a server reads that answers each request when it is complete."""
    requests, whole, seen = Requests(BOUND), list[Seen](), list[Seen]()
    keep_alive = True
    for piece in pieces:
        requests.feed(piece)
        while keep_alive:
            try:
                part = requests.next()
            except Refused:
                return Reading(whole, True)
            match part:
                case Head():
                    seen.append(Seen(part.method.encode(), part.target, _plain(part.headers), bytearray()))
                    open_after = part.keep_alive
                case bytes():
                    assert part, "no piece is empty"
                    seen[-1].body.extend(part)
                case Mark.END:
                    whole.append(seen[-1])
                    keep_alive = open_after
                    requests.start_next()
                case _:
                    break
    return Reading(whole, False)


def by_h11(pieces: Sequence[bytes]) -> Reading:
    """The same for h11."""
    connection, whole, seen = h11.Connection(h11.SERVER, BOUND), list[Seen](), list[Seen]()
    for piece in pieces:
        connection.receive_data(piece)
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError:
                return Reading(whole, True)
            match event:
                case h11.Request():
                    seen.append(Seen(event.method, event.target, _plain(list(event.headers)), bytearray()))
                case h11.Data():
                    seen[-1].body.extend(event.data)
                case h11.EndOfMessage():
                    whole.append(seen[-1])
                    if not _answered(connection):
                        return Reading(whole, False)
                case _:
                    break
    return Reading(whole, False)


def _answered(connection: h11.Connection) -> bool:
    """Whether the connection may be used again."""
    connection.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
    connection.send(h11.EndOfMessage())
    if connection.our_state is h11.MUST_CLOSE:
        return False
    connection.start_next_cycle()
    return True


def _plain(headers: Fields) -> Fields:
    """The name of a coding in lower case, as h11 has it."""
    return [(name, value.lower() if name == b"transfer-encoding" else value) for name, value in headers]
