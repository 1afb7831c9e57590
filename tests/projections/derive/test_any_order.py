"""The same set of facts gives the same tables, and a batch names every developer of whom anything changed."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import given, strategies as st

from aggregates.decide import TimePassed
from aggregates.event import Scope
from aggregates.ids import record_capture_id, turn_id_from_capture
from aggregates.sub_sessions.arcs import Arc
from projections.apply import apply
from projections.explain.explain import explanation
from projections.reader import unpack
from tests.fuzz.odd import examples
from tests.support.facts import (
    ANA,
    BEN,
    DIGESTER,
    MONDAY,
    Log,
    Placed,
    edit,
    empty_views,
    project,
    reader,
    request,
    shell,
    tables,
)
from tests.support.stages import DAY, HOUR, MINUTE, SECOND
from tests.support.tables import beside, table

PROMPTS = (
    "Fix the crash in src/parser.py when the input is empty, add a test and run pytest",
    "thanks, that works",
    "no, that is still wrong, it fails again",
    "Now write a README section about the new export command",
    "/clear",
    "undo that",
    "<task-notification>\nThe build is done.",
    "Implement the plan as specified. Do NOT edit the plan file itself.",
    "Add a --json flag to the list command in src/cli.py",
)
SESSIONS = ("s1", "s2")
TIMES = st.integers(0, 90).map(lambda steps: MONDAY + steps * 30 * SECOND + steps % 7)

_prompt = st.tuples(st.just("prompt"), st.sampled_from(SESSIONS), st.sampled_from(PROMPTS), TIMES, st.booleans())
_log_prompt = st.tuples(st.just("log"), st.sampled_from(SESSIONS), st.sampled_from(PROMPTS), TIMES, st.booleans())
_work = st.tuples(
    st.just("work"),
    st.sampled_from(SESSIONS),
    st.sampled_from(("edit", "check", "commit", "back", "request", "error", "end", "clear"))
    | st.sampled_from(("stop", "again", "call", "lines", "child")),
    TIMES,
    st.booleans(),
)
_topics = st.sampled_from(("gap", "gap", "goal", "rework", "intent", "title"))
_said = st.tuples(st.just("said"), st.just(""), _topics, st.integers(0, 24), st.booleans())
_judged = st.tuples(st.just("judged"), st.just(""), st.just(""), st.integers(0, 24), st.booleans())
CORRECTED = st.lists(st.one_of(_prompt, _log_prompt, _work, _work, _said, _judged), min_size=1, max_size=30)
"""Prompts, work, and what people, and text models, say about some prompt of the story."""


def told(story: list[tuple[str, str, str, int, bool]], scope: Scope = ANA) -> list[Placed]:
    """The facts of a story; what people and text models say comes at its end."""
    log, asked = Log(scope), list[tuple[int, int, str, UUID]]()
    # Once and first, as a server does it: a claim has its whole session derived anew, and would hide what was missed.
    for session in SESSIONS:
        log.claim(session)
    for number, (what, session, detail, at_us, named) in enumerate(story):
        # Now and then the same name twice, and a name that telemetry knows before the prompt is there.
        host = f"host-{at_us if number % 3 else at_us % 7}" if named else None
        if what == "prompt":
            prompt_id = log.prompt(
                session, detail, at_us, name=f"{detail}{number}", host_prompt_id=host, cwd_digest=7 + (number % 5 == 0)
            )
            asked.append((at_us, number, session, prompt_id))
            if named:
                log.answer(session, prompt_id, "Done. All tests pass.", at_us + 20 * SECOND)
        elif what == "log":
            fields: dict[str, Any] = {"kind": "prompt", "at_us": at_us, "text": detail, "prompt_id": host}
            log.records(session, fields | {"record_id": f"log-{number}"})
            asked.append((at_us, number, session, record_capture_id(session, f"log-{number}")))
        elif what == "work" and detail == "lines":
            log.lines(session, at_us, number, temporality="cumulative" if named else "delta", start_us=MONDAY)
        elif what == "work":
            log.records(session, WORK[detail](at_us) | {"record_id": f"work-{number}", "prompt_id": host})
    _say_all(log, story, asked)
    return log.facts


def _say_all(log: Log, story: list[tuple[str, str, str, int, bool]], asked: list[tuple[int, int, str, UUID]]) -> None:
    """People speak of any prompt, text models of two that follow each other in time in a session."""
    captures = [(session, capture_id) for _, _, session, capture_id in asked]
    ordered = [[capture for *_, session, capture in sorted(asked) if session == name] for name in SESSIONS]
    gaps = [(name, *two) for name, own in zip(SESSIONS, ordered, strict=True) for two in pairwise(own)]
    for what, _, detail, place, holds in story:
        if what == "said" and captures:
            _say(log, *captures[place % len(captures)], detail, holds)
        elif what == "judged" and gaps:
            log.answers_gap(*gaps[place % len(gaps)], holds)


def _say(log: Log, session: str, capture_id: UUID, topic: str, holds: bool) -> None:
    match topic:
        case "gap":
            log.corrects_gap(session, capture_id, holds)
        case "goal":
            log.corrects_goal(session, capture_id, holds)
        case "rework":
            log.corrects_rework(session, capture_id, holds)
        case "intent":
            log.corrects_intent(session, capture_id, "question" if holds else "feature")
        case _:
            log.renames(capture_id, "Mine")


WORK: dict[str, Callable[[int], dict[str, Any]]] = {
    "edit": edit,
    "check": lambda at_us: shell(at_us, "pytest -q"),
    "commit": lambda at_us: shell(at_us, "git commit -am done"),
    "back": lambda at_us: shell(at_us, ("git checkout -- app.py", "git restore src/", "git stash")[at_us % 3]),
    "request": request,
    # Just before whatever else is told of the moment.
    "end": lambda at_us: {"kind": "session_end", "source": "exit", "at_us": at_us - 2 * SECOND},
    "clear": lambda at_us: {"kind": "session_start", "source": "clear", "at_us": at_us},
    "child": lambda at_us: {"kind": "session_start", "source": "subagent", "at_us": at_us},
    # The agent's log and its transcript tell of one request, each at a time of its own.
    "again": lambda at_us: request(at_us, request_id=f"req-{at_us % 3}", output_tokens=at_us % 5, **_logged(at_us)),
    "call": lambda at_us: edit(at_us, call_id=f"call-{at_us % 3}") | ({} if at_us % 2 else {"lines_added": None}),
    "stop": lambda at_us: {"kind": "interruption", "at_us": at_us},
    "error": lambda at_us: {"kind": "error", "at_us": at_us, "status_code": 529},
}


def _logged(at_us: int) -> dict[str, Any]:
    return {"origin": 0} if at_us % 2 else {}


class Live:
    """Views that serve: facts are applied to them as they come."""

    def __init__(self) -> None:
        self.db = empty_views()
        self.facts: dict[int, Placed] = {}

    def changed(self, facts: Sequence[Placed]) -> set[Scope]:
        """Of those that are new, in one batch."""
        fresh = [fact for fact in facts if fact.position not in self.facts]
        self.facts |= {fact.position: fact for fact in fresh}
        return apply(self.db, fresh, b"", lambda _developer_id: DIGESTER, self._fetch) if fresh else set()

    def _fetch(self, positions: Iterable[int]) -> dict[int, Any]:
        return {position: self.facts[position].event for position in positions}

    def shown(self) -> dict[str, set[Any]]:
        """Every sub-session as it can be fetched, by its developer."""
        query = "SELECT developer_id, sub_sessions.*, settles_at_us <= log_time_us FROM sub_sessions, bookmark"
        rows: dict[str, set[Any]] = {}
        for developer_id, *row in self.db.execute(query):
            rows.setdefault(developer_id, set()).add(tuple(row))
        return rows


def numbered(facts: Iterable[Placed]) -> list[Placed]:
    return [Placed(number, fact.event) for number, fact in enumerate(facts, 1)]


CUTS = st.lists(st.integers(0, 90), max_size=12) | st.just(list(range(99)))


@examples(25)
@given(CORRECTED, st.randoms(use_true_random=False), CUTS, st.lists(st.integers(0, 40), max_size=4))
def test_any_order_any_batches_and_duplicates_give_the_same_tables(
    story: Any, random: Any, cuts: Any, pauses: Any
) -> None:
    """Late, shuffled, doubled and cut anywhere, or one at a time: the tables are those of the facts applied at once.
    And nothing changes for whom no batch names."""
    facts = told(story)
    for at in sorted(pauses, reverse=True):
        facts.insert(at, Placed(0, TimePassed(received_at_us=MONDAY + (at % 7) * HOUR)))
    facts = numbered(facts)
    at_once = tables(project(facts))
    assert at_once["failed"] == []
    shuffled = list(facts) + [fact for fact in facts if random.random() < 0.2]
    random.shuffle(shuffled)
    assert tables(project(shuffled, cuts)) == at_once
    live = Live()
    known = live.shown()
    if random.random() < 0.5:  # a word may come before the prompt that it is about
        facts = facts[: len(SESSIONS)] + random.sample(rest := facts[len(SESSIONS) :], len(rest))
    for start, end in pairwise(sorted({0, *(cut for cut in cuts if cut < len(facts)), len(facts)})):
        named = {str(scope.developer_id) for scope in live.changed(facts[start:end])}
        before, known = known, live.shown()
        assert {each for each in before.keys() | known if before.get(each) != known.get(each)} <= named
    assert tables(live.db) == at_once


def test_a_claim_may_come_after_what_two_sessions_tell_of_one_prompt() -> None:
    same = (PROMPTS[1], MONDAY, True)
    facts = numbered(told([("prompt", "s1", PROMPTS[0], MONDAY, False), ("log", "s1", *same), ("prompt", "s2", *same)]))
    late_claims = facts[len(SESSIONS) :] + facts[: len(SESSIONS)]
    assert tables(project(late_claims, range(len(facts)))) == tables(project(facts))


def test_no_fact_of_the_stories_fails() -> None:
    """A fact that cannot be derived would make every comparison above an empty one."""
    story = [
        ("prompt", "s1", PROMPTS[0], MONDAY, True),
        ("work", "s1", "edit", MONDAY + MINUTE, False),
        ("work", "s1", "check", MONDAY + 2 * MINUTE, False),
        ("log", "s1", PROMPTS[0], MONDAY + SECOND, False),
        ("prompt", "s1", PROMPTS[3], MONDAY + 3 * MINUTE, False),
    ]
    rows = tables(project(told(story)))
    assert (rows["failed"], len(rows["turns"]), bool(rows["sub_sessions"])) == ([], 2, True)


# --- late facts, each of which once left the tables of a live server unlike those of a replay ---------------------

WORD = r"(\d?)([a-z]+)@(-?[\d.]+)(?:=(\d))?(?:#(\w+))?"


def late(story: str) -> Log:
    """A session's number, what is told, `@` of which minute, `=` in which words, `#` in which prompt's name."""
    log, captures = Log(), dict[int, list[tuple[str, UUID]]]()
    words = re.findall(WORD, story)
    for session in dict.fromkeys(f"s{number or 1}" for number, *_ in words):
        log.claim(session)
    for place, (number, what, minute, words_of, host) in enumerate(words):
        session, at_us = f"s{number or 1}", MONDAY + round(float(minute) * 60) * SECOND
        text = (*PROMPTS, f"go {place}")[int(words_of)] if words_of else f"go on with part {place} of it please"
        known = sorted(captures.setdefault(at_us, []), key=lambda each: turn_id_from_capture(each[1]))
        match what:
            case "ask" | "read":
                source = "claude-code-transcript" if what == "read" else "claude-code"
                told_by = {"host_prompt_id": host or None, "cwd_digest": 7, "source": source}
                made = log.prompt(session, text, at_us, name=f"{place}", **told_by)
                captures[at_us].append((session, made))
            case "work":
                captures[at_us].append((session, log.works(session, at_us, text)))
            case "split" | "join":  # of prompts of one moment the last is parted, the first is joined
                log.corrects_gap(*known[-1 if what == "split" else 0], what == "split")
            case "log":
                told_text = {"text": text} if words_of else {}
                log.records(session, {"kind": "prompt", "at_us": at_us, "prompt_id": host or None, **told_text})
            case "answer":
                log.answer(session, captures[at_us - MINUTE][0][1], "Done.", at_us, input_tokens=5)
            case "leaves":
                end = {"kind": "session_end", "source": "exit", "at_us": at_us}
                log.records(session, end | {"prompt_id": host or None})
            case _:
                log.records(session, WORK[what](at_us) | {"prompt_id": host or None})
    return log


@beside()
def test_what_comes_late_leaves_the_tables_of_a_replay(story: str, turns: str, closings: str) -> None:
    """One fact at a time, in the order told, or all at once: so many turns and tokens in each sub-session."""
    facts = late(story).facts
    live = tables(project(facts, range(len(facts))))
    assert live == tables(project(facts))
    assert live["failed"] == []
    rows = project(facts).execute("SELECT turns, input_tokens FROM sub_sessions ORDER BY started_us, turns")
    assert " ".join(f"{count}:{tokens}" for count, tokens in rows) == turns
    assert " ".join(unpack(row[6], Arc).closed_by or "-" for row in live["arcs"]) == closings


# --- why it is so, whatever came first -----------------------------------------------------------------------------


PLACES = re.compile(rb'(?<="position":)\d+|(?<="positions":)\[[^]]*]|(?<="asked_of":)\[[^]]*]')


def explained(facts: Sequence[Placed]) -> list[Any]:
    """Each sub-session's explanation, less the places in the log."""
    db = project(facts)
    names = [name for (name,) in db.execute("SELECT sub_session_id FROM sub_sessions ORDER BY 1")]
    shown = [msgspec.json.encode(explanation(reader(db, facts), ANA, UUID(name), 1)) for name in names]
    return [msgspec.json.decode(PLACES.sub(rb"null", each)) for each in shown]


