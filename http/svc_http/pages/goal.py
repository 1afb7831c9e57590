"""One goal: its course, its turns with their work, why it was judged so, and what its developer says of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

from quart import Response

from aggregates.reading.verdicts import Intent
from aggregates.sub_sessions.sub_session import EditTitle, GapOverridden, Override
from projections.explain.explain import explanation
from projections.explain.rubric import PromptExplained
from projections.scores.what_if import what_if
from projections.sub_sessions.detail import FileShown, sub_session_detail
from projections.sub_sessions.rows import find
from projections.sub_sessions.turns import GoalTurn, GoalTurns, ToolCall, goal_turns
from svc_http.bodies import HttpError, found
from svc_http.pages import charts, rendering
from svc_http.pages.door import BySignIn, form_of
from svc_http.pages.markdown import TEXT_CHARACTERS_MAX, Shown, excerpt, rendered
from svc_http.pages.period import period_of
from svc_http.pages.signing import local_path
from svc_http.pages.words import KINDS, SAID, counted
from svc_http.params import OFFSET_MAX, integer
from svc_http.ports import beside
from svc_http.routes.sub_sessions import OverrideBody, command_of, override
from svc_http.routing import Routes

TURNS_SHOWN = 25
FOLDED_CHARACTERS_MAX = 40_000  # of the texts of one page; what is behind them has a page for each turn
SHORT_CHARACTERS = 160  # a prompt that is no longer stands unfolded
EXCERPT_CHARACTERS = 110
TOOLS_SHOWN, FILES_SHOWN = 12, 8
ALONE_CHARACTERS_MAX = 40_000  # of a text that has the page to itself
SAID_WORDS: Mapping[str, str] = {
    **{action: words for _, action, words in SAID.buttons.values()},
    "set_intent": "It is this kind of work",
    "rename": "It has the title that you gave it",
}
"""Action → what it said, for the list of what a person said."""
_NOT_YOURS = "no goal of this address is yours"
routes = Routes()


@routes("GET /goals/<goal_id>", "One goal, and with `turn` one of its turns alone.")
async def goal(call: BySignIn, goal_id: UUID) -> Response:
    alone, number = (
        integer(call.query, "turn"),
        min(max(integer(call.query, "page") or 1, 1), OFFSET_MAX // TURNS_SHOWN),
    )
    page = ((number - 1) * TURNS_SHOWN, TURNS_SHOWN) if alone is None else (min(max(alone, 1), OFFSET_MAX) - 1, 1)
    row, detail, told, explained = await call.read(
        lambda reader, scope: (
            find(reader, scope, goal_id),
            sub_session_detail(reader, scope, goal_id),
            goal_turns(reader, scope, goal_id, page[1], page[0]),
            explanation(reader, scope, goal_id, call.service.settings.rules_version),
        )
    )
    if row is None or detail is None or told is None or explained is None:
        raise HttpError(404, _NOT_YOURS)
    if alone is not None and not told.turns:
        raise HttpError(404, f"the goal has {counted(told.total_turns, 'turn')}")
    own = {each.prompt_id: each for each in explained.rubric.prompts}
    changed, everything = [each for each in detail.files if each.edits], "all" in call.query or alone is not None
    characters = sum(len(each.prompt_text or "") + len(each.response_text or "") for each in told.turns)
    shown = await beside(call.body.cpu, characters, partial(_shown, told, own, alone=alone is not None))
    return await call.show(
        "goal.html",
        row=row,
        detail=detail,
        explained=explained,
        goal_id=row.sub_session_id,
        told=told,
        course=charts.course(told, partial(_place, number, "all&" * everything), call.own_zone),
        shown=shown,
        number=number,
        alone=alone,
        everything=everything,
        files=_files(changed, len(changed) if everything else FILES_SHOWN),
        files_changed=len(changed),
        reason=SAID.reasons[row.trivia_reason or "unclassified"],
        said_words=SAID_WORDS,
    )


def _place(page: int, carried: str, turn: int) -> str:
    """Where a turn is, on this page of turns or another one."""
    at = (turn - 1) // TURNS_SHOWN + 1
    return f"{'' if at == page else f'?{carried}page={at}'}#turn-{turn}"


# --- its turns as the page has them -------------------------------------------------------------------------------


def _shown(told: GoalTurns, own: Mapping[str, PromptExplained], *, alone: bool) -> list[dict[str, Any]]:
    """Each with its texts as Markdown while the page has room; the last one with how its answer begins."""
    before, room, shown = Shown(), ALONE_CHARACTERS_MAX if alone else FOLDED_CHARACTERS_MAX, []
    for turn in told.turns:
        explained = own.get(turn.prompt_id)
        earned = {} if explained is None else explained.booleans
        quotes: Mapping[str, str] = {name: each.quote for name, each in earned.items() if each.earned and each.quote}
        prompt = _text(before, turn.prompt_text, turn.number, quotes, room, alone)
        room -= prompt["characters"]
        answer = _text(before, turn.response_text, turn.number, {}, room, alone)
        room -= answer["characters"]
        calls = _grouped(turn.tools)
        most = len(calls) if alone else TOOLS_SHOWN
        shown.append(
            {
                "turn": turn,
                "prompt": prompt,
                "answer": answer,
                "answer_begins": answer["begins"] if turn.number == told.total_turns else "",
                "work": _work(turn),
                "files": _files(turn.files, len(turn.files) if alone else FILES_SHOWN),
                "files_left_out": turn.files_not_shown + (0 if alone else max(len(turn.files) - FILES_SHOWN, 0)),
                "calls": calls[:most],
                "calls_left_out": turn.tools_not_shown + sum(each["times"] for each in calls[most:]),
            }
        )
    return shown


def _text(
    before: Shown, text: str | None, turn: int, quotes: Mapping[str, str], room: int, alone: bool
) -> dict[str, Any]:
    """As Markdown, or as plain text where it is long and has the page to itself; None where there is no room."""
    told = before.new_in(text or "", turn)
    characters = min(len(told), TEXT_CHARACTERS_MAX)
    long = alone and len(told) > TEXT_CHARACTERS_MAX
    return {
        "html": rendered(told, quotes) if told and not long and characters <= room else None,
        "plain": rendering.cut(told, ALONE_CHARACTERS_MAX) if long else None,
        "left_out": max(len(told) - (ALONE_CHARACTERS_MAX if alone else TEXT_CHARACTERS_MAX), 0),
        "characters": characters,
        "begins": excerpt(told, EXCERPT_CHARACTERS),
        "is_short": len(told) <= SHORT_CHARACTERS,
    }


def _work(turn: GoalTurn) -> str:
    """As in "13 changes in 4 files · 51 tools, 2 failed · 2 checks"."""
    files = f" in {counted(turn.files_changed, 'file')}" if turn.files_changed else ""
    failed = f", {turn.failed_tool_calls} failed" if turn.failed_tool_calls else ""
    checks = turn.checks_passed + turn.checks_failed
    parts = [
        counted(turn.changes, "change") + files if turn.changes else "",
        counted(turn.tool_calls, "tool") + failed if turn.tool_calls else "",
        counted(checks, "check") + f", {turn.checks_failed} failed" * bool(turn.checks_failed) if checks else "",
        counted(turn.commits, "commit") if turn.commits else "",
        "" if turn.is_observed else "no telemetry for this turn",
    ]
    return " · ".join(filter(None, parts))


def _grouped(tools: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Equal calls once, those that failed first."""
    times, took = Counter[tuple[str | None, str | None, str]](), Counter[tuple[str | None, str | None, str]]()
    for each in tools:
        key = each.name, each.file or each.command, each.outcome
        times[key] += 1
        took[key] += each.duration_ms or 0
    calls = [
        {"name": key[0], "about": key[1], "outcome": key[2], "times": count, "seconds": took[key] / 1_000}
        for key, count in times.items()
    ]
    return sorted(calls, key=lambda each: each["outcome"] not in ("failed", "refused"))


