"""An intake, asked with a developer's key: whether it is there, takes the key, and what it has had from them."""

import contextlib
import email.utils
import re
import ssl
import time
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from svc import __version__
from svc.connect.changes import Refused
from svc.hook.machine import MIB_BYTES

SECONDS = 10.0
"""How long one answer may take."""
HEALTH_SECONDS = 3.0
"""The same for one that takes no work: what says nothing by then is no intake."""
ANSWER_BYTES_MAX = 64 * MIB_BYTES
"""Of an answer: a thousand log records with their texts are far smaller."""
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


class Capture(msgspec.Struct, frozen=True):
    """What the server asks its clients to capture."""

    prompts: bool = True
    responses: bool = True
    max_prompt_bytes: int | None = None


class NotAnswered(Exception):
    """No answer, or none of this service; the message says what to do."""


class KeyRefused(Exception):
    """The server does not take the key; the message is the server's."""


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


class Arrival(msgspec.Struct, frozen=True):
    source: str
    signal: str
    last_at: str
    requests: int


class Refusal(msgspec.Struct, frozen=True):
    at: str
    path: str
    status: int
    message: str


class Arrived(msgspec.Struct, frozen=True):
    """What a server had from a key's owner since it started, and what it refused."""

    arrivals: list[Arrival]
    refusals: list[Refusal]
    arrivals_since: str


class Server(contextlib.AbstractContextManager["Server"]):
    """An intake, asked with a developer's key. Every question raises `NotAnswered`, `KeyRefused`."""

    def __init__(self, url: str, key: str) -> None:
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": f"svc/{__version__}"}
        self.url = url
        place = urlsplit(url)
        self._path = place.path
        # As a hook reaches it: past any proxy, by the certificates that OpenSSL knows.
        self._http = HTTPConnection(place.hostname or "", place.port)
        if place.scheme == "https":
            trusted = ssl.create_default_context()
            self._http = HTTPSConnection(place.hostname or "", place.port, context=trusted)

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def health(self) -> float:
        """The seconds by which this machine's clock is ahead, to about a second."""
        answer = self._asked("GET", "/health", seconds=HEALTH_SECONDS)
        if answer.status != 200 or answer.text.strip() != "ok":
            raise NotAnswered(f"{self.url}/health says {answer.status} {answer.text[:80].strip()!r}, not ok")
        told = answer.date
        return 0.0 if told is None else time.time() - email.utils.parsedate_to_datetime(told).timestamp()

    def capture(self) -> Capture:
        asked = self._asked("GET", "/v1/plugin/config")
        if asked.status == 404:
            ready = self._asked("GET", "/health/ready", seconds=HEALTH_SECONDS)
            if ready.status in (200, 503):  # only the API says whether it is ready
                raise NotAnswered(
                    f"{self.url} is the API of svc, not its intake: "
                    "use the address after `intake=` that `svc serve` shows"
                )
        try:
            config = msgspec.json.decode(_accepted(asked).content, type=dict[str, Any])
            return msgspec.convert(config.get("capture", {}), Capture)
        except msgspec.DecodeError as error:
            raise NotAnswered(f"{self.url} answers, but not as an intake of svc does") from error

    def arrived(self) -> Arrived:
        """What the server has had from this key's owner."""
        answer = _accepted(self._asked("GET", "/v1/plugin/config"))
        try:
            return msgspec.json.decode(answer.content, type=Arrived)
        except msgspec.DecodeError as error:
            raise NotAnswered(f"{self.url} is an older svc, which does not tell what arrived") from error

    def setup_complete(self, key_start: str) -> None:
        said = {"plugin_version": __version__, "key_prefix": key_start}
        _accepted(self._asked("POST", "/v1/setup-complete", said))

    def send_log(self, body: dict[str, Any]) -> None:
        _accepted(self._asked("POST", "/v1/logs", body))

    def logs(self, since: str) -> list[dict[str, Any]]:
        """The log records since a time, ISO 8601."""
        answer = _accepted(self._asked("GET", f"/v1/telemetry/logs?limit=1000&from={since}"))
        try:
            return msgspec.json.decode(answer.content, type=_Logs).records
        except msgspec.DecodeError as error:
            raise NotAnswered(f"{self.url} answers, but not as an intake of svc does") from error

    def answer(self, method: str, path: str, body: object = None) -> bytes:
        """What any route answers; a body is sent as JSON."""
        return _accepted(self._asked(method, path, body)).content

    def post(self, path: str, body: bytes, seconds: float) -> "Answer":
        """What a route answers to JSON, whatever its status. Raises only `NotAnswered`."""
        return self._asked("POST", path, msgspec.Raw(body), seconds)

    def _asked(self, method: str, path: str, body: object = None, seconds: float = SECONDS) -> "Answer":
        """One connection a question: a server may close one that it kept."""
        sent = None if body is None else msgspec.json.encode(body)
        headers = self._headers if sent is None else {**self._headers, "Content-Type": "application/json"}
        http = self._http
        http.timeout = seconds
        try:
            http.request(method, self._path + path, sent, headers)
            answer = http.getresponse()
            return Answer(path, answer.status, answer.read(ANSWER_BYTES_MAX), answer.headers)
        except (OSError, HTTPException, ValueError) as error:
            why = _ERRNO.sub("", str(error)) or type(error).__name__
            hint = "; SSL_CERT_FILE names a CA of your own" if "CERTIFICATE_VERIFY" in why else ""
            raise NotAnswered(f"{self.url} cannot be reached: {why}{hint}") from error
        finally:
            http.close()


class Answer(NamedTuple):
    path: str
    status: int
    content: bytes
    headers: Message

    @property
    def date(self) -> str | None:
        return self.headers.get("Date")

    @property
    def retry_after(self) -> str | None:
        return self.headers.get("Retry-After")

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    @property
    def said(self) -> str:
        """The message of an error of svc, else how another's begins."""
        try:
            return msgspec.json.decode(self.content, type=_Said).message
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self.text[:200].strip()

    def accepted(self) -> "Answer":
        """Itself. Raises `NotAnswered`, `KeyRefused` where it is an error."""
        return _accepted(self)


class _Logs(msgspec.Struct):
    records: list[dict[str, Any]]


class _Said(msgspec.Struct):
    message: str


def _accepted(answer: Answer) -> Answer:
    if answer.status < 300:
        return answer
    if answer.status in (401, 403):
        raise KeyRefused(answer.said)
    raise NotAnswered(f"{answer.path.partition('?')[0]} answers {answer.status}: {answer.said}")
