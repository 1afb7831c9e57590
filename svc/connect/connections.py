"""What connects an agent: kept on this machine, and its intake asked with a developer's key."""

import re
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from aggregates.event import Mendable
from svc import __version__
from svc.connect.agents import KNOWN_AGENTS, AgentName, Scope
from svc.connect.changes import Append, FileReceipt, Keys, Refused
from svc.hook import machine
from svc.outward import Answer, answered, reason_in
from svc_http.records import Arrival, Refusal

SECONDS = 10.0  # how long one answer may take
HEALTH_SECONDS = 3.0  # the same for one that takes no work: what says nothing by then is no intake
ANSWER_BYTES_MAX = 64 * machine.MIB_BYTES  # a thousand log records with their texts are far smaller
DAY_SECONDS = 86_400  # after 1970: whoever says that it is earlier has no clock
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
T = TypeVar("T")


class Capture(msgspec.Struct, frozen=True):
    prompts: bool = True
    responses: bool = True
    max_prompt_bytes: int | None = None


class StoredConnection(msgspec.Struct, frozen=True):
    name: str
    agent: AgentName
    scope: Scope
    folder: str  # of the agent's settings
    url: str
    key: str
    capture: Capture
    files: tuple[FileReceipt, ...] = ()
    judge: tuple[str, ...] = ()  # what its hooks start in the background; empty where it does not judge

    def hooks(self) -> Iterator[tuple[Path, Append]]:
        for receipt in self.files:
            yield from ((Path(receipt.path), each) for each in receipt.changes if isinstance(each, Append))

    def tool_servers(self) -> Iterator[tuple[Path, Keys]]:
        """Where stands what the agent starts to ask svc."""
        place = (KNOWN_AGENTS[self.agent].server.table, "svc")
        for receipt in self.files:
            yield from ((Path(receipt.path), each.path) for each in receipt.changes if each.path == place)


def connection_name(agent: AgentName, scope: Scope, project: Path) -> str:
    if scope == "user":
        return agent
    return f"{agent}-{sha256(str(project.resolve()).encode()).hexdigest()[:8]}"


def stored(name: str) -> StoredConnection | None:
    """The connection of this name; None where there is none, or it is not `svc connect` that wrote it."""
    try:
        return msgspec.json.decode(machine.connection_file(name).read_bytes(), type=StoredConnection)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def store(connection: StoredConnection) -> None:
    path = machine.connection_file(connection.name)
    machine.private_folder(path.parent)
    machine.replace_file(path, msgspec.json.format(msgspec.json.encode(connection), indent=2))


def all_stored() -> list[StoredConnection]:
    names = sorted(path.stem for path in (machine.config_folder() / "connections").glob("*.json"))
    return [found for name in names if (found := stored(name)) is not None]


def known_key(url: str | None = None, connection: str | None = None) -> str:
    """With which this machine's agents are connected: to this intake, or by this connection. Raises `Refused`."""
    fitting = [each for each in all_stored() if url is None or each.url == url.rstrip("/")]
    known = {each.key for each in fitting if connection in (None, each.name)}
    if len(known) == 1:
        return known.pop()
    which = "your agents are connected with different keys: say which" if known else "a key is needed: give it"
    hint = "the server showed one at its first start, `svc key issue` makes more"
    raise Refused(f"{which} with SVC_KEY or --key; {hint}")


def archive_read() -> Path:
    """Changed whenever the archive of AgentsView was read."""
    return machine.state_folder() / "agentsview-read"


def note_archive_read() -> None:
    machine.private_folder(machine.state_folder())
    archive_read().touch()


class NotAnswered(Mendable):
    """No answer, or none of this service; the message says what to do."""


class KeyRefused(Mendable):
    """The server does not take the key; the message quotes it."""


class Config(msgspec.Struct):
    """What an intake wants of its clients, and what it has had from this key's owner since it started."""

    capture: Capture = Capture()
    arrivals_since: str | None = None  # None: an older svc, which does not tell
    arrivals: list[Arrival] = []
    refusals: list[Refusal] = []


