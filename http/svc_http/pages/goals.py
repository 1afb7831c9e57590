"""The goals: the list by time, outcome, kind, agent and project; one goal, and what its developer says of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, get_args
from urllib.parse import urlencode
from uuid import UUID

from quart import Response

from aggregates.reading.verdicts import Intent
from aggregates.sub_sessions.sub_session import EditTitle, GapOverridden, Override
from projections import Sort
from projections.explain.explain import explanation
from projections.explain.rubric import PromptExplained
from projections.scores.what_if import what_if
from projections.sub_sessions.detail import FileShown, sub_session_detail
from projections.sub_sessions.goals import WORDS_CHARACTERS_MAX, goals, patterns
from projections.sub_sessions.projects import projects_of
from projections.sub_sessions.rows import GoalOutcome, find
from projections.sub_sessions.turns import GoalTurn, GoalTurns, ToolCall, goal_turns
from svc_http.bodies import Form, HttpError, found
from svc_http.pages import charts, rendering
from svc_http.pages.door import BySignIn
from svc_http.pages.markdown import TEXT_CHARACTERS_MAX, Shown, excerpt, rendered
from svc_http.pages.period import NAMES, period_of
from svc_http.pages.words import KINDS, SAID, STATES, counted
from svc_http.params import OFFSET_MAX, Query, integer, one_of
from svc_http.ports import beside
from svc_http.routes import sub_sessions as api

TABS: tuple[GoalOutcome, ...] = ("reached", "undecided", "not_reached", "repeated", "going_on", "not_counted")
assert {*SAID["sorts"]} == {*get_args(Sort)}
FILTERS = ("outcome", "intent_class", "agent", "project", "overridden", "sort", "order")
"""The parameters of the address beside the period; they are those of the API."""
SEARCH = "/goals/search"
LinkTo = Callable[..., str]


async def list_goals(call: BySignIn) -> Response:
    period = await period_of(call)
    found = await call.read(goals, api.wanted(call.query, period.window), *api.page_of_goals(call.query))
    return await call.show("goals.html", period=period, **shown_of(call.query, await _projects(call)), found=found)


async def find_goals(call: BySignIn, form: Form) -> Response:
    """What was found has an address, which narrows the list and names the search; so one comes back to it."""
    words = form.get("words", "").strip()
    if not words:
        return rendering.redirect(link_of(carried(call.query))())
    if len(words) > WORDS_CHARACTERS_MAX:
        raise HttpError(400, f"look for at most {WORDS_CHARACTERS_MAX} characters")
    name = call.service.searches.keep(call.sign_in.id, words)
    return rendering.redirect(link_of(carried(call.query))(SEARCH, search=name))


async def found_goals(call: BySignIn) -> Response:
    words = looked_for(call)
    if words is None:
        gone = "search-gone" if "search" in call.query else None
        return rendering.redirect(link_of(carried(call.query))(said=gone))
    period, after = await period_of(call), call.query.get("cursor")
    found = await api.found_with(call, api.wanted(call.query, period.window), words, api.FOUND_MAX, after)
    shown = shown_of(call.query, await _projects(call))
    return await call.show("goals.html", period=period, **shown | {"found": found, "words": words})


async def _projects(call: BySignIn) -> dict[str, str]:
    """Key → name, where a project is asked for."""
    if not call.query.get("project"):
        return {}
    return await call.read(lambda *who: {each.key: each.name for each in projects_of(*who).of.values()})


def looked_for(call: BySignIn) -> str | None:
    """Of the search that the address names."""
    return call.service.searches.words(call.sign_in.id, call.query.get("search", ""))


def carried(query: Query, names: Sequence[str] = FILTERS) -> dict[str, str]:
    """Of an address the period, and what else goes along with every link."""
    return {name: query[name] for name in (*NAMES, *names) if query.get(name)}


def link_of(asked: Mapping[str, str], here: str = "/goals") -> LinkTo:
    """Makes addresses with what is asked, something of it otherwise; None: no more."""

    def link(at: str = here, **other: object) -> str:
        sent = urlencode({name: value for name, value in {**asked, **other}.items() if value})
        return f"{at}?{sent}" if sent else at

    return link


def shown_of(query: Query, projects: Mapping[str, str]) -> dict[str, Any]:
    """What the list shows of what was asked for. `projects`: their names by their keys, which tell nobody anything."""
    called = {**STATES, **KINDS, "true": "that you corrected", "unknown": "of no known project", **projects}
    return {
        "asked": {name: query.get(name, "") for name in FILTERS},
        "called": called,
        "link": link_of(carried(query)),
        "to_goal": link_of(carried(query, (*FILTERS, "search"))),
        "search": query.get("search"),
        "narrowed_by": [(key, called.get(it, it)) for key in FILTERS[:5] if (it := query.get(key)) and it != "false"],
        "is_later": bool(query.get("cursor")),
        "tabs": TABS,
        "words": "",
    }


# --- one goal: its course, its turns with their work, why it was judged so ------------------------------------------

TURNS_SHOWN = 25
FOLDED_CHARACTERS_MAX = 40_000  # of the texts of one page; what is behind them has a page for each turn
SHORT_CHARACTERS = 160  # a prompt that is no longer stands unfolded
EXCERPT_CHARACTERS = 80  # about one line
TOOLS_SHOWN, FILES_SHOWN = 12, 8
ALONE_CHARACTERS_MAX = 40_000  # of a text that has the page to itself
BEFORE_FOUND_CHARACTERS = 500  # of a long text, before the words that were looked for
CARRIED = ("all", "open", "search", *FILTERS)  # with every link: what is unfolded, and by which list one came
SAID_WORDS: Mapping[str, str] = {  # action → what it said, for the list of what a person said
    **{action: words for _, action, words in SAID["buttons"].values()},
    "set_intent": "It is this kind of work",
    "rename": "It has the title that you gave it",
}
_NOT_YOURS = "no goal of this address is yours"


async def goal(call: BySignIn, goal_id: UUID) -> Response:
    alone, opened = integer(call.query, "turn"), integer(call.query, "open") or 0
    number = min(max(integer(call.query, "page") or _page_of(opened), 1), OFFSET_MAX // TURNS_SHOWN)
    page = ((number - 1) * TURNS_SHOWN, TURNS_SHOWN) if alone is None else (min(max(alone, 1), OFFSET_MAX) - 1, 1)
    turns, rules_version = range(page[0], sum(page)), call.service.settings.rules_version
    row, detail, told, explained = await call.read(
        lambda reader, scope: (
            find(reader, scope, goal_id),
            sub_session_detail(reader, scope, goal_id),
            goal_turns(reader, scope, goal_id, page[1], page[0]),
            explanation(reader, scope, goal_id, rules_version, turns),
        )
    )
    if row is None or detail is None or told is None or explained is None:
        raise HttpError(404, _NOT_YOURS)
    if alone is not None and not told.turns:
        raise HttpError(404, f"the goal has {counted(told.total_turns, 'turn')}")
    own = {each.prompt_id: each for each in explained.rubric.prompts}
    changed, everything = [each for each in detail.files if each.edits], "all" in call.query or alone is not None
    characters = sum(len(each.prompt_text or "") + len(each.response_text or "") for each in told.turns)
    words = looked_for(call)
    found = None if words is None else re.compile("|".join(each.pattern for each in patterns(words)), re.IGNORECASE)
    work = partial(_shown, told, own, alone=alone is not None, opened=alone or opened, found=found)
    asked = carried(call.query, CARRIED) | ({"all": "1"} if "all" in call.query else {})
    link = link_of(asked, f"/goals/{row.sub_session_id}")
    dearest = max(told.course if told.total_turns > 1 else (), key=lambda each: each.cost_usd or 0, default=None)
    return await call.show(
        "goal.html",
        row=row,
        detail=detail,
        explained=explained,
        told=told,
        dearest=dearest,
        dearest_at="" if dearest is None else _place(link, number, dearest.number),
        course=charts.course(told, partial(_place, link, number), call.own_zone),
        asked=asked,
        link=link,
        back=link(SEARCH if words is not None else "/goals", all=None, open=None),
        shown=await beside(call.body.cpu, characters, work),
        number=number,
        alone=alone,
        opened=opened,
        everything=everything,
        files=_files(changed, len(changed) if everything else FILES_SHOWN),
        files_changed=len(changed),
        said_words=SAID_WORDS,
    )


def _page_of(turn: int) -> int:
    return (turn - 1) // TURNS_SHOWN + 1


def _place(link: LinkTo, page: int, turn: int) -> str:
    """Where a turn is, on this page of turns or another one."""
    at = _page_of(turn)
    return f"{'' if at == page else link(page=at)}#turn-{turn}"


# --- its turns as the page has them -------------------------------------------------------------------------------


def _shown(
    told: GoalTurns, own: Mapping[str, PromptExplained], *, alone: bool, opened: int, found: re.Pattern[str] | None
) -> list[dict[str, Any]]:
    """Each with its texts as Markdown while the page has room; the last one with how its answer begins.

    `opened`: the turn that was looked for, `found`: the words of it.
    """
    before, room, shown = Shown(), ALONE_CHARACTERS_MAX if alone else FOLDED_CHARACTERS_MAX, []
    for turn in told.turns:
        explained = own.get(turn.prompt_id)
        earned = {} if explained is None else explained.booleans
        quotes: Mapping[str, str] = {name: each.quote for name, each in earned.items() if each.earned and each.quote}
        words = found if turn.number == opened else None
        asked, answered = turn.prompt_text or "", turn.response_text or ""
        if words is None:  # what was looked for is shown where it stands, though it was shown before
            asked, answered = before.new_in(asked, turn.number), before.new_in(answered, turn.number)
        prompt = _text(asked, quotes if words is None else {}, words, room, alone)
        room -= prompt["characters"]
        answer = _text(answered, {}, words, room, alone)
        room -= answer["characters"]
        calls = _grouped(turn.tools)
        kept = _kept(calls, len(calls) if alone else TOOLS_SHOWN)
        row = {
            "turn": turn,
            "prompt": prompt,
            "answer": answer,
            "answer_begins": answer["begins"] if turn.number == told.total_turns else "",
            "work": _work(turn),
            "files": _files(turn.files, len(turn.files) if alone else FILES_SHOWN),
            "files_left_out": turn.files_not_shown + (0 if alone else max(len(turn.files) - FILES_SHOWN, 0)),
            "calls": kept,
            "calls_left_out": turn.tools_not_shown + len(turn.tools) - sum(each["times"] for each in kept),
        }
        shown.append(row)
    return shown


def _text(
    told: str, quotes: Mapping[str, str], found: re.Pattern[str] | None, room: int, alone: bool
) -> dict[str, Any]:
    """As Markdown, or as plain text where it is long and has the page to itself; None where there is no room."""
    at = found.search(told) if found is not None and not alone else None
    if at is not None and at.end() > TEXT_CHARACTERS_MAX:
        told = f"…{told[at.start() - BEFORE_FOUND_CHARACTERS :]}"
    characters = min(len(told), TEXT_CHARACTERS_MAX)
    long = alone and len(told) > TEXT_CHARACTERS_MAX
    return {
        "html": rendered(told, quotes, found) if told and not long and characters <= room else None,
        "plain": rendering.cut(told, ALONE_CHARACTERS_MAX) if long else None,
        "left_out": max(len(told) - (ALONE_CHARACTERS_MAX if alone else TEXT_CHARACTERS_MAX), 0),
        "characters": characters,
        "begins": excerpt(told, EXCERPT_CHARACTERS),
        "is_short": len(told) <= SHORT_CHARACTERS,
    }


def _work(turn: GoalTurn) -> str:
    """As in "13 changes in 4 files · 51 tools, 2 failed · 2 checks"."""
    files = f" in {counted(turn.files_changed, 'file')}" if turn.files_changed else ""
    # A tool that failed is told once: as the check that it was, where all of them were checks.
    failed = f", {turn.failed_tool_calls} failed" if turn.failed_tool_calls > turn.checks_failed else ""
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
    """In time order; of equal ones in a row one."""
    grouped = groupby(tools, lambda each: (each.name, each.file or each.command, each.outcome))
    calls = []
    for (name, about, outcome), each in grouped:
        took_ms = [call.duration_ms or 0 for call in each]
        call = {"name": name, "about": about, "outcome": outcome, "times": len(took_ms), "seconds": sum(took_ms) / 1e3}
        calls.append(call | {"went_wrong": outcome in ("failed", "refused")})
    return calls


def _kept(calls: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """So many in their order: those that went wrong, and of the others the first."""
    places = sorted(range(len(calls)), key=lambda place: not calls[place]["went_wrong"])[:most]
    return [calls[place] for place in sorted(places)]


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


def _body(fields: Mapping[str, str]) -> tuple[str, api.OverrideBody]:
    """A button, as the API takes it. Raises `HttpError` 400."""
    word = one_of("word", fields.get("word", ""), SAID["buttons"])
    field, action, _ = SAID["buttons"][word]
    turn = fields.get("turn", "")
    at = {"split_turn_idx": int(turn) if turn.isdecimal() and len(turn) < 10 else -1}
    payloads: dict[str, dict[str, Any]] = {
        **{"split": at, "together": at, "kind": {"intent_class": fields.get("kind", "")}},
        "rename": {"new_label": fields.get("title", "").strip()},
    }
    return word, api.OverrideBody(field, action, payloads.get(word))


async def preview(call: BySignIn, goal_id: UUID) -> Response:
    fields = dict(call.query.items())
    word, body = _body(fields)
    if word == "kind":
        one_of("kind", fields.get("kind", ""), get_args(Intent))
    period = await period_of(call)
    row = found(await call.read(find, goal_id), _NOT_YOURS)
    link = link_of(carried(call.query, CARRIED), f"/goals/{goal_id}")
    try:
        _, command = await api.command_of(call, body, str(goal_id))
    except HttpError as error:
        if "HX-Request" in call.request.headers:  # which shows no answer that is an error
            return await call.show("say.html", link=link, row=row, wrong=error.message)
        raise
    what = None if isinstance(command, EditTitle) else await call.read(what_if, goal_id, command, period.window)
    return await call.show(
        "say.html",
        link=link,
        row=row,
        wrong=None,
        what=what,
        word=word,
        sentence=SAID["buttons"][word][2],
        fields={"word": word, **{n: fields[n] for n in ("turn", "kind", "title") if n in fields}},
        kind_name=KINDS.get(fields.get("kind", ""), ""),
        title=fields.get("title", ""),
        period=period,
    )


async def take_back(call: BySignIn, form: Form, goal_id: UUID) -> Response:
    said = await api.override(call, api.OverrideBody(form.get("field", ""), "clear"), str(goal_id))
    return rendering.redirect(link_of(carried(call.query, CARRIED), f"/goals/{said.sub_session_id}")(said="back"))


async def take_word(call: BySignIn, form: Form, goal_id: UUID) -> Response:
    word, body = _body(form)
    _, command = await api.command_of(call, body, str(goal_id))
    said = await api.override(call, body, str(goal_id))
    # What was said of a gap stands with the goal that begins there.
    gap = command.facts[0] if word == "split" and isinstance(command, Override) else None
    shown = gap.before_capture if isinstance(gap, GapOverridden) else said.sub_session_id
    told = {"rename": "named", "split": "split"}.get(word, "counts")
    return rendering.redirect(link_of(carried(call.query, CARRIED), f"/goals/{shown}")(said=told))
