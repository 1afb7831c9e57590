"""The first lines of an HTTP/1.1 request: what they say, and how much body follows them.

A server that reads a request otherwise than the proxy in front of it can be made to see requests that the proxy never
passed (request smuggling). So the grammar is RFC 9112's without the leniencies that it allows: lines end in CRLF and
are not folded, a length is said once and in one way, a target is a path.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_METHOD = rb"[A-Z][A-Z-]{0,31}"
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
TEXT = rb"[\t\x20-\x7e\x80-\xff]*+"
FIELD = _TOKEN + rb":" + TEXT
FIELD_LINES = rb"(?:" + FIELD + rb"\r\n)*+"
"""Header lines; each match is whole or none, so that no input makes the search slow."""

_HEAD = re.compile(rb"(" + _METHOD + rb") (/[\x21-\x7e]*+) HTTP/1\.([01])\r\n(" + FIELD_LINES + rb")\r\n")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):[ \t]*+(" + TEXT + rb")\r\n")
_REQUEST_LINE = re.compile(_METHOD + rb" /[\x21-\x7e]* HTTP/1\.[01]\r\n")
_STRAY_BREAK = re.compile(rb"(?<!\r)\n|\r(?=[^\n])")
_HOST = re.compile(rb"[A-Za-z0-9!$&'()*+;=._~%:\[\]-]*")
_LENGTH = re.compile(rb"[0-9]{1,20}")

_NOTED = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"expect"))
"""Headers that say how the request is to be read."""

_Noted = Mapping[bytes, list[bytes]]

NOT_A_LINE = "the request line is not METHOD /path HTTP/1.1; send the path alone as its target"
NOT_A_HEADER = "a header is malformed; send each on one line, ended by CRLF, without control characters"


class Refused(Exception):
    """These bytes are no request that is served. What follows them cannot be told apart from them."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """A request without its body. Header names are in lower case."""

    method: str
    target: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    length: int | None
    """Of the body, in bytes; None where it comes in chunks."""
    keep_alive: bool
    expects_continue: bool


def check_begun(data: bytes | bytearray, searched: int) -> None:
    """Refuse at once what can never become a request: its sender would wait for the rest for ever.

    `searched` tells how many of the bytes were looked at before. Raises `Refused`.
    """
    if data and not b"A"[0] <= data[0] <= b"Z"[0]:
        raise Refused(NOT_A_LINE)
    if _STRAY_BREAK.search(data, searched):
        raise Refused(NOT_A_HEADER)


def read_head(data: bytes) -> Head:
    """Request line and headers, with the blank line after them. Raises `Refused`."""
    match = _HEAD.fullmatch(data)
    if match is None:
        raise Refused(NOT_A_HEADER if _REQUEST_LINE.match(data) else NOT_A_LINE)
    method, target, minor, lines = match.groups()
    version = "1.1" if minor == b"1" else "1.0"
    headers, noted = _fields(lines)
    _check_host(noted, version)
    return Head(
        method.decode(),
        target,
        version,
        headers,
        _body_length(noted, version),
        keep_alive=version == "1.1" and b"close" not in _listed(noted, b"connection"),
        expects_continue=version == "1.1" and b"100-continue" in _listed(noted, b"expect"),
    )


def _fields(lines: bytes) -> tuple[list[tuple[bytes, bytes]], _Noted]:
    """All headers, and the values of those that say how the request is to be read."""
    headers = [(name.lower(), value.rstrip(b" \t")) for name, value in _FIELD.findall(lines)]
    noted: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _NOTED:
            noted.setdefault(name, []).append(value)
    return headers, noted


def _check_host(noted: _Noted, version: str) -> None:
    hosts = noted.get(b"host", [])
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        raise Refused("the request must have one Host header")
    if hosts and _HOST.fullmatch(hosts[0]) is None:
        raise Refused("the Host header is no host with an optional port")


def _body_length(noted: _Noted, version: str) -> int | None:
    """In bytes; None for chunks."""
    lengths, codings = noted.get(b"content-length"), noted.get(b"transfer-encoding")
    if codings is not None:
        _check_codings(codings, version)
        if lengths is not None:
            raise Refused("the request has both a Content-Length and a Transfer-Encoding; send one of them")
        return None
    if lengths is None:
        return 0
    if len(lengths) > 1 or _LENGTH.fullmatch(lengths[0]) is None:
        raise Refused("Content-Length must be there once, as one number of bytes")
    return int(lengths[0])


def _check_codings(codings: list[bytes], version: str) -> None:
    if version == "1.0":
        raise Refused("HTTP/1.0 knows no Transfer-Encoding; send a Content-Length")
    if len(codings) > 1 or codings[0].lower() != b"chunked":
        raise Refused("the only Transfer-Encoding understood is chunked, said once", 501)


def _listed(noted: _Noted, name: bytes) -> list[bytes]:
    """The values of a header that lists some, in lower case."""
    return [each.strip() for value in noted.get(name, ()) for each in value.lower().split(b",")]
