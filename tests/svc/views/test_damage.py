"""Damage on the disk, met while the service runs, and replays that fail: it is named, what can be built anew is, and
the old views serve until then."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import pytest
import structlog
import trio

from aggregates.event import Mendable, NewEvent, Scope, Unavailable
from aggregates.ids import retained_stream
from aggregates.people.directory import Stay
from aggregates.retained import FORM, ReadingsRetained, RetainedReading, packed_readings
from aggregates.times import Window
from projections.apply import bookmark
from projections.prices import TeamWindow
from projections.reader import is_damage, is_passing, unpack
from projections.sub_sessions.detail import prompt_rows
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.log.store import StoreUnavailable
from svc.process import Place
from svc.views import replay as rebuilding
from svc.views.projector import Projector, ReadPool
from svc.views.replay import Progress, Rebuilding, nameless
from svc.views.views import (
    RECALL_EVENTS,
    VIEWS_WAL_BYTES,
    Stepped,
    ViewsDamaged,
    current_file,
    new_file,
    open_writer,
    point_to,
    readings_of_log,
    remove_others,
    serving_file,
)
from tests.support.household import NOW_US, Household, damage
from tests.svc.test_service import TEXT, house, rows, ticker

__all__ = ["house"]


def shatter(path: Path, table: str) -> None:
    """Overwrite the root page of a table, or of an index."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


def views_of(house: Household) -> Path:
    return house.service.projector.readers.path


