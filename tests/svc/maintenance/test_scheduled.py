"""Backups that the server makes by itself: when one is due, and which stay."""

import json
import os
from pathlib import Path

import pytest

from svc.maintenance.backup import MaintenanceError, ScheduledBackups
from svc.settings import Settings, SettingsError, load_settings
from tests.support.basics import FixedClock
from tests.support.driver import until
from tests.support.process import Server, init, serving, svc

HOUR_US = 3_600 * 1_000_000
NOON_US = 1_767_614_400 * 1_000_000


@pytest.fixture
def var(tmp_path: Path) -> Path:
    init(tmp_path / "var")
    return tmp_path / "var"


def scheduled(var: Path, folder: Path, clock: FixedClock | None = None) -> ScheduledBackups:
    settings = Settings(var=str(var), backup_folder=str(folder), backup_every=12, backup_keep=3)
    return ScheduledBackups(settings, clock or FixedClock(NOON_US))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_one_is_made_when_it_is_due_and_the_oldest_go(var: Path, tmp_path: Path) -> None:
    """Every twelve hours, three stay; a new process goes by what lies there, and leaves other files alone."""
    clock, folder = FixedClock(NOON_US), tmp_path / "kept"
    folder.mkdir(mode=0o700)
    (folder / "svc-mine.tar").write_text("mine")
    made = []
    for _ in range(8):
        backups = scheduled(var, folder, clock)
        made.append(await backups.step())
        clock.advance(6 * HOUR_US)
    assert [path is not None for path in made] == [True, False] * 4
    _, *newest = (path.name for path in made if path is not None)
    assert names(folder) == [*newest, "svc-mine.tar"]
    assert backups.age_seconds() == 12 * 3_600
    assert backups.shown().kept == 3


@pytest.mark.parametrize(("mode", "is_link"), [(0o770, False), (0o707, False), (0o1777, False), (0o700, True)])
async def test_a_folder_that_others_may_write_gets_none(var: Path, tmp_path: Path, mode: int, is_link: bool) -> None:
    """They could put a link in the place of a backup, or take one away."""
    folder = tmp_path / "kept"
    folder.mkdir()
    folder.chmod(mode)
    named = tmp_path / "link"
    named.symlink_to(folder)
    with pytest.raises(MaintenanceError, match="link" if is_link else "chmod go-w"):
        await scheduled(var, named if is_link else folder).step()
    assert names(folder) == []


async def test_a_clock_that_was_set_back_makes_one_at_once(var: Path, tmp_path: Path) -> None:
    """One of the future says nothing of the present."""
    clock, folder = FixedClock(NOON_US), tmp_path / "kept"
    await scheduled(var, folder, clock).step()
    clock.advance(-48 * HOUR_US)
    assert await scheduled(var, folder, clock).step() is not None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"backup_every": 24, "backup_folder": "var/kept"}, "outside of it"),
        ({"backup_every": 24, "backup_keep": 0}, "BACKUP_KEEP|backup_keep"),
    ],
)
def test_settings_that_would_lose_backups_are_refused(given: dict[str, object], why: str) -> None:
    """Within the data folder they would be lost with it, and be copied into each other."""
    with pytest.raises(SettingsError, match=why):
        load_settings(given, {})


def age_seconds(server: Server) -> float:
    """Of the newest backup, as the metrics tell it."""
    lines = server.api.get("/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("svc_backup_age_seconds ")))


@pytest.mark.process
def test_a_server_makes_one_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and metrics tell its age."""
    monkeypatch.chdir(tmp_path)
    key = init(tmp_path / "var")["key"]
    (tmp_path / "svc.toml").write_text("backup_every = 24\n")
    with serving(tmp_path / "var", key) as server:
        assert until(lambda: age_seconds(server) < 120), server.said()
    # The next start finds it overdue.
    (first,) = (tmp_path / "var-backups").iterdir()
    os.replace(first, first.with_name("svc-20260101T000000Z.tar"))
    with serving(tmp_path / "var", key) as server:
        assert until(lambda: age_seconds(server) < 120)
        status = json.loads(svc("status", "--var", tmp_path / "var", "--json").stdout)["backups"]
        assert (status["kept"], status["overdue"], status["failures"]) == (2, False, 0)
