"""Tables of examples, whose rows are called by a sentence."""

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., Any]


def table(names: str | tuple[str, ...], rows: Mapping[str, Any]) -> Callable[[Test], Test]:
    """Run a test with each row; its values are a tuple where there is more than one name."""
    wanted = [names] if isinstance(names, str) else list(names)

    def made(test: Test) -> Test:
        if iscoroutinefunction(test) or list(signature(test).parameters) != wanted:
            return pytest.mark.parametrize(names, list(rows.values()), ids=list(rows))(test)
        return _with_all(test, ((name, row if len(wanted) > 1 else (row,)) for name, row in rows.items()))

    return made


def each_of(rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with each of many rows, which are tuples or single values."""
    return lambda test: _with_all(test, ((repr(row), row if isinstance(row, tuple) else (row,)) for row in rows))


def beside(*names: str) -> Callable[[Test], Test]:
    """Run a test with each row of its section of the text beside its file: `a, b`, or `name => a, b`, as in Python. All
    rows are one test where no names are given; else what is not named is a fixture."""

    def made(test: Test) -> Test:
        told = _sections(Path(test.__code__.co_filename).with_suffix(".txt"))
        rows = [row.rpartition(" => ") for section, row in told if section == test.__name__]
        found = [(name or row, literal_eval(f"({row},)")) for name, _, row in rows]
        assert found, f"no rows of {test.__name__} stand beside it"
        if not names:
            return _with_all(test, found)
        values = [row if len(names) > 1 else row[0] for _, row in found]
        return pytest.mark.parametrize(names, values, ids=[name for name, _ in found])(test)

    return made


def _with_all(test: Test, rows: Iterable[tuple[str, tuple[Any, ...]]]) -> Test:
    """One test of many rows that need no fixture: by itself, each would take pytest longer than what it shows. All that
    fail are told, each with its name."""
    listed = list(rows)

    def with_all() -> None:
        failed = []
        for name, row in listed:
            try:
                test(*row)
            except Exception as error:
                error.add_note(f"row: {name}")
                failed.append(error)
        if failed:
            raise ExceptionGroup(f"{len(failed)} of {len(listed)} rows", failed)

    with_all.__name__, with_all.__doc__, with_all.__module__ = test.__name__, test.__doc__, test.__module__
    with_all.__dict__.update(test.__dict__)
    return with_all


def lines_of(path: Path) -> list[tuple[str, str]]:
    """The lines of a text beside a test, each with its section's name; remarks are left out, JSON is decoded."""
    return [(section, json.loads(line) if line.startswith('"') else line) for section, line in _sections(path)]


def _sections(path: Path) -> Iterator[tuple[str, str]]:
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[([\w -]+)\]", line):
            section = heading[1]
        elif line and not line.startswith("# "):
            yield section, line
