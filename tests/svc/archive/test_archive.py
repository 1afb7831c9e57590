"""The archive: what is written, what counts after any crash, and what other tools find in its files."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings, strategies as st
from structlog.testing import capture_logs

from projections.facts.rows import COLUMNS
from svc.archive import folder, lane
from svc.archive.folder import Archive, ArchiveFile, Fingerprint, connected
from svc.log.vault import sync
from tests.support.facts import DAY, HOUR, MONDAY, empty_views
from tests.support.requests import (
    ACME,
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

Opened = Callable[..., Archive]
OTHER = "ffffffff-2222-4333-8444-555555555555"


@pytest.fixture
def views() -> Iterator[sqlite3.Connection]:
    with closing(empty_views()) as db:
        yield db


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens the archive of one var folder; what was open before is closed."""
    with ExitStack() as held:

        def open_again(log: Callable[[int], bytes] = fingerprint) -> Archive:
            held.close()
            return held.enter_context(closing(Archive(tmp_path, log)))

        yield open_again


# --- what is written ------------------------------------------------------------------------------------------


def test_the_archive_takes_every_column_there_is(views: sqlite3.Connection) -> None:
    """A new column of the table is a decision: archive it, and count the archive's version up. `account` only settles
    which row counts."""
    assert {row[1] for row in views.execute("PRAGMA table_info(requests)")} == {*COLUMNS, "account"}


def test_a_file_for_each_organization_and_day(opened: Opened, views: sqlite3.Connection) -> None:
    """Days are those of UTC; nothing else lies in the folder."""
    put(
        views,
        request_row(1),
        request_row(2, at_us=MONDAY + HOUR),
        request_row(3, at_us=MONDAY + 15 * HOUR),
        request_row(4, organization_id=OTHER),
    )
    archive = opened()
    assert archive_all(archive, views) == 3
    assert sorted(on_disk(archive)) == [
        f"org={ACME}/day=2026-01-05/requests-000000001.parquet",
        f"org={ACME}/day=2026-01-06/requests-000000002.parquet",
        f"org={OTHER}/day=2026-01-05/requests-000000003.parquet",
    ]
    assert newest(stored(archive.root)) == shown(views)


def test_a_plain_connection_reads_the_files(opened: Opened, views: sqlite3.Connection) -> None:
    """Numbers are numbers, flags are booleans, unknown is null, and the folders' names are columns."""
    put(views, request_row(1, sidechain=1, cost_usd_nano=None, cost_kind=None))
    archive = opened()
    archive_all(archive, views)
    with duckdb.connect() as plain:
        found = plain.execute(
            "SELECT org, day, typeof(at_us), input_tokens, sidechain, failed, cost_usd_nano, model "
            f"FROM read_parquet('{archive.root}/*/*/*.parquet')"
        ).fetchall()
        kinds = plain.execute(f"SELECT DISTINCT compression FROM parquet_metadata('{archive.root}/*/*/*')").fetchall()
    (row,) = found
    assert (str(row[0]), str(row[1])) == (str(ACME), "2026-01-05")
    assert row[2:] == ("BIGINT", 100, True, False, None, "claude-sonnet-4-5")
    assert kinds == [("ZSTD",)]


INTEGERS = st.none() | st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=10)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"model": st.none() | TEXTS, "agent_session_id": TEXTS, "input_tokens": INTEGERS, "duration_ms": INTEGERS}
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_value_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, drafts: list[dict[str, Any]]
) -> None:
    """NUL, quotes, words that look like dates or numbers, and the largest integers."""
    with closing(empty_views()) as views, closing(Archive(tmp_path_factory.mktemp("var"), fingerprint)) as archive:
        put(views, *(request_row(number, **draft) for number, draft in enumerate(drafts)))
        archive_all(archive, views)
        assert newest(stored(archive.root)) == shown(views)


