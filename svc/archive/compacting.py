"""Many small files of a day become one, so that a read opens few."""

from svc.archive.duck import PARQUET, connected, literal
from svc.archive.folder import Archive
from svc.archive.manifest import ArchiveFile
from svc.limits import ARCHIVE_COMPACT_ROWS_MAX

_NEWEST = (
    "(SELECT * FROM read_parquet(?, hive_partitioning = false) "
    "QUALIFY row_number() OVER (PARTITION BY developer_id, at_us, record_id ORDER BY changed_position DESC) = 1 "
    "ORDER BY at_us, developer_id, record_id)"
)
"""Of every row what it last was. One that is superseded stays: older versions of it may stand in other files."""


def compact_one_day(archive: Archive) -> int:
    """Merge small files of the day that has the most of them; how many, 0 where no day has too many."""
    small = _fitting(archive.crowded())
    if len(small) < 2:
        return 0
    number = archive.manifest.next_number
    draft = archive.draft(small[0].organization_id, small[0].day, number)
    paths = [str(archive.path(file)) for file in small]
    with archive.working() as work, connected(archive.root, work) as duck:
        copied = duck.execute(f"COPY {_NEWEST} TO {literal(draft)} ({PARQUET})", [paths]).fetchone()
    assert copied is not None, "COPY answers how many rows it wrote"
    merged = archive.sealed(draft, small[0].organization_id, small[0].day, number, copied[0])
    archive.exchange([merged], small, None)
    return len(small)


def _fitting(files: list[ArchiveFile]) -> list[ArchiveFile]:
    """As many of them, from the smallest on, as can be sorted in memory."""
    fitting: list[ArchiveFile] = []
    rows = 0
    for file in files:
        rows += file.row_count
        if rows > ARCHIVE_COMPACT_ROWS_MAX:
            break
        fitting.append(file)
    return fitting
