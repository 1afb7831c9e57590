"""Answers to what is no HTTP request at all.

The server refuses such bytes before any application sees them, with an empty body. Here that answer gets the shape,
the request id and the log line of every other one.
"""

import uuid
from itertools import chain

import h11
import hypercorn.protocol
import structlog
from hypercorn.protocol.h11 import H11Protocol

from svc_http.errors import HttpError, error_body

_MESSAGES = {
    400: "this is no valid HTTP request; check its first line, its headers and its length",
    431: "the request line and headers are too large; send shorter ones",
}

log = structlog.get_logger()


class Protocol(H11Protocol):
    """HTTP/1.1 whose parser errors look like all errors."""

    async def _send_error_response(self, status_code: int) -> None:
        request_id = uuid.uuid4().hex
        body = error_body(HttpError(status_code, _MESSAGES.get(status_code, _MESSAGES[400])))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        own = self.config.response_headers("h11")
        await self._send_h11_event(h11.Response(status_code=status_code, headers=list(chain(headers, own))))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())
        log.info("request", listener=None, method=None, route=None, status=status_code, request_id=request_id)


def answer_malformed_requests() -> None:
    """Let hypercorn speak HTTP/1.1 through `Protocol`; it offers no setting for that."""
    hypercorn.protocol.H11Protocol = Protocol  # type: ignore[attr-defined]