@examples(20)
@given(st.lists(st.one_of(_prompt, _log_prompt, _work, _work), min_size=1, max_size=20), st.randoms())
def test_an_explanation_does_not_depend_on_what_came_first(story: Any, random: Any) -> None:
    facts = [*told(story), Placed(0, TimePassed(received_at_us=MONDAY + DAY))]
    rest = facts[len(SESSIONS) :]
    shuffled = [*facts[: len(SESSIONS)], *random.sample(rest, len(rest))]
    assert explained(numbered(shuffled)) == explained(numbered(facts))


def test_evidence_tells_when_it_was_said_or_done() -> None:
    """Also where an agent sends a whole session at once, and where another session's telemetry tells of it."""
    log, at = Log().claim("s1").claim("s2"), [MONDAY + minute * MINUTE for minute in range(10)]
    asked: list[dict[str, Any]] = [
        {"kind": "prompt", "at_us": at_us, "text": text, "prompt_id": f"p{at_us}"}
        for at_us, text in ((at[0], PROMPTS[0]), (at[3], PROMPTS[8]), (at[7], PROMPTS[1]))
    ]
    work = edit(at[1]), shell(at[2], "pytest -q"), edit(at[4], "src/cli.py"), shell(at[5], "pytest -q")
    said = {"kind": "response", "at_us": at[8], "text": "Done. All tests pass."}
    log.records("s1", *asked, *work, said)
    log.prompt("s2", PROMPTS[0], MONDAY, host_prompt_id=f"p{at[0]}", source="claude-code-transcript")
    shown = explained(log.passes(MONDAY + DAY).facts)
    pieces = [(each["at"][14:16], each["what"]) for goal in shown for each in goal["outcome"]["evidence_for"]]
    assert sorted(pieces) == [
        ("02", "a test, build or other check was run after the last change, and its command ended without an error"),
        ("04", "a change was made"),
        ("05", "a test, build or other check was run after the last change, and its command ended without an error"),
        ("07", "the user's words read like thanks or acceptance"),
        ("08", "the last answer tells of work that is done"),
    ]