def checked_url(text: str) -> str:
    """The intake's address without a slash at its end. Raises `Refused`."""
    url = urlsplit(text.strip())
    try:
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable or url.query or url.fragment or url.username or len(text.split()) != 1:
        raise Refused(f"{text!r} is no address of an intake: write it like http://127.0.0.1:4318")
    return text.strip().rstrip("/")


class Server:
    """An intake, asked with a developer's key. Every question raises `NotAnswered`, `KeyRefused`."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": f"svc/{__version__}"}

    def health(self) -> float:
        """The seconds by which this machine's clock is ahead, to about a second."""
        answer = self.asked("GET", "/health", seconds=HEALTH_SECONDS)
        if answer.status != 200 or answer.content.strip() != b"ok":
            raise NotAnswered(f"{self.url}/health says {answer.status} {said(answer)[:80]!r}, not ok")
        from email.utils import parsedate_to_datetime  # late: most commands of this machine ask no server its time

        told, now = answer.headers.get("Date"), time.time()
        try:
            there = now if told is None else parsedate_to_datetime(told).timestamp()
        except (ValueError, OverflowError):
            there = 0.0
        if there <= DAY_SECONDS:
            raise NotAnswered(f"{self.url} answers, but not as an intake of svc does")
        return now - there

    def config(self) -> Config:
        asked = self.asked("GET", "/v1/plugin/config")
        # Only the API says whether it is ready.
        if asked.status == 404 and self.asked("GET", "/health/ready", seconds=HEALTH_SECONDS).status in (200, 503):
            hint = "use the address after `intake=` that `svc serve` shows"
            raise NotAnswered(f"{self.url} is the API of svc, not its intake: {hint}")
        return decoded(self.url, asked, "/v1/plugin/config", Config)

    def has_record(self, mark: str, since: str) -> bool:
        """Whether one of the newest log records holds this word, which is no other's."""
        return mark.encode() in self.answer("GET", f"/v1/telemetry/logs?limit=1000&from={since}")

    def answer(self, method: str, path: str, body: object = None) -> bytes:
        return accepted(self.asked(method, path, body), path)

    def asked(self, method: str, path: str, body: object = None, seconds: float = SECONDS) -> Answer:
        """What a route answers, whatever its status. Raises only `NotAnswered`."""
        sent = None if body is None else msgspec.json.encode(body)
        headers = self._headers if sent is None else {**self._headers, "Content-Type": "application/json"}
        try:
            address = self.url + path
            return answered(method, address, seconds, ANSWER_BYTES_MAX, headers=headers, content=sent, direct=True)
        except OSError as error:
            why = _ERRNO.sub("", str(error.__cause__ or error))
            hint = "; SSL_CERT_FILE names a CA of your own" if "CERTIFICATE_VERIFY" in why else ""
            raise NotAnswered(f"{self.url} cannot be reached: {why}{hint}") from error


def said(answer: Answer) -> str:
    """The message of an error of svc, else how another's begins."""
    return reason_in(answer.content) or answer.content.decode(errors="replace")[:200].strip()


def decoded(url: str, answer: Answer, path: str, kind: type[T], what: str = "an intake") -> T:
    """Raises as `accepted`, also where somebody else answers: a page to sign in, perhaps."""
    try:
        return msgspec.json.decode(accepted(answer, path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAnswered(f"{url} answers, but not as {what} of svc does") from error


def accepted(answer: Answer, path: str) -> bytes:
    """What it holds. Raises `NotAnswered`, `KeyRefused` where it is an error."""
    if answer.status < 300:
        return answer.content
    if answer.status in (401, 403):
        raise KeyRefused(f"the server does not take this key: {said(answer)}")
    raise NotAnswered(f"{path.partition('?')[0]} answers {answer.status}: {said(answer)}")
