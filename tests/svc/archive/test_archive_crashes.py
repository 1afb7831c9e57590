"""The power fails between any two steps of the archive: no record is lost, none counts twice, no torn file stays."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

import duckdb
import pytest

from svc.archive import folder, lane
from svc.archive.folder import Archive, ArchiveFile, Mark
from svc.log.vault import sync
from tests.support.facts import DAY, MONDAY, empty_views
from tests.support.requests import (
    Row,
    archive_all,
    fingerprint,
    listed,
    newest,
    on_disk,
    put,
    request_row,
    shown,
    stored,
)


class Crash(BaseException):
    """The power fails."""


class Disk:
    """A disk that fails before one of its steps; files that were not synced by then are torn."""

    def __init__(self, var: Path, steps: int) -> None:
        self._var = var
        self._steps_left = steps
        self._whole = set(self._files())

    def sync(self, path: Path) -> None:
        self.step()
        sync(path)
        self._whole.add(path)

    def step(self) -> None:
        if not self._steps_left:
            for path in self._files():
                if path not in self._whole:
                    path.write_bytes(path.read_bytes()[:-7])
            raise Crash
        self._steps_left -= 1

    def _files(self) -> list[Path]:
        return list(self._var.rglob("requests-*"))


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """One connection for all, since making one takes longer than a file."""
    with pytest.MonkeyPatch.context() as patch, duckdb.connect() as shared:
        patch.setattr(lane, "connected", lambda root, spill: nullcontext(shared))
        yield


def history() -> Iterator[list[Row]]:
    """Rows as they come in over two days: new ones, and some that changed."""
    for position in range(1, 5):
        changed = [request_row(0, position, superseded=position // 3 % 2)] if position % 3 == 0 else []
        yield [*changed, request_row(position, position, at_us=MONDAY + position % 2 * DAY)]


def live_once(var: Path, views: sqlite3.Connection, steps: int = 10_000) -> None:
    """One life of the process, over so many steps of the disk: everything is archived, in small batches."""
    disk = Disk(var, steps)

    class Counted(Archive):
        def add(self, files: Sequence[ArchiveFile], mark: Mark) -> None:
            disk.step()
            super().add(files, mark)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "sync", disk.sync)
        with closing(Counted(var, fingerprint)) as archive:
            archive_all(archive, views, rows_max=2)


def check(var: Path, views: sqlite3.Connection) -> None:
    """After a start: no torn file, and every record that is archived in exactly one live file."""
    with closing(Archive(var, fingerprint)) as archive:
        assert on_disk(archive) == listed(archive)
        assert all(archive.is_readable(file) for file in archive.files())
        rows, done = stored(archive.root), archive.mark.position
    versions = [(row["developer_id"], row["at_us"], row["record_id"], row["changed_position"]) for row in rows]
    assert len(versions) == len(set(versions))
    assert all(row["changed_position"] <= done for row in rows)
    expected = {key: row for key, row in shown(views).items() if row["changed_position"] <= done}
    assert expected.items() <= newest(rows).items()


def check_complete(var: Path, views: sqlite3.Connection) -> None:
    check(var, views)
    assert newest(stored(var / "archive")) == shown(views)


def crashes(var: Path, views: sqlite3.Connection, steps: int) -> bool:
    """Live until so many steps are done; whether that was too soon."""
    try:
        live_once(var, views, steps)
    except Crash:
        check(var, views)
        return True
    return False


def test_a_crash_between_any_two_steps(tmp_path: Path) -> None:
    """After every possible number of steps, and then a start that finishes the work."""
    views = empty_views()
    for rows in history():
        put(views, *rows)
    steps = 0
    while crashes(tmp_path / str(steps), views, steps):
        live_once(tmp_path / str(steps), views)
        check_complete(tmp_path / str(steps), views)
        steps += 1
    assert steps > 12
    views.close()
