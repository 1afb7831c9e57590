"""From the views into the archive: the rows that changed since, one new file for each organization and day."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from projections.request_rows import COLUMNS, changed_rows, stretch_end
from svc.archive.days import day_of
from svc.archive.duck import PARQUET, connected, literal, rows_in
from svc.archive.folder import Archive
from svc.archive.manifest import ArchiveFile, Mark
from svc.limits import ARCHIVE_BATCH_ROWS_MAX

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_Row = tuple[Any, ...]

_ENCODER = msgspec.json.Encoder()
_NAMES = tuple(COLUMNS)
_ORGANIZATION, _AT = _NAMES.index("organization_id"), _NAMES.index("at_us")


def archive_changes(archive: Archive, views: sqlite3.Connection, rows_max: int = ARCHIVE_BATCH_ROWS_MAX) -> int:
    """Archive the next rows that changed; how many files that made, 0 where everything is archived.

    A row that changed again is written again, under the position of its change; readers take the newest.
    """
    after = archive.manifest.mark.position
    up_to = stretch_end(views, after, rows_max)
    if up_to == after:
        return 0
    files = _write_files(archive, changed_rows(views, after, up_to), rows_max)
    archive.exchange(files, (), Mark(up_to, archive.fingerprint(up_to)))
    return len(files)


def _write_files(archive: Archive, rows: Iterator[_Row], rows_max: int) -> list[ArchiveFile]:
    first = archive.manifest.next_number
    with archive.working() as work, connected(archive.root, work) as duck:
        return [
            _write_file(archive, duck, work / "rows.json", first + index, part)
            for index, part in enumerate(_parts(rows, rows_max))
        ]


def _parts(rows: Iterable[_Row], rows_max: int) -> Iterator[list[_Row]]:
    """Rows of one organization and day each, and no more of them than fit into memory."""
    for _, same in groupby(rows, key=lambda row: (row[_ORGANIZATION], day_of(row[_AT]))):
        while part := list(islice(same, rows_max)):
            yield part


def _write_file(
    archive: Archive, duck: "DuckDBPyConnection", lines: Path, number: int, rows: list[_Row]
) -> ArchiveFile:
    organization_id, day = rows[0][_ORGANIZATION], day_of(rows[0][_AT])
    draft = archive.draft(organization_id, day, number)
    lines.write_bytes(_ENCODER.encode_lines([dict(zip(_NAMES, row, strict=True)) for row in rows]))
    duck.execute(f"COPY {rows_in(lines)} TO {literal(draft)} ({PARQUET})")
    return archive.sealed(draft, organization_id, day, number, len(rows))
