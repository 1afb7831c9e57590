"""A folder under test: its owner, what was sent to it, and what must hold in the end."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.faults.captures import Capture
from tests.faults.ledger import LogReader
from tests.faults.load import TIMEOUT_SECONDS, Load, get, load_of, post
from tests.faults.outcome import Outcome
from tests.faults.program import Owner, Program, Server, kill_processes, processes_of

LEVEL_SECONDS = 600.0
"""How long views may take to hold everything, on a machine that may stand still for minutes."""
AGAIN_MAX = 200
"""Acknowledged captures that are sent once more in the end: each must be known already."""
_POLL_SECONDS = 0.1
_SINCE = "2000-01-01"


class House:
    """One folder of the program under test, and the load on it."""

    def __init__(self, program: Program, var: Path, owners: list[Owner], load: Load) -> None:
        self.program = program
        self.var = var
        self.owners = owners
        self.load = load
        """Of its servers, as environment."""
        self._reader = LogReader(var)

    def serve(self) -> Server:
        """A server over it."""
        return self.program.serve(self.var)

    def look(self, outcome: Outcome, where: str) -> None:
        """What was acknowledged until now stands in the log, once; only news are read. The load must be paused."""
        found = self.load.ledger.compare(self._reader.read_on())
        outcome.deviations += [f"{where}: {flaw}" for flaw in found.flaws]

    def settle(self, server: Server, outcome: Outcome, where: str) -> None:
        """The last look: at all of the log anew, through the API, by a replay and by `svc verify`."""
        marks = LogReader(self.var).read_on()
        found = self.load.ledger.compare(marks)
        outcome.count("acknowledged", found.acknowledged)
        outcome.count("found, each once", found.found)
        outcome.check(wait_level(server, self.owners), f"{where}: the views do not become level")
        flaws = [*found.flaws, *self._shown(server, marks), *self._sent_again(server)]
        outcome.deviations += [f"{where}: {flaw}" for flaw in flaws]
        self.prove(outcome, where)

    def prove(self, outcome: Outcome, where: str) -> None:
        """A replay gives the tables that serve, and `svc verify` finds nothing."""
        checked = self.program.json(self.var, "replay", "--check")
        tables = [row["table"] for row in checked["tables"] if not row["live"] == row["first"] == row["second"]]
        outcome.check(checked["identical"] and not checked["failed"], f"{where}: a replay differs in {tables}")
        verify(self.program, self.var, outcome, where)

    def _shown(self, server: Server, marks: Counter[str]) -> list[str]:
        """Whether the API shows as many log records as the log holds."""
        theirs = {mark for capture in self._theirs(self.load.ledger.sent()) for mark in capture.marks}
        stored = sum(mark.startswith("record ") for mark in theirs & marks.keys())
        shown = 0
        for owner in self.owners:
            answer = get(server.api, f"/v1/telemetry/stats?from={_SINCE}", owner)[1]
            shown += sum(group["records"] for group in json.loads(answer)["groups"])
        return [] if shown == stored else [f"{stored} log records are stored and {shown} shown"]

    def _theirs(self, captures: list[Capture]) -> list[Capture]:
        """Those of developers who are still there."""
        keys = {owner.key for owner in self.owners}
        return [capture for capture in captures if capture.key in keys]

    def _sent_again(self, server: Server) -> list[str]:
        """Captures that were acknowledged are known when they come again, under the same id."""
        acknowledged = self._theirs(self.load.ledger.acknowledged())
        sample = acknowledged[:: max(1, len(acknowledged) // AGAIN_MAX)]
        connection = http.client.HTTPConnection("127.0.0.1", server.intake, timeout=TIMEOUT_SECONDS)
        try:
            unknown = [capture for capture in sample if not _known(connection, capture)]
        finally:
            connection.close()
        return [f"{len(unknown)} of {len(sample)} captures are new when they come again"] if unknown else []


@contextmanager
def household(program: Program, folder: Path, seed: str, names: Sequence[str] = ("Kim",)) -> Iterator[House]:
    """A new folder of an owner and others, with a load that has not begun. What works on it ends with the block."""
    var = folder / "var"
    folder.mkdir(parents=True, exist_ok=True)
    owners = [program.set_up(var), *(program.another(var, name) for name in names)]
    try:
        with load_of(owners, seed) as load:
            yield House(program, var, owners, load)
    finally:
        kill_processes(var, "--var")


def verify(program: Program, var: Path, outcome: Outcome, where: str) -> None:
    """`svc verify` finds nothing in a folder: every event, the tables against a replay, the archive."""
    verified = program.json(var, "verify")
    outcome.check(verified["clean"], f"{where}: svc verify finds {verified['findings'][:3]}")


def wait_level(server: Server, owners: list[Owner]) -> bool:
    """Whether reads are answered before long, which they are only from views that hold the caller's own writes."""
    end = time.monotonic() + LEVEL_SECONDS
    return all(_answers(server, owner, end) for owner in owners)


def _answers(server: Server, owner: Owner, end: float) -> bool:
    while get(server.api, "/v1/score_v3/today-summary", owner)[0] != 200:
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def wait_gone(var: Path) -> bool:
    """Whether all that worked on a folder ends by itself once its server is dead."""
    end = time.monotonic() + LEVEL_SECONDS
    while processes_of(var):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _known(connection: http.client.HTTPConnection, capture: Capture) -> bool:
    status, body = post(connection, capture)
    if capture.path == "/v1/prompts":
        return status == 200 and json.loads(body)["id"] == capture.answer_id
    return status in (200, 204)
