"""Everything that reads users' text, as targets of `linear`: each pattern of the program, and the functions around."""

import ast
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import aggregates
import projections
import svc
import svc_http
from aggregates.reading.features import extract
from aggregates.reading.prompt_text import prompt_opening, split_pasted, title_and_summary
from aggregates.reading.reading import evidence_spans, read_prompt, read_response
from aggregates.reading.readings import HEAD_CHARS, TAIL_CHARS, own_words
from aggregates.reading.redaction import redact, redact_among
from aggregates.records.shell import read_command
from aggregates.records.tools import tool_input
from aggregates.reports.prose import believed_prose, normalized
from aggregates.scores.insights import topics
from aggregates.scores.integrity import alike
from aggregates.telemetry import envelope, otlp
from aggregates.times import bare_date, parse_instant
from svc.connect.changes import document_of
from svc.importing import claude_lines, codex_lines
from svc.importing.exchange import decode_object
from svc.llm.answers import fitting, leaving
from svc_http import bodies
from svc_http.pages.goals import marked
from tests.fuzz import folds
from tests.fuzz.linear import Target
from tests.support.facts import DIGESTER
from tests.support.otlp import logs

_TOLD: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NEVER_USERS_TEXT, USED_AS, BUILT_ELSEWHERE, CUT_BEFORE, PIECES = _TOLD.values()
_RE = re.compile(r"re\.\w+$")
METHODS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "split")


class Pattern(msgspec.Struct, frozen=True):
    name: str  # module and name, or module and function where it is compiled in one
    compiled: re.Pattern[Any] | None  # none where only its function can tell
    methods: tuple[str, ...] = ()


def modules() -> Iterator[ModuleType]:
    for package in (aggregates, projections, svc_http, svc):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns() -> list[Pattern]:
    """Every pattern of the program, whether it stands in a module, in a table or in a function."""
    return [
        pattern
        for module in modules()
        if "re." in (source := inspect.getsource(module))
        for pattern in _of(module, source)
    ]


def _of(module: ModuleType, source: str) -> Iterator[Pattern]:
    tree = ast.parse(source)
    used = [
        (ast.unparse(each.value), each.attr)
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name | ast.Subscript) and each.attr in METHODS
    ]
    for statement in tree.body:
        calls = [
            each for each in ast.walk(statement) if isinstance(each, ast.Call) and _RE.match(ast.unparse(each.func))
        ]
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            variable = ast.unparse(target)
            for place, compiled in _placed(variable, vars(module).get(variable)):
                name = f"{module.__name__}.{place}"
                methods = USED_AS.get(name) or sorted({method for each, method in used if each == place})
                yield Pattern(name, compiled, tuple(methods) or ("search",))
            if any(isinstance(each, ast.Lambda) for each in ast.walk(statement)) and calls:
                yield Pattern(f"{module.__name__}.<lambda>", None)
        for call in [] if isinstance(statement, ast.Assign | ast.AnnAssign) else calls:
            yield _inside(module, statement, call)


def _inside(module: ModuleType, statement: ast.stmt, call: ast.Call) -> Pattern:
    name = f"{module.__name__}.{getattr(statement, 'name', 'top')}"
    pattern, method = call.args[0], call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(pattern, ast.Constant) and method in METHODS:
        return Pattern(name, re.compile(pattern.value), (method,))
    return Pattern(name, None)


