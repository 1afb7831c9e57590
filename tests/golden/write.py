"""`python -m tests.golden.write`: renew what is expected of the golden folder, for a change that an issue asks for.

The folder itself stays as it was written: five weeks of an invented company, sent over HTTP to the program of 102b59e,
and another day, sent to that of 397a4f18, which then copied the log into PostgreSQL (`shared.sql.xz`, by pg_dump).
List every difference of `expected.json` in CHANGELOG.md.
"""

import tempfile
from pathlib import Path

import msgspec
import trio

from tests.golden.folder import (
    EXPECTED,
    Expected,
    answers,
    expected,
    rebuilt_tables,
    stored_events,
    topics_of,
    unpacked,
    words_of,
)


def found_now(scratch: Path) -> Expected:
    known = expected()
    paths = {name: list(reads) for name, reads in known.reads.items()}
    var = unpacked(scratch)
    return Expected(
        asked=known.asked,
        head=len(list(stored_events(var))),
        topics=topics_of(var),
        words=words_of(var, known.asked.developers),
        sealed=known.sealed,
        tables=rebuilt_tables(var, scratch / "views.db"),
        reads=trio.run(answers, var, known.asked, paths),
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="svc-golden-") as scratch:
        found = msgspec.json.encode(found_now(Path(scratch)))
    EXPECTED.write_bytes(msgspec.json.format(found, indent=1) + b"\n")


if __name__ == "__main__":
    main()
