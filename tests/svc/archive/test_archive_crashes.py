"""The power fails between any two steps of the archive: no record is lost, none counts twice, no torn file stays."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.archive import lane
from svc.archive.folder import Archive, Disk
from tests.support.archives import Row, archive_all, fingerprint, listed, newest, on_disk, shown, stored
from tests.support.facts import DAY, MONDAY, empty_views
from tests.support.requests import put, request_row


class Crash(BaseException):
    """The power fails."""


class FailingDisk(Disk):
    """A disk that fails before one of its steps; files that were not synced by then are torn."""

    def __init__(self, var: Path, steps: int) -> None:
        self._var = var
        self._steps_left = steps
        self._whole = set(self._files())

    def make_folder(self, folder: Path) -> None:
        self._step()
        super().make_folder(folder)

    def sync(self, path: Path) -> None:
        self._step()
        super().sync(path)
        self._whole.add(path)

    def commit(self, db: sqlite3.Connection) -> None:
        self._step()
        super().commit(db)

    def rename(self, draft: Path, final: Path) -> None:
        self._step()
        super().rename(draft, final)
        if draft in self._whole:
            self._whole.add(final)

    def remove(self, path: Path) -> None:
        self._step()
        super().remove(path)

    def _step(self) -> None:
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

        def connected(root: Path, spill: Path) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
            return nullcontext(shared)

        patch.setattr(lane, "connected", connected)
        yield


def history() -> Iterator[list[Row]]:
    """Rows as they come in over two days: new ones, and some that changed."""
    for position in range(1, 5):
        changed = [request_row(0, position, superseded=position // 3 % 2)] if position % 3 == 0 else []
        yield [*changed, request_row(position, position, at_us=MONDAY + position % 2 * DAY)]


def live_once(var: Path, views: sqlite3.Connection, disk: Disk) -> None:
    """One life of the process: everything is archived, in small batches."""
    archive = Archive(var, fingerprint, disk)
    try:
        archive_all(archive, views, rows_max=2)
    finally:
        archive.close()


def check(var: Path, views: sqlite3.Connection) -> None:
    """After a start: no torn file, no draft, and every record that is archived in exactly one live file."""
    archive = Archive(var, fingerprint)
    try:
        assert on_disk(archive) == listed(archive)
        assert all(archive.is_readable(file) for file in archive.files())
        rows = stored(archive.root)
        versions = [(row["developer_id"], row["at_us"], row["record_id"], row["changed_position"]) for row in rows]
        assert len(versions) == len(set(versions))
        done = archive.mark.position
        assert all(row["changed_position"] <= done for row in rows)
        expected = {key: row for key, row in shown(views).items() if row["changed_position"] <= done}
        assert expected.items() <= newest(rows).items()
    finally:
        archive.close()


def check_complete(var: Path, views: sqlite3.Connection) -> None:
    """Everything is archived, as it now is."""
    check(var, views)
    assert newest(stored(var / "archive")) == shown(views)


def crashes(var: Path, views: sqlite3.Connection, steps: int) -> bool:
    """Live until so many steps are done; whether that was too soon."""
    try:
        live_once(var, views, FailingDisk(var, steps))
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
        live_once(tmp_path / str(steps), views, Disk())
        check_complete(tmp_path / str(steps), views)
        steps += 1
    assert steps > 12
    views.close()


@settings(max_examples=8)
@given(st.lists(st.integers(0, 30), max_size=25))
def test_many_crashes_in_a_row(tmp_path_factory: pytest.TempPathFactory, lives: list[int]) -> None:
    """While rows go on coming in and changing, every life of the process ends after so many steps."""
    var, views, left = tmp_path_factory.mktemp("var"), empty_views(), list(lives)
    for rows in history():
        put(views, *rows)
        while crashes(var, views, left.pop() if left else 10_000):
            pass
    check_complete(var, views)
    views.close()
