"""Sending what waits in the outbox, in order, until the time is up or the server does not take it.

A file of its own, for importing sockets takes time: what happened is on disk before.
"""

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from svc import __version__
from svc.hook.captures import LOGS, PROMPTS
from svc.hook.machine import KIB_BYTES, Connection
from svc.hook.outbox import PAUSE_SECONDS, Outbox
from svc.hook.plain import post

ANSWER_BYTES_MAX = 64 * KIB_BYTES
"""How much of a server's answer is read."""
_TRY_AGAIN = (401, 403, 408, 425, 429)
"""A key may be put right, a server may have time again: nothing is wrong with the capture itself."""
_NO_SERVICE = (404, 405)
"""From a route that every intake has: something else answers at this address."""


def send(connection: Connection, outbox: Outbox, deadline: float) -> None:
    """Send all that waits; another process that sends already goes on with what came in meanwhile."""
    if 0 < outbox.notes().get("pause_until", 0) - time.time() <= PAUSE_SECONDS:
        return
    sender = Sender(connection, outbox, deadline)
    while waiting := outbox.waiting():
        with outbox.sending() as ours:
            if not ours or not all(sender.sent(path) for path in waiting):
                return


class Sender:
    """Sends one capture after the other. `deadline`: by the monotonic clock."""

    def __init__(self, connection: Connection, outbox: Outbox, deadline: float) -> None:
        self._connection = connection
        self._outbox = outbox
        self._deadline = deadline

    def sent(self, path: Path) -> bool:
        """Whether the next one may be sent: this one was taken, or refused for good, or sent by another process."""
        if time.monotonic() >= self._deadline:
            return False
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return True
        try:
            captured = json.loads(data)
            place, body = captured["path"], json.dumps(captured["body"]).encode()
        except (ValueError, KeyError, TypeError):
            return self._done(path, {}, "unreadable")
        try:
            status, answer = self._post(place, body)
        except TimeoutError:
            self._outbox.pause()
            return False
        except (OSError, ValueError) as error:
            # A certificate that is refused, a host that cannot be one, and what is no HTTP, are ValueErrors.
            self._outbox.failed(getattr(error, "strerror", None) or type(error).__name__)
            return False
        missing = status in _NO_SERVICE and place in (PROMPTS, LOGS)
        if 400 <= status < 500 and status not in _TRY_AGAIN and not missing:
            return self._done(path, captured, status)
        if not 200 <= status < 300:
            self._outbox.failed(f"HTTP {status}")
            return False
        return self._done(path, captured, "refused in part" if b'"partialSuccess"' in answer else None)

    def _done(self, path: Path, captured: dict[str, Any], fault: int | str | None) -> bool:
        if fault is not None:
            self._outbox.bury(captured, fault)
        path.unlink(missing_ok=True)
        return True

    def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Raises `OSError`, `ValueError`."""
        url, headers = (
            self._connection.url,
            {
                "Content-Type": "application/json",
                "Authorization": f"Bearer {self._connection.key}",
                "User-Agent": f"svc-hook/{__version__}",
            },
        )
        if not url.lower().startswith("https:"):
            return post(url, path, headers, body, self._deadline, ANSWER_BYTES_MAX)
        return _post_sealed(url, path, headers, body, self._deadline)


def _post_sealed(url: str, path: str, headers: dict[str, str], body: bytes, deadline: float) -> tuple[int, bytes]:
    """The same over TLS, by the library's client. Raises `OSError`, `ValueError`."""
    from http.client import HTTPException, HTTPSConnection  # late: it takes longer than all else
    from urllib.parse import urlsplit

    place = urlsplit(url)
    left = max(0.01, deadline - time.monotonic())
    with contextlib.closing(HTTPSConnection(place.hostname or "", place.port, timeout=left)) as http:
        try:
            http.request("POST", place.path + path, body, headers)
            answer = http.getresponse()
            return answer.status, answer.read(ANSWER_BYTES_MAX)
        except HTTPException as error:
            raise ValueError(type(error).__name__) from error