@pytest.mark.parametrize("name", ["it's [a] *very* {odd} name?", "~", "~root", "var"])
def test_a_folder_of_any_name(
    tmp_path: Path, views: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Quotes, wildcards and tildes in its path are nothing but characters; it may be relative."""
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()
    put(views, request_row(1))
    with closing(Archive(Path(name), fingerprint)) as archive:
        assert archive_all(archive, views) == 1
        assert on_disk(archive) == listed(archive)


def test_times_that_no_calendar_knows_are_kept(opened: Opened, views: sqlite3.Connection) -> None:
    """They stand on the first or the last day."""
    put(views, request_row(1, at_us=-5), request_row(2, at_us=2**62))
    archive = opened()
    assert archive_all(archive, views) == 2
    assert [file.day for file in archive.files()] == ["1970-01-01", "9999-01-01"]


@pytest.mark.parametrize("rows_max", [1, 2, 3, 7, 100])
def test_batches_are_bounded(opened: Opened, views: sqlite3.Connection, rows_max: int) -> None:
    """No file is larger than a batch, though all rows of one position are taken together."""
    put(views, *(request_row(number, position=1 + number // 4) for number in range(10)))
    archive = opened()
    archive_all(archive, views, rows_max)
    files = archive.files()
    assert sum(file.row_count for file in files) == 10
    assert max(file.row_count for file in files) <= rows_max
    assert archive.position == 3
    assert newest(stored(archive.root)) == shown(views)


def test_what_is_archived_is_not_archived_again(opened: Opened, views: sqlite3.Connection) -> None:
    """Not by another look, not after a restart, and not when the views were rebuilt from the same log."""
    put(views, request_row(1, position=3), request_row(2, position=7))
    archive = opened()
    assert archive_all(archive, views) == 1
    note = archive.path(archive.files()[0]).with_name("notes.txt")
    note.write_text("mine")
    assert archive_all(opened(), views) == 0
    rebuilt = empty_views()
    put(rebuilt, request_row(2, position=7), request_row(1, position=3))
    archive = opened()
    assert archive_all(archive, rebuilt) == 0
    put(rebuilt, request_row(3, position=8))
    assert archive_all(archive, rebuilt) == 1
    assert len(stored(archive.root)) == 3
    assert note.read_text() == "mine", "what others put into the folder stays"


# --- what cannot be trusted -----------------------------------------------------------------------------------


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [tear, flip, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_file_is_named_and_left_out_until_it_is_whole_again(
    opened: Opened, views: sqlite3.Connection, damage: Callable[[Path], None]
) -> None:
    archive = opened()
    for position in range(1, 5):
        put(views, request_row(position, position))
        archive_all(archive, views)
    broken: ArchiveFile = archive.files()[3]
    kept = archive.path(broken).read_bytes()
    damage(archive.path(broken))
    with capture_logs() as logs:
        assert not archive.is_readable(broken)
        assert not archive.is_readable(broken)
    assert [entry["file"] for entry in logs] == [broken.name]
    assert broken in archive.files()
    archive.path(broken).write_bytes(kept)
    assert archive.is_readable(broken)


def other_log(position: int) -> bytes:
    return b"another log's event %d" % position


def other_version(var: Path) -> None:
    with closing(sqlite3.connect(var / "archive.db")) as db, db:
        db.execute("PRAGMA user_version=99")


@pytest.mark.parametrize(
    ("spoil", "log"),
    [
        (lambda _var: None, other_log),
        (lambda var: (var / "archive.db").write_bytes(b"no database, but long enough to be one" * 20), fingerprint),
        (lambda var: (var / "archive.db").write_bytes(b"SQLite format 3\0" * 100), fingerprint),
        (other_version, fingerprint),
        (lambda var: shutil.rmtree(var / "archive"), fingerprint),
    ],
    ids=["a log that was restored", "no list", "a torn list", "other columns", "a deleted folder"],
)
def test_an_archive_that_cannot_be_trusted_is_written_anew(
    tmp_path: Path, opened: Opened, views: sqlite3.Connection, spoil: Callable[[Path], object], log: Fingerprint
) -> None:
    put(views, request_row(1))
    archive = opened()
    archive_all(archive, views)
    archive.close()
    spoil(tmp_path)
    archive = opened(log)
    assert on_disk(archive) == set()
    assert archive_all(archive, views) == 1
    assert newest(stored(archive.root)) == shown(views)


# --- the library ----------------------------------------------------------------------------------------------


def test_the_library_sees_the_archive_and_nothing_else(tmp_path: Path) -> None:
    """No file outside, no extension, no change of that."""
    root, outside = tmp_path / "archive", tmp_path / "secret.csv"
    root.mkdir()
    outside.write_text("a\n1\n")
    with connected(root, root / "spill") as duck:
        for statement in (
            f"SELECT * FROM read_csv('{outside}')",
            f"COPY (SELECT 1) TO '{outside}'",
            "INSTALL httpfs",
            "SET enable_external_access = true",
            "SET memory_limit = '10GB'",
        ):
            with pytest.raises(duckdb.Error):
                duck.execute(statement)
    assert outside.read_text() == "a\n1\n"


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


@pytest.fixture
def one_connection() -> Iterator[None]:
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
        def add(self, files: Sequence[ArchiveFile], position: int) -> None:
            disk.step()
            super().add(files, position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "sync", disk.sync)
        with closing(Counted(var, fingerprint)) as archive:
            archive_all(archive, views, rows_max=2)


def check(var: Path, views: sqlite3.Connection) -> None:
    """After a start: no torn file, and every record that is archived in exactly one live file."""
    with closing(Archive(var, fingerprint)) as archive:
        assert on_disk(archive) == listed(archive)
        assert all(archive.is_readable(file) for file in archive.files())
        rows, done = stored(archive.root), archive.position
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


@pytest.mark.usefixtures("one_connection")
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