def _files(files: Sequence[FileShown], most: int) -> list[dict[str, Any]]:
    """Each by its last name; of two that are called alike with the folder above."""
    names = Counter((each.path or "").rsplit("/", 1)[-1] for each in files)
    shown = []
    for each in files[:most]:
        parts = (each.path or "").rsplit("/", 2)
        name = "/".join(parts[-2:]) if names[parts[-1]] > 1 else parts[-1]
        shown.append({"name": name if each.path else None, "path": each.path, "file": each})
    return shown


# --- what its developer says --------------------------------------------------------------------------------------


def _body(fields: Mapping[str, str]) -> tuple[str, OverrideBody]:
    """A button, as the API takes it. Raises `HttpError` 400."""
    word = fields.get("word", "")
    if word not in SAID.buttons:
        raise HttpError(400, f"word must be one of {', '.join(SAID.buttons)}")
    field, action, _ = SAID.buttons[word]
    turn = fields.get("turn", "")
    at = {"split_turn_idx": int(turn) if turn.isdecimal() and len(turn) < 10 else -1}
    payloads: dict[str, dict[str, Any]] = {
        **{"split": at, "together": at, "kind": {"intent_class": fields.get("kind", "")}},
        "rename": {"new_label": fields.get("title", "").strip()},
    }
    return word, OverrideBody(field, action, payloads.get(word))


