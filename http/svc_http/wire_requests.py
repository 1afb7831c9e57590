"""HTTP/1.1 requests, read out of the bytes of one connection: bytes in, parts of requests out.

What does not fit the grammar is refused, and nothing after it is read. One request is read at a time; what follows it
stays bytes until it has been answered.
"""

import re
from collections.abc import Callable
from enum import Enum, auto

from svc_http.wire_heads import FIELD, NOT_A_HEADER, TEXT, Head, Refused, check_begun, read_head

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})((?:;" + TEXT + rb")?)")
_TRAILER = re.compile(FIELD)

CHUNK_SIZE_LINE_BYTES = 16 + len(b"\r\n")
"""The longest line before a chunk, without an extension."""


class Mark(Enum):
    """What is no data."""

    END = auto()
    """The request is complete."""
    WAIT = auto()
    """More was received than one request, which is to be answered first."""
    MORE = auto()
    """More bytes are needed."""


Part = Head | bytes | Mark


class Requests:
    """The requests of one connection, one after the other."""

    def __init__(self, head_bytes_max: int) -> None:
        self._head_bytes_max = head_bytes_max
        self._data = bytearray()
        self._searched = 0
        """How much of the data holds no end of what is looked for."""
        self._left = 0
        """Bytes of the body, or of its chunk, that are still to come."""
        self._spare = 0
        """Bytes of chunk extensions and trailers that may still come."""
        self.ended = False
        """Whether the client has said that it sends no more."""
        self._read: Callable[[], Part] = self._read_head

    @property
    def complete(self) -> bool:
        """Whether all of the current request was read."""
        return self._read == self._read_beyond

    @property
    def drained(self) -> bool:
        """Whether all that was received has been read."""
        return not self._data

    def feed(self, data: bytes) -> None:
        """Bytes as received; none at all is the end."""
        if not data:
            self.ended = True
        self._data += data

    def next(self) -> Part:
        """The next part of the request. Raises `Refused`, after which there is none."""
        try:
            part = self._read()
            if part is Mark.MORE and self.ended and self._within():
                raise Refused("the connection ended in the middle of the request; send all of it")
        except Refused:
            self.stop()
            raise
        return part

    def start_next(self) -> None:
        """The request is answered; the next may be read."""
        self._read = self._read_head

    def stop(self) -> None:
        """Read no more."""
        self._data.clear()
        self._read = self._read_nothing

    def _within(self) -> bool:
        """Whether a request has begun and is not complete."""
        if self._read == self._read_head:
            return bool(self._data)
        return self._read not in (self._read_beyond, self._read_nothing)

    # --- head --------------------------------------------------------------------------------------------

    def _read_head(self) -> Part:
        found = self._data.find(b"\r\n\r\n", self._searched)
        size = found + 4 if found >= 0 else len(self._data)
        if size > self._head_bytes_max:
            raise Refused(f"the request line and headers take more than {self._head_bytes_max} bytes; send less", 431)
        if found < 0:
            check_begun(self._data, self._searched)
            self._searched = max(0, size - 3)
            return Mark.MORE
        head = read_head(self._take(size))
        self._left = head.length or 0
        self._spare = self._head_bytes_max
        self._read = self._read_measured if head.length is not None else self._read_chunk_size
        return head

    # --- body --------------------------------------------------------------------------------------------

    def _read_measured(self) -> Part:
        return self._piece() if self._left else self._end()

    def _read_chunk_size(self) -> Part:
        line = self._line()
        if line is None:
            return Mark.MORE
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise Refused("a chunk of the body does not begin with its size in hexadecimal digits alone")
        self._spend(len(size[2]))
        self._left = int(size[1], 16)
        self._read = self._read_chunk if self._left else self._read_trailers
        return self._read()

    def _read_chunk(self) -> Part:
        if self._left:
            return self._piece()
        if not b"\r\n".startswith(self._data[:2]):
            raise Refused("a chunk of the body is longer than its size says")
        if len(self._data) < 2:
            return Mark.MORE
        self._take(2)
        self._read = self._read_chunk_size
        return self._read()

    def _read_trailers(self) -> Part:
        """What follows the last chunk; nothing of it is used."""
        while line := self._line():
            if _TRAILER.fullmatch(line) is None:
                raise Refused(NOT_A_HEADER)
            self._spend(len(line))
        return Mark.MORE if line is None else self._end()

    def _piece(self) -> Part:
        """What was received of the body, or of its chunk."""
        if not self._data:
            return Mark.MORE
        piece = self._take(self._left)
        self._left -= len(piece)
        return piece

    def _line(self) -> bytes | None:
        """A line without its end; None while it is not complete."""
        found = self._data.find(b"\r\n", self._searched)
        if found < 0:
            self._searched = max(0, len(self._data) - 1)
            self._check_spare(len(self._data) - CHUNK_SIZE_LINE_BYTES)
            return None
        return self._take(found + 2)[:-2]

    def _spend(self, size: int) -> None:
        self._check_spare(size)
        self._spare -= size

    def _check_spare(self, size: int) -> None:
        if size > self._spare:
            raise Refused(f"chunk extensions and trailers take more than {self._head_bytes_max} bytes; send none", 431)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._data[:size])
        del self._data[:size]
        self._searched = 0
        return taken

    def _end(self) -> Mark:
        self._read = self._read_beyond
        return Mark.END

    # --- after the request -------------------------------------------------------------------------------

    def _read_beyond(self) -> Part:
        """The request is complete and not answered yet."""
        return Mark.WAIT if self._data else Mark.MORE

    def _read_nothing(self) -> Part:
        self._data.clear()
        return Mark.MORE
