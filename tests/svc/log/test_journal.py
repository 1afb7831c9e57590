"""Many appends, one transaction: each gets what it would have got alone, whoever comes with it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import trio
import trio.testing
from eventsourcing.persistence import OperationalError, StoredEvent
from hypothesis import given, strategies as st

from aggregates.event import NewEvent
from aggregates.telemetry.batches import PART_BYTES_MAX
from aggregates.telemetry.export import RECORD_BYTES_MAX
from svc.log.codec import Codec, UnstorableEvent
from svc.log.journal import COMMIT_APPENDS_MAX, COMMIT_BYTES_MAX, JOURNAL_PROBE_INTERVAL_S, Busy, Journal
from svc.log.store import Conflict, EventStore, Fence, Group, StoreUnavailable
from svc.log.vault import FileKeys, Keys, Vault
from tests.support.basics import MemoryKeys, MemoryRecorder, named, new, passed, prompt


class Disk(MemoryRecorder):
    """A store whose disk can be taken away and given back; it counts what reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = False
        self.full = False
        self.lies = False
        """Writes, and says that it failed."""
        self.transactions: list[int] = []

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: object) -> Sequence[int] | None:
        self.check_writable()
        if self.full:
            raise OperationalError("database or disk is full")
        positions = super().insert_events(stored_events)
        self.transactions.append(len(stored_events))
        if self.lies:
            raise OperationalError("disk I/O error")
        return positions

    def check_writable(self) -> None:
        if self.gone:
            raise OperationalError("disk I/O error")


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def journal(disk: Disk) -> Journal:
    """A journal that writes without a thread; each test runs it when it likes."""
    return journal_over(disk)


def journal_over(disk: Disk, keys: Keys | None = None) -> Journal:
    return Journal(EventStore(disk, Codec(Vault(keys or MemoryKeys()))), threaded=False)


class Outcomes:
    """Starts appends and keeps what becomes of each."""

    def __init__(self, journal: Journal, nursery: trio.Nursery) -> None:
        self._journal = journal
        self._nursery = nursery
        self.of: dict[str, list[int] | Exception] = {}

    async def start(self, name: str, *events: NewEvent) -> None:
        self._nursery.start_soon(self._append, name, events)
        await trio.testing.wait_all_tasks_blocked()

    async def _append(self, name: str, events: Sequence[NewEvent]) -> None:
        try:
            self.of[name] = await self._journal.append(events)
        except Exception as error:
            self.of[name] = error


