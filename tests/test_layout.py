"""The plan of the house: who may import whom, in which order folders stand, how large things may be, and which names of
libraries and which SQL it uses."""

import ast
import http
import inspect
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.mutants.__main__ import listed, place_of

ROOT = Path(__file__).parent.parent
ROOMS = {
    "aggregates": ROOT / "aggregates",
    "projections": ROOT / "projections",
    "svc_http": ROOT / "http" / "svc_http",
    "svc": ROOT / "svc",
}
ORDER = {
    room: names.split()
    for room, names in {
        "aggregates": "event ids times reading records capture turns judging sub_sessions prices people scores reports "
        "retained telemetry audit decide",
        "projections": "reader facts derive apply prices sub_sessions explain scores cost telemetry teams reports",
        "svc_http": "records ports bodies params routing listener routes pages openapi tools app",
        "svc": "process outward templates settings llm log views actors archive maintenance jobs logs metrics hook "
        "connect service serving importing cli __main__",
    }.items()
}
"""Files and folders of each room. Each imports only what stands before it; docs/architecture.md says what is in it."""
NO_WORLD = {
    *("trio", "quart", "quart_trio", "hypercorn", "httpx", "sqlite3"),
    *("os", "io", "importlib", "pathlib", "time", "random", "secrets", "socket", "subprocess"),
}
FORBIDDEN: dict[str, set[str]] = {
    "aggregates": {"projections", "svc", "svc_http", *NO_WORLD},
    "projections": {"svc", "svc_http", *NO_WORLD - {"sqlite3"}},
    "svc_http": {"svc", "sqlite3", "eventsourcing", "os", "random"},
    "svc": set(),
}
"""Room → what it must not import."""
CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "uuid4", "uuid1", "uuid.uuid4"}
MOST: dict[str, dict[str, int]] = tomllib.loads((ROOT / "tests" / "layout.toml").read_text(encoding="utf-8"))


def check_most(table: str, found: Mapping[str, int]) -> None:
    """Each figure against the one of its name in layout.toml."""
    most = MOST[table]
    wrong = [f"{name} {count:,} of {most[name]:,}" for name, count in found.items() if count > most[name]]
    assert wrong == [], (
        f"too large: {table} {', '.join(wrong)}. Take something away: the figures of tests/layout.toml only fall. "
        "Lower one when it fell; a rise needs a line `reason` in its table."
    )


@cache
def trees(room: str) -> Sequence[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(ROOMS[room].rglob("*.py"))]


@cache
def nodes(tree: ast.AST) -> Sequence[ast.AST]:
    return list(ast.walk(tree))


def module_of(path: Path) -> str:
    base = ROOT / "http" if path.is_relative_to(ROOT / "http") else ROOT
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


@cache
def _modules() -> Set[str]:
    return {module_of(path) for room in ROOMS for path, _ in trees(room)}


def _targets(module: str, tree: ast.Module) -> set[str]:
    """The modules that a module imports, with the module itself where a name of a package is one."""
    found: set[str] = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found.update(name if name in _modules() else node.module for name in names)
    return found - {module}


@cache
def _imports() -> Mapping[str, set[str]]:
    return {module_of(path): _targets(module_of(path), tree) for room in ROOMS for path, tree in trees(room)}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    """Rules know nothing of the world; the HTTP layer sees the service through its ports only."""
    wrong = {
        module: found
        for module, targets in _imports().items()
        if module.split(".")[0] == room and (found := {name.split(".")[0] for name in targets} & FORBIDDEN[room])
    }
    assert wrong == {}


@pytest.mark.parametrize("room", ROOMS)
def test_a_folder_imports_only_what_stands_before_it(room: str) -> None:
    """One declared order, so that nobody has to look for circles between folders."""
    place = {name: number for number, name in enumerate(ORDER[room])}
    assert len(place) == len(ORDER[room]), "a name stands twice"
    here = {module: module.split(".")[1] for module in _modules() if module.startswith(f"{room}.")}
    assert {name for name in here.values() if name not in place} == set()
    assert [name for name in place if name not in here.values()] == []
    wrong = [
        f"{module} -> {target}"
        for module, name in here.items()
        for target in _imports()[module]
        if target in here and place[here[target]] > place[name]
    ]
    assert wrong == []


def test_no_module_imports_itself_by_a_detour() -> None:
    """Within a folder as well, imports form no circle."""
    assert _circle({module: targets & _modules() for module, targets in _imports().items()}) == []


def _circle(graph: Mapping[str, set[str]]) -> Sequence[str]:
    """Names left when everything that imports nothing more has been taken away, again and again."""
    left = {name: set(targets) for name, targets in graph.items()}
    while free := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in free}
    return sorted(left)


