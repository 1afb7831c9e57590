"""`svc grade` and `svc judge`: the embedded judges, offline.

A session's tools are names, with a path or a command where one was seen, and `[FAILED]` where the call failed; a shell
call without its command counts as mutating and is no check. Items hold no end of a session: where prompts follow a
`/exit`, it went on, and the boundary judge says whether with another goal.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import click
import msgspec
from rich.console import Console
from rich.table import Table

from aggregates.event import Digester, Span
from aggregates.judging.outcome import judge_outcome
from aggregates.judging.rubric import judge_prompt, sub_session_intent
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.verdicts import BOOLEANS, SHIPPED, Rubric, RubricModel, applicable
from aggregates.records.shell import read_command
from aggregates.records.tools import tool_effect
from aggregates.scores.grades import PromptGrade, grade_text
from aggregates.sub_sessions.arcs import cut_arcs
from aggregates.turns.turn import (
    ANSWERED,
    API_ERROR,
    CHANGE,
    CHECK_FAILED,
    CHECK_OK,
    COMMIT,
    INTERRUPTED,
    PULL_REQUEST,
    REJECTED,
    REVERT,
    FileWork,
    Turn,
    Work,
)
from svc.cli.common import json_option, print_json
from svc.limits import FRAME_BYTES_MAX

_NAMESPACE = UUID("0d6b1f0a-6f0e-5b0c-8a53-6a7c3f1b9e21")
_DIGESTER = Digester(b"labelled")
_FAILED = "[FAILED]"
_ASKS_LEAVE = frozenset({"exitplanmode", "exit_plan_mode"})

Item = Mapping[str, Any]
"""A prompt, a session or a turn as a file of items holds it."""


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@json_option
def grade(file: Any, as_json: bool) -> None:
    """Grade one prompt: the habits it shows or misses, and why.

    Needs no server and no network. Reads FILE, or standard input.

    Example: echo "fix the login" | svc grade
    """
    content = file.read(FRAME_BYTES_MAX + 1)
    if len(content) > FRAME_BYTES_MAX:
        raise click.ClickException(f"the prompt is larger than {FRAME_BYTES_MAX} bytes; grade a shorter one")
    text = content.decode("utf-8", "replace")
    if not text.strip():
        raise click.ClickException("there is no prompt to grade: give a FILE, or text on standard input")
    graded = grade_text(text)
    if as_json:
        print_json(graded)
    else:
        _show(graded)


def _show(graded: PromptGrade) -> None:
    console = Console()
    if graded.score is None:
        console.print(f"not graded: {graded.status}", style="yellow")
        return
    console.print(
        f"[bold]{graded.letter}[/bold]  {graded.score:.0f} of 100, read as {(graded.intent or '').replace('_', ' ')}"
    )
    table = Table("habit", "", "why")
    for habit in graded.habits:
        if habit.applies:
            quoted = f"\n“{habit.quoted}”" if habit.quoted else ""
            advice = "" if habit.earned else f"\n{habit.how_to_earn}"
            table.add_row(habit.boolean.replace("_", " "), "✓" if habit.earned else "✗", habit.why + quoted + advice)
    console.print(table, markup=False)


@click.group()
def judge() -> None:
    """Judge files of items, and answer in the shape of labels."""


@judge.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, default=True, help="One JSON line an item; the only form there is.")
def prompts(file: Path, as_json: bool) -> None:
    """Judge prompts: items with id, earlier_turns and prompt.

    Example: svc judge prompts prompts.jsonl --json
    """
    _judge(file, judge_prompt_item)


@judge.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, default=True, help="One JSON line an item; the only form there is.")
def sessions(file: Path, as_json: bool) -> None:
    """Judge sessions: items with session and turns.

    Answers their goal arcs, one JSON object a line.

    Example: svc judge sessions sessions.jsonl --json
    """
    _judge(file, judge_session_item)


def _judge(file: Path, judged: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    try:
        for item in read_lines(file):
            print_json(judged(item))
    except (ValueError, KeyError, TypeError) as error:
        sys.stdout.flush()
        said = str(error)
        raise click.ClickException(said if said.startswith(f"{file}, ") else f"{file}: {said}") from error


# Items, read as turns


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines. Raises ValueError that names the line which is none."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
            if not isinstance(value, dict):
                raise ValueError(f"{path}, line {number}: not an object")
            yield value


def prompt_turns(item: Item, model: RubricModel = SHIPPED) -> list[Turn]:
    """The turns before a prompt, then its own. Raises ValueError where `prompt` is no text."""
    turns = [*(item.get("earlier_turns") or []), item]
    return [_turn(str(item.get("id", "")), place, each, model) for place, each in enumerate(turns, 1)]


def session_turns(item: Item) -> list[Turn]:
    """The turns of a session. Raises ValueError where a turn's `prompt` is no text."""
    name = str(item.get("session", ""))
    turns = [_turn(name, place, each, SHIPPED) for place, each in enumerate(item.get("turns") or [], 1)]
    if turns and turns[0].opening is None:
        turns[0] = msgspec.structs.replace(turns[0], opening="start")
    return turns


