"""One goal: what was done in it, why it was judged so, and what its developer says of it."""

import re
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

from markupsafe import Markup, escape
from quart import Response

from aggregates.ids import plain
from aggregates.reading.verdicts import BooleanName, Intent
from aggregates.sub_sessions.sub_session import EditTitle, GapOverridden, Override
from projections.explain.explain import explanation
from projections.explain.rubric import PromptExplained
from projections.scores.what_if import what_if
from projections.sub_sessions.detail import PromptRow, course, prompt_rows, sub_session_detail
from projections.sub_sessions.rows import MARKS, find
from svc_http.bodies import HttpError, found
from svc_http.pages import rendering
from svc_http.pages.door import BySignIn, form_of
from svc_http.pages.goals import PAGE_ROWS, page_number
from svc_http.pages.period import period_of
from svc_http.pages.rendering import TEXT_CHARACTERS
from svc_http.pages.signing import local_path
from svc_http.pages.words import HABITS, KINDS, SAID
from svc_http.routes.sub_sessions import OverrideBody, command_of, override
from svc_http.routing import Routes

routes = Routes()

STRIP_TURNS = 400
ANSWER_CHARACTERS = 600  # of an answer its end is shown: it says what came of it
SAID_WORDS: Mapping[str, str] = {
    **{action: words for _, action, words in SAID.buttons.values()},
    "set_intent": "It is this kind of work",
    "rename": "It has the title that you gave it",
}
"""Action → what it said, for the list of what a person said."""
_NOT_YOURS = "no goal of this address is yours"


@routes("GET /goals/<goal_id>", "One goal.")
async def goal(call: BySignIn, goal_id: UUID) -> Response:
    everything, number, rules_version = "all" in call.query, page_number(call), call.service.settings.rules_version
    offset = (number - 1) * PAGE_ROWS
    row, detail, turns, prompts, explained = await call.read(
        lambda reader, scope: (
            find(reader, scope, goal_id),
            sub_session_detail(reader, scope, goal_id),
            course(reader, scope, goal_id),
            prompt_rows(reader, scope, goal_id, PAGE_ROWS, offset) or [],
            explanation(reader, scope, goal_id, rules_version),
        )
    )
    if row is None or detail is None or explained is None:
        raise HttpError(404, _NOT_YOURS)
    own = {each.prompt_id: each for each in explained.rubric.prompts}
    shown = [
        {"number": at} | _words_of(each, own.get(each.prompt_id), everything)
        for at, each in enumerate(prompts, offset + 1)
    ]
    return await call.show(
        "goal.html",
        row=row,
        detail=detail,
        explained=explained,
        goal_id=row.sub_session_id,
        shown=shown,
        number=number,
        turns_shown=PAGE_ROWS,
        turns=len(turns),
        strip=turns[:STRIP_TURNS],
        names=MARKS["told"],
        more=len(turns) > offset + len(shown),
        reason=SAID.reasons[row.trivia_reason or "unclassified"],
        said_words=SAID_WORDS,
    )


def _words_of(prompt: PromptRow, explained: PromptExplained | None, everything: bool) -> dict[str, Any]:
    """A turn's words, those marked that earned a habit, and how its answer ended."""
    text, answer = plain(prompt.prompt_text or ""), plain(prompt.response_text or "")
    is_cut = len(text) > TEXT_CHARACTERS and not everything
    quotes = {} if explained is None else {n: b.quote for n, b in explained.booleans.items() if b.earned and b.quote}
    if not everything and len(answer) > ANSWER_CHARACTERS:
        answer = "… " + answer[-ANSWER_CHARACTERS:].lstrip()
    shown = marked(text[:TEXT_CHARACTERS] if is_cut else text, quotes)
    return {"text": shown, "is_cut": is_cut, "answer": answer, "prompt": prompt, "explained": explained}


def marked(text: str, quotes: Mapping[BooleanName, str]) -> Markup:
    """The text, escaped, with the words that earned a habit marked; where two lie over each other, the first."""
    places = []
    for habit, quote in quotes.items():
        if (words := quote.split()) and (match := re.search(r"\s+".join(map(re.escape, words)), text)):
            places.append((*match.span(), habit))
    parts, at = [], 0
    for start, end, habit in sorted(places):
        if start >= at:
            mark = Markup('<mark title="{}">{}</mark>').format(HABITS.get(habit, habit), text[start:end])
            parts += [escape(text[at:start]), mark]
            at = end
    return Markup("").join([*parts, escape(text[at:])])


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
    _, command = await command_of(call, body, str(goal_id))
    what = None if isinstance(command, EditTitle) else await call.read(what_if, goal_id, command, window)
    return await call.show(
        "say.html",
        goal_id=goal_id,
        row=row,
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
