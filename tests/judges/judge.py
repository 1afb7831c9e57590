"""The embedded judges, offline: `python -m tests.judges.judge prompts|sessions FILE --json`. A session's tools are
names, with a path or a command where one was seen, and `[FAILED]` where the call failed."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import click
import msgspec

from aggregates.event import Digester, Span, Words
from aggregates.judging.outcome import judge_outcome
from aggregates.judging.prompt import Before, judge_prompt
from aggregates.judging.rubric import sub_session_intent
from aggregates.reading.model import SHIPPED, RubricModel
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.verdicts import BOOLEANS, Intent, JudgeStatus, Rubric, kind_told
from aggregates.records.record import Record, RecordKind
from aggregates.records.tools import tool_effect
from aggregates.scores.grades import estimate
from aggregates.sub_sessions.arcs import cut_arcs
from aggregates.turns.turn import Observation, Turn, Work, observe, sum_work
from svc.cli.common import print_json
from tests.support.stages import bare_turn

_NAMESPACE = UUID("0d6b1f0a-6f0e-5b0c-8a53-6a7c3f1b9e21")
_DIGESTER = Digester(b"labelled")
_FAILED = "[FAILED]"
_FAILED_AFTER_NAME = "(failed)"
_ASKS_LEAVE = frozenset({"exitplanmode", "exit_plan_mode"})
Item = Mapping[str, Any]  # A prompt, a session or a turn as a file of items holds it


@click.command()
@click.argument("kind", type=click.Choice(("prompts", "sessions")))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--json", is_flag=True, default=True, expose_value=False, help="One JSON line an item; the only form there is."
)
def judge(kind: str, file: Path) -> None:
    """Judge a file of items, and answer in the shape of labels. Prompts have id, earlier_turns and prompt; sessions
    have session and turns, and are answered by their goal arcs."""
    judged = judge_prompt_item if kind == "prompts" else judge_session_item
    try:
        for item in read_lines(file):
            print_json(judged(item))
    except (ValueError, KeyError, TypeError) as error:
        sys.stdout.flush()
        said = str(error)
        raise click.ClickException(said if said.startswith(f"{file}, ") else f"{file}: {said}") from error


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines. Raises ValueError that names the line which is none."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield msgspec.json.decode(line, type=dict[str, Any])
                except msgspec.DecodeError as error:
                    raise ValueError(f"{path}, line {number}: {error}") from error


def prompt_turns(item: Item, model: RubricModel = SHIPPED) -> list[Turn]:
    """The turns before a prompt, then its own. Raises ValueError where `prompt` is no text."""
    turns = [*(item.get("earlier_turns") or []), item]
    return [_turn(str(item.get("id", "")), place, each, model) for place, each in enumerate(turns, 1)]


def session_turns(item: Item) -> list[Turn]:
    """The turns of a session. Raises ValueError where a turn's `prompt` is no text."""
    name = str(item.get("session", ""))
    turns = [_turn(name, place, each, SHIPPED) for place, each in enumerate(item.get("turns") or [], 1)]
    # Where no turn of a session names a tool, nobody wrote them down.
    if not any(turn.work.tool_calls for turn in turns):
        turns = [
            msgspec.structs.replace(turn, work=msgspec.structs.replace(turn.work, observed=False)) for turn in turns
        ]
    if turns and turns[0].opening is None:
        turns[0] = msgspec.structs.replace(turns[0], opening="start")
    return turns


def _turn(name: str, place: int, item: Item, model: RubricModel) -> Turn:
    text = item.get("prompt")
    if not isinstance(text, str):
        raise ValueError(f"{name or 'item'}, turn {place}: prompt is missing or no text")
    try:
        at_us = int(datetime.fromisoformat(item.get("ts") or "").timestamp() * 1_000_000)
    except (TypeError, ValueError):
        at_us = place * 60_000_000  # a minute between turns where the item tells no time
    answer = item.get("response_end") or ""
    prompt = None if item.get("kind") == "continuation" else read_prompt(text, _DIGESTER, model)
    return bare_turn(
        uuid5(_NAMESPACE, f"{name}:{place}"),
        at_us,
        place,
        agent_session_id=name,
        prompt=prompt,
        response=read_response(answer, _DIGESTER) if answer else None,
        response_position=place if answer else None,
        answered=bool(answer),
        work=_work(item, () if prompt is None else prompt.checks),
        opening="clear" if prompt is not None and prompt.clears else None,
    )


