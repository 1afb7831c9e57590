"""The archive lane: a task of its own, with a place of its own in the log, and whoever reads what it wrote.

Everything that touches the archive runs in one thread at a time. So memory stays bounded, and no file goes while
somebody reads it.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from projections.facts.prices import COLUMNS, changed_rows, stretch_end
from projections.prices.spending import Asked, Reading, live_part
from svc.archive.folder import Archive, ArchiveFile, Fingerprint, Mark, day_of
from svc.archive.reading import PARQUET, Budget, connected, literal, rows_in, spending
from svc.limits import (
    ARCHIVE_BATCH_ROWS_MAX,
    ARCHIVE_COMPACT_ROWS_MAX,
    ARCHIVE_INTERVAL_SECONDS,
    ARCHIVE_RETRY_SECONDS_MAX,
    ARCHIVE_ROW_BYTES_MAX,
)
from svc.views.views import ReadPool, ViewsDamaged
from svc_http.ports import Unavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

log = structlog.get_logger()
T = TypeVar("T")


class ArchiveLane:
    """Keeps the archive level with the views, and answers from both."""

    def __init__(self, var: Path, views: Callable[[], ReadPool], fingerprint: Fingerprint, budget: Budget) -> None:
        self._var = var
        self._views = views
        self._fingerprint = fingerprint
        self._budget = budget
        self._archive: Archive | None = None
        self._limit = trio.CapacityLimiter(1)

    async def run(self) -> None:
        pause_seconds = ARCHIVE_INTERVAL_SECONDS
        while True:
            await trio.sleep(pause_seconds)
            try:
                await self.look()
                pause_seconds = ARCHIVE_INTERVAL_SECONDS
            except Exception:
                log.exception("the archive could not be brought up to the views; it is tried again later")
                pause_seconds = min(2 * pause_seconds, ARCHIVE_RETRY_SECONDS_MAX)

    async def look(self) -> None:
        """Archive all that has changed, then merge small files, in short pieces so that readers get their turn."""
        while await self._in_turn(self._archive_some):
            pass
        while await self._in_turn(compact_one_day):
            pass

    async def spending(self, organization_id: UUID, asked: Sequence[Asked]) -> list[Reading]:
        """The spending of each window, from the archive and the views.

        Raises `Unavailable` where the archive cannot be opened, and `ViewsDamaged`. A damaged file is left out.
        """
        try:
            return await self._in_turn(lambda archive: self._spending(archive, organization_id, asked))
        except ViewsDamaged:
            raise
        except (OSError, sqlite3.Error) as error:
            log.exception("the archive could not be read")
            raise Unavailable("the archive cannot be read at present") from error

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    async def _in_turn(self, work: Callable[[Archive], T]) -> T:
        def run() -> T:
            try:
                if self._archive is None:
                    self._archive = Archive(self._var, self._fingerprint)
                return work(self._archive)
            except BaseException:
                self.close()  # what was broken off is finished when the folder is opened again
                raise

        return await trio.to_thread.run_sync(run, limiter=self._limit)

    def _archive_some(self, archive: Archive) -> int:
        trio.from_thread.check_cancelled()
        with self._views().reading() as db:
            return archive_changes(archive, db)

    def _spending(self, archive: Archive, organization_id: UUID, asked: Sequence[Asked]) -> list[Reading]:
        if archive.root.exists() and not archive.root.is_dir():
            raise NotADirectoryError(f"{archive.root.name} is no folder")
        after = archive.mark.position
        with self._views().reading() as db:
            live = [live_part(db, organization_id, each, after) for each in asked]
        breathe = trio.from_thread.check_cancelled
        return [
            spending(archive, organization_id, each, part, self._budget, breathe)
            for each, part in zip(asked, live, strict=True)
        ]


_Row = tuple[Any, ...]
_ENCODER = msgspec.json.Encoder()
_NAMES = tuple(COLUMNS)
_ORGANIZATION, _AT = _NAMES.index("organization_id"), _NAMES.index("at_us")


def archive_changes(archive: Archive, views: sqlite3.Connection, rows_max: int = ARCHIVE_BATCH_ROWS_MAX) -> int:
    """Archive the next changed rows; the number of files made, 0 when level.

    A row that changes again is archived again under its newer position; readers take the newest.
    """
    after = archive.mark.position
    up_to = stretch_end(views, after, rows_max)
    if up_to == after:
        return 0
    files = []
    with archive.working() as work, connected(archive.root, work) as duck:
        lines = work / "rows.json"
        parts = _parts(changed_rows(views, after, up_to), rows_max)
        for number, rows in enumerate(parts, archive.next_number):
            lines.write_bytes(_ENCODER.encode_lines([dict(zip(_NAMES, row, strict=True)) for row in rows]))
            place = rows[0][_ORGANIZATION], day_of(rows[0][_AT]), number
            files.append(_written(archive, duck, place, rows_in(lines, COLUMNS, ARCHIVE_ROW_BYTES_MAX)))
    archive.exchange(files, (), Mark(up_to, archive.fingerprint(up_to)))
    return len(files)


def _parts(rows: Iterable[_Row], rows_max: int) -> Iterator[list[_Row]]:
    for _, same in groupby(rows, key=lambda row: (row[_ORGANIZATION], day_of(row[_AT]))):
        while part := list(islice(same, rows_max)):
            yield part


def _written(
    archive: Archive, duck: "DuckDBPyConnection", place: tuple[str, str, int], rows: str, bound: Sequence[object] = ()
) -> ArchiveFile:
    """The draft of a query's rows. `place`: organization, day and number."""
    draft = archive.draft(*place)
    copied = duck.execute(f"COPY {rows} TO {literal(draft)} ({PARQUET})", bound).fetchone()
    assert copied is not None, "COPY answers how many rows it wrote"
    return archive.sealed(draft, *place, copied[0])


_NEWEST = (
    "(SELECT * FROM read_parquet(?, hive_partitioning = false) "
    "QUALIFY row_number() OVER (PARTITION BY developer_id, at_us, record_id ORDER BY changed_position DESC) = 1 "
    "ORDER BY at_us, developer_id, record_id)"
)
"""Of every row what it last was. One that is superseded stays: older versions of it may stand in other files."""


def compact_one_day(archive: Archive) -> int:
    """Merge small files of the day that has the most of them; how many, 0 where none has too many."""
    files = archive.crowded()
    rows = accumulate(file.row_count for file in files)
    small = [file for file, so_far in zip(files, rows, strict=True) if so_far <= ARCHIVE_COMPACT_ROWS_MAX]
    if len(small) < 2:
        return 0
    paths = [str(archive.path(file)) for file in small]
    place = small[0].organization_id, small[0].day, archive.next_number
    with archive.working() as work, connected(archive.root, work) as duck:
        merged = _written(archive, duck, place, _NEWEST, [paths])
    archive.exchange([merged], small, None)
    return len(small)
