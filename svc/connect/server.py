"""What is asked of the server while an agent is connected or looked after."""

import email.utils
import re
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from svc import __version__
from svc.connect.agents import Refused
from svc.connect.connections import Capture

SECONDS = 10.0
"""How long one answer may take."""
HEALTH_SECONDS = 3.0
"""The same for one that takes no work: whoever listens and says nothing by then is no intake."""
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


class NotAnswered(Exception):
    """No answer, or none of this service; the message says what to do."""


class KeyRefused(Exception):
    """The server does not take the key; the message is the server's."""


class _Config(msgspec.Struct):
    capture: Capture = msgspec.field(default_factory=Capture)


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
    """An intake, asked with a developer's key."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}", "User-Agent": f"svc/{__version__}"}
        # As a hook reaches it: past any proxy, by the certificates that OpenSSL knows.
        trusted = ssl.create_default_context()
        self._client = httpx.Client(base_url=url, headers=headers, timeout=SECONDS, verify=trusted, trust_env=False)
        self._url = url

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def health(self) -> float:
        """The seconds by which this machine's clock is ahead, to about a second. Raises `NotAnswered`."""
        answer = self._asked("GET", "/health", seconds=HEALTH_SECONDS)
        if answer.status_code != 200 or answer.text.strip() != "ok":
            raise NotAnswered(f"{self._url}/health says {answer.status_code} {answer.text[:80].strip()!r}, not ok")
        told = answer.headers.get("Date")
        return 0.0 if told is None else time.time() - email.utils.parsedate_to_datetime(told).timestamp()

    def capture(self) -> Capture:
        """What it asks its clients to capture. Raises `NotAnswered`, `KeyRefused`."""
        asked = self._asked("GET", "/v1/plugin/config")
        if asked.status_code == httpx.codes.NOT_FOUND and self._is_api():
            raise NotAnswered(
                f"{self._url} is the API of svc, not its intake: use the address after `intake=` that `svc serve` shows"
            )
        answer = self._accepted(asked)
        try:
            return msgspec.json.decode(answer.content, type=_Config).capture
        except msgspec.DecodeError as error:
            raise NotAnswered(f"{self._url} answers, but not as an intake of svc does") from error

    def _is_api(self) -> bool:
        """Only the API says whether it is ready."""
        return self._asked("GET", "/health/ready", seconds=HEALTH_SECONDS).status_code in (200, 503)

    def setup_complete(self, key_start: str) -> None:
        """Say that an agent is connected. Raises `NotAnswered`, `KeyRefused`."""
        self._accepted(
            self._asked("POST", "/v1/setup-complete", {"plugin_version": __version__, "key_prefix": key_start})
        )

    def send_log(self, body: dict[str, Any]) -> None:
        """Send log records. Raises `NotAnswered`, `KeyRefused`."""
        self._accepted(self._asked("POST", "/v1/logs", body))

    def logs(self, since: str) -> list[dict[str, Any]]:
        """The log records since a time, ISO 8601. Raises `NotAnswered`, `KeyRefused`."""
        answer = self._accepted(self._asked("GET", f"/v1/telemetry/logs?limit=1000&from={since}"))
        records: list[dict[str, Any]] = answer.json()["records"]
        return records

    def _asked(
        self, method: str, path: str, body: dict[str, Any] | None = None, seconds: float = SECONDS
    ) -> httpx.Response:
        try:
            return self._client.request(method, path, json=body, timeout=seconds)
        except httpx.HTTPError as error:
            why = _ERRNO.sub("", str(error)) or type(error).__name__
            hint = "; SSL_CERT_FILE names a CA of your own" if "CERTIFICATE_VERIFY" in why else ""
            raise NotAnswered(f"{self._url} cannot be reached: {why}{hint}") from error

    def _accepted(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code in (401, 403):
            raise KeyRefused(_message(answer))
        if answer.status_code >= 300:
            raise NotAnswered(f"{answer.request.url.path} answers {answer.status_code}: {_message(answer)}")
        return answer


def _message(answer: httpx.Response) -> str:
    """What the server says was wrong."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200].strip()
