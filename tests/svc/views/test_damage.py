"""Damage on the disk, met while the service runs: it is named, what can be built anew is, and nothing else falls."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
import structlog
import trio

from aggregates.event import Scope, Unavailable
from aggregates.people.acts import StartMembership
from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.prices import TeamWindow
from projections.reader import is_damage, is_passing, unpack
from projections.sub_sessions.detail import prompt_rows
from svc.cli import EXPECTED
from svc.log.codec import CorruptEvent
from svc.log.opening import open_log
from svc.log.sqlite import EVENTS_FILE
from svc.log.store import StoreUnavailable
from svc.service import open_service
from svc.serving import initialize
from svc.settings import Settings
from svc.views import replay as rebuilding
from svc.views.projector import ReadPool
from svc.views.replay import Progress
from svc.views.views import ViewsDamaged, current_file, new_file, open_writer, point_to, serving_file
from tests.support.household import NOW_US, Household
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


def flip_a_bit(var: Path, position: int) -> None:
    with closing(sqlite3.connect(var / EVENTS_FILE)) as db:
        query = "SELECT state FROM stored_events WHERE rowid = ?"
        state = bytearray(db.execute(query, (position,)).fetchone()[0])
        state[40] ^= 1
        db.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (bytes(state), position))
        db.commit()


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
    assert [line["flaw"] for line in logs if "anew" in line["event"]] == [
        f"{old.name}: database disk image is malformed"
    ]
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
    house: Household,
    damage: Callable[[Path, str], None],
    table: str,
    meets: Callable[[Household], Awaitable[object]],
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
    with closing(open_log(tmp_path)[0]) as store, closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="locked"):
            serving_file(tmp_path, store)
        with (
            pytest.raises(sqlite3.OperationalError, match="locked"),
            closing(ReadPool(path)) as pool,
            pool.reading() as db,
        ):
            db.execute("SELECT * FROM bookmark")
    assert current_file(tmp_path) == path


def test_a_row_whose_text_is_none_is_damage(tmp_path: Path) -> None:
    """What it holds is not repeated."""
    path = tmp_path / "views.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a TEXT)")
        db.execute("INSERT INTO t VALUES (CAST(x'6d79ff' AS TEXT))")
        db.commit()
    with (
        pytest.raises(ViewsDamaged, match="no value of its column") as caught,
        closing(ReadPool(path)) as pool,
        pool.reading() as db,
    ):
        db.execute("SELECT a FROM t").fetchall()
    assert "my" not in str(caught.value)
    with pytest.raises(ViewsDamaged, match="no value of its column"), closing(ReadPool(path)) as pool, pool.reading():
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
    flip_a_bit(views_of(house).parent, position)
    with structlog.testing.capture_logs() as logs:
        found = await house.service.read(house.owner, prompt_rows, UUID(row.sub_session_id), 50, 0)
    assert found is not None
    assert found[0].prompt_text is None
    (line,) = [line for line in logs if line["log_level"] == "error"]
    assert line["position"] == position
    for word in (f"position {position} (stream ", "svc verify", "restore"):
        assert word in line["reason"]


async def test_a_start_that_needs_a_corrupt_event_ends_with_its_place_and_what_to_do(tmp_path: Path) -> None:
    """Who belongs to what cannot be guessed, so nothing is served."""
    settings = Settings(var=str(tmp_path))
    async with open_service(settings) as service:
        await initialize(service, tmp_path)
        (position,) = [
            each.position for each in service.store.read_after(0, 99) if isinstance(each.event, StartMembership)
        ]
    flip_a_bit(tmp_path, position)
    with pytest.raises(CorruptEvent, match=rf"position {position} \(stream .*svc verify.*restore"):
        async with open_service(settings):
            pass
    assert issubclass(CorruptEvent, EXPECTED), "shown as one sentence"
