"""One goal: what was done in it, where it was cut and why, its habits, its outcome, and what is said of it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

import msgspec
from markupsafe import Markup, escape
from quart import Response

from aggregates.characters import plain
from aggregates.event import Scope
from aggregates.reading.verdicts import BooleanName, Intent
from aggregates.sub_sessions.sub_session import EditTitle, OverrideGap
from projections.explain.explain import Explanation, explanation
from projections.explain.rubric import PromptExplained
from projections.reader import Reader
from projections.scores.what_if import what_if
from projections.sub_sessions.course import TurnShown, course
from projections.sub_sessions.detail import PromptRow, SubSessionDetail, prompt_rows, sub_session_detail
from projections.sub_sessions.goals import goal_row
from projections.sub_sessions.rows import SubSessionRow
from svc_http.bodies import HttpError, found
from svc_http.pages import rendering
from svc_http.pages.door import BySignIn
from svc_http.pages.goals import PAGE_ROWS, REASONS, page_number
from svc_http.pages.home import period_of
from svc_http.pages.rates import Rate
from svc_http.pages.rendering import TEXT_CHARACTERS
from svc_http.pages.words import HABITS, KINDS
from svc_http.routes.sub_sessions import OverrideBody, command_of, say
from svc_http.routing import Routes

STRIP_TURNS = 400
ANSWER_CHARACTERS = 600  # of an answer its end is shown: it says what came of it
WORDS: Mapping[str, tuple[str, str, str]] = {
    "reached": ("completion", "mark_complete", "The goal was reached"),
    "not-reached": ("completion", "mark_incomplete", "The goal was not reached"),
    "again": ("rollback", "mark_rework", "It was done again"),
    "not-again": ("rollback", "mark_not_rework", "It was not done again"),
    "join": ("boundary", "merge_with_previous", "It is one goal with the one before"),
    "split": ("boundary", "split_at_turn", "Another goal begins at this turn"),
    "together": ("boundary", "keep_together", "It goes on with the same goal there"),
    "kind": ("label", "set_intent", "It is another kind of work"),
    "rename": ("label", "rename", "Give it another title"),
}
"""What one can say by a button: the field and the action of the API, and the words for it."""
SAID_WORDS: Mapping[str, str] = {
    **{action: words for _, action, words in WORDS.values()},
    "set_intent": "It is this kind of work",
    "rename": "It has the title that you gave it",
}
"""Action → what it said, for the list of what a person said."""
_NOT_YOURS = "no goal of this address is yours"
routes = Routes()


class Look(msgspec.Struct, frozen=True):
    row: SubSessionRow
    detail: SubSessionDetail
    turns: list[TurnShown]
    prompts: list[PromptRow]
    explained: Explanation


class Shown(msgspec.Struct, frozen=True):
    """A turn with its words, those marked that earned a habit."""

    number: int
    turn: TurnShown
    text: Markup
    is_cut: bool
    answer: str | None
    prompt: PromptRow
    explained: PromptExplained | None


def _look(reader: Reader, scope: Scope, sub_session_id: UUID, rules_version: int, offset: int) -> Look | None:
    detail, row = sub_session_detail(reader, scope, sub_session_id), goal_row(reader, scope, sub_session_id)
    if detail is None or row is None:
        return None
    turns, explained = course(reader, scope, sub_session_id), explanation(reader, scope, sub_session_id, rules_version)
    prompts = prompt_rows(reader, scope, sub_session_id, PAGE_ROWS, offset)
    assert turns is not None
    assert prompts is not None
    assert explained is not None
    return Look(row, detail, turns, prompts, explained)


@routes("GET /goals/<goal_id>", "One goal.")
async def goal(call: BySignIn, goal_id: UUID) -> Response:
    everything = "all" in call.query
    number = page_number(call)
    offset = (number - 1) * PAGE_ROWS
    look = found(await call.read(_look, goal_id, call.service.settings.rules_version, offset), _NOT_YOURS)
    own = {each.prompt_id: each for each in look.explained.rubric.prompts}
    turns = {each.prompt_id: each for each in look.turns}
    shown = [
        _shown(number, turns[each.prompt_id], each, own.get(each.prompt_id), everything)
        for number, each in enumerate(look.prompts, offset + 1)
        if each.prompt_id in turns
    ]
    return await call.show(
        "goal.html",
        look=look,
        goal_id=look.row.sub_session_id,
        shown=shown,
        number=number,
        turns_shown=PAGE_ROWS,
        strip=look.turns[:STRIP_TURNS],
        more=len(look.turns) > offset + len(shown),
        reason=REASONS[look.row.trivia_reason or "unclassified"],
        habits=HABITS,
        said_words=SAID_WORDS,
    )


def _shown(
    number: int, turn: TurnShown, prompt: PromptRow, explained: PromptExplained | None, everything: bool
) -> Shown:
    text = plain(prompt.prompt_text or "")
    is_cut = len(text) > TEXT_CHARACTERS and not everything
    quotes = {} if explained is None else {n: b.quote for n, b in explained.booleans.items() if b.earned and b.quote}
    answer = plain(prompt.response_text or "")
    if answer and not everything and len(answer) > ANSWER_CHARACTERS:
        answer = "… " + answer[-ANSWER_CHARACTERS:].lstrip()
    body = marked(text[:TEXT_CHARACTERS] if is_cut else text, quotes)
    return Shown(number, turn, body, is_cut, answer or None, prompt, explained)


def marked(text: str, quotes: Mapping[BooleanName, str]) -> Markup:
    """The text, escaped, with the words that earned a habit marked; where two lie over each other, the first."""
    places = sorted(_places(text, quotes))
    parts, at = [], 0
    for start, end, habit in places:
        if start < at:
            continue
        parts.append(escape(text[at:start]))
        parts.append(Markup('<mark title="{}">{}</mark>').format(HABITS.get(habit, habit), text[start:end]))
        at = end
    return Markup("").join([*parts, escape(text[at:])])


def _places(text: str, quotes: Mapping[BooleanName, str]) -> Iterable[tuple[int, int, str]]:
    for habit, quote in quotes.items():
        words = quote.split()
        match = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
        if match is not None:
            yield match.start(), match.end(), habit


# --- what its developer says --------------------------------------------------------------------------------------


def _body(fields: Mapping[str, str]) -> tuple[str, OverrideBody]:
    """A button, as the API takes it. Raises `HttpError` 400."""
    word = fields.get("word", "")
    if word not in WORDS:
        raise HttpError(400, f"word must be one of {', '.join(WORDS)}")
    field, action, _ = WORDS[word]
    payload: dict[str, Any] | None = None
    if word in ("split", "together"):
        turn = fields.get("turn", "")
        payload = {"split_turn_idx": int(turn) if turn.isdecimal() and len(turn) < 10 else -1}
    elif word == "kind":
        payload = {"intent_class": fields.get("kind", "")}
    elif word == "rename":
        payload = {"new_label": fields.get("title", "").strip()}
    return word, OverrideBody(field, action, payload)


@routes("GET /goals/<goal_id>/say", "What the figures become by a word about a goal.")
async def preview(call: BySignIn, goal_id: UUID) -> Response:
    fields = {name: text for name, text in call.query.items()}
    word, body = _body(fields)
    if word == "kind" and fields.get("kind") not in get_args(Intent):
        raise HttpError(400, f"kind must be one of {', '.join(get_args(Intent))}")
    name, window = period_of(call)
    row = found(await call.read(goal_row, goal_id), _NOT_YOURS)
    _, command = await command_of(call, body, str(goal_id))
    what = None if isinstance(command, EditTitle) else await call.read(what_if, goal_id, command, window)
    return await call.show(
        "say.html",
        goal_id=goal_id,
        row=row,
        what=what,
        word=word,
        sentence=WORDS[word][2],
        fields={"word": word, **{n: fields[n] for n in ("turn", "kind", "title") if n in fields}},
        kind_name=KINDS.get(fields.get("kind", ""), ""),
        title=fields.get("title", ""),
        now=None if what is None else Rate(what.now),
        then=None if what is None else Rate(what.then),
        period="All time" if name == "all" else f"The last {name} days",
        window_start=window.start_us,
    )


@routes("POST /goals/<goal_id>/back", "Take a word back: what was judged counts again.")
async def take_back(call: BySignIn, goal_id: UUID) -> Response:
    field = (await call.form()).get("field", "")
    said = await say(call, OverrideBody(field, "clear"), str(goal_id))
    return rendering.redirect(f"/goals/{said.sub_session_id}?said=back")


@routes("POST /goals/<goal_id>/say", "Say otherwise than was judged.")
async def take_word(call: BySignIn, goal_id: UUID) -> Response:
    word, body = _body(await call.form())
    _, command = await command_of(call, body, str(goal_id))
    said = await say(call, body, str(goal_id))
    # What was said of a gap stands with the goal that begins there.
    shown = command.capture_id if word == "split" and isinstance(command, OverrideGap) else said.sub_session_id
    told = {"said": {"rename": "named", "split": "split"}.get(word, "counts")}
    return rendering.redirect(f"/goals/{shown}?{urlencode(told)}")
