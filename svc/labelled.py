"""Items of the labelled data: prompts and sessions as JSON lines, turned into turns and judged.

An item without a label is judged all the same. A session's tools are names, with a path or a command where one was
seen, and `[FAILED]` where the call failed; a shell call without its command counts as mutating and is no check. An
item holds no end of a session: where prompts follow a `/exit`, it went on, and the boundary judge says whether with
another goal.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import msgspec

from aggregates.arcs import cut_arcs
from aggregates.digests import Digester
from aggregates.outcome import judge_outcome
from aggregates.reading import read_prompt, read_response
from aggregates.rubric import judge_prompt, sub_session_intent
from aggregates.rubric_model import SHIPPED, RubricModel
from aggregates.shell import read_command
from aggregates.tool_names import tool_effect
from aggregates.turn import (
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
    Opening,
    Turn,
    Work,
)
from aggregates.verdicts import BOOLEANS, BooleanName, Intent, JudgeStatus, Rubric, applicable
from aggregates.words import Span

_NAMESPACE = UUID("0d6b1f0a-6f0e-5b0c-8a53-6a7c3f1b9e21")
_DIGESTER = Digester(b"labelled")
_FAILED = "[FAILED]"
_ASKS_LEAVE = frozenset({"exitplanmode", "exit_plan_mode"})

Json = Mapping[str, Any]


class PromptLabel(msgspec.Struct, frozen=True):
    """What the experts said of one prompt."""

    status: JudgeStatus
    intent: Intent | None
    booleans: Mapping[BooleanName, bool | None]


class PromptItem(msgspec.Struct, frozen=True):
    """One prompt with what came before it."""

    item_id: str
    turn: Turn
    earlier: tuple[Turn, ...]
    texts: tuple[str, ...]
    """The prompts of the earlier turns, then its own."""
    label: PromptLabel | None


class ArcLabel(msgspec.Struct, frozen=True):
    """What the experts said of one goal arc; turns are numbered from 1, both ends included."""

    start: int
    end: int
    intent: Intent | None
    goal_complete: bool | None
    confidence: float | None = None


class SessionItem(msgspec.Struct, frozen=True):
    """One agent session."""

    session: str
    turns: tuple[Turn, ...]
    arcs: tuple[ArcLabel, ...] | None
    """None without a label."""


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


def labelled_prompts(path: Path) -> list[PromptItem]:
    """The items of a prompts file."""
    return [prompt_item(item) for item in read_lines(path)]


def labelled_sessions(path: Path) -> list[SessionItem]:
    """The items of a sessions file."""
    return [session_item(item) for item in read_lines(path)]


def prompt_item(item: Json, model: RubricModel = SHIPPED) -> PromptItem:
    """An item as `model` reads it. Raises ValueError where `prompt` is no text."""
    name = str(item.get("id", ""))
    before = item.get("earlier_turns") or []
    earlier = [_turn(name, place, each, model=model) for place, each in enumerate(before, 1)]
    turn = _turn(name, len(earlier) + 1, item, model=model)
    texts = tuple(each["prompt"] for each in (*before, item))
    return PromptItem(name, turn, tuple(earlier), texts, _prompt_label(item.get("label")))


def _prompt_label(label: Json | None) -> PromptLabel | None:
    if label is None:
        return None
    return PromptLabel(label["status"], label["intent"], {name: label[name] for name in BOOLEANS})


def session_item(item: Json, model: RubricModel = SHIPPED) -> SessionItem:
    """A session as `model` reads it. Raises ValueError where a turn's `prompt` is no text."""
    name = str(item.get("session", ""))
    turns: list[Turn] = []
    opening: Opening | None = "start"
    for place, each in enumerate(item.get("turns") or [], 1):
        turn = _turn(name, place, each, opening, model=model)
        turns.append(turn)
        opening = None
    labels = item.get("arcs")
    arcs = None if labels is None else tuple(msgspec.convert(labels, tuple[ArcLabel, ...]))
    return SessionItem(name, tuple(turns), arcs)


def _turn(name: str, place: int, item: Json, opening: Opening | None = None, *, model: RubricModel) -> Turn:
    text = item.get("prompt")
    if not isinstance(text, str):
        raise ValueError(f"{name or 'item'}, turn {place}: prompt is missing or no text")
    at_us = _time_us(item.get("ts"), place)
    answer = item.get("response_end") or ""
    continued = item.get("kind") == "continuation"
    prompt = None if continued else read_prompt(text, _DIGESTER, model)
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
        opening="clear" if prompt is not None and prompt.clears else opening,
        closed_us=None,
        closed_by=None,
        cwd_digest=None,
        elapsed_ms=None,
    )


def _time_us(value: Any, place: int) -> int:
    try:
        return int(datetime.fromisoformat(value).timestamp() * 1_000_000)
    except (TypeError, ValueError):
        return place * 60_000_000