@pytest.mark.parametrize(
    ("text", "count", "transactions"),
    [("x", COMMIT_APPENDS_MAX + 1, [COMMIT_APPENDS_MAX, 1]), ("x" * (COMMIT_BYTES_MAX * 2 // 5), 2, [1, 1])],
    ids=["in number", "in bytes"],
)
async def test_a_transaction_is_bounded(
    disk: Disk, journal: Journal, nursery: trio.Nursery, text: str, count: int, transactions: list[int]
) -> None:
    """What does not fit goes into the next one; a single append always fits."""
    for number in range(count):
        nursery.start_soon(journal.append, [new(str(number), event=prompt(text))])
    await trio.testing.wait_all_tasks_blocked()
    await nursery.start(journal.run)
    await trio.testing.wait_all_tasks_blocked()
    assert disk.transactions == transactions


def test_the_largest_piece_of_an_export_fits_into_one_transaction() -> None:
    """A record, or a part of it, with its texts; the log knows nothing of telemetry, so it cannot say so itself."""
    assert 2 * max(RECORD_BYTES_MAX, PART_BYTES_MAX) < COMMIT_BYTES_MAX


_APPENDS = st.lists(st.lists(st.tuples(st.sampled_from("stu"), st.integers(1, 3)), min_size=1, max_size=3), max_size=12)


@given(appends=_APPENDS)
async def test_together_or_one_by_one_is_the_same(appends: list[list[tuple[str, int]]]) -> None:
    """For any mix of appends, exactly those land that would have landed one after another."""
    alone = EventStore(MemoryRecorder(), Codec(Vault(MemoryKeys())))
    expected: dict[str, list[int] | type[Exception]] = {}
    disk = Disk()
    async with trio.open_nursery() as nursery:
        journal = journal_over(disk)
        outcomes = Outcomes(journal, nursery)
        for index, append in enumerate(appends):
            events = [new(stream, version, passed(index)) for stream, version in append]
            try:
                expected[str(index)] = alone.append(events)
            except Conflict:
                expected[str(index)] = Conflict
            await outcomes.start(str(index), *events)
        await nursery.start(journal.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    seen = {name: type(of) if isinstance(of, Exception) else of for name, of in outcomes.of.items()}
    assert seen == expected
    assert disk.select_after(0, 100, 10**6) == alone.recorder.select_after(0, 100, 10**6)


async def test_an_event_that_cannot_be_stored_refuses_nobody_else(journal: Journal, nursery: trio.Nursery) -> None:
    """The one who sent it is told why; the store counts as well."""
    outcomes = Outcomes(journal, nursery)
    await outcomes.start("good", new("a"))
    await outcomes.start("bad", new("b", event=passed("noon")))  # type: ignore[arg-type]
    await nursery.start(journal.run)
    await trio.testing.wait_all_tasks_blocked()
    assert outcomes.of["good"] == [1]
    assert isinstance(outcomes.of["bad"], UnstorableEvent)
    assert journal.healthy


async def test_a_cancelled_caller_loses_the_answer_not_the_write(
    disk: Disk, journal: Journal, nursery: trio.Nursery
) -> None:
    """A client that hangs up leaves no half-open door behind."""
    with trio.move_on_after(0) as impatient:
        await journal.append([new("a")])
    assert impatient.cancelled_caught
    await nursery.start(journal.run)
    assert await journal.append([new("b")]) == [2]
    assert [recorded.originator_id for recorded in disk.select_after(0, 9, 9_999)] == [named("a"), named("b")]


@pytest.mark.parametrize(
    ("bound", "most", "text"), [("JOURNAL_APPENDS_MAX", 1, "x"), ("JOURNAL_BYTES_MAX", 10_000, "x" * 4_000)]
)
async def test_a_full_queue_refuses_at_once(
    journal: Journal, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, text: str
) -> None:
    """A few large captures can be too much as well; the room is given back when they are written."""
    monkeypatch.setattr(f"svc.log.journal.{bound}", most)
    nursery.start_soon(journal.append, [new("a", event=prompt(text))])
    await trio.testing.wait_all_tasks_blocked()
    with pytest.raises(Busy, match="1 appends"):
        await journal.append([new("b", event=prompt(text))])
    assert (journal.counts.saturated, journal.waiting) == (1, 1)
    await nursery.start(journal.run)
    for name in "cd":
        await journal.append([new(name, event=prompt(text))])
    assert journal.waiting == 0


async def test_a_store_that_cannot_be_written_refuses_all_that_wait(
    disk: Disk, journal: Journal, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those who were not part of the transaction that failed, so nobody waits for a second time-out."""
    monkeypatch.setattr("svc.log.journal.COMMIT_APPENDS_MAX", 1)
    outcomes = Outcomes(journal, nursery)
    for name in "abc":
        await outcomes.start(name, new(name))
    disk.gone = True
    await nursery.start(journal.run)
    await trio.testing.wait_all_tasks_blocked()
    assert [str(outcomes.of[name]) for name in "abc"] == ["disk I/O error"] * 3
    assert all(isinstance(of, StoreUnavailable) for of in outcomes.of.values())
    assert (journal.healthy, journal.head, journal.counts.failures) == (False, 0, 1)


async def test_a_write_that_works_again_is_noticed(disk: Disk, nursery: trio.Nursery, tmp_path: Path) -> None:
    """A key that cannot be kept counts as a store that cannot be written."""
    keys, aside = tmp_path / "keys", tmp_path / "aside"
    journal = journal_over(disk, FileKeys(keys))
    await nursery.start(journal.run)
    troubles: tuple[tuple[Callable[[], object], Callable[[], object]], ...] = (
        (lambda: setattr(disk, "gone", True), lambda: setattr(disk, "gone", False)),
        (lambda: keys.rename(aside), lambda: aside.rename(keys)),
    )
    for position, (begins, ends) in enumerate(troubles, 1):
        whose = new(f"{position}", event=prompt("hello", named(f"{position}")))
        begins()
        with pytest.raises(StoreUnavailable):
            await journal.append([whose])
        assert not journal.healthy
        ends()
        assert await journal.append([whose]) == [position]
        assert journal.healthy


async def test_a_store_that_comes_back_is_noticed_without_a_write(
    disk: Disk, journal: Journal, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """While intake is closed nobody writes, so the journal looks for itself, once a second."""
    await nursery.start(journal.run)
    disk.gone = True
    with pytest.raises(StoreUnavailable):
        await journal.append([new("b")])
    failures = journal.counts.failures
    await trio.sleep(10 * JOURNAL_PROBE_INTERVAL_S)
    assert not journal.healthy
    assert 8 <= journal.counts.failures - failures <= 10
    disk.gone = False
    await trio.sleep(1.5 * JOURNAL_PROBE_INTERVAL_S)
    assert journal.healthy


async def test_a_full_disk_on_which_only_a_probe_fits_is_not_healthy(
    disk: Disk, journal: Journal, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    await nursery.start(journal.run)
    disk.full = True
    for _ in range(5):
        with pytest.raises(StoreUnavailable):
            await journal.append([new("a")])
        assert not await journal.probe()
        await trio.sleep(0.9 * JOURNAL_PROBE_INTERVAL_S)
    await trio.sleep(JOURNAL_PROBE_INTERVAL_S)
    assert await journal.probe()


async def test_what_was_written_although_it_was_said_to_have_failed_is_seen_once_the_store_answers(
    disk: Disk, journal: Journal, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """Else the views would stop before it, and show it only once something else is written."""
    await nursery.start(journal.run)
    disk.lies = True
    with pytest.raises(StoreUnavailable):
        await journal.append([new("a")])
    assert journal.head == 0
    await trio.sleep(JOURNAL_PROBE_INTERVAL_S)
    assert await journal.probe()
    assert journal.head == 1
    with trio.fail_after(1):
        await journal.wait_beyond(0)


async def test_a_journal_that_stops_leaves_nobody_waiting(journal: Journal, nursery: trio.Nursery) -> None:
    outcomes = Outcomes(journal, nursery)
    await outcomes.start("late", new("a"))
    with trio.CancelScope() as running:
        running.cancel()
        await journal.run()
    await trio.testing.wait_all_tasks_blocked()
    assert isinstance(outcomes.of["late"], StoreUnavailable)


async def test_a_write_under_way_is_finished_when_the_journal_is_stopped() -> None:
    """The caller of a transaction that already runs gets its answer, not an error."""
    running = trio.CancelScope()

    class StoppedInTheMiddle(EventStore):
        def insert(self, groups: Sequence[Group], fences: Sequence[Fence] = ()) -> list[list[int]]:
            trio.from_thread.run_sync(running.cancel)
            return super().insert(groups, fences)

    journal = Journal(StoppedInTheMiddle(MemoryRecorder(), Codec(Vault(MemoryKeys()))))
    async with trio.open_nursery() as nursery:
        outcomes = Outcomes(journal, nursery)
        await outcomes.start("a", new("a"))
        with running:
            await journal.run()
    assert outcomes.of == {"a": [1]}
