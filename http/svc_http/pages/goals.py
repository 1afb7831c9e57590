"""The list of goals, and of what was not counted with its reason."""

from collections.abc import Sequence
from typing import Any, TypeVar, get_args
from urllib.parse import urlencode

from quart import Response

from aggregates.reading.verdicts import Intent
from projections.sub_sessions.goals import Wanted, goals
from projections.sub_sessions.rows import GoalOutcome
from svc_http.pages.door import BySignIn, chosen
from svc_http.pages.home import PERIODS, period_of
from svc_http.pages.words import STATES
from svc_http.params import OFFSET_MAX, integer
from svc_http.routing import Routes

PAGE_ROWS = 50
WORDS_CHARACTERS_MAX = 100
AGENTS = ("claude-code", "codex", "gemini", "copilot")  # those that svc connects and imports; another one is typed
REASONS = {
    "interrupted": ("It was interrupted before any answer.", "An answer would have made it work to look at."),
    "no_real_work": (
        "No turn of it does more than navigate.",
        "A prompt that asks for something, and an answer, would have counted.",
    ),
    "too_few_lines": (
        "A few lines were changed, by nothing that svc saw change a file.",
        "10 changed lines, or one tool call that changes something, would have counted.",
    ),
    "no_mutating_calls": (
        "Tools ran, and all of them only read.",
        "Three turns that ask for something, or one call that changes something, would have counted.",
    ),
    "too_few_turns": (
        "There were too few turns, and no tool was seen to run.",
        "Three turns that ask for something would have counted.",
    ),
    "unclassified": (
        "The judge cannot tell from its words what was wanted.",
        "Words that say what should change, or be found out, would have counted.",
    ),
}
"""Reason → what it was, and what would have counted (scoring.md, section 2)."""
_W = TypeVar("_W", bound=str)
routes = Routes()


def page_number(call: BySignIn) -> int:
    return min(max(integer(call.query, "page") or 1, 1), OFFSET_MAX // PAGE_ROWS)


def one_of(call: BySignIn, name: str, words: Sequence[_W]) -> _W | None:
    """The word that was chosen; None where none was. Raises `HttpError` 400."""
    return chosen(name, call.query[name], words) if call.query.get(name) else None


def wanted_of(call: BySignIn) -> tuple[str, Wanted]:
    """The filters of the address. Raises `HttpError` 400."""
    name, window = period_of(call)
    kind: Intent | None = one_of(call, "kind", get_args(Intent))
    outcome: GoalOutcome | None = one_of(call, "outcome", get_args(GoalOutcome))
    agent, words = call.query.get("agent", "").strip() or None, call.query.get("words", "")[:WORDS_CHARACTERS_MAX]
    said = "said" in call.query
    return name, Wanted(window=window, kind=kind, outcome=outcome, agent=agent, said=said, words=words)


@routes("GET /goals", "The goals, with filters.")
async def list_goals(call: BySignIn) -> Response:
    name, wanted = wanted_of(call)
    number = page_number(call)
    found = await call.read(goals, wanted, PAGE_ROWS, (number - 1) * PAGE_ROWS)
    narrowed = ("outcome", "kind", "agent", "said", "words")
    asked = {"days": name, **{each: getattr(wanted, each) for each in narrowed}}
    base = "/goals?" + urlencode({key: value for key, value in asked.items() if value})
    return await call.show(
        "goals.html",
        period=name,
        periods=PERIODS,
        outcomes=STATES,
        outcome=wanted.outcome,
        kind=wanted.kind,
        agent=wanted.agent or "",
        agents=AGENTS,
        words=wanted.words,
        said_only=wanted.said,
        found=found,
        number=number,
        base=base + "&",
        here=f"{base}&page={number}",
    )


@routes("GET /not-counted", "What was not counted, and what would have been.")
async def not_counted(call: BySignIn) -> Response:
    name, window = period_of(call)
    number = page_number(call)
    wanted = Wanted(window=window, outcome="not_counted")
    found = await call.read(goals, wanted, PAGE_ROWS, (number - 1) * PAGE_ROWS)
    base = f"/not-counted?days={name}&"
    values: dict[str, Any] = {
        "period": name,
        "periods": PERIODS,
        "found": found,
        "number": number,
        "base": base,
        "reasons": REASONS,
    }
    return await call.show("not-counted.html", **values)