def _work(item: Json, answered: bool) -> Work:
    """The work of a turn as far as its tools tell."""
    names = [str(tool) for tool in item.get("tools") or []]
    tools = [_Tool(name) for name in names]
    marks = "".join(tool.marks for tool in tools)
    marks += ANSWERED * answered + INTERRUPTED * bool(item.get("interrupted")) + API_ERROR * bool(item.get("api_error"))
    files: dict[int, FileWork] = {}
    for tool in tools:
        if tool.path:
            digest = _DIGESTER.number(tool.path)
            edits = (files[digest].edits if digest in files else 0) + (tool.marks == CHANGE)
            files[digest] = FileWork(digest, 0, Span(0, 0), edits, 0, 0)
    return Work(
        marks=_squeezed(marks),
        tool_calls=len(tools) + int(item.get("more_tools") or 0),
        tool_errors=sum(tool.failed for tool in tools),
        mutating_calls=sum(tool.mutating for tool in tools),
        edits=sum(tool.marks == CHANGE for tool in tools),
        repeats_before_stop=_repeats(names),
        files=tuple(files[digest] for digest in sorted(files)),
        observed="tools" in item,
    )


class _Tool:
    """One tool call as the items write it: `Name`, `Name path`, `Name command`, each perhaps with `[FAILED]`."""

    def __init__(self, written: str) -> None:
        self.failed = written.rstrip().endswith(_FAILED)
        name, _, detail = written.removesuffix(_FAILED).strip().partition(" ")
        detail = detail.strip()
        effect = tool_effect(name)
        self.path = detail if effect in ("edit", "write", "read") and "/" in detail + "/" else ""
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


def _squeezed(marks: str) -> str:
    return "".join(mark for place, mark in enumerate(marks) if not place or marks[place - 1] != mark)


def _repeats(names: Sequence[str]) -> int:
    """The length of the run of equal calls at the end; calls without their input are not known to be equal."""
    if not names or " " not in names[-1].removesuffix(_FAILED).strip():
        return 0
    count = 0
    for name in reversed(names):
        if name != names[-1]:
            break
        count += 1
    return count


def judge_prompt_item(item: Json, model: RubricModel = SHIPPED) -> dict[str, Any]:
    """The judge's label of a prompt item, in the labels' shape."""
    each = prompt_item(item, model)
    return {
        "id": each.item_id,
        "label": label_of(judge_prompt(each.turn.prompt, each.earlier, model)),
    }


def label_of(rubric: Rubric) -> dict[str, Any]:
    """A rubric in the shape of a label: null where a boolean does not apply."""
    applies = applicable(rubric.intent) if rubric.intent is not None else ()
    booleans: dict[str, bool | None] = {name: (name in rubric.earned) if name in applies else None for name in BOOLEANS}
    return {"status": rubric.status, "intent": rubric.intent, **booleans}


def judge_session_item(item: Json, model: RubricModel = SHIPPED) -> dict[str, Any]:
    """The judges' arcs of a session item, in the labels' shape."""
    each = session_item(item, model)
    arcs = cut_arcs(each.turns, "start", None)
    bounds: list[tuple[int, int]] = []
    for arc in arcs:
        start = bounds[-1][1] if bounds else 0
        bounds.append((start, start + len(arc.turn_ids)))
    return {
        "session": each.session,
        "arcs": [_judged_arc(each.turns, start, end, model) for start, end in bounds],
    }


def _judged_arc(turns: Sequence[Turn], start: int, end: int, model: RubricModel) -> dict[str, Any]:
    following = turns[end] if end < len(turns) else None
    return {"start": start + 1, "end": end, **judge_arc(turns[start:end], following, model)}


def judge_arc(turns: Sequence[Turn], following: Turn | None, model: RubricModel = SHIPPED) -> dict[str, Any]:
    """Intent, goal_complete and confidence of consecutive turns taken as one goal arc."""
    rubrics = [judge_prompt(turn.prompt, turns[:place], model) for place, turn in enumerate(turns)]
    intent = sub_session_intent(rubrics)
    verdict = judge_outcome(turns, rubrics, intent, following)
    return {"intent": intent, "goal_complete": verdict.goal_complete, "confidence": verdict.confidence}


def as_labelled_turn(turn: Json) -> dict[str, Any]:
    """A turn of `turns.jsonl` in the shape of a labelled session's turn."""
    tools = [
        " ".join(
            filter(
                None,
                (
                    tool["name"],
                    tool.get("command") or tool.get("path"),
                    "[FAILED]" if tool.get("ok") is False else "",
                ),
            )
        )
        for tool in turn.get("tools") or []
    ]
    return {
        "ts": turn.get("ts"),
        "kind": turn.get("kind"),
        "prompt": turn["prompt"],
        "interrupted": turn.get("interrupted"),
        "api_error": turn.get("api_error"),
        "tools": tools,
        "response_end": (turn.get("response_text") or "")[-500:],
    }
