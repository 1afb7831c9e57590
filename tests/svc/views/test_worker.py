"""Who writes the views: a child process does what a thread does, ends with its server, is replaced when it breaks."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from aggregates.capture.events import SessionClaimed
from projections.apply import bookmark
from svc.limits import REST_SECONDS, SLICE_SECONDS
from svc.log.opening import open_log
from svc.log.store import EventStore
from svc.process import Place
from svc.views.projecting import Cost
from svc.views.projector import Charge, ChildWorker, Pace, ThreadWorker, Worker, WorkerGone
from svc.views.views import RULES_VERSION, new_file, open_writer
from tests.support import facts
from tests.support.facts import ANA, MONDAY
from tests.support.log import new


class Log:
    """A folder with a log that grows when the test says so, and an empty views file."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.store: EventStore
        self.store, self.vault = open_log(var)
        self.views = new_file(var, RULES_VERSION)
        open_writer(self.views).close()

    def grow(self, session: str) -> int:
        """One more fact; its position."""
        claim = SessionClaimed(
            received_at_us=MONDAY,
            organization_id=ANA.organization_id,
            developer_id=ANA.developer_id,
            agent_session_id=session,
        )
        self.store.append([new(session, event=claim)])
        return self.store.head()

    def at_one_instant(self, session: str, count: int) -> None:
        """So many prompts more, all of one time."""
        story, begun = facts.Log(ANA), self.store.head()
        for number in range(count):
            story.prompt(session, f"go on with part {begun + number}", MONDAY)
        self.store.append(
            [new(f"{session}-{begun + number}", event=each.event) for number, each in enumerate(story.facts[1:])]
        )

    def worker(self, kind: str, charge: Charge = lambda _cost: None) -> Worker:
        """A child, or a thread."""
        if kind == "child":
            return ChildWorker(Place(self.var), self.views, charge)
        return ThreadWorker(self.views, self.store, self.vault.digester, charge=charge)

    def sessions(self) -> list[str]:
        """What the views hold."""
        db = open_writer(self.views)
        try:
            return [row[0] for row in db.execute("SELECT agent_session_id FROM sessions ORDER BY 1")]
        finally:
            db.close()


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    """An empty one."""
    made = Log(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("kind", ["child", "thread"])
async def test_a_step_brings_the_views_up_to_the_log(log: Log, kind: str) -> None:
    """Each step answers with the position reached; one without new facts changes nothing."""
    worker = log.worker(kind)
    first = log.grow("s1")
    await worker.start()
    assert await worker.step() == first
    assert await worker.step() == first
    second = log.grow("s2")
    assert await worker.step() == second
    await worker.close()
    assert log.sessions() == ["s1", "s2"]


@pytest.mark.parametrize("kind", ["child", "thread"])
async def test_who_takes_longer_to_derive_than_usual_is_charged(log: Log, kind: str) -> None:
    """Prompts of one instant stand in an order that each further one may change, so all of them are looked at again."""
    costs: list[Cost] = []
    worker = log.worker(kind, costs.append)
    log.grow("s1")
    await worker.step()
    assert costs == [], "three small facts"
    log.grow("s2")
    log.at_one_instant("s2", 300)
    await worker.step()
    log.at_one_instant("s2", 1)
    await worker.step()
    await worker.close()
    assert [developer_id for developer_id, _ in costs] == [ANA.developer_id]
    assert 0 < costs[0][1] < 60


async def test_a_child_that_was_killed_is_replaced(log: Log) -> None:
    """The step under way fails and says so; the next one starts another child, which goes on where that one was."""
    worker = ChildWorker(Place(log.var), log.views)
    log.grow("s1")
    await worker.step()
    log.grow("s2")
    process = worker.process
    assert process is not None
    process.kill()
    await process.wait()
    with pytest.raises(WorkerGone):
        await worker.step()
    assert await worker.step() == log.store.head()
    await worker.close()
    assert log.sessions() == ["s1", "s2"]


async def test_a_child_ends_with_its_server(log: Log) -> None:
    """However the server ended, the pipe to its child is closed by then; nothing else tells the child to stop."""
    worker = ChildWorker(Place(log.var), log.views)
    await worker.start()
    process = worker.process
    assert process is not None
    assert process.stdin is not None
    await process.stdin.aclose()
    with trio.fail_after(10):
        assert await process.wait() == 0
    await worker.close()


async def test_a_step_that_is_cancelled_ends_its_child(log: Log) -> None:
    """Its answer would be taken for the next step's."""
    worker = ChildWorker(Place(log.var), log.views)
    await worker.start()
    process = worker.process
    assert process is not None
    with trio.CancelScope() as scope:
        scope.cancel()
        await worker.step()
    assert scope.cancelled_caught
    assert process.returncode is not None
    log.grow("s1")
    assert await worker.step() == log.store.head()
    await worker.close()


async def test_a_child_that_is_frozen_ends_too(log: Log) -> None:
    """A server that stops waits a moment for it, and no longer."""
    worker = log.worker("child")
    assert isinstance(worker, ChildWorker)
    await worker.start()
    process = worker.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    await trio.to_thread.run_sync(os.waitid, os.P_PID, process.pid, os.WSTOPPED)
    with trio.fail_after(10):
        await worker.close()
    assert process.returncode == -signal.SIGKILL


async def test_a_file_that_cannot_be_opened_is_no_worker(log: Log) -> None:
    """The child says why on standard error; whoever asked gets an error, not silence."""
    worker = ChildWorker(Place(log.var), log.var / "nothing.db")
    with pytest.raises(WorkerGone):
        await worker.start()
    assert worker.process is None


async def test_both_kinds_make_the_same_tables(log: Log, tmp_path: Path) -> None:
    """The bookmark too: position, time of the log, checksum."""
    log.grow("s1")
    await (child := log.worker("child")).step()
    other = tmp_path / "views-other.db"
    thread = ThreadWorker(other, log.store, log.vault.digester)
    await thread.step()
    for worker in (child, thread):
        await worker.close()
    marks = []
    for path in (log.views, other):
        db = open_writer(path)
        marks.append(bookmark(db))
        db.close()
    assert marks[0] == marks[1]


class Shift:
    """A thread's work under a clock that moves by a millisecond at each look, and whoever counts its rests."""

    def __init__(self, *, captures_wait: bool) -> None:
        self.captures_wait = captures_wait
        self.looks = 0
        self.rests: list[float] = []
        self.pace = Pace(lambda: self.captures_wait, self._now, self.rests.append)

    def _now(self) -> float:
        self.looks += 1
        return self.looks / 1_000


@pytest.mark.parametrize("captures_wait", [True, False])
async def test_work_is_cut_into_slices_and_rests_between_them_while_captures_wait(
    log: Log, captures_wait: bool
) -> None:
    """One transaction, many slices: the views are as they are without any rest."""
    for number in range(200):
        log.grow(f"s{number:03}")
    shift = Shift(captures_wait=captures_wait)
    worker = ThreadWorker(log.views, log.store, log.vault.digester, shift.pace)
    assert await worker.step() == 200
    await worker.close()
    assert log.sessions() == [f"s{number:03}" for number in range(200)]
    slices = shift.looks / (SLICE_SECONDS * 1_000)
    assert slices > 30
    assert len(shift.rests) > slices / 2 if captures_wait else shift.rests == []


async def test_a_rest_ends_nothing_of_a_slice(log: Log) -> None:
    """Captures that stop waiting are not rested for again."""
    shift = Shift(captures_wait=True)
    shift.pace()
    rests = len(shift.rests)
    assert 0 < sum(shift.rests) <= REST_SECONDS
    shift.captures_wait = False
    for _ in range(100):
        shift.pace()
    assert len(shift.rests) == rests
