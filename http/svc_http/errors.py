"""Errors as every route answers them: `{code, message}`, the code repeating the HTTP status.

The message says what was wrong, where, and what to do; it never carries internals.
"""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.event import Reason, Refused

RETRY_AFTER_SECONDS = 5
"""What a full mailbox or an unwritable store asks a client to wait; the contract's figure."""

_R = TypeVar("_R")


class HttpError(Exception):
    """An answer that is not what was asked for."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class ErrorBody(msgspec.Struct):
    code: int
    message: str


_ENCODER = msgspec.json.Encoder()
_STATUS_OF = {Reason.NOT_FOUND: 404, Reason.CONFLICT: 409, Reason.FOREIGN_SESSION: 409, Reason.INVALID: 400}


def refusal(reason: Reason, message: str) -> HttpError:
    """The error for a command that was refused."""
    return HttpError(_STATUS_OF[reason], message)


def accepted(reply: _R | Refused) -> _R:
    """The reply to a command that was not refused."""
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return reply


def bad_request(message: str) -> HttpError:
    """400: the request cannot be understood or breaks a rule."""
    return HttpError(400, message)


def unauthorized(message: str) -> HttpError:
    """401: nobody was identified."""
    return HttpError(401, message, {"WWW-Authenticate": "Bearer"})


def forbidden(message: str) -> HttpError:
    """403: somebody was identified who may not do this."""
    return HttpError(403, message)


def not_found(message: str) -> HttpError:
    """404: nothing there in the caller's scope."""
    return HttpError(404, message)


def too_large(bytes_max: int) -> HttpError:
    """413: for good, so without Retry-After."""
    return HttpError(413, f"the request body is larger than {bytes_max} bytes, as sent or unpacked; send less")


def unavailable(message: str) -> HttpError:
    """503: the same request may succeed soon."""
    return HttpError(503, message, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def error_response(error: HttpError) -> TrioResponse:
    response = json_reply(ErrorBody(error.status, error.message), error.status)
    for name, value in error.headers.items():
        response.headers[name] = value
    return response


def json_reply(value: object, status: int = 200) -> TrioResponse:
    """A msgspec struct, whose fields are the wire's, as JSON."""
    return TrioResponse(_ENCODER.encode(value), status, content_type="application/json")


def no_content() -> TrioResponse:
    """204: done, and nothing to say."""
    response = TrioResponse(b"", 204)
    response.headers.clear()
    return response
