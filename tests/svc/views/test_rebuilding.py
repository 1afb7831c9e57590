"""A replay under a running server that fails: whatever broke, the server goes on and serves from the old views."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import trio

from projections.apply import bookmark
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.process import Place
from svc.views import replay as module
from svc.views.projector import Projector
from svc.views.replay import NotRebuilt, Progress, Rebuilding, build_in_thread, nameless
from svc.views.views import VIEWS_WAL_BYTES, Stepped, current_file, new_file, open_writer, point_to, remove_others
from tests.support.basics import new


class Kept:
    """Views of an empty log, and who keeps them."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.store, vault = open_log(var)
        self.first = new_file(var)
        open_writer(self.first).close()
        point_to(self.first)
        journal = Journal(self.store)
        self.projector = Projector(self.first, journal, self.store, vault.digester)
        self.rebuilding = Rebuilding(Place(var), self.projector, journal)

    async def replayed(self) -> str:
        async with trio.open_nursery() as nursery:
            await nursery.start(self.rebuilding.run)
            self.rebuilding.start(None)
            while self.rebuilding.status.state == "running":
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        return self.rebuilding.status.state


@pytest.fixture(autouse=True)
def built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build itself is tested on the real program."""

    async def build(_var: Path, path: Path, _progress: Progress, **_: object) -> None:
        open_writer(path).close()

    monkeypatch.setattr(module, "build_in_thread", build)


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    found = Kept(tmp_path)
    with closing(found.store), closing(found.projector):
        yield found


def serves(kept: Kept) -> bool:
    """Whether the old file is there, pointed to, and read; and nothing is left of another one."""
    with kept.projector.readers.reading() as db:
        assert bookmark(db).position == 0
    assert {path.name.partition("-wal")[0].partition("-shm")[0] for path in kept.var.glob("views-*")} == {
        kept.first.name
    }
    return current_file(kept.var) == kept.first == kept.projector.readers.path


async def full(*_: object) -> Stepped:
    raise OSError(28, "No space left on device")


def full_at_once(_path: Path) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("what", "fails"),
    [("svc.views.projector.ViewsWriter.step", full), ("svc.views.projector.point_to", full_at_once)],
    ids=["new views cannot take in what came during their build", "the pointer cannot be written"],
)
async def test_a_replay_that_fails_ends_nothing_but_itself(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, what: str, fails: object
) -> None:
    """The old views go on serving, in memory and on the disk; who needs new ones hears that there are none."""
    monkeypatch.setattr(what, fails)
    assert await kept.replayed() == "failed"
    assert serves(kept)
    async with trio.open_nursery() as nursery:
        await nursery.start(kept.rebuilding.run)
        with trio.fail_after(10), pytest.raises(NotRebuilt):
            await kept.rebuilding.anew()
        nursery.cancel_scope.cancel()


async def test_damage_that_is_met_before_or_after_the_service_runs_starts_nothing(kept: Kept) -> None:
    kept.rebuilding.mend("a page")
    async with trio.open_nursery() as nursery:
        await nursery.start(kept.rebuilding.run)
        kept.rebuilding.mend("a page")
        assert kept.rebuilding.status.state == "running"
        while kept.rebuilding.status.state == "running":
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    kept.rebuilding.mend("a page")
    assert kept.rebuilding.status.state == "completed"


def test_what_sqlite_kept_beside_views_that_somebody_deleted_goes_too(tmp_path: Path) -> None:
    """Only the file that serves keeps its companions, and nothing else is touched; copies of former versions go too."""
    (tmp_path / "verify-a_b1c2d3").mkdir()
    for name in (
        "views-1-r1-1.db-wal",
        "views-1-r1-1.db-shm",
        "views-1-r1-2.db",
        "views-1-r1-2.db-wal",
        "events.db-wal",
    ):
        (tmp_path / name).touch()
    remove_others(tmp_path, tmp_path / "views-1-r1-2.db")
    assert {path.name for path in tmp_path.iterdir()} == {"views-1-r1-2.db", "views-1-r1-2.db-wal", "events.db-wal"}


def test_the_write_ahead_log_that_a_long_read_let_grow_is_cut_afterwards(tmp_path: Path) -> None:
    """What it took of the disk meanwhile is given back with the next writes."""
    path = new_file(tmp_path)
    with closing(open_writer(path)) as writer, closing(open_writer(path)) as reader:
        beside = path.with_name(path.name + "-wal")
        writer.execute("INSERT INTO setups VALUES ('Ana')")
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM setups").fetchone() == (1,)
        grown_bytes = 2 * VIEWS_WAL_BYTES
        writer.execute("INSERT INTO setups SELECT hex(randomblob(?))", (grown_bytes // 2,))
        assert beside.stat().st_size > grown_bytes
        reader.execute("COMMIT")
        for name in ("Ben", "Kim"):  # the first write copies the log into the file, the second begins it again
            writer.execute("INSERT INTO setups VALUES (?)", (name,))
        assert beside.stat().st_size <= VIEWS_WAL_BYTES


def test_views_without_a_name_leave_nothing_behind(tmp_path: Path) -> None:
    with nameless(tmp_path) as db:
        db.execute("INSERT INTO setups SELECT hex(randomblob(1000))")
        assert list(tmp_path.iterdir()) == []
        assert db.execute("SELECT count(*) FROM setups").fetchone() == (1,)


async def test_a_build_in_a_thread_stops_between_two_batches_when_its_server_stops(tmp_path: Path) -> None:
    """It does not hold the server up until the end of a long log."""
    with closing(open_log(tmp_path)[0]) as store:
        store.append([new(f"s{number}") for number in range(1_500)])
    told: list[int] = []

    def heard(done: int, _of: int) -> None:
        told.append(done)
        trio.from_thread.run_sync(scope.cancel)

    with trio.CancelScope() as scope:
        await build_in_thread(tmp_path, tmp_path / "views-1-r1-1.db", heard)
    assert scope.cancelled_caught
    assert told == [0]


async def test_a_build_ends_where_the_log_does(kept: Kept) -> None:
    """Also where views that are compared say that they hold more."""
    digests, further = (
        module.built_digests(Place(kept.var), lambda _done, _of: None, batch_events=1, up_to=end) for end in (0, 9)
    )
    assert digests == further
