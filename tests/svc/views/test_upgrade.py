"""A folder of another version: what is served while its views are built anew, and how that is told."""

import inspect
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import trio

from aggregates.event import Unavailable
from aggregates.reading import reading
from aggregates.reading.reading import read_prompt
from aggregates.reading.readings import READING_VERSION, PromptReading, ResponseReading
from aggregates.turns.turn import CapturedResponse, Observation, observe
from aggregates.turns.turns import Capture
from projections.apply import bookmark, derive_later
from svc.log.opening import open_log
from svc.views import replay as rebuilding, views
from svc.views.projector import BuildProgress
from svc.views.views import POINTER, READ_BY, RULES_VERSION, ViewsWriter, current_file, new_file, open_writer, rules_of
from tests.support.household import Household, household, rebuilt, tables_of, worked_by_two

SECONDS_MAX = 30


async def scores(house: Household) -> set[float]:
    found = await house.service.queried(lambda each: each.db.execute("SELECT score FROM sub_sessions").fetchall(), None)
    return {score for (score,) in found}


async def test_figures_by_other_rules_are_served_until_they_are_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is captured meanwhile is in both."""
    var, may_go_on, build = (await worked_by_two(tmp_path / "var")).var, trio.Event(), rebuilding.build_in_thread

    async def held(*told: Any, **more: Any) -> None:
        await may_go_on.wait()
        await build(*told, **more)

    monkeypatch.setattr(rebuilding, "build_in_thread", held)
    path = current_file(var)
    assert path is not None
    older = path.rename(path.with_name(path.name.replace(f"-r{RULES_VERSION}-", f"-r{RULES_VERSION - 1}-")))
    (var / POINTER).write_text(older.name)
    with closing(sqlite3.connect(older)) as db, db:
        db.execute("UPDATE sub_sessions SET score = 1")
    with trio.fail_after(SECONDS_MAX):
        async with household(var) as house:
            assert await scores(house) == {1}
            assert house.service.replay_status().state == "running"
            assert (await house.service.status()).views.rules_version == RULES_VERSION - 1
            await house.prompt("Fix the clock of the tower in src/tower.py", session="s9")
            await house.level()
            may_go_on.set()
            while house.service.replay_status().state == "running":
                await trio.lowlevel.checkpoint()
            assert 1 not in await scores(house)
            assert rules_of(house.service.projector.readers.path) == RULES_VERSION
            await house.level()
            assert not older.exists()
            assert tables_of(var) == rebuilt(var, tmp_path / "views-1-r1-1.db")


async def test_views_far_behind_are_brought_up_in_leaps_and_reads_are_told_how_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade to other tables. At the end older files go, and not the one that a replay builds now."""
    var = (await worked_by_two(tmp_path / "var")).var
    before = tables_of(var)
    (var / POINTER).write_text("views-1.1-r1-1.db")
    monkeypatch.setattr("svc.views.projector.LEAP_EVENTS", 7)
    monkeypatch.setattr("svc.service.READ_WAIT_SECONDS", 0)
    with trio.fail_after(SECONDS_MAX):
        async with household(var) as house:
            (built := new_file(var)).touch()
            with pytest.raises(Unavailable, match=r"built from the log: \d+ of \d+ events"):
                await scores(house)
            assert house.service.replay_status().state == "running"
            await house.level()
            assert house.service.replay_status().state == "none"
            assert tables_of(var) == before
            assert built.exists()


def _of_another_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE bookmark SET checksum = x'00'")


def _without_keys(path: Path) -> None:
    """Which are back by now."""
    away = path.with_name("keys").rename(path.with_name("away"))
    rebuilt(path.parent, path)
    away.rename(path.with_name("keys"))


