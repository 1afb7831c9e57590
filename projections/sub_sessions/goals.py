"""The goals of a range as a person looks for them: how many came out how, a page of them, those that hold words."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

import msgspec

from aggregates.event import Scope, shaped
from aggregates.ids import plain
from aggregates.reading.verdicts import Intent
from aggregates.sub_sessions.sub_session import OVERRIDE_FIELDS
from aggregates.times import INSTANT_MAX_US, UNTIMED_US, US_PER_SECOND, Window, iso
from aggregates.turns.turn import Turn
from projections import Sort
from projections.derive.sessions import response_ref, text_of
from projections.reader import Reader, TextRef, bound, json_array, sql
from projections.sub_sessions.projects import UNKNOWN, Project, Projects, projects_of
from projections.sub_sessions.rows import Brief, GoalOutcome, SubSessionRow, first_and_last, select, turns_in

ROWS_MAX = 50_000  # of a range so many goals are counted, the newest: each costs some three microseconds
CostKind = Literal["exact", "lower_bound", "upper_bound", "about"]
"""Whether a cost may have been more, or less, or either."""


class Goal(Brief, frozen=True, kw_only=True):
    """One sub-session as lists show it."""

    outcome_reason: str | None  # why it is undecided, or does not count
    project: Project | None  # null where nothing told it
    agent: str | None
    files: int  # that it changed
    cost_kind: CostKind | None
    overridden: bool  # whether its developer said something about it


class Goals(msgspec.Struct, frozen=True, kw_only=True):
    """`counts` add up to `begun`, whichever outcome was asked for; both are null where the range holds too many."""

    begun: int | None
    counts: dict[GoalOutcome, int] | None  # of each outcome
    goals: list[Goal]
    is_partial: bool  # whether the range holds more goals than are looked at: the newest are
    next: str | None  # the `cursor` of the next page
    agents: list[str]  # that were worked with in the range
    projects: list[Project]
    oldest_at: str | None  # when the developer's first goal began, whatever the range
    newest_at: str | None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which goals, and in which order; None is any."""

    window: Window
    outcome: GoalOutcome | None = None
    intent_class: Intent | None = None
    agent: str | None = None
    project: str | None = None  # its name or key; `unknown` where nothing told it
    overridden: bool = False  # only those that a person said something about
    sort: Sort = "started"
    ascending: bool = False


_TOOK = "s.ended_us - s.started_us"
_KEYS: dict[Sort, str] = {
    "started": "s.started_us",
    "duration": f"iif({{settled}} AND NOT ({_TOOK} > 0 AND {_TOOK} < {UNTIMED_US}), {_TOOK}, NULL)",
    "cost": "iif((s.requests OR s.failed_requests) AND NOT s.unpriced_requests, s.cost_usd_nano, NULL)",
    "tokens": "{whole_tokens}",
    "grade": "s.score",
    "turns": "s.turns",
}
assert tuple(_KEYS) == get_args(Sort)
_BEYOND = 1 << 62  # what is not known comes last, whichever way


class Cursor(NamedTuple):
    """The place of a goal in an order."""

    key: float
    started_us: int
    sub_session_id: str

    @classmethod
    def read(cls, text: str) -> "Cursor":
        """Raises `ValueError` with a sentence."""
        try:
            key, started, name = text.split("~")
            found = cls(float(key) if "." in key else int(key), int(started), name)
            if max(abs(found.key), abs(found.started_us)) > _BEYOND:  # for SQLite
                raise ValueError(text)
            return found
        except ValueError:
            raise ValueError("cursor must be the `next` of a page before") from None

    def __str__(self) -> str:
        return "~".join(map(str, self))


def goals(reader: Reader, scope: Scope, wanted: Wanted, limit: int, cursor: Cursor | None = None) -> Goals:
    beyond = reader.db.execute(sql("too_many_goals"), bound(scope, wanted.window, most=ROWS_MAX)).fetchone()
    is_partial, projects = beyond is not None, projects_of(reader, scope)
    window = Window(beyond[0] + 1, wanted.window.end_us) if is_partial else wanted.window
    asked = Asked(msgspec.structs.replace(wanted, window=window), projects)
    tallies = reader.db.execute(sql("tallied_goals", fits=asked.fits), bound(scope, window, **asked.values))
    agents, folders, counts = set[str | None](), set[int | None](), Counter[GoalOutcome]()
    for outcome, agent, folder, fits, count in tallies:
        agents.add(agent)
        folders.add(folder)
        counts[outcome] += count if fits else 0
    found = places(reader, scope, asked, limit + 1, cursor)
    oldest, newest = first_and_last(reader, scope, Window(0, INSTANT_MAX_US))
    return Goals(
        begun=None if is_partial else counts.total(),
        counts=None if is_partial else {each: counts[each] for each in get_args(GoalOutcome)},
        goals=list(shown(reader, rows_of(reader, scope, [each.sub_session_id for each in found[:limit]]), projects)),
        is_partial=is_partial,
        next=str(found[limit - 1]) if len(found) > limit else None,
        agents=sorted(filter(None, agents)),
        projects=projects.among(folders),
        oldest_at=None if oldest is None else iso(oldest),
        newest_at=None if newest is None else iso(newest),
    )


