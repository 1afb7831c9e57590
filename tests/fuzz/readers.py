"""Everything that reads users' text, as targets of `linear`: each pattern of the program, and the functions around. Of
the folds over what one developer sent each letter of a text is one thing that happened."""

import ast
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec.structs import replace

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
from aggregates.records.tools import changed_lines, tool_input
from aggregates.reports.prose import believed_prose, normalized
from aggregates.scores.insights import times_at_once, topics
from aggregates.scores.integrity import alike, clears_of, flags_of_session, session_splitting, turn_evidence
from aggregates.scores.throttle import ApiRequest, throttle_events
from aggregates.sub_sessions.arcs import ReworkView, cut_arcs, rework_of, unsure_gaps
from aggregates.telemetry import envelope, otlp
from aggregates.times import bare_date, parse_instant
from aggregates.turns.turn import Turn, active_us, sum_work
from aggregates.turns.turns import Capture, PlacedObservation, build_turns
from projections.derive.sub_session_rows import model_totals, work_by_file
from projections.sub_sessions.goals import patterns as said
from svc.connect.changes import document_of
from svc.importing import claude_lines, codex_lines
from svc.importing.lines import decode_object
from svc.llm.answers import fitting, leaving
from svc_http import bodies
from svc_http.pages.markdown import Shown, excerpt, rendered
from tests.fuzz.linear import Target
from tests.support.facts import DIGESTER
from tests.support.otlp import logs
from tests.support.stages import MINUTE, SECOND, capture, prompt, seen, tool, turn_at, uuid, worked

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
            placed = list(_placed(variable, vars(module).get(variable)))
            for place, compiled in placed:
                name = f"{module.__name__}.{place}"
                methods = USED_AS.get(name) or sorted({method for each, method in used if each == place})
                yield Pattern(name, compiled, tuple(methods) or ("search",))
            if calls and not placed and any(isinstance(each, ast.Lambda) for each in ast.walk(statement)):
                yield Pattern(f"{module.__name__}.<lambda>", None)
        for call in [] if isinstance(statement, ast.Assign | ast.AnnAssign) else calls:
            yield _inside(module, statement, call)


def _inside(module: ModuleType, statement: ast.stmt, call: ast.Call) -> Pattern:
    name = f"{module.__name__}.{getattr(statement, 'name', 'top')}"
    pattern, method = call.args[0], call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(pattern, ast.Constant) and (method in METHODS or isinstance(statement, ast.ClassDef)):
        return Pattern(name, re.compile(pattern.value), (method if method in METHODS else "search",))
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
            "rendered": lambda text: rendered(text, {"goal_explicit": " ".join(text.split()[:20])}),
            "excerpt": lambda text: excerpt(text, 100),
            "said words": lambda text: [each.search(text) for each in said("retries carrying")],
            "new_in": lambda text: Shown().new_in(text, 2),
            "prose": lambda text: believed_prose(text, {"a": 1}, ("Ana Kim", "김민수")),
            "normalized": normalized,
            "leaving": leaving,
            "fitting": lambda text: fitting(text, dict),
        },
        "shell": {"read_command": read_command},
        "secrets": {"redact": redact, "redact_among": lambda text: redact_among(text.split(" "))},
        "times": {"parse_instant": parse_instant, "bare_date": bare_date},
        "tags": {"claude typed": claude_lines.as_typed, "own words": own_words},
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
    return [*pattern_targets(), *function_targets(), *fold_targets()]


# --- folds over what one developer sent -----------------------------------------------------------------------


SHORT = 256  # things that happen at the shorter length
_CAPTURED = {name: capture(1, "plugin", text=name) for name in "pq"} | {"l": capture(1, "log", text="p")}
_CAPTURED |= {
    "t": capture(1, "transcript", text="p"),
    "n": capture(1, "log", text=None),
    "h": capture(1, host="h", text="p"),
}
_PROMPTS = {
    "g": prompt("words over 6", topic="invoices"),
    "n": prompt("words over 6", "words over 25", opens=("names a new task", "begins with now")),
    "k": prompt(navigational="acknowledgement"),
    "c": prompt(navigational="command", clears=True),
    "b": None,
}
_WORK = {"g": worked("CM", changed=(1,)), "n": worked("E", changed=range(8)), "k": worked("r", read=range(9))}


