"""What a connection has on this machine: who is asked, with which key, and what waits for the server.

Nothing here or beside it imports `svc.process`, which imports more than a hook has time for.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES
FILE_MODE = 0o600


class Connection(NamedTuple):
    name: str
    url: str  # of the intake, without a slash at its end
    key: str
    prompts: bool = True
    responses: bool = True  # whether the server asks for prompts and responses
    max_bytes: int | None = None  # what the server asks a text to be cut to
    judge: tuple[str, ...] = ()  # what is started in the background at a session's end


def config_folder() -> Path:
    return _base("XDG_CONFIG_HOME", ".config") / "svc"


def state_folder() -> Path:
    return _base("XDG_STATE_HOME", ".local/state") / "svc"


def _base(variable: str, default: str) -> Path:
    """The XDG specification has relative paths ignored."""
    chosen = Path(os.environ.get(variable, ""))
    return chosen if chosen.is_absolute() else Path.home() / default


def connection_file(name: str) -> Path:
    return config_folder() / "connections" / f"{name}.json"


def connection_folder(name: str) -> Path:
    return state_folder() / name


def load_connection(name: str) -> Connection | None:
    """The connection that `svc connect` made, else one of what a plugin asked its user for, else None."""
    try:
        known: dict[str, Any] = json.loads(connection_file(name).read_bytes())
    except FileNotFoundError:
        url, key = os.environ.get("CLAUDE_PLUGIN_OPTION_URL"), os.environ.get("CLAUDE_PLUGIN_OPTION_KEY")
        return Connection(name, url.rstrip("/"), key) if url and key else None
    capture = known.get("capture") or {}
    prompts, responses = (capture.get(name) is not False for name in ("prompts", "responses"))
    told = (capture.get("max_prompt_bytes"), tuple(known.get("judge") or ()))
    return Connection(name, known["url"], known["key"], prompts, responses, *told)


def private_folder(folder: Path) -> None:
    """Make it, and what is above it, where it is missing. Raises `OSError`."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)


@contextlib.contextmanager
def draft_file(folder: Path, data: bytes) -> Iterator[Path]:
    """A file that is on disk, for the block to give it its lasting name. Raises `OSError`; what fails leaves none."""
    draft = folder / f".draft-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        yield draft
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replace_file(path: Path, data: bytes) -> None:
    """Write the file at once. Raises `OSError`, and leaves the old one then."""
    with draft_file(path.parent, data) as draft:
        draft.replace(path)


SESSION_SECONDS_MAX = 14 * 86_400.0  # how long something is remembered of a session


def session_file(folder: Path, session: str) -> Path:
    """Where something about a session is kept; its name tells nobody which one."""
    return folder / f"{sha256(session.encode()).hexdigest()[:32]}.json"