@routes("GET /goals/<goal_id>/say", "What the figures become by a word about a goal.")
async def preview(call: BySignIn, goal_id: UUID) -> Response:
    fields = dict(call.query.items())
    word, body = _body(fields)
    if word == "kind" and fields.get("kind") not in get_args(Intent):
        raise HttpError(400, f"kind must be one of {', '.join(get_args(Intent))}")
    window, period = await period_of(call)
    row = found(await call.read(find, goal_id), _NOT_YOURS)
    try:
        _, command = await command_of(call, body, str(goal_id))
    except HttpError as error:
        if "HX-Request" in call.request.headers:  # which shows no answer that is an error
            return await call.show("say.html", goal_id=goal_id, row=row, wrong=error.message)
        raise
    what = None if isinstance(command, EditTitle) else await call.read(what_if, goal_id, command, window)
    return await call.show(
        "say.html",
        goal_id=goal_id,
        row=row,
        wrong=None,
        what=what,
        word=word,
        sentence=SAID.buttons[word][2],
        fields={"word": word, **{n: fields[n] for n in ("turn", "kind", "title") if n in fields}},
        kind_name=KINDS.get(fields.get("kind", ""), ""),
        title=fields.get("title", ""),
        **period,
    )


@routes("POST /goals/<goal_id>/back", "Take a word back: what was judged counts again.")
async def take_back(call: BySignIn, goal_id: UUID) -> Response:
    field = (await form_of(call)).get("field", "")
    said = await override(call, OverrideBody(field, "clear"), str(goal_id))
    return rendering.redirect(f"/goals/{said.sub_session_id}?said=back")


@routes("POST /goals/<goal_id>/say", "Say otherwise than was judged.")
async def take_word(call: BySignIn, goal_id: UUID) -> Response:
    fields = await form_of(call)
    word, body = _body(fields)
    _, command = await command_of(call, body, str(goal_id))
    said = await override(call, body, str(goal_id))
    # What was said of a gap stands with the goal that begins there.
    gap = command.facts[0] if word == "split" and isinstance(command, Override) else None
    shown = gap.before_capture if isinstance(gap, GapOverridden) else said.sub_session_id
    told = {"said": {"rename": "named", "split": "split"}.get(word, "counts")}
    to = local_path(fields.get("then")) if "then" in fields else f"/goals/{shown}"
    return rendering.redirect(f"{to}{'&' if '?' in to else '?'}{urlencode(told)}")
