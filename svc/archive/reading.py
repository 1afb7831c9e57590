"""What developers spent, from the archive's files: within a budget, and saying what was left out.

A day is read whole or not at all: its files hold newer versions of each other's rows, so a part of them could tell
more than was spent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec
import structlog

from projections.prices.spending import (
    COUNTS,
    SUMS,
    Asked,
    ByDeveloper,
    Coverage,
    CoverageReason,
    LivePart,
    Reading,
    RequestKey,
    add_spent,
    spent_rows,
)
from svc.archive.folder import Archive, ArchiveFile, day_of
from svc.limits import ARCHIVE_MEMORY_BYTES_MAX, ARCHIVE_READ_ROWS_MAX, ARCHIVE_SPILL_BYTES_MAX

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

log = structlog.get_logger()
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
    f"SELECT developer_id, {SUMS} FROM newest WHERE {COUNTS} GROUP BY developer_id"
)


class Budget(msgspec.Struct, frozen=True):
    """How much of the archive one read may look at."""

    files_max: int
    bytes_max: int


class _Chosen(msgspec.Struct):
    batches: list[list[ArchiveFile]] = []
    rows: int = 0
    """Of the last batch."""
    files: int = 0
    size_bytes: int = 0
    dropped: int = 0
    unreadable: int = 0
    over: CoverageReason | None = None
    """Which budget was spent; older days are then left out, too."""

    def take(self, archive: Archive, files: list[ArchiveFile], budget: Budget) -> None:
        size_bytes = sum(file.byte_count for file in files)
        if self.over is None and self.files + len(files) > budget.files_max:
            self.over = "file_budget"
        elif self.over is None and self.size_bytes + size_bytes > budget.bytes_max:
            self.over = "byte_budget"
        broken = 0 if self.over else sum(not archive.is_readable(file) for file in files)
        if self.over or broken:
            self.drop(files, broken)
            return
        self.files += len(files)
        self.size_bytes += size_bytes
        rows = sum(file.row_count for file in files)
        if not self.batches or self.rows + rows > ARCHIVE_READ_ROWS_MAX:
            self.batches.append([])
            self.rows = 0
        self.batches[-1] += files
        self.rows += rows

    def drop(self, files: Sequence[ArchiveFile], unreadable: int) -> None:
        self.dropped += len(files)
        self.unreadable += unreadable


def spending(
    archive: Archive,
    organization_id: UUID,
    asked: Asked,
    live: LivePart,
    budget: Budget,
    breathe: Callable[[], None] = lambda: None,
) -> Reading:
    """The spending of a window: files from the newest day on, and what the views add.

    `breathe` is called between queries and may raise to give up.
    """
    if not asked.stays:
        return Reading({}, Coverage())
    chosen = _Chosen()
    first, last = min(stay.start_us for stay in asked.stays), max(stay.end_us for stay in asked.stays) - 1
    listed = archive.files_of(str(organization_id), day_of(first), day_of(last))
    for _, files in groupby(listed, attrgetter("day")):
        chosen.take(archive, list(files), budget)
        breathe()
    spent = dict(live.spent)
    if chosen.batches:
        with archive.working() as work, connected(archive.root, work) as duck:
            for batch in chosen.batches:
                add_spent(spent, _read(archive, duck, batch, asked, live.changed, chosen))
                breathe()
    coverage = Coverage(
        reason=chosen.over or ("file_budget" if chosen.dropped else "complete"),
        read_batches=len(chosen.batches),
        dropped_files=chosen.dropped,
        unreadable_files=chosen.unreadable,
    )
    return Reading(spent, coverage)


def _read(
    archive: Archive,
    duck: "DuckDBPyConnection",
    files: Sequence[ArchiveFile],
    asked: Asked,
    changed: Sequence[RequestKey],
    chosen: _Chosen,
) -> ByDeveloper:
    from duckdb import Error

    def columns(rows: Sequence[tuple[str, int, int | str]]) -> list[list[object]]:
        return [[row[index] for row in rows] for index in range(3)]

    stays = [(str(stay.developer_id), stay.start_us, stay.end_us) for stay in asked.stays]
    paths = [str(archive.path(file)) for file in files]
    try:
        rows = duck.execute(_SPENT, [*columns(stays), *columns(changed), paths]).fetchall()
    except Error as error:
        log.error("files of the archive could not be read", files=[file.name for file in files], reason=str(error))
        chosen.drop(files, len(files))
        return {}
    return spent_rows(rows)


Columns = Mapping[str, type[str] | type[int] | type[float] | type[bool]]
_TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
PARQUET = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480"


@contextmanager
def connected(root: Path, spill: Path) -> Iterator["DuckDBPyConnection"]:
    """A connection that sees only files below `root`, and spills to `spill`."""
    import duckdb  # late: it takes a tenth of a second and 13 MB

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{ARCHIVE_MEMORY_BYTES_MAX}B",
        "temp_directory": str(spill),
        "max_temp_directory_size": f"{ARCHIVE_SPILL_BYTES_MAX}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET allowed_directories = [{literal(root)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def rows_in(lines: Path, columns: Columns, row_bytes_max: int) -> str:
    """SQL of a table read from a file of JSON lines."""
    types = ", ".join(f"{name}: '{_TYPES[kind]}'" for name, kind in columns.items())
    options = f"format = 'newline_delimited', columns = {{{types}}}, maximum_object_size = {row_bytes_max}"
    return f"(SELECT * FROM read_json({literal(lines)}, {options}))"