def _turn(name: str, place: int, item: Item, model: RubricModel) -> Turn:
    text = item.get("prompt")
    if not isinstance(text, str):
        raise ValueError(f"{name or 'item'}, turn {place}: prompt is missing or no text")
    at_us = _time_us(item.get("ts"), place)
    answer = item.get("response_end") or ""
    prompt = None if item.get("kind") == "continuation" else read_prompt(text, _DIGESTER, model)
    turn_id = uuid5(_NAMESPACE, f"{name}:{place}")
    return Turn(
        turn_id=turn_id,
        agent_session_id=name,
        started_us=at_us,
        last_activity_us=at_us,
        capture_id=turn_id,
        position=place,
        prompt=prompt,
        response=read_response(answer, _DIGESTER) if answer else None,
        response_position=place if answer else None,
        answered=bool(answer),
        work=_work(item, bool(answer)),
        opening="clear" if prompt is not None and prompt.clears else None,
        closed_us=None,
        closed_by=None,
        cwd_digest=None,
        elapsed_ms=None,
    )


def _time_us(value: Any, place: int) -> int:
    """A minute between turns where the item tells no time."""
    try:
        return int(datetime.fromisoformat(value).timestamp() * 1_000_000)
    except (TypeError, ValueError):
        return place * 60_000_000


def _work(item: Item, answered: bool) -> Work:
    """The work of a turn as far as its tools tell."""
    names = [str(tool) for tool in item.get("tools") or []]
    tools = [_Tool(name) for name in names]
    marks = "".join(tool.marks for tool in tools)
    marks += ANSWERED * answered + INTERRUPTED * bool(item.get("interrupted")) + API_ERROR * bool(item.get("api_error"))
    edits: dict[int, int] = {}
    for tool in tools:
        if tool.path:
            digest = _DIGESTER.number(tool.path)
            edits[digest] = edits.get(digest, 0) + (tool.marks == CHANGE)
    return Work(
        marks="".join(mark for mark, _ in groupby(marks)),
        tool_calls=len(tools) + int(item.get("more_tools") or 0),
        tool_errors=sum(tool.failed for tool in tools),
        mutating_calls=sum(tool.mutating for tool in tools),
        edits=sum(tool.marks == CHANGE for tool in tools),
        repeats_before_stop=_repeats(names),
        files=tuple(FileWork(digest, 0, Span(0, 0), edits[digest], 0, 0) for digest in sorted(edits)),
        observed="tools" in item,
    )


class _Tool:
    """One tool call as the items write it: `Name`, `Name path`, `Name command`, each perhaps with `[FAILED]`."""

    def __init__(self, written: str) -> None:
        self.failed = written.rstrip().endswith(_FAILED)
        name, _, detail = written.removesuffix(_FAILED).strip().partition(" ")
        detail = detail.strip()
        effect = tool_effect(name)
        self.path = detail if effect in ("edit", "write", "read") else ""
        self.mutating = effect in ("edit", "write", "shell") and not self.failed
        self.marks = ""
        if effect in ("edit", "write"):
            self.marks = "" if self.failed else CHANGE
        elif effect == "shell" and detail:
            self._read(detail)
        elif self.failed and name.lower() in _ASKS_LEAVE:
            self.marks = REJECTED

    def _read(self, command: str) -> None:
        shell = read_command(command)
        self.mutating = shell.mutating and not self.failed
        if self.failed:
            self.marks = CHECK_FAILED if shell.check else ""
            return
        flags = (
            (shell.check, CHECK_OK),
            (shell.commit, COMMIT),
            (shell.pull_request, PULL_REQUEST),
            (shell.revert, REVERT),
        )
        self.marks = "".join(mark for flag, mark in flags if flag)


def _repeats(names: Sequence[str]) -> int:
    """The length of the run of equal calls at the end; calls without their input are not known to be equal."""
    if not names or " " not in names[-1].removesuffix(_FAILED).strip():
        return 0
    return sum(1 for _ in takewhile(lambda name: name == names[-1], reversed(names)))


# Verdicts, in the shape of labels


def judge_prompt_item(item: Item) -> dict[str, Any]:
    """The judge's label of a prompt item."""
    *earlier, turn = prompt_turns(item)
    return {"id": str(item.get("id", "")), "label": label_of(judge_prompt(turn.prompt, earlier))}


def label_of(rubric: Rubric) -> dict[str, Any]:
    """A rubric as a label: null where a boolean does not apply."""
    applies = applicable(rubric.intent) if rubric.intent is not None else ()
    booleans: dict[str, bool | None] = {name: (name in rubric.earned) if name in applies else None for name in BOOLEANS}
    return {"status": rubric.status, "intent": rubric.intent, **booleans}


def judge_session_item(item: Item) -> dict[str, Any]:
    """The judges' goal arcs of a session item; turns are numbered from 1, both ends included."""
    turns = session_turns(item)
    arcs: list[dict[str, Any]] = []
    start = 0
    for arc in cut_arcs(turns, "start", None):
        end = start + len(arc.turn_ids)
        arcs.append({"start": start + 1, "end": end, **judge_arc(turns, start, end)})
        start = end
    return {"session": str(item.get("session", "")), "arcs": arcs}


def judge_arc(turns: Sequence[Turn], start: int, end: int) -> dict[str, Any]:
    """Intent, goal_complete and confidence of the turns from `start` to before `end`, taken as one goal arc."""
    arc = turns[start:end]
    rubrics = [judge_prompt(turn.prompt, arc[:place]) for place, turn in enumerate(arc)]
    intent = sub_session_intent(rubrics)
    verdict = judge_outcome(arc, rubrics, intent, turns[end] if end < len(turns) else None)
    return {"intent": intent, "goal_complete": verdict.goal_complete, "confidence": verdict.confidence}
