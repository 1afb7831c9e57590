"""The outbox: captures that wait for the server, one file each, in order.

A capture is accepted once its file has a name, under which it is on disk as a whole. Names are numbers, given under a
lock that is held for a moment; whoever sends holds another lock, so that one sends at a time and in order. A process
that is killed lets go of both. A file goes away after the server's answer: killed in between, it is sent again, and
the server knows it by its ids. Beside it stands which prompt of a session is without an answer.
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
from typing import Any

from svc.hook.captures import Letter, OpenPrompt
from svc.hook.machine import FILE_MODE, MIB_BYTES, draft_file, private_folder, replace_file

PAUSE_SECONDS = 30.0
"""How long nothing is sent after a server did not answer in time: only one prompt in a while waits for a hung one."""
OUTBOX_FILES_MAX = 2_000
OUTBOX_BYTES_MAX = 64 * MIB_BYTES
OUTBOX_SECONDS_MAX = 14 * 86_400.0
"""Beyond any of these the oldest captures are given up and counted: some days of work without a server."""
DEAD_LETTERS_MAX = 100  # how many captures that a server refused for good are remembered, without their texts
SESSION_SECONDS_MAX = 14 * 86_400.0  # how long it is remembered which prompt of a session is without an answer
_DIGITS = 12
_SUFFIX = ".json"
_DRAFT_SECONDS_MAX = 3_600.0


class Outbox:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "outbox"
        self._sessions = folder / "sessions"
        self._notes = folder / "notes.json"
        self._given_up = folder / "given-up"
        self._locks = folder

    def accept(self, captured: Letter) -> None:
        """Keep it behind all others. Raises `OSError`, and keeps nothing then."""
        private_folder(self.folder)
        draft = draft_file(self.folder, json.dumps(captured._asdict()).encode())
        with draft as path, self._locked("accept.lock", fcntl.LOCK_EX):
            waiting = self.waiting()
            number = int(waiting[-1].stem) + 1 if waiting else 1
            path.rename(self.folder / f"{number:0{_DIGITS}}{_SUFFIX}")
            self._give_up_oldest(waiting)
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # so that the name outlives a power cut, too
        finally:
            os.close(descriptor)

    def waiting(self) -> list[Path]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return [self.folder / name for name in sorted(names) if name.endswith(_SUFFIX) and name[:_DIGITS].isdigit()]

    def sending(self, *, wait: bool = False) -> contextlib.AbstractContextManager[bool]:
        """Whether it is this process that sends, until the end of the block; with `wait`, once no other does."""
        return self._locked("send.lock", fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    @contextlib.contextmanager
    def _locked(self, name: str, operation: int) -> Iterator[bool]:
        with open(self._locks / name, "a", opener=partial(os.open, mode=FILE_MODE)) as lock:
            try:
                fcntl.flock(lock, operation)
            except BlockingIOError:
                yield False
                return
            yield True

    def _give_up_oldest(self, waiting: list[Path]) -> None:
        """Keep within the bounds; what came last stays. Also forgets drafts of processes that were killed."""
        now, size, count = time.time(), 0, 0
        given_up: list[Path] = []
        for path in reversed(waiting):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                size, count = size + found.st_size, count + 1
                old = now - found.st_mtime > OUTBOX_SECONDS_MAX
                if old or size > OUTBOX_BYTES_MAX or count >= OUTBOX_FILES_MAX:
                    given_up.append(path)
        for path in given_up:
            path.unlink(missing_ok=True)
        if given_up:
            replace_file(self._given_up, str(self.given_up() + len(given_up)).encode())
        for path in self.folder.glob(".draft-*"):
            with contextlib.suppress(FileNotFoundError):
                if now - path.stat().st_mtime > _DRAFT_SECONDS_MAX:
                    path.unlink()

    # --- which prompt of a session is without an answer: one small file each, no text in it ----------------

    def last(self, session: str) -> OpenPrompt | None:
        try:
            return OpenPrompt(**json.loads(session_file(self._sessions, session).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def remember(self, session: str, prompt: OpenPrompt) -> None:
        private_folder(self._sessions)
        replace_file(session_file(self._sessions, session), json.dumps(prompt._asdict()).encode())

    def forget_old_sessions(self) -> None:
        forget_old(self._sessions)

    # --- what is noted for `svc doctor` -------------------------------------------------------------------

    def notes(self) -> dict[str, Any]:
        """`pause_until`, `failure` { at, what }, `dead` [ { at, path, id, status } ]; no text of anybody."""
        try:
            found = json.loads(self._notes.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def given_up(self) -> int:
        try:
            return int(self._given_up.read_bytes())
        except (OSError, ValueError):
            return 0

    def note(self, **changes: Any) -> None:
        """Change some notes, as the one who sends; what cannot be written is not worth a failure."""
        with contextlib.suppress(OSError):
            replace_file(self._notes, json.dumps({**self.notes(), **changes}).encode())

    def failed(self, what: str, **changes: float) -> None:
        self.note(failure={"at": time.time(), "what": what}, **changes)

    def pause(self) -> None:
        """Who waited for nothing has the next ones not wait at all for a while."""
        self.failed("no answer in time", pause_until=time.time() + PAUSE_SECONDS)

    def bury(self, captured: dict[str, Any], status: int | str) -> None:
        """Remember a capture that the server refused for good."""
        named = (captured.get("body") or {}).get("client_event_id")
        letter = {"at": time.time(), "path": captured.get("path"), "id": named, "status": status}
        self.note(dead=[*self.notes().get("dead", ()), letter][-DEAD_LETTERS_MAX:])


def session_file(folder: Path, session: str) -> Path:
    """Where something about a session is kept; its name tells nobody which one."""
    return folder / f"{sha256(session.encode()).hexdigest()[:32]}.json"


def forget_old(folder: Path) -> None:
    """Drop what belongs to sessions that nobody goes on with."""
    oldest = time.time() - SESSION_SECONDS_MAX
    for path in folder.glob("*"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
