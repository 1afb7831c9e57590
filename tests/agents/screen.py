"""An agent with a screen: keys go in, and what it draws is read so that it never waits."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.agents.clis import Person
from tests.support.driver import until

QUIET_SECONDS = 1.0  # nothing is drawn for so long: it waits for keys
SETTLE_SECONDS_MAX = 4.0
DRAWN_WORDS_MIN = 10
ENTERS_MAX = 5
LEAVES_MAX, LEAVE_SECONDS = 10, 0.4
WAIT_SECONDS_MAX = 40.0
ESCAPE, ENTER, CONTROL_C = "\x1b", "\r", "\x03"
_ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",  # where the cursor is
    b"\x1b[c": b"\x1b[?62;c",  # which terminal this is
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",  # its background
    b"\x1b[?u": b"\x1b[?0u",  # its keyboard protocol
}
_DRAWN = re.compile(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x1f]")


def wait_until(holds: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS_MAX) -> None:
    assert until(holds, seconds), f"after {seconds} s still not: {what}"


class Screen:
    """A terminal of 120 by 40 with an agent on it."""

    def __init__(self, person: Person) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._drawn = b""
        self._latest = time.monotonic()
        command = [str(person.program), *person.cli.screen]
        self.process = subprocess.Popen(
            command,
            cwd=person.work,
            env=person.environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 65_536)
            except OSError:
                return
            if not piece:
                return
            self._drawn += piece
            self._latest = time.monotonic()
            for asked, answer in _ANSWERS.items():
                if asked in piece:
                    os.write(self._master, answer)

    def shown(self) -> str:
        """Everything that was drawn, without colours and moves."""
        return _DRAWN.sub(b" ", self._drawn).decode(errors="replace")

    def settle(self) -> None:
        """Wait until it is drawn and nothing moves, or for some seconds where something always does."""
        wait_until(lambda: len(self.shown().split()) > DRAWN_WORDS_MIN, "an agent on the screen")
        until = time.monotonic() + SETTLE_SECONDS_MAX
        while time.monotonic() < until and time.monotonic() - self._latest < QUIET_SECONDS:
            time.sleep(0.05)

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def says(self, words: str, taken: Callable[[], bool]) -> None:
        """Type words and send them off; a screen that is not ready yet takes no Enter, so it gets another."""
        self.types(words)
        for _ in range(ENTERS_MAX):
            self.settle()
            self.types(ENTER)
            with suppress(AssertionError):
                return wait_until(taken, words, 3)
        raise AssertionError(f"{words!r} was not taken; the screen shows {self.shown()[-500:]}")

    def close(self) -> None:
        """Leave as a person does: two Ctrl-C, one soon after the other."""
        for _ in range(2 * LEAVES_MAX):
            with suppress(OSError):
                self.types(CONTROL_C)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(LEAVE_SECONDS)
                break
        else:
            self.process.kill()
            self.process.wait()
        os.close(self._master)


@contextmanager
def screen(person: Person) -> Iterator[Screen]:
    found = Screen(person)
    try:
        yield found
    finally:
        found.close()