def _work(item: Item, checks: Sequence[int]) -> Work:
    """The work of a turn as far as its tools tell, summed as that of a captured turn is."""
    ends: dict[str, RecordKind] = {"response_end": "request", "interrupted": "interruption", "api_error": "error"}
    seen = [_observed(str(written)) for written in item.get("tools") or []]
    seen += [Observation(kind) for name, kind in ends.items() if item.get(name)]
    work = sum_work([(0, each) for each in seen], checks)
    more = int(item.get("more_tools") or 0)
    calls, unknown = work.tool_calls + more, work.unknown_calls + more
    observed = "tools" in item
    return msgspec.structs.replace(work, tool_calls=calls, unknown_calls=unknown, usage=(), observed=observed)


def _observed(written: str) -> Observation:
    """One tool call as the items write it: `Name`, `Name path`, `Name command`, each perhaps with `[FAILED]` at its
    end, or with `(failed)` after the name."""
    name, _, detail = written.removesuffix(_FAILED).strip().partition(" ")
    failed = written.rstrip().endswith(_FAILED) or detail.startswith(_FAILED_AFTER_NAME)
    detail = detail.removeprefix(_FAILED_AFTER_NAME).lstrip()
    place = Span(0, len(detail)) if detail else None
    effect = tool_effect(name)
    record = Record(
        record_id="",
        at_us=0,
        kind="tool",
        tool=name,
        ok=not failed,
        path=place if effect in ("edit", "write", "read") else None,
        command=place if effect == "shell" else None,
        input_digest=_DIGESTER.number(written) if detail else None,
    )
    seen = observe(record, Words(detail.strip()), _DIGESTER)
    return msgspec.structs.replace(seen, kind="rejection") if failed and name.lower() in _ASKS_LEAVE else seen


def before(turns: Sequence[Turn]) -> Before | None:
    """What a judge sees of the turns before a prompt."""
    return (turns[-1].prompt, turns[-1].response) if turns else None


def judge_prompt_item(item: Item) -> dict[str, Any]:
    """The judge's label of a prompt item."""
    *earlier, turn = prompt_turns(item)
    rubric, forced = (judge_prompt(turn.prompt, before(earlier), force=force) for force in (False, True))
    unsure = rubric.unsure if rubric.status == "ok" else tuple(each.name for each in forced.booleans)
    told = estimate(rubric.chances)
    return {
        "id": str(item.get("id", "")),
        "label": label_of(rubric.status, forced),
        "unsure": list(unsure),
        "chances": forced.named_chances,
        "kind_told": kind_told(rubric.chances),
        "score": told and told.score,
        "score_interval": told and msgspec.to_builtins(told.interval),
        "grade_told": told and told.told,
    }


def label_of(status: JudgeStatus, forced: Rubric) -> dict[str, Any]:
    """A rubric as a label, as it would be said by force: null where a boolean does not apply."""
    said: dict[str, bool | None] = dict.fromkeys(BOOLEANS)
    said |= {each.name: each.forced for each in forced.booleans}
    return {"status": status, "intent": forced.intent, **said}


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
    """The turns from `start` to before `end`, taken as one goal arc: what would be said by force, and whether it is."""
    arc = turns[start:end]
    rubrics = [judge_prompt(turn.prompt, before(arc[:place])) for place, turn in enumerate(arc)]
    intent = sub_session_intent(rubrics)
    verdict = judge_outcome(arc, intent, turns[end] if end < len(turns) else None)
    found = {"intent": intent or _forced_intent(arc), "goal_complete": verdict.forced, "confidence": verdict.confidence}
    return found if verdict.goal_complete is not None else found | {"undecided": True}


def _forced_intent(arc: Sequence[Turn]) -> Intent | None:
    """What would be said of an arc of which no prompt is classified; None where none has words."""
    said = [(turn.prompt, before(arc[:place])) for place, turn in enumerate(arc) if turn.prompt is not None]
    asking = [judge_prompt(prompt, earlier, force=True) for prompt, earlier in said]
    words = [msgspec.structs.replace(prompt, navigational=None) for prompt, _ in said]
    return sub_session_intent(asking) or sub_session_intent(
        [judge_prompt(prompt, None, force=True) for prompt in words[:1]]
    )


if __name__ == "__main__":
    judge()
