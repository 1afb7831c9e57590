"""Values to bytes and back, for the body columns."""

from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


class BodyDamaged(Exception):
    """A body column holds what no `pack` has written; what it holds is not repeated."""


def pack(value: object) -> bytes:
    """The bytes of a value class."""
    return _encoder.encode(value)


def unpack(data: bytes, kind: type[_T]) -> _T:
    """The value that `pack` was given. Raises `BodyDamaged`."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.msgpack.Decoder(kind)
    try:
        value: _T = decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise BodyDamaged(f"a body is no {kind}") from error
    return value
