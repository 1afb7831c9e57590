"""`source_event_id`: what names a record, so that the same one sent twice is one.

It is the SHA-256, in lower-case hex, of a canonical JSON list:

- of a log record or span: [resource, the resource's schemaUrl, scope, the scope's schemaUrl, record];
- of a metric point: [resource, its schemaUrl, scope, its schemaUrl, metric without its dataPoints, point].

Canonical: as received, unknown members included, with keys sorted by their UTF-8, without white space, in UTF-8 with
only those escapes that JSON demands; what is absent is null. The list's beginning is hashed once for all its records.
"""

import json
import math
import re
from collections.abc import Iterable
from hashlib import sha256

import msgspec

_ENCODE = msgspec.json.Encoder(order="sorted").encode


_DECODE = msgspec.json.Decoder().decode


_SURROGATE = re.compile("[\ud800-\udfff]")


CUT_CHARACTER = "\ufffd"
"""What half a character becomes."""


def canonical(data: bytes) -> bytes:
    """The canonical form of JSON text. Raises `Fault` where it holds what cannot be kept.

    Halves of characters, which agents make when they cut a text in the middle of one, become U+FFFD.
    """
    try:
        try:
            return _ENCODE(_DECODE(data))
        except msgspec.ValidationError as error:
            raise Fault(str(error)) from error
        except msgspec.DecodeError:
            return repaired(data)
    except RecursionError as error:
        raise Fault("it is nested too deeply") from error
    except ValueError as error:
        raise Fault(f"it is not JSON: {error}") from error


def repaired(data: bytes) -> bytes:
    """JSON text without halves of characters. Raises `ValueError` where it is not JSON otherwise."""
    return _ENCODE(_whole(json.loads(data, parse_constant=_refused)))


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON number")


def _whole(value: object) -> object:
    match value:
        case str():
            return _SURROGATE.sub(CUT_CHARACTER, value)
        case list():
            return [_whole(each) for each in value]
        case dict():
            return {_whole(key): _whole(each) for key, each in value.items()}
        case float() if math.isinf(value):
            raise ValueError("a number is out of range")
        case _:
            return value


class SourceIds:
    """Names the records under one branch."""

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
