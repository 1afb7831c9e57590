"""The archive lane: a task of its own, with a place of its own in the log, and whoever reads what it wrote.

Everything that touches the archive runs in one thread at a time. So memory stays bounded, and no file goes while
somebody reads it.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.event import Unavailable
from projections import prices
from projections.facts.rows import COLUMNS, changed_rows, stretch_end
from svc.actors.actors import recur
from svc.archive.folder import Archive, ArchiveFile, Fingerprint, connected, copy_rows, day_of
from svc.views.projector import ReadPool
from svc.views.views import ViewsDamaged

ARCHIVE_INTERVAL_SECONDS = 3_600.0  # between two looks for changed rows; each makes a file a changed day
ARCHIVE_RETRY_SECONDS = 600.0  # after a look that failed: what it lags behind is read from the views
ARCHIVE_BATCH_ROWS_MAX = 5_000  # in one file as it is first written, about 250 KiB: some 5 MiB on their way
ARCHIVE_READ_ROWS_MAX = 250_000  # in one query of whole days, a third of a second; in between a read can be given up

log = structlog.get_logger()
T = TypeVar("T")


class Budget(msgspec.Struct, frozen=True):
    files_max: int
    bytes_max: int


class ArchiveLane:
    def __init__(self, var: Path, views: Callable[[], ReadPool], fingerprint: Fingerprint, budget: Budget) -> None:
        self._var, self._views, self._fingerprint, self._budget = var, views, fingerprint, budget
        self._archive: Archive | None = None
        self._limit = trio.CapacityLimiter(1)

    async def run(self) -> None:
        await trio.sleep(ARCHIVE_INTERVAL_SECONDS)
        broken = "the archive could not be brought up to the views; it is tried again later"
        await recur(self.catch_up, ARCHIVE_INTERVAL_SECONDS, broken, ARCHIVE_RETRY_SECONDS)

    async def catch_up(self) -> None:
        """Archive all that has changed, in short pieces so that readers get their turn."""

        def some(archive: Archive) -> int:
            trio.from_thread.check_cancelled()
            with self._views().reading() as db:
                return archive_changes(archive, db)

        while await self._in_turn(some):
            pass

    async def spending(self, organization_id: UUID, asked: Sequence[prices.TeamWindow]) -> list[prices.Reading]:
        """Raises `Unavailable` where the archive cannot be opened, and `ViewsDamaged`."""
        breathe = trio.from_thread.check_cancelled

        def read(archive: Archive) -> list[prices.Reading]:
            if archive.root.exists() and not archive.root.is_dir():  # it would look as if nothing were archived
                raise NotADirectoryError(f"{archive.root.name} is no folder")
            after = archive.position
            with self._views().reading() as db:
                live = [prices.live_part(db, organization_id, each, after) for each in asked]
            return [
                spending(archive, organization_id, each, part, self._budget, breathe)
                for each, part in zip(asked, live, strict=True)
            ]

        try:
            return await self._in_turn(read)
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


# What developers spent, from the archive's files: within a budget, and saying what was left out. A day is read whole or
# not at all: its files hold newer versions of each other's rows, so a part of them could tell more than was spent.

_SPENT = (
    "WITH stays AS "
    "(SELECT unnest(?::VARCHAR[]) developer_id, unnest(?::BIGINT[]) start_us, unnest(?::BIGINT[]) end_us), "
    "changed AS "
    "(SELECT unnest(?::VARCHAR[]) developer_id, unnest(?::BIGINT[]) at_us, unnest(?::VARCHAR[]) record_id), "
    "newest AS (SELECT r.* FROM read_parquet(?, hive_partitioning = false) r "
    "JOIN stays s ON r.developer_id = s.developer_id AND r.at_us >= s.start_us AND r.at_us < s.end_us "
    "ANTI JOIN changed c ON r.developer_id = c.developer_id AND r.at_us = c.at_us AND r.record_id = c.record_id "
    "QUALIFY row_number() OVER "
    "(PARTITION BY r.developer_id, r.at_us, r.record_id ORDER BY r.changed_position DESC) = 1) "
    f"SELECT developer_id, {prices.SUMS} FROM newest WHERE {prices.COUNTS} GROUP BY developer_id"
)


class _Chosen(msgspec.Struct):
    batches: list[list[ArchiveFile]] = []
    rows: int = 0
    files: int = 0
    size_bytes: int = 0
    dropped: int = 0
    unreadable: int = 0
    over: prices.CoverageReason | None = None  # which budget was spent; older days are then left out, too

    def take(self, archive: Archive, files: list[ArchiveFile], budget: Budget) -> None:
        size_bytes = sum(file.byte_count for file in files)
        if self.over is None and self.files + len(files) > budget.files_max:
            self.over = "file_budget"
        elif self.over is None and self.size_bytes + size_bytes > budget.bytes_max:
            self.over = "byte_budget"
        broken = 0 if self.over else sum(not archive.is_readable(file) for file in files)
        if self.over or broken:
            self.dropped += len(files)
            self.unreadable += broken
            return
        self.files += len(files)
        self.size_bytes += size_bytes
        rows = sum(file.row_count for file in files)
        if not self.batches or self.rows + rows > ARCHIVE_READ_ROWS_MAX:
            self.batches.append([])
            self.rows = 0
        self.batches[-1] += files
        self.rows += rows


def spending(
    archive: Archive,
    organization_id: UUID,
    asked: prices.TeamWindow,
    live: prices.LivePart,
    budget: Budget,
    breathe: Callable[[], None] = lambda: None,
) -> prices.Reading:
    """Files from the newest day on, and what the views add. `breathe` may raise, to give up between queries."""
    if not asked.stays:
        return prices.Reading({}, prices.Coverage())
    chosen = _Chosen()
    first, last = min(stay.start_us for stay in asked.stays), max(stay.end_us for stay in asked.stays) - 1
    newest_first = "organization_id = ? AND day BETWEEN ? AND ? ORDER BY day DESC, number"
    listed = archive.files(newest_first, (str(organization_id), day_of(first), day_of(last)))
    for _, files in groupby(listed, attrgetter("day")):
        chosen.take(archive, list(files), budget)
        breathe()
    spent = defaultdict(prices.Spent, live.spent)
    if chosen.batches:
        from duckdb import Error

        stays = [(str(stay.developer_id), stay.start_us, stay.end_us) for stay in asked.stays]
        columns = [[row[index] for row in rows] for rows in (stays, live.changed) for index in range(3)]
        with archive.working() as work, connected(archive.root, work) as duck:
            for batch in chosen.batches:
                paths = [str(archive.path(file)) for file in batch]
                try:
                    prices.add_rows(spent, duck.execute(_SPENT, [*columns, paths]).fetchall())
                except Error as error:
                    names = [file.name for file in batch]
                    log.error("files of the archive could not be read", files=names, reason=str(error))
                    chosen.dropped += len(batch)
                    chosen.unreadable += len(batch)
                breathe()
    coverage = prices.Coverage(
        reason=chosen.over or ("file_budget" if chosen.dropped else "complete"),
        read_batches=len(chosen.batches),
        dropped_files=chosen.dropped,
        unreadable_files=chosen.unreadable,
    )
    return prices.Reading(spent, coverage)


_ENCODER = msgspec.json.Encoder()
_ORGANIZATION, _AT = (list(COLUMNS).index(name) for name in ("organization_id", "at_us"))


def archive_changes(archive: Archive, views: sqlite3.Connection, rows_max: int = ARCHIVE_BATCH_ROWS_MAX) -> int:
    """Archive the next rows that changed, some of them again; the number of files made, 0 when level."""
    after = archive.position
    up_to = stretch_end(views, after, rows_max)
    if up_to == after:
        return 0
    files: list[ArchiveFile] = []
    with archive.working() as work, connected(archive.root, work) as duck:
        lines, first = work / "rows.json", archive.next_number
        rows = changed_rows(views, after, up_to)
        for of_day, same in groupby(rows, key=lambda row: (row[_ORGANIZATION], day_of(row[_AT]))):
            while part := list(islice(same, rows_max)):
                lines.write_bytes(_ENCODER.encode_lines([dict(zip(COLUMNS, row, strict=True)) for row in part]))
                write = partial(copy_rows, duck, lines, COLUMNS)
                files.append(archive.written(write, *of_day, first + len(files)))
    archive.add(files, up_to)
    return len(files)
