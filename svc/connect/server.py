"""An intake, asked with a developer's key: whether it is there, takes the key, and what it has had from them."""

import email.utils
import re
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from aggregates.event import Mendable
from svc import __version__
from svc.connect.changes import Refused
from svc.hook.machine import MIB_BYTES
from svc.outward import Answer, answered, reason_in

SECONDS = 10.0  # how long one answer may take
HEALTH_SECONDS = 3.0  # the same for one that takes no work: what says nothing by then is no intake
ANSWER_BYTES_MAX = 64 * MIB_BYTES  # a thousand log records with their texts are far smaller
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


class Capture(msgspec.Struct, frozen=True):
    prompts: bool = True
    responses: bool = True
    max_prompt_bytes: int | None = None


class NotAnswered(Mendable):
    """No answer, or none of this service; the message says what to do."""


class KeyRefused(Mendable):
    """The server does not take the key; the message quotes it."""


def checked_url(text: str) -> str:
    """The intake's address without a slash at its end. Raises `Refused`."""
    url = urlsplit(text.strip())
    try:
        usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable or url.query or url.fragment or url.username or any(each.isspace() for each in text.strip()):
        raise Refused(f"{text!r} is no address of an intake: write it like http://127.0.0.1:4318")
    return text.strip().rstrip("/")


class Server:
    """An intake, asked with a developer's key. Every question raises `NotAnswered`, `KeyRefused`."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": f"svc/{__version__}"}

    def health(self) -> float:
        """The seconds by which this machine's clock is ahead, to about a second."""
        answer = self.asked("GET", "/health", seconds=HEALTH_SECONDS)
        if answer.status != 200 or answer.content.strip() != b"ok":
            raise NotAnswered(f"{self.url}/health says {answer.status} {said(answer)[:80]!r}, not ok")
        told = answer.headers.get("Date")
        return 0.0 if told is None else time.time() - email.utils.parsedate_to_datetime(told).timestamp()

    def capture(self) -> Capture:
        asked = self.asked("GET", "/v1/plugin/config")
        # Only the API says whether it is ready.
        if asked.status == 404 and self.asked("GET", "/health/ready", seconds=HEALTH_SECONDS).status in (200, 503):
            raise NotAnswered(
                f"{self.url} is the API of svc, not its intake: use the address after `intake=` that `svc serve` shows"
            )
        config = self._decoded(accepted(asked, "/v1/plugin/config"))
        try:
            return msgspec.convert(config.get("capture", {}), Capture)
        except msgspec.ValidationError as error:
            raise self.not_an_intake() from error

    def arrived(self) -> dict[str, Any]:
        """What the server has had from this key's owner since it started, and what it refused."""
        found = self._decoded(self.answer("GET", "/v1/plugin/config"))
        if not {"arrivals", "refusals", "arrivals_since"} <= found.keys():
            raise NotAnswered(f"{self.url} is an older svc, which does not tell what arrived")
        return found

    def logs(self, since: str) -> list[dict[str, Any]]:
        found = self._decoded(self.answer("GET", f"/v1/telemetry/logs?limit=1000&from={since}"))
        records: list[dict[str, Any]] = found.get("records", [])
        return records

    def _decoded(self, content: bytes) -> dict[str, Any]:
        try:
            return msgspec.json.decode(content, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise self.not_an_intake() from error

    def not_an_intake(self) -> NotAnswered:
        return NotAnswered(f"{self.url} answers, but not as an intake of svc does")

    def answer(self, method: str, path: str, body: object = None) -> bytes:
        """What any route answers; a body is sent as JSON."""
        return accepted(self.asked(method, path, body), path)

    def asked(self, method: str, path: str, body: object = None, seconds: float = SECONDS) -> Answer:
        """What a route answers, whatever its status. Raises only `NotAnswered`."""
        sent = None if body is None else msgspec.json.encode(body)
        headers = self._headers if sent is None else {**self._headers, "Content-Type": "application/json"}
        try:
            return answered(
                method,
                self.url + path,
                seconds=seconds,
                bytes_max=ANSWER_BYTES_MAX,
                headers=headers,
                content=sent,
                direct=True,
            )
        except OSError as error:
            why = _ERRNO.sub("", str(error.__cause__ or error))
            hint = "; SSL_CERT_FILE names a CA of your own" if "CERTIFICATE_VERIFY" in why else ""
            raise NotAnswered(f"{self.url} cannot be reached: {why}{hint}") from error


def said(answer: Answer) -> str:
    """The message of an error of svc, else how another's begins."""
    return reason_in(answer.content) or answer.content.decode(errors="replace")[:200].strip()


def accepted(answer: Answer, path: str) -> bytes:
    """What it holds. Raises `NotAnswered`, `KeyRefused` where it is an error."""
    if answer.status < 300:
        return answer.content
    if answer.status in (401, 403):
        raise KeyRefused(f"the server does not take this key: {said(answer)}")
    raise NotAnswered(f"{path.partition('?')[0]} answers {answer.status}: {said(answer)}")
