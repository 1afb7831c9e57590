"""DuckDB, which reads and writes Parquet: one short-lived connection at a time, within bounds, without the network.

The library is imported when it is first needed: importing it takes a tenth of a second and 13 MB.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from projections.request_rows import COLUMNS
from svc.limits import ARCHIVE_MEMORY_BYTES_MAX, ARCHIVE_ROW_BYTES_MAX, ARCHIVE_SPILL_BYTES_MAX

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TYPES = {str: "VARCHAR", int: "BIGINT", bool: "BOOLEAN"}
_JSON_TYPES = _TYPES | {bool: "BIGINT"}
PARQUET = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480"


@contextmanager
def connected(root: Path, spill: Path) -> Iterator["DuckDBPyConnection"]:
    """A connection that sees nothing but the files below `root`; what does not fit into memory goes to `spill`."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{ARCHIVE_MEMORY_BYTES_MAX}B",
        "temp_directory": str(spill),
        "max_temp_directory_size": f"{ARCHIVE_SPILL_BYTES_MAX}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute(f"SET allowed_directories = [{literal(root)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


def literal(path: Path) -> str:
    """A path in SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def rows_in(lines: Path) -> str:
    """A table of the rows in a file of JSON lines, with the columns and types of the archive."""
    types = ", ".join(f"{name}: '{_JSON_TYPES[kind]}'" for name, kind in COLUMNS.items())
    columns = ", ".join(f"{name} <> 0 AS {name}" if kind is bool else name for name, kind in COLUMNS.items())
    options = f"format = 'newline_delimited', columns = {{{types}}}, maximum_object_size = {ARCHIVE_ROW_BYTES_MAX}"
    return f"(SELECT {columns} FROM read_json({literal(lines)}, {options}))"