class Asked:
    """What is asked for, as SQL."""

    def __init__(self, wanted: Wanted, projects: Projects) -> None:
        self.wanted, self.is_unknown = wanted, (wanted.project or "").casefold() == UNKNOWN
        self.folders = frozenset(projects.of if self.is_unknown else projects.folders(wanted.project or ""))

    @property
    def fits(self) -> str:
        """Whatever the outcome."""
        wanted, told = self.wanted, "coalesce(s.folder IN (SELECT value FROM json_each(:folders)), 0)"
        asked = {
            "coalesce(s.intent = :intent, 0)": wanted.intent_class is not None,
            "coalesce(s.agent = :agent, 0)": wanted.agent is not None,
            "s.overridden <> 0": wanted.overridden,
            f"{told} <> :is_unknown": wanted.project is not None,
        }
        return " AND ".join(condition for condition, is_asked in asked.items() if is_asked) or "1"

    @property
    def where(self) -> str:
        return f"AND {self.fits}" + (" AND {outcome} = :outcome" if self.wanted.outcome is not None else "")

    @property
    def values(self) -> dict[str, object]:
        wanted = self.wanted
        named = {"outcome": wanted.outcome, "intent": wanted.intent_class, "agent": wanted.agent}
        return named | {"folders": json_array(sorted(self.folders)), "is_unknown": int(self.is_unknown)}


def places(reader: Reader, scope: Scope, asked: Asked, limit: int, cursor: Cursor | None) -> list[Cursor]:
    """Where goals stand in their order, from behind one of them on."""
    order, key = asked.wanted, _KEYS[asked.wanted.sort]
    if order.sort not in ("started", "turns"):  # which are always known; by the first an index goes
        key = f"coalesce({key}, {_BEYOND if order.ascending else -1})"
    sign, direction = (">", "ASC") if order.ascending else ("<", "DESC")
    place = f"{key}, s.started_us, s.sub_session_id"
    where = asked.where + ("" if cursor is None else f" AND ({place}) {sign} (:key, :started, :id) ")
    at = {} if cursor is None else {"key": cursor.key, "started": cursor.started_us, "id": cursor.sub_session_id}
    ordered = ", ".join(f"{each} {direction}" for each in (key, "s.started_us", "s.sub_session_id"))
    query = sql("goal_places", place=place, where=where, ordered=ordered)
    values = bound(scope, asked.wanted.window, limit=limit, **asked.values, **at)
    return [Cursor(*row) for row in reader.db.execute(query, values)]


def rows_of(reader: Reader, scope: Scope, ids: list[str]) -> list[SubSessionRow]:
    """In the order of their ids."""
    # By their places: SQLite would look through all of the developer's for a list of ids.
    named = "SELECT rowid FROM sub_sessions WHERE sub_session_id IN (SELECT value FROM json_each(:ids))"
    found = select(reader, scope, f"AND s.rowid IN ({named})", ids=json_array(ids))
    order = {name: place for place, name in enumerate(ids)}
    return sorted(found, key=lambda row: order[row.sub_session_id])


def shown(reader: Reader, rows: Iterable[SubSessionRow], projects: Projects) -> Iterator[Goal]:
    rows = list(rows)
    ids = json_array([row.sub_session_id for row in rows])
    files = dict(reader.db.execute(sql("changed_files"), (ids,)).fetchall())
    for row in rows:
        yield row.shown_as(
            Goal,
            outcome_reason=_reason(row),
            project=None if row.folder is None else projects.of.get(row.folder),
            files=files.get(row.sub_session_id, 0),
            cost_kind=_cost_kind(row),
            overridden=row.said,
        )


def _reason(row: SubSessionRow) -> str | None:
    match row.outcome:
        case "undecided":
            return row.undecided_reason
        case "not_counted":
            return "unclassified" if row.floor_passed else row.trivia_reason or "too_few_turns"
        case _:
            return None


def _cost_kind(row: SubSessionRow) -> CostKind | None:
    more, less = row.lower_bound_requests > 0, row.upper_bound_requests > 0
    if row.cost_usd is None:
        return None
    return "about" if more and less else "lower_bound" if more else "upper_bound" if less else "exact"


# Goals in which some words were said: texts are opened one by one, the newest goals first, for a moment only.

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
        goals=[shaped(FoundGoal, row, found=found[row.score_v3_sub_session_id]) for row in rows],
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
    folded = text.casefold()
    return sum(word.search(folded) is not None for word in words)


def _texts(reader: Reader, turns: list[Turn]) -> Iterator[tuple[str, str]]:
    """The prompt and the answer of each; empty where there is none, or it has been forgotten."""
    refs: list[tuple[TextRef | None, TextRef | None]] = [
        (text_of(turn), None if turn.response_position is None else TextRef(turn.response_position, "response"))
        for turn in turns
    ]
    texts = reader.texts(ref for pair in refs for ref in pair)
    for turn, (asked, answered) in zip(turns, refs, strict=True):
        answer = None if answered is None else texts[answered]
        if answered is not None and answer is None:  # an agent's own log told it, among other words
            told = response_ref(reader.db, turn)
            answer = None if told is None else reader.texts([told])[told]
        yield (asked and texts[asked]) or "", answer or ""


def _sentence(text: str, words: list[re.Pattern[str]]) -> str:
    """Of the text the sentence with the most words, on one line, cut around the first of them."""
    sentences = [" ".join(each.split()) for each in re.split(r"(?<=[.!?])\s+|\n+", plain(text))]
    best = max(sentences, key=lambda each: _count(each, words))
    if len(best) <= SENTENCE_CHARACTERS_MAX:
        return best
    at = min((found.start() for word in words if (found := word.search(best.casefold()))), default=0)
    start = max(0, min(at - SENTENCE_CHARACTERS_MAX // 3, len(best) - SENTENCE_CHARACTERS_MAX))
    return f"{'…' if start else ''}{best[start : start + SENTENCE_CHARACTERS_MAX]}…"
