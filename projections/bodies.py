"""Values to bytes and back, for the body columns."""

from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def pack(value: object) -> bytes:
    """The bytes of a value class."""
    return _encoder.encode(value)


def unpack(data: bytes, kind: type[_T]) -> _T:
    """The value that `pack` was given."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.msgpack.Decoder(kind)
    value: _T = decoder.decode(data)
    return value
