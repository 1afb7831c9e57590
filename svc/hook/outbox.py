"""The outbox: captures that wait for the server, one file each, in order.

A capture is accepted once its file has a name, under which it is on disk as a whole. Names are numbers, given under a
lock that is held for a moment; whoever sends holds another lock, so that one sends at a time and in order. A process
that is killed lets go of both. A file goes away after the server's answer: killed in between, it is sent again, and
the server knows it by its ids.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from svc.hook.captures import Letter
from svc.hook.machine import (
    DEAD_LETTERS_MAX,
    OUTBOX_BYTES_MAX,
    OUTBOX_FILES_MAX,
    OUTBOX_SECONDS_MAX,
    PAUSE_SECONDS,
    draft_file,
    private_folder,
    replace_file,
    sync_folder,
)

_DIGITS = 12
_SUFFIX = ".json"
_DRAFT_SECONDS_MAX = 3_600.0


class Limits(NamedTuple):
    """How much may wait; beyond it the oldest is given up."""

    files: int = OUTBOX_FILES_MAX
    size: int = OUTBOX_BYTES_MAX
    seconds: float = OUTBOX_SECONDS_MAX


class Outbox:
    """The folder of one connection."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self.folder = folder / "outbox"
        self._notes = folder / "notes.json"
        self._given_up = folder / "given-up"
        self._locks = folder

    def accept(self, captured: Letter) -> None:
        """Keep it behind all others. Raises `OSError`, and keeps nothing then."""
        private_folder(self.folder)
        draft = draft_file(self.folder, json.dumps(captured._asdict()).encode())
        try:
            with self._locked("accept.lock"):
                waiting = self.waiting()
                number = int(waiting[-1].stem) + 1 if waiting else 1
                draft.rename(self.folder / f"{number:0{_DIGITS}}{_SUFFIX}")
                self._give_up_oldest(waiting)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(self.folder)

    def waiting(self) -> list[Path]:
        """What waits, in order."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return [self.folder / name for name in sorted(names) if name.endswith(_SUFFIX) and name[:_DIGITS].isdigit()]

    @contextlib.contextmanager
    def sending(self) -> Iterator[bool]:
        """Whether it is this process that sends, until the end of the block."""
        with self._locked("send.lock", wait=False) as held:
            yield held

    def _give_up_oldest(self, waiting: list[Path]) -> None:
        """Keep within the bounds; what came last stays."""
        now, size, count = time.time(), 0, 0
        given_up: list[Path] = []
        for path in reversed(waiting):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                size, count = size + found.st_size, count + 1
                old = now - found.st_mtime > self._limits.seconds
                if old or size > self._limits.size or count >= self._limits.files:
                    given_up.append(path)
        for path in given_up:
            path.unlink(missing_ok=True)
        if given_up:
            replace_file(self._given_up, str(self.given_up() + len(given_up)).encode())
        self._forget_drafts(now)

    def _forget_drafts(self, now: float) -> None:
        """What processes left behind that were killed while they wrote."""
        for name in os.listdir(self.folder):
            path = self.folder / name
            if name.startswith(".draft-"):
                with contextlib.suppress(FileNotFoundError):
                    if now - path.stat().st_mtime > _DRAFT_SECONDS_MAX:
                        path.unlink()

    @contextlib.contextmanager
    def _locked(self, name: str, *, wait: bool = True) -> Iterator[bool]:
        with open(self._locks / name, "a", opener=_private) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True

    # --- what is noted for `svc doctor` -------------------------------------------------------------------

    def notes(self) -> dict[str, Any]:
        """`pause_until`, `failure` { at, what }, `dead` [ { at, path, id, status } ]; no text of anybody."""
        try:
            found = json.loads(self._notes.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def given_up(self) -> int:
        """How many captures there was no room or no time for."""
        try:
            return int(self._given_up.read_bytes())
        except (OSError, ValueError):
            return 0

    def note(self, **changes: Any) -> None:
        """Change some notes, as the one who sends; what cannot be written is not worth a failure."""
        with contextlib.suppress(OSError):
            replace_file(self._notes, json.dumps({**self.notes(), **changes}).encode())

    def pause(self, why: str) -> None:
        """Who waited for nothing has the next ones not wait at all for a while."""
        now = time.time()
        self.note(failure={"at": now, "what": why}, pause_until=now + PAUSE_SECONDS)

    def bury(self, captured: dict[str, Any], status: int | str) -> None:
        """Remember a capture that the server refused for good."""
        body = captured.get("body") or {}
        letter = {
            "at": time.time(),
            "path": captured.get("path"),
            "id": body.get("client_event_id"),
            "status": status,
        }
        self.note(dead=[*self.notes().get("dead", ()), letter][-DEAD_LETTERS_MAX:])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