def test_rules_and_projections_ask_no_clock_and_make_no_ids() -> None:
    """Time and ids enter as arguments or events."""
    wrong = [
        f"{path.name}:{node.lineno}"
        for room in ("aggregates", "projections")
        for path, tree in trees(room)
        for node in nodes(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS
    ]
    assert wrong == []


def test_rules_read_nothing_but_the_resources_beside_them() -> None:
    """Words, weights and tables come by `pkgutil.get_data(__name__, …)`; no other file is ever opened."""
    calls = [
        ast.unparse(node)
        for _, tree in trees("aggregates")
        for node in nodes(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "get_data", "pkgutil.get_data")
    ]
    assert calls != []
    assert [call for call in calls if not call.startswith("get_data(__name__, ")] == []


def test_nothing_shadows_the_standard_library() -> None:
    """`http/` is a source root and tests are no packages; `python svc` puts the folder itself first on the path."""
    assert [*(ROOT / "tests").rglob("__init__.py"), *(ROOT / "http").glob("*.py")] == []
    assert Path(http.__file__).is_relative_to(Path(sys.base_prefix))
    wrong = [path.name for path in ROOMS["svc"].glob("*.py") if path.stem in sys.stdlib_module_names]
    assert wrong in ([], ["__main__.py"])


def test_functions_and_files_stay_short() -> None:
    """A function fits on a screen, a file holds one idea."""
    long_functions = [
        f"{path.name}:{node.lineno} {node.name}"
        for room in ROOMS
        for path, tree in trees(room)
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST["product"]["lines_of_a_function"]
    ]
    most = MOST["product"]["lines_of_a_file"]
    long_files = [f"{path.name} {lines}" for path, lines in _lines(*ROOMS.values()).items() if lines > most]
    assert (long_functions, long_files) == ([], [])


def _lines(*folders: Path) -> dict[Path, int]:
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}


def test_no_folder_holds_more_than_one_sees_at_a_glance() -> None:
    """Modules, resources and folders alike, beside the `__init__` of each."""
    entries: defaultdict[str, list[str]] = defaultdict(list)
    for room in ROOMS.values():
        for path in room.rglob("*"):
            if path.name not in ("__init__.py", "__pycache__") and "__pycache__" not in path.parts:
                entries[str(path.parent.relative_to(ROOT))].append(path.name)
    most = MOST["product"]["entries_of_a_folder"]
    assert {folder: len(names) for folder, names in entries.items() if len(names) > most} == {}


@pytest.mark.parametrize(("table", "folders"), [("product", [*ROOMS.values()]), ("tests", [ROOT / "tests"])])
def test_the_house_stays_small(table: str, folders: Sequence[Path]) -> None:
    """Every line is carried by whoever comes next."""
    lines = _lines(*folders)
    check_most(table, {"files": len(lines), "lines": sum(lines.values())})


def test_every_module_says_what_belongs_in_it() -> None:
    """The first thing in a file is a sentence about it."""
    assert [path.name for room in ROOMS for path, tree in trees(room) if ast.get_docstring(tree) is None] == []


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
    for node in nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_") and name not in PUBLIC


def _private_uses(tree: ast.Module, own: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Line and text of each use of a name that another project keeps for itself."""
    for node in nodes(tree):
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
        for node in nodes(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value)
        if re.search(pattern, node.value)
    ]
    declared = (ROOT / "projections").glob("**/*.toml")
    return [*in_code, *(path.name for path in declared if re.search(pattern, path.read_text(encoding="utf-8")))]


def test_every_python_finds_the_same() -> None:
    """Before Python 3.11.5 `(ab)*+` keeps the a of a turn that fails (gh-106052). `(?>(ab)*)` and these two do not."""
    whole = (r'(?:\\.[^"\\]*+)*+', r"(?=\\[nr])\\)*+")  # each turn takes what it began, or begins none
    paths = [path for root in ROOMS.values() for path in root.rglob("*.*") if path.suffix in (".py", ".toml")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    found = [text[: repeat.end()] for text in texts for repeat in re.finditer(r"\)(?:[*+?]|\{[\d,]+\})\+", text)]
    assert [text[-60:] for text in found if not text.endswith(whole)] == []


def test_sql_is_bound_by_name_or_in_order() -> None:
    """Numbered placeholders with a sequence warn from Python 3.12 on, and raise from 3.14 on."""
    assert _wrong_sql(r"\?\d") == []


def test_sql_adds_no_fractions() -> None:
    """SQLite sums REAL otherwise since 3.43: the same log would give another last digit with another SQLite."""
    assert _wrong_sql(r"\b(?:avg|total)\(") == []


def test_sqlite_is_called_as_every_python_takes_it() -> None:
    """`execute("… :name", (value,))` raises from 3.14 on; from 3.15 on `connect` takes all but its first by name."""
    wrong = [
        f"{path.name}:{call.lineno}"
        for path, tree in every_tree()
        for call in nodes(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) > 1
        if ast.unparse(call.func) == "sqlite3.connect"
        or (
            (call.func.attr in ("execute", "executemany") and isinstance(call.args[1], ast.Tuple | ast.List))
            and isinstance(call.args[0], ast.Constant)
            and re.search(r"(?<![:\w]):[a-z_]", str(call.args[0].value))
        )
    ]
    assert wrong == []


def test_a_request_goes_through_few_files() -> None:
    """In a process of its own: threads that other tests left behind cannot be traced."""
    command = [sys.executable, "-m", "tests.journey", *MOST["journeys"]]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert told.count("log/journal.py") == len(MOST["journeys"])
    check_most(
        "journeys", {name: int(count) for count, name in re.findall(r"^(\d+) files: (\w+)$", told, re.MULTILINE)}
    )


def test_each_mutant_applies_to_one_place_and_its_tests_are_there() -> None:
    """Else it tells nothing of them."""
    mutants, tests = listed(())
    assert [mutant for mutant in mutants if place_of(mutant, ROOT) is None] == []
    paths = sorted({path for named in tests.values() for path in named if path.startswith("tests/")})
    assert [path for path in paths if not (ROOT / path).exists()] == []