def _placed(variable: str, value: object) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The patterns in a value, in tables and structs too, with what they are called by: some tables name them."""
    if isinstance(value, re.Pattern):
        yield variable, value
    elif isinstance(value, Mapping):
        named = all(isinstance(each, re.Pattern) for each in value.values())
        for key, each in value.items():
            yield from _placed(f"{variable}[{key!r}]" if named else variable, each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _placed(variable, each)
    elif isinstance(value, msgspec.Struct):
        yield from _placed(variable, [getattr(value, name) for name in value.__struct_fields__])


def is_searched(pattern: Pattern) -> bool:
    module = pattern.name.rpartition(".")[0]
    return not {pattern.name, module} & NEVER_USERS_TEXT.keys()


def pattern_targets() -> Iterator[Target]:
    for pattern in filter(is_searched, patterns()):
        if pattern.compiled is not None:
            run = partial(_run, pattern.compiled, pattern.methods, CUT_BEFORE.get(pattern.name))
            yield Target(f"{pattern.name} {pattern.compiled.pattern[:40]!r}", run, pieces_of(pattern.compiled.pattern))


def _run(pattern: re.Pattern[Any], methods: tuple[str, ...], cut: int | None, text: str) -> None:
    """As its callers use it; of what is looked for again and again, every find."""
    read: Any = text[:cut] if isinstance(pattern.pattern, str) else text[:cut].encode()
    for method in methods:
        match method:
            case "findall" | "finditer" | "sub" | "split":
                pattern.findall(read)
            case _:
                getattr(pattern, method)(read)


_CLASSES = dict(zip("dwsWSDbBntr", ("1", "a", " ", "-", "a", "a", "", "", "\n", "\t", "\r"), strict=True))


def pieces_of(pattern: str | bytes) -> list[str]:
    """Words and signs that stand in a pattern, and a character for each class."""
    source = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    found = re.findall(r"\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|.)|[^\W_]+|.", source, re.DOTALL)
    found = [_CLASSES.get(each[1:], each[1:2]) if each[0] == "\\" else each for each in found]
    return [*dict.fromkeys(each for each in found if each)]


def function_targets() -> Iterator[Target]:
    """By the texts that they are given; of JSON whole bodies, and drawn text inside what an agent sends."""
    looked: dict[str, dict[str, Callable[[str], object]]] = {
        "prompt": {
            "split_pasted": split_pasted,
            "extract": lambda text: extract(split_pasted(text)),
            "read_prompt": lambda text: read_prompt(text, DIGESTER),
            "read_response": lambda text: read_response(text, DIGESTER),
            "title_and_summary": lambda text: title_and_summary(split_pasted(text)),
            "evidence_spans": lambda text: evidence_spans(split_pasted(text), extract(split_pasted(text)).phrases),
            "prompt_opening": lambda text: prompt_opening(text, text, 20),
            "topics": topics,
            "marked": lambda text: marked(text, {"goal_explicit": " ".join(text.split()[:20])}),
            "prose": lambda text: believed_prose(text, {"a": 1}, ("Ana Kim", "김민수")),
            "normalized": normalized,
            "leaving": leaving,
            "fitting": lambda text: fitting(text, dict),
        },
        "shell": {"read_command": read_command},
        "secrets": {"redact": redact, "redact_among": lambda text: redact_among(text.split(" "))},
        "times": {"parse_instant": parse_instant, "bare_date": bare_date},
        "tags": {"claude typed": claude_lines._as_typed, "own words": own_words},
        "edits": {
            f"tool_input {tool}": partial(_tool, tool, *members)
            for tool, *members in (
                ("Edit", "old_string", "new_string"),
                ("Bash", "command", "x"),
                ("Patch", "patch", "x"),
            )
        },
        "json": {
            "codex result": lambda text: codex_lines.Body("function_call_output", output=text).ok,
            "imported line": lambda text: decode_object(text.encode()),
            "json body": lambda text: bodies.decoded(_ANY, text.encode()),
            "otlp.repaired": lambda text: otlp.repaired(text.encode()),
            "otlp.canonical": lambda text: otlp.canonical(text.encode()),
            "otlp.json_object": otlp.json_object,
            "envelope.split": lambda text: envelope.split(text.encode(), "logs"),
            "envelope.split records": lambda text: envelope.split(_exported(text), "logs"),
            "gunzip": lambda text: bodies.gunzip(text.encode(), 1 << 20),
        },
    }
    for kind, runs in looked.items():
        for name, run in runs.items():
            yield Target(name, run, PIECES[kind])
    yield Target("alike", lambda text: alike(text, text[1:] + "x"), PIECES["prompt"], HEAD_CHARS + TAIL_CHARS)
    for name in ("a.json", "a.toml", ".env"):
        yield Target(f"settings file {name}", partial(document_of, name), PIECES["settings"], 1_024)


def _exported(text: str) -> bytes:
    return msgspec.json.encode(logs(*({"body": {"stringValue": each}} for each in text.split(" "))))


_ANY = msgspec.json.Decoder(dict[str, int])


def _tool(tool: str, old: str, new: str, text: str) -> object:
    half = len(text) // 2
    return tool_input(tool, {old: text[:half], new: text[half:]})


def targets() -> list[Target]:
    return [*pattern_targets(), *function_targets(), *folds.targets()]
