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
NEVER_USERS_TEXT, USED_AS, BUILT_ELSEWHERE, CUT_BEFORE = _TOLD.values()
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


_SHELL = (
    *(";", "|", "&", "&&", ">", ">>", "2>", "<", "<<", "<<EOF", "<<'E'", "EOF", "$(", ")", "((", "))", "(", "`", '"'),
    *("'", "\\", "#", "$", "$((", "=", "A=1 ", "\n", " ", "cd ", "eval ", "xargs ", "sudo ", "timeout 5 ", "bash -c "),
    *("git stash ", "npm run ", "find -exec "),
)
_SECRETS = (
    *("@", "a@b.co ", "password=", "token: ", "ghp_", "://", ":", "AKIA", "secret", "‹", "${", "{{", "<", "…", "eyJ"),
    "=",
)
_PROMPT = (
    *("```", '"""', "~~~", "\n", ". ", "? ", ": ", "- ", "#", "fix ", "src/a.py", "rubric", "true", "[Image]"),
    *("make sure ", "the first ", "option ", "now ", "ok ", "3"),
)
_JSON = (
    *("{", "}", "[", "]", '"', ",", ":", "\\u", "\\ud83d", "\\ude00", "null", "1e9", '{"a":', '"a",', "[["),
    *('{"key":', "é", "\\"),
)


def function_targets() -> Iterator[Target]:
    looked: dict[str, Callable[[str], object]] = {
        "split_pasted": split_pasted,
        "extract": lambda text: extract(split_pasted(text)),
        "read_prompt": lambda text: read_prompt(text, DIGESTER),
        "read_response": lambda text: read_response(text, DIGESTER),
        "title_and_summary": lambda text: title_and_summary(split_pasted(text)),
        "evidence_spans": _evidence,
        "prompt_opening": lambda text: prompt_opening(text, text, 20),
        "topics": topics,
        "marked": lambda text: marked(text, {"goal_explicit": " ".join(text.split()[:20])}),
        "prose": lambda text: believed_prose(text, {"a": 1}, ("Ana Kim", "김민수")),
        "normalized": normalized,
        "leaving": leaving,
        "fitting": lambda text: fitting(text, dict),
    }
    for name, run in looked.items():
        yield Target(name, run, _PROMPT)
    bounded_chars = HEAD_CHARS + TAIL_CHARS
    yield Target("alike", lambda text: alike(text, text[1:] + "x"), _PROMPT, bounded_chars)
    yield Target("read_command", read_command, _SHELL)
    yield Target("redact", redact, _SECRETS)
    yield Target("redact_among", lambda text: redact_among(text.split(" ")), _SECRETS)
    yield Target("parse_instant", parse_instant, ("2026-", "T", ":", "Z", "+"))
    yield Target("bare_date", bare_date, ("2026-", "0"))
    yield Target(
        "claude typed", claude_lines._as_typed, ("<command-name>", "</command-name>", "<bash-input>", "/", "<command-")
    )
    yield Target(
        "codex result",
        lambda text: codex_lines.Body("function_call_output", output=text).ok,
        ("Exit code: 1", "\n", '{"output":', *_JSON),
    )
    yield Target("own words", own_words, ("<ide_a>", "</ide_a>", "<current_datetime>", "</current_datetime>", " "))
    for tool, old, new in (
        ("Edit", "old_string", "new_string"),
        ("Bash", "command", "description"),
        ("Patch", "patch", "x"),
    ):
        yield Target(
            f"tool_input {tool}",
            partial(_tool, tool, old, new),
            ("\n", "a\n", "b\n", "|", "\n\n", "*** Update File: a\n", "[TRUNCATED"),
        )
    for name in ("a.json", "a.toml", ".env"):
        pieces = ('"a"', "=", "a=1\n", "export ", "\n", "# svc connect: begin\n", *_JSON)
        yield Target(f"settings file {name}", partial(document_of, name), pieces, 1_024)
    yield from json_targets()


def json_targets() -> Iterator[Target]:
    """Whole bodies: as they are drawn, and drawn text inside what an agent sends."""

    def exported(text: str) -> bytes:
        return msgspec.json.encode(logs(*({"body": {"stringValue": each}} for each in text.split(" "))))

    yield Target("imported line", lambda text: decode_object(text.encode()), _JSON)
    yield Target("json body", lambda text: bodies.decoded(_ANY, text.encode()), _JSON)
    yield Target("otlp.repaired", lambda text: otlp.repaired(text.encode()), _JSON)
    yield Target("otlp.canonical", lambda text: otlp.canonical(text.encode()), _JSON)
    yield Target("otlp.json_object", otlp.json_object, _JSON)
    yield Target("envelope.split", lambda text: envelope.split(text.encode(), "logs"), _JSON)
    yield Target("envelope.split records", lambda text: envelope.split(exported(text), "logs"), _JSON)
    yield Target("gunzip", lambda text: bodies.gunzip(text.encode(), 1 << 20), _JSON)


_ANY = msgspec.json.Decoder(dict[str, int])


def _evidence(text: str) -> object:
    looked = split_pasted(text)
    shown = extract(looked)
    return evidence_spans(looked, shown.phrases)


def _tool(tool: str, old: str, new: str, text: str) -> object:
    half = len(text) // 2
    return tool_input(tool, {old: text[:half], new: text[half:]})


def targets() -> list[Target]:
    return [*pattern_targets(), *function_targets(), *folds.targets()]
