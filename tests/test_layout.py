"""The walls of the house: who may import whom, and what would shadow the standard library."""

import ast
import http
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {
    "aggregates": ROOT / "aggregates",
    "projections": ROOT / "projections",
    "svc_http": ROOT / "http" / "svc_http",
    "svc": ROOT / "svc",
}
NO_WORLD = {
    "trio",
    "quart",
    "quart_trio",
    "hypercorn",
    "os",
    "time",
    "random",
    "secrets",
    "socket",
    "httpx",
    "subprocess",
}
FORBIDDEN: dict[str, set[str]] = {
    "aggregates": {
        "projections",
        "svc",
        "svc_http",
        "sqlite3",
        "sqlite_utils",
        "pathlib",
        "io",
        "importlib",
        *NO_WORLD,
    },
    "projections": {"svc", "svc_http", "pathlib", *NO_WORLD},
    "svc_http": {"svc", "sqlite3", "sqlite_utils", "eventsourcing", "os", "random"},
    "svc": set(),
}
"""Room → what it must not import."""
CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "uuid4", "uuid1", "uuid.uuid4"}
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 400
DATA_FILES = {"features.py", "codex.py", "access.py"}


def _files(room: str) -> Iterator[Path]:
    return ROOMS[room].rglob("*.py")


def _trees() -> Iterator[tuple[Path, ast.Module]]:
    for room in ROOMS:
        for path in _files(room):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    """Rules know nothing of the world; the HTTP layer sees the service through its ports only."""
    wrong = {str(path.relative_to(ROOT)): found for path in _files(room) if (found := _imports(path) & FORBIDDEN[room])}
    assert wrong == {}


def test_rules_and_projections_ask_no_clock_and_make_no_ids() -> None:
    """Time and ids enter as arguments or events."""
    wrong = []
    for room in ("aggregates", "projections"):
        for path in _files(room):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS:
                    wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []


def test_rules_read_nothing_but_the_resources_beside_them() -> None:
    """Words, weights and tables come by `pkgutil.get_data(__name__, …)`; no other file is ever opened."""
    calls = [
        ast.unparse(node)
        for path in _files("aggregates")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "get_data", "pkgutil.get_data")
    ]
    assert len(calls) == 4
    assert [call for call in calls if not call.startswith("get_data(__name__, ")] == []


def test_http_is_a_source_root_and_no_package() -> None:
    """An `http/__init__.py` would put itself before the standard library's http."""
    assert not (ROOT / "http" / "__init__.py").exists()
    assert list((ROOT / "http").glob("*.py")) == []
    assert Path(http.__file__).is_relative_to(Path(sys.base_prefix))


def test_no_module_carries_a_name_of_the_standard_library() -> None:
    """`python svc` puts the folder itself first on the path, so a `queue.py` there would break the start."""
    wrong = [path.name for path in ROOMS["svc"].glob("*.py") if path.stem in sys.stdlib_module_names]
    assert wrong == []


def test_tests_are_no_packages() -> None:
    """A `tests/http/__init__.py` would shadow the standard library in every import mode."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_functions_and_files_stay_short() -> None:
    """A function fits on a screen, a file holds one idea."""
    long_functions = [
        f"{path.name}:{node.lineno} {node.name}"
        for path, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    long_files = [
        path.name
        for path, _ in _trees()
        if path.name not in DATA_FILES and len(path.read_text(encoding="utf-8").splitlines()) > FILE_LINES_MAX
    ]
    assert (long_functions, long_files) == ([], [])


def test_every_module_says_what_belongs_in_it() -> None:
    """The first thing in a file is a sentence about it."""
    assert [path.name for path, tree in _trees() if ast.get_docstring(tree) is None] == []
