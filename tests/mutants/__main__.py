"""`python -m tests.mutants`: put one fault after another into the rules, and see whether their tests notice. Run it
before tests are merged or deleted, and after. One that does not apply any more has to be aimed anew in mutants.toml."""

import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL
from typing import NamedTuple

import click
import hypothesis  # noqa: F401  # what the tests import is loaded once
import msgspec  # noqa: F401
import psycopg  # noqa: F401
import pytest
import structlog  # noqa: F401
import trio  # noqa: F401

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("mutants.toml")
COPIED = ("aggregates", "projections", "http", "svc", "tests", "plugins", "pyproject.toml")
ROOMS = ("aggregates", "projections")
SECONDS_MAX = 120
PYTEST = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "--assert=plain"]


class Mutant(NamedTuple):
    rule: str
    file: str
    old: str
    new: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The old text, however its lines are broken."""
        return re.compile(r"\s+".join(map(re.escape, self.old.split())))


def listed(only: Sequence[str]) -> tuple[list[Mutant], dict[str, list[str]]]:
    """The mutants of these rules, of all where none is named; and the tests of each rule."""
    rules = tomllib.loads(LISTED.read_text(encoding="utf-8"))
    unknown = set(only) - rules.keys()
    assert not unknown, f"no such rule: {', '.join(unknown)}; there are {', '.join(rules)}"
    wanted = [rule for rule in rules if rule in only or not only]
    mutants = [Mutant(rule, *each) for rule in wanted for each in rules[rule]["mutants"]]
    return mutants, {rule: rules[rule]["tests"] for rule in wanted}


def copied(folder: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.tar.xz"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def place_of(mutant: Mutant, tree: Path) -> Path | None:
    """The file that holds the old text once: the named one, else the only one of the pure rooms that does."""
    named = tree / mutant.file
    here = named.exists() and mutant.pattern.search(named.read_text())
    candidates = [named] if here else [path for room in ROOMS for path in (tree / room).rglob("*.py")]
    found = [path for path in candidates if len(mutant.pattern.findall(path.read_text())) == 1]
    return found[0] if len(found) == 1 else None


def tried(mutant: Mutant, tests: Sequence[str], tree: Path) -> tuple[Mutant, str]:
    """With it: killed, survived, does not apply, or what is no Python about it."""
    path = place_of(mutant, tree)
    if path is None:
        return mutant, "does not apply"
    source, written = path.read_text(), path.stat().st_mtime_ns
    changed = mutant.pattern.sub(lambda _: mutant.new, source)
    path.write_text(changed)
    os.utime(path, ns=(0, 0))  # so that no compiled form is taken for it
    try:
        if path.suffix == ".py":
            compile(changed, path.name, "exec")
        return mutant, "survived" if passes(tests, tree) else "killed"
    except SyntaxError as error:
        return mutant, f"is no Python: {error}"
    finally:
        path.write_text(source)
        os.utime(path, ns=(written, written))


def passes(tests: Sequence[str], tree: Path, *, first: bool = False) -> bool:
    """In a process of its own, which begins with all libraries loaded: that takes longer than most tests. `first`: what
    is compiled without a mutant is kept for the runs with one."""
    child = get_context("fork").Process(target=_run, args=(tests, tree, first))
    child.start()
    child.join(SECONDS_MAX)
    child.kill()
    child.join()
    assert child.exitcode in (0, 1, 2, -SIGKILL), f"pytest ended with {child.exitcode}: {' '.join(tests)}"
    return child.exitcode == 0


def _run(tests: Sequence[str], tree: Path, compiles: bool) -> None:
    os.chdir(tree)
    sys.dont_write_bytecode = not compiles
    sys.path[:0] = [str(tree), str(tree / "http")]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os._exit(pytest.main([*PYTEST, *tests]))


def results(mutants: Sequence[Mutant], tests: dict[str, list[str]]) -> Iterator[tuple[Mutant, str]]:
    """Of each mutant, as they come; the tests of a rule must pass without any first."""
    with tempfile.TemporaryDirectory(prefix="svc-mutants-") as name:
        tree = copied(Path(name))
        for rule, paths in tests.items():
            assert passes(paths, tree, first=True), f"without a mutant these must pass: {' '.join(paths)}"
            yield from (tried(mutant, paths, tree) for mutant in mutants if mutant.rule == rule)


@click.command(help=__doc__)
@click.option("--only", multiple=True, metavar="RULE", help="The mutants of this rule; may be repeated.")
def main(only: tuple[str, ...]) -> None:
    mutants, tests = listed(only)
    found: Counter[tuple[str, str]] = Counter()
    for mutant, outcome in results(mutants, tests):
        found[mutant.rule, outcome] += 1
        if outcome != "killed":
            print(f"{outcome}: {mutant.rule}, {mutant.file}: {mutant.old!r} -> {mutant.new!r}", flush=True)
    for (rule, outcome), count in found.items():
        print(f"{rule}: {count} {outcome}")
    sys.exit(any(outcome != "killed" for _, outcome in found))


if __name__ == "__main__":
    main()