def captures_of(text: str) -> list[Capture]:
    """A capture a second; what is no letter of a capture lets three minutes pass."""
    made, at_us = list[Capture](), 0
    for number, letter in enumerate(text):
        at_us += SECOND if letter in _CAPTURED else 3 * MINUTE
        if letter in _CAPTURED:
            made.append(replace(_CAPTURED[letter], capture_id=uuid(number), at_us=at_us, position=number))
    return made


def reports_of(text: str) -> list[PlacedObservation]:
    kinds = {"e": "session_end", "s": "session_start", "l": "llm_request"}
    return [seen(kinds.get(letter, "tool"), SECOND * number, tool=tool()) for number, letter in enumerate(text)]  # type: ignore[arg-type]


def turns_of(text: str) -> list[Turn]:
    return [
        turn_at(number, _PROMPTS.get(letter, _PROMPTS["g"]), work=_WORK.get(letter, _WORK["g"]), lasts_us=SECOND)
        for number, letter in enumerate(text)
    ]


def requests_of(text: str) -> list[ApiRequest]:
    made, at_us = list[ApiRequest](), 0
    for number, letter in enumerate(text):
        at_us += {"m": 3 * MINUTE, "d": 30 * MINUTE, "z": 0}.get(letter, SECOND)
        status = {"4": 429, "5": 503, "r": 500}.get(letter)
        wait_ms, took_ms = 5_000 if letter == "r" else None, 90_000 if letter == "s" else 1_000
        model, failed = "opus" if letter != "o" else "other", status is not None
        made.append(ApiRequest(at_us, f"{number:09}", "s", "t", model, failed, status, wait_ms, took_ms))
    return made


def reworked(text: str) -> object:
    views = [
        ReworkView(
            uuid(at), "s", at * SECOND, at * SECOND + 1, letter != "n", (at,), (1, at), (at, 2), letter == "r", True
        )
        for at, letter in enumerate(text)
    ]
    return rework_of(views[-1], views)


def flagged(text: str) -> object:
    signs = [
        replace(turn_evidence(turn), alike=letter == "a") for turn, letter in zip(turns_of(text), text, strict=True)
    ]
    return flags_of_session("s", signs), session_splitting(clears_of("s", signs))


def edited(text: str) -> object:
    half = len(text) // 2
    old, new = ("\n".join(part) for part in (text[:half], text[half:]))
    return changed_lines("MultiEdit", {"edits": [{"old_string": old, "new_string": new}] * 2}, None)


def spans_at_once(text: str) -> int:
    return times_at_once((letter, at, at + 5 + ord(letter) % 90) for at, letter in enumerate(text))


def fold_targets() -> Iterator[Target]:
    """Facts are made beforehand in a time that is linear; making them is a part of what is measured."""
    folds: dict[str, tuple[Callable[[str], object], Sequence[str]]] = {
        "build_turns": (lambda text: build_turns("s", captures_of(text), {}, [], openings={}), "pqltnh "),
        "build_turns, many reports": (
            lambda text: build_turns("s", captures_of(text), {}, reports_of(text), openings={}),
            "pqltnes ",
        ),
        "cut_arcs": (lambda text: cut_arcs(turns_of(text), "start", None), "gnkcb"),
        "unsure_gaps": (lambda text: unsure_gaps([], turns_of(text), ()), "gnkcb"),
        "totals": (lambda text: (work_by_file(turns_of(text)), model_totals(turns_of(text))), "gnkcb"),
        "sum_work": (lambda text: sum_work(reports_of(text)), "tesl"),  # type: ignore[arg-type]
        "active_us": (lambda text: active_us(ord(letter) * SECOND * at for at, letter in enumerate(text)), "abz"),
        "throttle_events": (lambda text: throttle_events(requests_of(text)), "45rsamdzo"),
        "throttle_events, others": (
            lambda text: throttle_events(requests_of(text), [], range(0, 10**9, 10**6)),
            "45rsamdz",
        ),
        "rework_of": (reworked, "nra"),
        "integrity": (flagged, "agcnkb"),
        "times_at_once": (spans_at_once, "abcz"),
        "changed_lines": (edited, "abcdefgh"),
    }
    for name, (run, letters) in folds.items():
        yield Target(f"fold {name}", run, tuple(letters), SHORT, per_kib_matters=False)