@pytest.mark.parametrize(
    ("name", "harm", "anew"),
    [
        pytest.param(f"views-1.{READ_BY}-r1-1.db", lambda _path: None, False, id="other tables"),
        pytest.param(f"views-1.{READ_BY}0-r1-1.db", lambda _path: None, True, id="another reader"),
        pytest.param(
            f"views-1.{READ_BY}-r1-1.db", lambda path: path.write_bytes(path.read_bytes()[:5_000]), True, id="damaged"
        ),
        pytest.param(f"views-1.{READ_BY}-r1-1.db", _of_another_log, True, id="of another log"),
        pytest.param(f"views-1.{READ_BY}-r1-1.db", _without_keys, True, id="built without keys"),
    ],
)
async def test_an_upgrade_reads_a_text_anew_only_where_no_earlier_views_hold_its_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, harm: Callable[[Path], object], anew: bool
) -> None:
    texts = [f"Fix the clock of tower {number} in src/tower.py{more}" for number in range(3) for more in ("", " soon")]
    async with household(tmp_path / "var") as house:
        for told in texts[::2]:
            await house.prompt(told, session=told)
            await house.records(f"{told} soon", house.clock.now_us(), session=f"{told} soon")
        await house.level()
    var, before, path = house.var, tables_of(house.var), current_file(house.var)
    assert path is not None
    harm(path.rename(path.with_name(name)))
    (var / POINTER).write_text(name)
    monkeypatch.setattr("svc.views.projector.LEAP_EVENTS", 1)  # one short of level: the last event is read anyway
    monkeypatch.setattr("svc.views.views.LEAP_EVENTS", 1)
    read: list[str] = []

    def heard(text: str, *told: Any) -> PromptReading:
        read.append(text)
        return read_prompt(text, *told)

    monkeypatch.setattr(reading, "read_prompt", heard)
    with trio.fail_after(SECONDS_MAX):
        async with household(var) as house:
            await house.level()
    assert read == (texts if anew else texts[-1:])
    assert tables_of(var) == before
    assert not (var / name).exists()


def test_readings_are_taken_over_only_while_texts_are_read_alike() -> None:
    """Count READING_VERSION up where a text may be read otherwise now, and write down here what reads it."""
    files = sorted(path for path in Path(reading.__file__).parent.iterdir() if path.is_file())
    told = sha256(b"".join(path.read_bytes() for path in files))
    kept = [each.__struct_fields__ for each in (Capture, CapturedResponse, Observation, PromptReading, ResponseReading)]
    told.update(repr([kept, inspect.getsource(observe)]).encode())
    assert (READING_VERSION, told.hexdigest()[:16]) == (1, "ad6ad9bd0331074b")


def test_the_time_left_is_that_of_the_pace_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("svc.views.projector.time.monotonic", lambda: now)
    course = BuildProgress(1_000)
    assert course.status(1_000, 4_000).seconds_left is None
    now = 110.0
    assert course.status(2_000, 4_000).seconds_left == 20


async def test_a_leap_that_is_cancelled_while_it_derives_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop waits for no ten thousand events."""
    var = (await worked_by_two(tmp_path / "var")).var
    store = open_log(var)
    path = new_file(var)

    def cancelled(*told: Any) -> None:
        trio.from_thread.run_sync(scope.cancel)
        derive_later(*told)

    monkeypatch.setattr(views, "derive_later", cancelled)
    monkeypatch.setattr(views, "GIVE_WAY_SQLITE_STEPS", 20)
    with closing(store), closing(open_writer(path)) as db, trio.CancelScope() as scope:
        writer = ViewsWriter(db, store, trio.from_thread.check_cancelled)
        await trio.to_thread.run_sync(writer.leap, 10, lambda _done: None)
    assert scope.cancelled_caught
    with closing(open_writer(path)) as db:
        assert bookmark(db).position == 0


async def test_a_build_in_a_thread_stops_at_once_when_its_server_stops(tmp_path: Path) -> None:
    """It does not hold the server up until the end of a long log."""
    var = (await worked_by_two(tmp_path / "var")).var
    told: list[int] = []

    def heard(done: int, _of: int) -> None:
        told.append(done)
        trio.from_thread.run_sync(scope.cancel)

    with trio.CancelScope() as scope:
        await rebuilding.build_in_thread(var, tmp_path / "views-1-r1-1.db", heard)
    assert scope.cancelled_caught
    assert told == [0]
