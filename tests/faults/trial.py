"""One kind of fault to try: on which program, how often, from which seed, and where it is noted."""

import random
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.faults.household import House, household
from tests.faults.outcome import Outcome
from tests.faults.program import NotReady, Program
from tests.faults.tracing import NotUnderstood

BROKEN = (NotReady, NotUnderstood, OSError, RuntimeError, subprocess.SubprocessError, sqlite3.Error)
"""What ends a folder's trial before its end, and is itself a deviation."""


class Trial(NamedTuple):
    """What a fault is given."""

    program: Program
    folder: Path
    """To make folders in."""
    times: int
    seed: int
    outcome: Outcome
    done: Callable[[], None]
    """To be called after each time."""

    def chance(self, name: str) -> random.Random:
        """The same for a seed and a name."""
        return random.Random(f"{self.seed}-{name}")

    def each(self, name: str, attempt: Callable[[House, random.Random], None], names: Sequence[str] = ("Kim",)) -> None:
        """So many times, each in a new folder and by a chance of its own."""
        for number in range(self.times):
            numbered = f"{name}-{number}"
            with self.house(numbered, names) as house:
                attempt(house, self.chance(numbered))
            self.done()

    @contextmanager
    def house(self, name: str, names: Sequence[str] = ("Kim",), place: Path | None = None) -> Iterator[House]:
        """A new folder; whatever breaks off the work on it is noted."""
        with household(self.program, place or self.folder / name, f"{self.seed}-{name}", names) as house:
            try:
                yield house
            except BROKEN as error:
                self.outcome.deviations.append(f"seed {self.seed}, {name}: {type(error).__name__} {error}")
