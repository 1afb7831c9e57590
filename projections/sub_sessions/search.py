"""Goals in which some words were said: texts are opened one by one, the newest goals first, for a moment only."""

import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from aggregates.event import Scope
from aggregates.ids import plain
from aggregates.sub_sessions.sub_session import OVERRIDE_FIELDS
from aggregates.times import US_PER_SECOND, iso
from aggregates.turns.turn import Turn
from projections.derive.sessions import response_ref, text_of
from projections.reader import Reader, TextRef
from projections.sub_sessions.goals import Asked, Cursor, Goal, Wanted, places, rows_of, shown
from projections.sub_sessions.projects import projects_of
from projections.sub_sessions.rows import turns_in

SEARCH_US = US_PER_SECOND  # how long texts are opened for one request
WORDS_CHARACTERS_MAX = 500
SENTENCE_CHARACTERS_MAX = 240
_GOALS_AT_ONCE = 50
_TURNS_AT_ONCE = 8  # whose texts are held together: one may have megabytes
_LABEL = 1 << OVERRIDE_FIELDS.index("label")
_ENDINGS = "y|ies|ied|ying|e|s|es|ed|ing"  # of English words: "retries" finds "retry" too
_QUOTES = str.maketrans(dict.fromkeys('"“”„«»', " "))
_ENDING = re.compile(rf"(?<=\w{{3}})(?:{_ENDINGS})$")


class Found(msgspec.Struct, frozen=True):
    """Where the words were said."""

    turn: int | None  # its number, from 1; null where they stand in a title that somebody gave
    sentence: str  # that holds the most of them
    said_in: Literal["prompt", "answer", "title"]  # where that sentence stands


class FoundGoal(Goal, frozen=True, kw_only=True):
    found: Found


class FoundGoals(msgspec.Struct, frozen=True, kw_only=True):
    goals: list[FoundGoal]  # the newest first
    looked_back_to: str | None  # when the last goal that was looked at began; null where none was
    next: str | None  # the `cursor` to look further back with; null where there is nothing further


def search(
    reader: Reader,
    scope: Scope,
    wanted: Wanted,
    said: str,
    limit: int,
    cursor: Cursor | None,
    clock_us: Callable[[], int],
) -> FoundGoals:
    """Those of whose turns one says all words, whatever their case or English ending.

    At least one goal is looked at, so that whoever looks further gets on.
    """
    words, stops_us = patterns(said), clock_us() + SEARCH_US
    projects = projects_of(reader, scope)
    found: dict[str, Found] = {}
    last, is_end = cursor, True
    for place in _newest_first(reader, scope, Asked(wanted, projects), cursor):
        if last is not cursor and (len(found) >= limit or clock_us() >= stops_us):
            is_end = False
            break
        if (found_in := _said_in(reader, scope, place.sub_session_id, words)) is not None:
            found[place.sub_session_id] = found_in
        last = place
    rows = shown(reader, rows_of(reader, scope, list(found)), projects)
    return FoundGoals(
        goals=[FoundGoal(**msgspec.structs.asdict(row), found=found[row.score_v3_sub_session_id]) for row in rows],
        looked_back_to=None if last is None else iso(last.started_us),
        next=None if is_end or last is None else str(last),
    )


def patterns(words: str) -> list[re.Pattern[str]]:
    """Of each word: itself wherever it stands, or where a word ends with another ending. For texts in folded case."""
    found = []
    for word in words.casefold().translate(_QUOTES).split() or words.split():
        stem = _ENDING.sub("", word)
        found.append(re.compile(f"{re.escape(stem)}(?:{re.escape(word[len(stem) :])}|(?:{_ENDINGS})?(?![a-z]))"))
    return found


def _newest_first(reader: Reader, scope: Scope, asked: Asked, cursor: Cursor | None) -> Iterator[Cursor]:
    while found := places(reader, scope, asked, _GOALS_AT_ONCE, cursor):
        yield from found
        cursor = found[-1]


def _said_in(reader: Reader, scope: Scope, name: str, words: list[re.Pattern[str]]) -> Found | None:
    """In its newest turn that says them, else in the title that a person gave it."""
    turns = list(enumerate(turns_in(reader.db, name), 1))[::-1]
    for some in (turns[at : at + _TURNS_AT_ONCE] for at in range(0, len(turns), _TURNS_AT_ONCE)):
        texts = _texts(reader, [turn for _, turn in some])
        for (number, _), (prompt, answer) in zip(some, texts, strict=True):
            if _count(f"{prompt}\n{answer}", words) == len(words):
                in_prompt = _count(prompt, words) >= _count(answer, words)
                told = _sentence(prompt if in_prompt else answer, words)
                return Found(number, told, "prompt" if in_prompt else "answer")
    query = "SELECT 1 FROM sub_sessions WHERE sub_session_id = ? AND overridden & ?"
    if reader.db.execute(query, (name, _LABEL)).fetchone() is None:
        return None
    (row,) = rows_of(reader, scope, [name])
    title = f"{row.title or ''}\n{row.summary or ''}"
    return Found(None, _sentence(title, words), "title") if _count(title, words) == len(words) else None


def _count(text: str, words: list[re.Pattern[str]]) -> int:
    """How many of the words stand in it."""
    folded = text.casefold()
    return sum(word.search(folded) is not None for word in words)


def _texts(reader: Reader, turns: list[Turn]) -> list[tuple[str, str]]:
    """The prompt and the answer of each; empty where there is none, or it has been forgotten."""
    refs: list[tuple[TextRef | None, TextRef | None]] = [
        (text_of(turn), None if turn.response_position is None else TextRef(turn.response_position, "response"))
        for turn in turns
    ]
    texts = reader.texts(ref for pair in refs for ref in pair)
    found = []
    for turn, (asked, answered) in zip(turns, refs, strict=True):
        answer = None if answered is None else texts[answered]
        if answered is not None and answer is None:  # an agent's own log told it, among other words
            told = response_ref(reader.db, turn)
            answer = None if told is None else reader.texts([told])[told]
        found.append(((asked and texts[asked]) or "", answer or ""))
    return found


def _sentence(text: str, words: list[re.Pattern[str]]) -> str:
    """Of the text the sentence with the most words, on one line, cut around the first of them."""
    sentences = [" ".join(each.split()) for each in re.split(r"(?<=[.!?])\s+|\n+", plain(text))]
    best = max(sentences, key=lambda each: _count(each, words))
    if len(best) <= SENTENCE_CHARACTERS_MAX:
        return best
    at = min((found.start() for word in words if (found := word.search(best.casefold()))), default=0)
    start = max(0, min(at - SENTENCE_CHARACTERS_MAX // 3, len(best) - SENTENCE_CHARACTERS_MAX))
    return f"{'…' if start else ''}{best[start : start + SENTENCE_CHARACTERS_MAX]}…"
