"""A folder under trial: its owner, what was sent to it, and what must hold in the end."""

import random
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.faults.disk import NotUnderstood
from tests.faults.load import Capture, Load, LogReader, sent
from tests.support.driver import Answer, Driver, once, until
from tests.support.process import NotReady, Person, Program, Server, kill_processes, processes_of
from tests.support.results import Outcome

STOP_SECONDS = 600.0
AGAIN_MAX = 200  # acknowledged captures that are sent once more in the end: each must be known already
BROKEN = (NotReady, NotUnderstood, OSError, RuntimeError, subprocess.SubprocessError, sqlite3.Error)
"""What ends a folder's trial before its end, and is itself a deviation."""


class House:
    """One folder of the program under test, and the load on it."""

    def __init__(self, program: Program, var: Path, owners: list[Person], load: Load, outcome: Outcome) -> None:
        self.program = program
        self.var = var
        self.owners = owners
        self.load = load
        self.outcome = outcome
        self._reader = LogReader(var)

    def serve(self, **how: object) -> Server:
        return self.program.begin(self.var, **how).wait_ready()  # type: ignore[arg-type]

    def worked(self, server: Server, captures: int) -> None:
        self.load.resume(server)
        self.load.wait_for(captures)
        self.load.pause()

    def get(self, server: Server, path: str, owner: Person | None = None) -> Answer:
        return once(server.api_port, "GET", path, None, (owner or self.owners[0]).key)

    def check(self, holds: bool, otherwise: str) -> None:
        self.outcome.check(holds, f"{self.var}: {otherwise}")

    def flawless(self, flaws: Sequence[str], where: str = "") -> None:
        self.outcome.deviations += [f"{self.var}, {where}: {flaw}" for flaw in flaws]

    def look(self, where: str) -> None:
        """What was acknowledged until now stands in the log, once; only news are read. The load must be paused."""
        self.flawless(self.load.ledger.compare(self._reader.read_on()).flaws, where)

    def settle(self, server: Server, where: str = "the end") -> None:
        """The last look: at all of the log anew, through the API, by a replay and by `svc verify`; then it stops."""
        marks = LogReader(self.var).read_on()
        found = self.load.ledger.compare(marks)
        self.outcome.count("acknowledged", found.acknowledged)
        self.outcome.count("found, each once", found.found)
        self.check(self.wait_level(server), f"{where}: the views do not become level")
        self.flawless([*found.flaws, *self._shown(server, marks), *self._sent_again(server)], where)
        checked = self.program.json("replay", "--check", "--var", self.var)
        tables = [row["table"] for row in checked["tables"] if not row["live"] == row["first"] == row["second"]]
        self.check(checked["identical"] and not checked["failed"], f"{where}: a replay differs in {tables}")
        self.verify(self.var, where)
        self.stops(server)

    def stops(self, server: Server) -> None:
        self.check(server.stop(STOP_SECONDS) == 0, "the server does not stop in order")

    def verify(self, var: Path, where: str) -> None:
        """Every event, the tables against a replay, the archive."""
        verified = self.program.json("verify", "--var", var)
        self.outcome.check(verified["clean"], f"{var}, {where}: svc verify finds {verified['findings'][:3]}")

    def wait_level(self, server: Server) -> bool:
        """Whether reads are answered before long: only from views that hold the caller's own writes they are."""

        def answered(owner: Person) -> bool:
            return self.get(server, "/v1/score_v3/today-summary", owner).status == 200

        return all(until(lambda owner=owner: answered(owner)) for owner in self.owners)  # type: ignore[misc]

    def wait_gone(self) -> bool:
        return until(lambda: not processes_of(self.var))

    def _shown(self, server: Server, marks: Counter[str]) -> list[str]:
        """Whether the API shows as many log records as the log holds."""
        theirs = {mark for capture in self.load.ledger.sent() for mark in capture.marks}
        stored = sum(mark.startswith("record ") for mark in theirs & marks.keys())
        stats = [self.get(server, "/v1/telemetry/stats?from=2000-01-01", owner).json for owner in self.owners]
        shown = sum(group["records"] for each in stats for group in each["groups"])
        return [] if shown == stored else [f"{stored} log records are stored and {shown} shown"]

    def _sent_again(self, server: Server) -> list[str]:
        """Captures that were acknowledged are known when they come again, under the same id."""
        acknowledged = self.load.ledger.acknowledged()
        sample = acknowledged[:: max(1, len(acknowledged) // AGAIN_MAX)]
        with Driver(server.intake_port) as driver:
            unknown = [capture for capture in sample if not _known(driver, capture)]
        return [f"{len(unknown)} of {len(sample)} captures are new when they come again"] if unknown else []


def _known(driver: Driver, capture: Capture) -> bool:
    answer = sent(driver, capture)
    if capture.path == "/v1/prompts":
        return bool(answer.status == 200 and answer.json["id"] == capture.answer_id)
    return answer.status in (200, 204)


Attempt = Callable[[House, random.Random], None]


class Trial(NamedTuple):
    """One kind of fault to try: on which program, how often, from which seed, and where it is noted."""

    program: Program
    folder: Path  # to make folders in
    times: int
    seed: int
    outcome: Outcome
    done: Callable[[], None]  # to be called after each time

    def each(self, name: str, attempt: Attempt) -> None:
        for number in range(self.times):
            self.once(f"{name}-{number}", attempt)

    def once(self, name: str, attempt: Attempt) -> None:
        """In a new folder of two, with a load that has not begun; whatever breaks off is noted."""
        var = self.folder / name / "var"
        var.parent.mkdir(parents=True, exist_ok=True)
        owners = [self.program.set_up(var), self.program.another(var, "Kim")]
        try:
            with closing(Load(owners, f"{self.seed}-{name}")) as load:
                house = House(self.program, var, owners, load, self.outcome)
                attempt(house, random.Random(f"{self.seed}-{name}"))
        except BROKEN as error:
            self.outcome.deviations.append(f"seed {self.seed}, {name}: {type(error).__name__} {error}")
        finally:
            kill_processes(var, "--var")
        self.done()
