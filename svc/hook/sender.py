"""Sending what waits in the outbox, in order, until the time is up or the server does not take it.

A file of its own, for importing HTTP takes half the time of a hook: what happened is on disk before.
"""

import contextlib
import json
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from svc import __version__
from svc.hook.captures import LOGS, PROMPTS
from svc.hook.machine import KIB_BYTES, PAUSE_SECONDS, Connection, Outbox

ANSWER_BYTES_MAX = 64 * KIB_BYTES  # how much of a server's answer is read
_TRY_AGAIN = (401, 403, 408, 425, 429)
"""A key may be put right, a server may have time again: nothing is wrong with the capture itself."""
_NO_SERVICE = (404, 405)  # from a route that every intake has: something else answers at this address


def send(connection: Connection, outbox: Outbox, deadline: float, *, last: bool = False) -> None:
    """Send all that waits; another process that sends already goes on with what came in meanwhile.

    The `last` one of a session waits for that other one, whose process may end with the agent's.
    """
    if 0 < outbox.notes().get("pause_until", 0) - time.time() <= PAUSE_SECONDS:
        return
    with contextlib.closing(Sender(connection, outbox, deadline)) as sender:
        while waiting := outbox.waiting():
            with outbox.sending(wait=last) as ours:
                if not ours or not all(sender.sent(path) for path in waiting):
                    return


class Sender:
    """One connection to the server for as long as there is something to send. `deadline`: by the monotonic clock."""

    def __init__(self, connection: Connection, outbox: Outbox, deadline: float) -> None:
        self._connection = connection
        self._outbox = outbox
        self._deadline = deadline
        self._http: HTTPConnection | None = None

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

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
        except (OSError, HTTPException, ValueError) as error:
            # A certificate that is refused, and a host that cannot be one, are ValueErrors.
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
        url = urlsplit(self._connection.url)
        if self._http is None:
            connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
            self._http = connect(url.hostname or "", url.port)
        http, left = self._http, max(0.01, self._deadline - time.monotonic())
        http.timeout = left
        if http.sock is not None:
            http.sock.settimeout(left)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._connection.key}"}
        headers["User-Agent"] = f"svc-hook/{__version__}"
        http.request("POST", url.path + path, body, headers)
        answer = http.getresponse()
        status, text = answer.status, answer.read(ANSWER_BYTES_MAX)
        if not answer.isclosed():
            http.close()
        return status, text
