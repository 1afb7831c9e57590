"""Which prompt of a session is without an answer: one small file for each session, no text in it."""

import json
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from svc.hook.bounds import SESSION_SECONDS_MAX
from svc.hook.files import private_folder, replace_file


class OpenPrompt(NamedTuple):
    """The last prompt of a session."""

    event_id: str
    at: float
    """Seconds since 1970."""
    moment: str | None = None
    """What the agent calls it; an answer to something else is not its answer."""
    answered: bool = False


class Sessions:
    """The files of one connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sessions"

    def last(self, session: str) -> OpenPrompt | None:
        """The session's last prompt; None where it is not known."""
        try:
            found = json.loads(self._path(session).read_bytes())
            return OpenPrompt(found["event_id"], found["at"], found["moment"], found["answered"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remember(self, session: str, prompt: OpenPrompt) -> None:
        """Keep it until the next one."""
        private_folder(self._folder)
        replace_file(self._path(session), json.dumps(prompt._asdict()).encode())

    def forget_old(self) -> None:
        """Drop what belongs to sessions that nobody goes on with."""
        oldest = time.time() - SESSION_SECONDS_MAX
        for entry in os.scandir(self._folder) if self._folder.is_dir() else ():
            if entry.stat().st_mtime < oldest:
                Path(entry.path).unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self._folder / f"{sha256(session.encode()).hexdigest()[:32]}.json"
