"""Answers: msgspec structs whose fields are the wire's, as JSON."""

import msgspec
from quart_trio.wrappers import TrioResponse

_ENCODER = msgspec.json.Encoder()


def json_reply(value: object, status: int = 200) -> TrioResponse:
    """The value as JSON."""
    return TrioResponse(_ENCODER.encode(value), status, content_type="application/json")


def no_content() -> TrioResponse:
    """204: done, and nothing to say."""
    response = TrioResponse(b"", 204)
    response.headers.clear()
    return response
