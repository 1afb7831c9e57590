"""Libraries are used by their public names, and SQL is bound as every Python from 3.11 on takes it."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.test_layout import ROOMS, ROOT, module_of, trees

PUBLIC = {
    **{"_asdict": "named tuples", "_fields": "named tuples", "_replace": "named tuples", "_exit": "os"},
    **{"_thread": "the low-level threading module", "_MEIPASS": "where PyInstaller has unpacked the one file"},
    "_get_current_object": "werkzeug's LocalProxy: what it stands for",
    "_create_connection": "eventsourcing's ConnectionPool, which asks its subclasses for it",
}
"""Names with an underscore that their documentation offers to everyone, and whose they are."""
INNER_MODULES = {"globals"}
"""Modules that libraries keep for themselves though their names do not say so: quart.globals."""
SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA)\b")


def every_tree() -> list[tuple[Path, ast.Module]]:
    return [found for room in ROOMS for found in trees(room)]


@cache
def _own_names() -> frozenset[str]:
    """Every private name that the product itself declares or assigns."""
    return frozenset(name for _, tree in every_tree() for name in _declared(tree) if name.startswith("_"))


def _declared(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_") and name not in PUBLIC


def _private_uses(tree: ast.Module, own: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Line and text of each use of a name that another project keeps for itself."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] not in ROOMS:
                used = [*module.split("."), *(alias.name for alias in names)]
            case ast.Import(names=names):
                used = [part for alias in names for part in alias.name.split(".")]
            case ast.Attribute(attr=attr) if attr not in own:
                used = [attr]
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(str(name)), *_]):
                used = [] if name in own else [name]
            case _:
                continue
        wrong = [name for name in used if _private(name) or (name in INNER_MODULES and len(used) > 1)]
        if wrong:
            yield node.lineno, ast.unparse(node)


def test_no_library_is_used_by_a_private_name() -> None:
    """What is private may change with any release, as `quart.globals.request_ctx` did."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {text}"
        for path, tree in every_tree()
        for line, text in _private_uses(tree, _own_names())
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from quart.globals import request_ctx", 1),
        ("from trio._core import _run", 1),
        ("import concurrent.futures._base", 1),
        ("path._str", 1),
        ("getattr(path, '_drv')", 1),
        ("from quart import request; request.path; self.own; os._exit(0); pair._replace(a=1)", 0),
    ],
)
def test_a_private_name_is_found(code: str, found: int) -> None:
    """The test above would see it."""
    assert len(list(_private_uses(ast.parse(code), _own_names()))) == found


def _foreign_bases(made: type) -> Sequence[type]:
    return [base for base in made.__mro__[1:] if base.__module__.split(".")[0] not in (*ROOMS, "builtins", "typing")]


@pytest.mark.parametrize("room", ROOMS)
def test_no_class_replaces_a_private_name_of_its_base(room: str) -> None:
    """A subclass changes what its base offers, and nothing inside it."""
    modules = [module_of(path) for path, _ in trees(room) if path.stem != "__main__"]
    wrong = [
        f"{made.__module__}.{made.__name__}.{name} of {base.__module__}"
        for module in modules
        for made in vars(import_module(module)).values()
        if inspect.isclass(made) and made.__module__ == module
        for base in _foreign_bases(made)
        for name in vars(made).keys() & vars(base).keys()
        if _private(name) and callable(vars(base)[name])
    ]
    assert wrong == []


def _wrong_sql(pattern: str) -> Sequence[str]:
    """Where SQL in code or in the declared schema has what the pattern finds."""
    in_code = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in every_tree()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value)
        if re.search(pattern, node.value)
    ]
    declared = (ROOT / "projections").glob("**/*.toml")
    return [*in_code, *(path.name for path in declared if re.search(pattern, path.read_text(encoding="utf-8")))]


def test_sql_is_bound_by_name_or_in_order() -> None:
    """Numbered placeholders with a sequence warn from Python 3.12 on, and raise from 3.14 on."""
    assert _wrong_sql(r"\?\d") == []


def test_sql_adds_no_fractions() -> None:
    """SQLite sums REAL otherwise since 3.43: the same log would give another last digit with another SQLite."""
    assert _wrong_sql(r"\b(?:avg|total)\(") == []
