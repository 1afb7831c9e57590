"""What a day may cost: tokens are reserved before a question leaves, and settled once its cost is known.

The count lies in a small file beside the data, written before anything is sent, so that a server which is started again
and again spends no more than one that runs on.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

log = structlog.get_logger()

FILE = "llm-spent.json"
_US_PER_DAY = 86_400_000_000


class _Spent(msgspec.Struct):
    day: int
    """Days since 1970, UTC."""
    tokens: int = 0


class Budget:
    """Tokens of one day. For one thread."""

    def __init__(self, path: Path, daily_tokens: int, now_us: Callable[[], int]) -> None:
        self._path = path
        self._daily_tokens = daily_tokens
        self._now_us = now_us
        self._spent = self._read()

    @property
    def spent_tokens(self) -> int:
        """Of this day, with what is reserved."""
        return self._today().tokens

    def reserve(self, tokens: int) -> int | None:
        """Take tokens out of the day's budget; the day they belong to, None where there are not that many left."""
        today = self._today()
        if today.tokens + tokens > self._daily_tokens:
            return None
        today.tokens += tokens
        self._write()
        return today.day

    def settle(self, day: int, reserved: int, used: int) -> None:
        """Put right what was reserved on a day; on a later day it is too late to matter."""
        today = self._today()
        if today.day == day:
            today.tokens = max(today.tokens - reserved + used, 0)
            self._write()

    def _today(self) -> _Spent:
        day = self._now_us() // _US_PER_DAY
        if day > self._spent.day:  # a clock that jumps back gives no second budget
            self._spent = _Spent(day)
        return self._spent

    def _read(self) -> _Spent:
        """A file that cannot be read may stand for anything: the day counts as spent."""
        day = self._now_us() // _US_PER_DAY
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Spent)
        except FileNotFoundError:
            return _Spent(day)
        except (OSError, msgspec.DecodeError) as error:
            log.warning("what was spent on the text model cannot be read; it rests until tomorrow", reason=str(error))
            return _Spent(day, self._daily_tokens)

    def _write(self) -> None:
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(self._spent))
        draft.replace(self._path)
