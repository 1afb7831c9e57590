"""`source_event_id`: what names a record, so that the same one sent twice is one.

It is the SHA-256, in lower-case hex, of a canonical JSON list:

- of a log record or span: [resource, the resource's schemaUrl, scope, the scope's schemaUrl, record];
- of a metric point: [resource, its schemaUrl, scope, its schemaUrl, metric without its dataPoints, point].

Canonical: as received, unknown members included, with keys sorted by their UTF-8, without white space, in UTF-8 with
only those escapes that JSON demands; what is absent is null. The list's beginning is hashed once for all its records.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

import msgspec

_ENCODE = msgspec.json.Encoder(order="sorted").encode
_DECODE = msgspec.json.Decoder().decode
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""May be half a character; most texts have none."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Two halves that are a character, one half, any other escape."""
CUT_CHARACTER = "\ufffd"
"""What half a character becomes."""
_CUT_ESCAPED = rb"\ufffd"


def canonical(data: bytes) -> bytes:
    """The canonical form of JSON text. Raises `Fault` where it holds what cannot be kept."""
    try:
        return _ENCODE(_DECODE(data))
    except msgspec.DecodeError as error:
        raise Fault(str(error)) from error
    except RecursionError as error:
        raise Fault("it is nested too deeply") from error


def repaired(data: bytes) -> bytes:
    """JSON text where every escaped half of a character, as agents make when they cut a text, is U+FFFD."""
    return _ESCAPE.sub(_whole, data) if _HALF.search(data) else data


def _whole(escape: re.Match[bytes]) -> bytes:
    return _CUT_ESCAPED if escape["half"] else escape[0]


class SourceIds:
    def __init__(self, above: Iterable[bytes | None]) -> None:
        """`above`: the canonical forms of what stands before the record in the list."""
        self._begun = sha256(b"[" + b"".join(b"null," if each is None else each + b"," for each in above))

    def of(self, record: bytes) -> str:
        """The id of a record in its canonical form."""
        digest = self._begun.copy()
        digest.update(record)
        digest.update(b"]")
        return digest.hexdigest()


class Fault(Exception):
    """This record cannot be used; the message names the member, as a path within the record, and what it must be."""