@pytest.fixture(autouse=True)
def built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The build is an empty file, which is brought up to the log when it is exchanged."""

    async def build(_var: Path, path: Path, _progress: Progress, **_: object) -> None:
        open_writer(path).close()

    monkeypatch.setattr(rebuilding, "build_in_thread", build)


async def mended(house: Household, old: Path) -> None:
    with trio.fail_after(10):
        while views_of(house) == old or house.service.replay_status().state == "running":
            await trio.lowlevel.checkpoint()


async def test_a_read_of_damaged_views_is_put_off_and_they_are_built_anew_once(house: Household) -> None:
    """503 that says so; a disk that damages them again is not mended by building on and on."""
    await house.prompt(TEXT)
    (before,) = await rows(house)
    old = views_of(house)
    shatter(old, "sub_sessions")
    with structlog.testing.capture_logs() as logs:
        with pytest.raises(ViewsDamaged):
            await rows(house)
        await mended(house, old)
        assert await rows(house) == [before]
        shatter(views_of(house), "sub_sessions")
        with pytest.raises(ViewsDamaged):
            await rows(house)
    flaws = [line["flaw"] for line in logs if "anew" in line["event"]]
    assert flaws == [f"{old.name}: database disk image is malformed"]
    assert house.service.replay_status().state == "completed"


def undecodable(path: Path, table: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE {table} SET detail = x'c1'")


async def a_read(house: Household) -> None:
    with pytest.raises(ViewsDamaged):
        await rows(house)


async def a_teams_costs(house: Household) -> None:
    """They are read by the archive, which knows nothing of rebuilding."""
    window = Window(0, 2 * NOW_US)
    asked = TeamWindow(window, (Stay(house.owner.developer_id, window.start_us, window.end_us),))
    with pytest.raises(Unavailable):
        await house.service.team_spending(house.owner, [asked])


async def the_clock(house: Household) -> None:
    """It looks every few seconds: on a quiet server nobody else need meet the page that it needs."""
    assert await ticker(house).poll() is False


@pytest.mark.parametrize(
    ("damage", "table", "meets"),
    [
        (undecodable, "sub_sessions", a_read),
        (shatter, "turns", lambda house: house.prompt(TEXT, session="s2")),
        (shatter, "idx_sub_sessions_settles_at_us", the_clock),
        (shatter, "prompts", a_teams_costs),
    ],
    ids=["a row that does not decode", "a step", "the clock", "the costs of a team"],
)
async def test_whoever_meets_damage_has_the_views_built_anew(
    house: Household, damage: Callable[[Path, str], None], table: str, meets: Callable[[Household], Awaitable[object]]
) -> None:
    """The facts are not to blame: none is passed over."""
    await house.prompt(TEXT)
    (before,) = await rows(house)
    old = views_of(house)
    damage(old, table)
    await meets(house)
    await mended(house, old)
    assert before in await rows(house)
    with house.service.projector.readers.reading() as db:
        assert db.execute("SELECT count(*) FROM failed").fetchone() == (0,)


def test_views_that_somebody_holds_are_no_damaged_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc.views.views.STORE_BUSY_TIMEOUT_MS", 0)
    path = new_file(tmp_path)
    open_writer(path).close()
    point_to(path)
    with closing(open_log(tmp_path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="locked"):
            serving_file(tmp_path, store)
        locked = pytest.raises(sqlite3.OperationalError, match="locked")
        with locked, closing(ReadPool(path)) as pool, pool.reading() as db:
            db.execute("SELECT * FROM bookmark")
    assert current_file(tmp_path) == path


def test_a_row_whose_text_is_none_is_damage(tmp_path: Path) -> None:
    """What it holds is not repeated."""
    path = tmp_path / "views.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE t (a TEXT); INSERT INTO t VALUES (CAST(x'6d79ff' AS TEXT))")
    with closing(ReadPool(path)) as pool:
        with pytest.raises(ViewsDamaged, match="no value of its column") as caught, pool.reading() as db:
            db.execute("SELECT a FROM t").fetchall()
        assert "my" not in str(caught.value)
        with pytest.raises(ViewsDamaged, match="no value of its column"), pool.reading():
            unpack(b"\xc1", Scope)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda db: msgspec.json.decode(b"{"),
        lambda db: msgspec.convert("no number", int),
        lambda db: db.execute("SELECT a FROM nowhere"),
        lambda db: db.execute("SELECT ?", (b"\xff", 1)),
        lambda db: int("no number"),
    ],
)
def test_a_wrong_query_or_bad_input_is_no_damage(tmp_path: Path, wrong: Callable[[sqlite3.Connection], object]) -> None:
    """Nobody is told of a flaw, so nothing is built anew for it, and whoever asked gets the error itself."""
    path, flaws = tmp_path / "views.db", list[str]()
    sqlite3.connect(path).close()
    expected = pytest.raises((msgspec.MsgspecError, sqlite3.Error, ValueError))
    with expected as caught, closing(ReadPool(path, flaws.append)) as pool, pool.reading() as db:
        wrong(db)
    assert not isinstance(caught.value, ViewsDamaged)
    assert flaws == []


@pytest.mark.parametrize(
    ("code", "damage", "passing"),
    [
        (sqlite3.SQLITE_CORRUPT_INDEX, True, False),
        (sqlite3.SQLITE_NOTADB, True, False),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, False, True),
        (sqlite3.SQLITE_IOERR_READ, False, True),
        (sqlite3.SQLITE_ERROR, False, False),
        (None, False, False),
    ],
)
def test_what_an_error_of_a_file_means(code: int | None, damage: bool, passing: bool) -> None:
    error = sqlite3.OperationalError("any words")
    if code is not None:
        error.sqlite_errorcode = code
    assert (is_damage(error), is_passing(error)) == (damage, passing)
    assert not is_damage(ValueError())


async def test_a_corrupt_event_is_named_to_whoever_needs_it(house: Household) -> None:
    """By stream and place, with what to do next; its texts are shown as none."""
    await house.prompt(TEXT)
    (row,) = await rows(house)
    (position,) = [each.position for each in house.service.store.read_after(0, 99) if "prompt" in each.event.TOPIC]
    damage(views_of(house).parent, f"rowid = {position}")
    with structlog.testing.capture_logs() as logs:
        found = await house.service.read(house.owner, prompt_rows, UUID(row.sub_session_id), 50, 0)
    assert found is not None
    assert found[0].prompt_text is None
    (line,) = [line for line in logs if line["log_level"] == "error"]
    assert line["position"] == position
    for word in (f"position {position} (stream ", "svc verify", "restore"):
        assert word in line["reason"]


def test_damaged_readings_of_deleted_texts_hide_none_that_stand_behind_them(tmp_path: Path) -> None:
    scope = Scope(uuid4(), uuid4())
    whose = msgspec.structs.asdict(scope)
    with closing(open_log(tmp_path)) as store:
        for place in range(1, RECALL_EVENTS + 2):
            rows = packed_readings([RetainedReading(place)])
            told = ReadingsRetained(received_at_us=1, **whose, first=place, last=place, form=FORM, rows=rows)
            store.append([NewEvent(retained_stream(*whose.values(), place), 1, told)])
        for position in range(1, place):
            damage(tmp_path, f"rowid = {position}")
        assert readings_of_log(store).standing(scope, place) == RetainedReading(place)


class Kept:
    """Views of an empty log, and who keeps them."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.store = open_log(var)
        self.first = new_file(var)
        open_writer(self.first).close()
        point_to(self.first)
        journal = Journal(self.store)
        self.projector = Projector(self.first, journal, self.store)
        self.rebuilding = Rebuilding(Place(var), self.projector, journal)

    async def replayed(self) -> str:
        async with trio.open_nursery() as nursery:
            await nursery.start(self.rebuilding.run)
            self.rebuilding.start()
            while self.rebuilding.status.state == "running":
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        return self.rebuilding.status.state


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    found = Kept(tmp_path)
    with closing(found.store), closing(found.projector):
        yield found


def serves(kept: Kept) -> bool:
    """Whether the old file is there, pointed to, and read; and nothing is left of another one."""
    with kept.projector.readers.reading() as db:
        assert bookmark(db).position == 0
    names = {path.name.partition("-wal")[0].partition("-shm")[0] for path in kept.var.glob("views-*")}
    assert names == {kept.first.name}
    return current_file(kept.var) == kept.first == kept.projector.readers.path


def full(*_: object) -> Stepped:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("what", "fails"),
    [("svc.views.projector.ViewsWriter.step", full), ("svc.views.projector.point_to", full)],
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
        with trio.fail_after(10), pytest.raises(Mendable):
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
    for name in ("events.db-wal", *(f"views-1-r1-{each}" for each in ("1.db-wal", "1.db-shm", "2.db", "2.db-wal"))):
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


async def test_a_build_ends_where_the_log_does(kept: Kept) -> None:
    """Also where views that are compared say that they hold more."""
    digests, further = (
        rebuilding.built_digests(Place(kept.var), lambda _done, _of: None, batch_events=1, up_to=end) for end in (0, 9)
    )
    assert digests == further