# --- whom a batch concerns ----------------------------------------------------------------------------------------


@table(
    ("then", "concerns"),
    {
        "work": (lambda log, _capture: log.records("s1", edit(MONDAY + HOUR)), True),
        "a word on completion": (lambda log, capture: log.corrects_goal("s1", capture, True), True),
        "a word on the intent": (lambda log, capture: log.corrects_intent("s1", capture, "question"), True),
        "a title": (lambda log, capture: log.renames(capture, "Mine"), True),
        "settling": (lambda log, _capture: log.passes(MONDAY + DAY), True),
        "time alone": (lambda log, _capture: log.passes(MONDAY + 2 * MINUTE), False),
    },
)
def test_whom_a_fact_concerns(then: Any, concerns: bool) -> None:
    """What settled once does not settle again."""
    live, log = Live(), Log()
    capture_id = log.works("s1", MONDAY)
    assert live.changed(log.facts) == {ANA}
    then(log, capture_id)
    assert live.changed(log.facts) == ({ANA} if concerns else set())
    live.changed(log.passes(MONDAY + 2 * DAY).facts)
    assert live.changed(log.passes(MONDAY + 3 * DAY).facts) == set()


def test_two_developers_in_one_batch_are_both_named() -> None:
    live, hers, his = Live(), Log(ANA), Log(BEN)
    hers.prompt("s1", PROMPTS[0], MONDAY)
    his.prompt("s2", PROMPTS[0], MONDAY)
    placed = numbered([*hers.facts, *his.facts])
    assert live.changed(placed[: len(hers.facts)]) == {ANA}
    assert live.changed(placed) == {BEN}
    assert Live().changed(placed) == {ANA, BEN}
