"""HTTP/1.1 responses as bytes, with the one framing that each request and response allow.

A length that the application names is held to, and a header that would end its line early is refused: nothing that it
says can begin a second response.
"""

import re
from collections.abc import Sequence

from svc_http.wire_heads import FIELD_LINES

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""A client that waits for this sends its body now."""

_LINES = re.compile(FIELD_LINES)
_LENGTH = re.compile(rb"[0-9]{1,20}")
_WITHOUT_BODY = (204, 304)


class WrongResponse(Exception):
    """A fault of this program: what it wants sent is no response."""


class ResponseWriter:
    """One response. After a fault it stays incomplete, and the connection is not used any more."""

    def __init__(self, method: str, version: str, keep_alive: bool) -> None:
        self._method = method
        self._version = version
        self.keep_alive = keep_alive
        """Whether the connection may serve another request after this response."""
        self.begun = False
        self.complete = False
        self._chunked = False
        self._left: int | None = 0
        """Bytes of the body still to be sent; None where nobody said how many."""

    def head(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """The first lines. Raises `WrongResponse`, and then another head may still be written."""
        if self.begun or not 200 <= status <= 999:
            raise WrongResponse(f"status {status} cannot be sent here")
        named = _Named(headers)
        lines = [b"%b: %b\r\n" % each for each in headers]
        lines += self._frame(status, named)
        if not self.keep_alive and not named.close:
            lines.append(b"Connection: close\r\n")
        text = _checked(lines)
        self.keep_alive = self.keep_alive and not named.close
        self.begun = True
        return b"HTTP/1.1 %d \r\n%b\r\n" % (status, text)

    def _frame(self, status: int, named: "_Named") -> list[bytes]:
        """How the client finds the end of the body; the header that says so where none does."""
        if status in _WITHOUT_BODY:
            return []
        if named.length is not None:
            self._left = named.length if self._method != "HEAD" else 0
            return []
        if self._version == "1.0":
            self.keep_alive = False
            self._left = None if self._method != "HEAD" else 0
            return []
        if self._method != "HEAD":
            self._left, self._chunked = None, True
        return [b"Transfer-Encoding: chunked\r\n"]

    def piece(self, data: bytes) -> bytes:
        """A piece of the body. Raises `WrongResponse`."""
        if not self.begun or self.complete:
            raise WrongResponse("a body without its head")
        if self._left is not None:
            if len(data) > self._left:
                raise WrongResponse("the body is longer than its headers say")
            self._left -= len(data)
        return b"%x\r\n%b\r\n" % (len(data), data) if self._chunked and data else data

    def end(self) -> bytes:
        """What ends the response. Raises `WrongResponse`."""
        if not self.begun or self._left:
            raise WrongResponse("the body is shorter than its headers say")
        self.complete = True
        return b"0\r\n\r\n" if self._chunked else b""


class _Named:
    """What headers say about the framing of their response."""

    def __init__(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.length: int | None = None
        self.close = False
        for name, value in headers:
            if b":" in name:
                raise WrongResponse("a header's name ends at its first colon")
            match name.lower():
                case b"content-length":
                    self._note_length(value)
                case b"connection":
                    self.close = self.close or b"close" in value.lower()
                case b"transfer-encoding":
                    raise WrongResponse("the coding of a response is not the application's to choose")

    def _note_length(self, value: bytes) -> None:
        if self.length is not None or _LENGTH.fullmatch(value) is None:
            raise WrongResponse(f"a Content-Length of {value!r}")
        self.length = int(value)


def _checked(lines: list[bytes]) -> bytes:
    """The lines as one text, which holds these lines and no others. Raises `WrongResponse`."""
    text = b"".join(lines)
    if _LINES.fullmatch(text) is None or text.count(b"\n") != len(lines):
        raise WrongResponse("a header's name or value cannot stand in a line")
    return text
