"""`python -m tests.golden.write`: renew what is expected of the golden folder, which stays as it was written by the
programs of 102b59e and of 397a4f18, which then copied it into PostgreSQL. List every difference in CHANGELOG.md."""

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