def forget_old(folder: Path) -> None:
    """Drop what belongs to sessions that nobody goes on with."""
    oldest = time.time() - SESSION_SECONDS_MAX
    for path in folder.glob("*"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


PAUSE_SECONDS = 30.0  # nothing is sent so long after a time-out: one prompt in a while waits for a hung server
OUTBOX_FILES_MAX = 2_000
OUTBOX_BYTES_MAX = 64 * MIB_BYTES
OUTBOX_SECONDS_MAX = 14 * 86_400.0
"""Beyond any of these the oldest captures are given up and counted: some days of work without a server."""
DEAD_LETTERS_MAX = 100  # how many captures that a server refused for good are remembered, without their texts
_DIGITS = 12
_DRAFT_SECONDS_MAX = 3_600.0


class Letter(NamedTuple):
    path: str
    body: dict[str, Any]


class OpenPrompt(NamedTuple):
    event_id: str
    at: float  # seconds since 1970
    moment: str | None = None  # what the agent calls it; an answer to something else is not its answer
    answered: bool = False


class Outbox:
    """The captures that wait for the server, one file each, in order.

    A capture is accepted once its file has a name, under which it is on disk as a whole. Names are numbers, given under
    a lock that is held for a moment; whoever sends holds another lock, so that one sends at a time and in order. A
    process that is killed lets go of both. A file goes away after the server's answer: killed in between, it is sent
    again, and the server knows it by its ids.
    """

    def __init__(self, connection_folder: Path) -> None:
        self.folder = connection_folder / "outbox"
        self.sessions = connection_folder / "sessions"  # one small file each, no text in it
        self._above = connection_folder

    def accept(self, captured: Letter) -> None:
        """Keep it behind all others. Raises `OSError`, and keeps nothing then."""
        private_folder(self.folder)
        draft = draft_file(self.folder, json.dumps(captured._asdict()).encode())
        with draft as path, self._locked("accept.lock", fcntl.LOCK_EX):
            waiting = self.waiting()
            number = int(waiting[-1].stem) + 1 if waiting else 1
            path.rename(self.folder / f"{number:0{_DIGITS}}.json")
            self._give_up_oldest(waiting)
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # so that the name outlives a power cut, too
        finally:
            os.close(descriptor)

    def waiting(self) -> list[Path]:
        return sorted(self.folder.glob(f"{'[0-9]' * _DIGITS}*.json"))

    def sending(self, *, wait: bool = False) -> contextlib.AbstractContextManager[bool]:
        """Whether it is this process that sends, until the end of the block; with `wait`, once no other does."""
        return self._locked("send.lock", fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    @contextlib.contextmanager
    def _locked(self, name: str, operation: int) -> Iterator[bool]:
        with open(self._above / name, "a", opener=partial(os.open, mode=FILE_MODE)) as lock:
            try:
                fcntl.flock(lock, operation)
            except BlockingIOError:
                yield False
                return
            yield True

    def _give_up_oldest(self, waiting: list[Path]) -> None:
        """Keep within the bounds; what came last stays. Also forgets drafts of processes that were killed."""
        now, size, count, given_up = time.time(), 0, 0, 0
        for path in reversed(waiting):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                size, count = size + found.st_size, count + 1
                old = now - found.st_mtime > OUTBOX_SECONDS_MAX
                if old or size > OUTBOX_BYTES_MAX or count >= OUTBOX_FILES_MAX:
                    path.unlink()
                    given_up += 1
        if given_up:
            replace_file(self._above / "given-up", str(self.given_up() + given_up).encode())
        for path in self.folder.glob(".draft-*"):
            with contextlib.suppress(FileNotFoundError):
                if now - path.stat().st_mtime > _DRAFT_SECONDS_MAX:
                    path.unlink()

    def last(self, session: str) -> OpenPrompt | None:
        try:
            return OpenPrompt(**json.loads(session_file(self.sessions, session).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def remember(self, session: str, prompt: OpenPrompt) -> None:
        private_folder(self.sessions)
        replace_file(session_file(self.sessions, session), json.dumps(prompt._asdict()).encode())

    def given_up(self) -> int:
        try:
            return int((self._above / "given-up").read_bytes())
        except (OSError, ValueError):
            return 0

    def notes(self) -> dict[str, Any]:
        """Without texts of anybody: `pause_until`, `failure` { at, what }, `dead` [ { at, path, id, status } ]."""
        try:
            found = json.loads((self._above / "notes.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def note(self, **changes: Any) -> None:
        """Change some notes, as the one who sends; what cannot be written is not worth a failure."""
        with contextlib.suppress(OSError):
            replace_file(self._above / "notes.json", json.dumps({**self.notes(), **changes}).encode())

    def failed(self, what: str, **changes: float) -> None:
        self.note(failure={"at": time.time(), "what": what}, **changes)

    def pause(self) -> None:
        """Who waited for nothing has the next ones not wait at all for a while."""
        self.failed("no answer in time", pause_until=time.time() + PAUSE_SECONDS)

    def bury(self, captured: dict[str, Any], status: int | str) -> None:
        named = (captured.get("body") or {}).get("client_event_id")
        letter = {"at": time.time(), "path": captured.get("path"), "id": named, "status": status}
        self.note(dead=[*self.notes().get("dead", ()), letter][-DEAD_LETTERS_MAX:])
