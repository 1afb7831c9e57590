"""The same set of facts gives the same tables."""

from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.event import Scope
from aggregates.ids import record_capture_id, turn_id_from_capture
from aggregates.sub_sessions.arcs import Arc
from projections.reader import unpack
from tests.fuzz.odd import examples
from tests.support.facts import ANA, MONDAY, Log, Placed, edit, project, prompt_name, request, shell, tables
from tests.support.stages import HOUR, MINUTE, SECOND

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
    st.one_of(
        st.sampled_from(("edit", "check", "commit", "back", "request", "error", "end", "clear")),
        st.sampled_from(("stop", "again", "call", "lines", "child")),
    ),
    TIMES,
    st.booleans(),
)
_said = st.tuples(
    st.just("said"),
    st.sampled_from(SESSIONS),
    st.sampled_from(("gap", "gap", "goal", "rework", "intent", "title")),
    st.integers(0, 24),
    st.booleans(),
)
_judged = st.tuples(st.just("judged"), st.just(""), st.just(""), st.integers(0, 24), st.booleans())
CORRECTED = st.lists(st.one_of(_prompt, _log_prompt, _work, _work, _said, _judged), min_size=1, max_size=30)
"""Prompts, work, and what people, and text models, say about some prompt of the story."""


def told(story: list[tuple[str, str, str, int, bool]], scope: Scope = ANA) -> list[Placed]:
    """The facts of a story."""
    log = Log(scope)
    # Once and first, as a server does it: a claim has its whole session derived anew, and would hide what was missed.
    for session in SESSIONS:
        log.claim(session)
    captures, neighbours = _captures(story), _neighbours(story)
    for number, (what, session, detail, at_us, named) in enumerate(story):
        # Now and then the same name twice, and a name that telemetry knows before the prompt is there.
        host = f"host-{at_us if number % 3 else at_us % 7}" if named else None
        cwd = {"cwd_digest": 7}
        if what == "prompt":
            prompt_id = log.prompt(session, detail, at_us, name=f"{detail}{number}", host_prompt_id=host, **cwd)
            if named:
                log.answer(session, prompt_id, "Done. All tests pass.", at_us + 20 * SECOND)
        elif what == "log":
            fields: dict[str, Any] = {"kind": "prompt", "at_us": at_us, "text": detail, "prompt_id": host}
            log.records(session, fields | {"record_id": f"log-{number}"})
        elif what == "said" and captures:
            _say(log, *captures[at_us % len(captures)], detail, named)
        elif what == "judged" and neighbours:
            log.answers_gap(*neighbours[at_us % len(neighbours)], named)
        elif what == "work" and detail == "lines":
            log.lines(session, at_us, number, temporality="cumulative" if named else "delta", start_us=MONDAY)
        elif what == "work":
            log.records(session, _work_record(detail, at_us) | {"record_id": f"work-{number}", "prompt_id": host})
    return log.facts


def _captures(story: list[tuple[str, str, str, int, bool]]) -> list[tuple[str, UUID]]:
    """Every prompt of a story: its session and its capture; in the same words as they are told."""
    captures = []
    for number, (what, session, detail, at_us, _) in enumerate(story):
        if what == "prompt":
            captures.append((session, prompt_name(session, f"{detail}{number}", at_us)))
        elif what == "log":
            captures.append((session, record_capture_id(session, f"log-{number}")))
    return captures


def _neighbours(story: list[tuple[str, str, str, int, bool]]) -> list[tuple[str, UUID, UUID]]:
    """Every two prompts of a session that follow each other in time: the gaps that a model may be asked about."""
    times = [(at_us, number) for number, (_, _, _, at_us, _) in enumerate(each for each in story if _asks(each))]
    captures = _captures(story)
    ordered = [captures[number] for _, number in sorted(times)]
    by_session = [[capture for session, capture in ordered if session == name] for name in SESSIONS]
    return [(name, *two) for name, own in zip(SESSIONS, by_session, strict=True) for two in pairwise(own)]


def _asks(step: tuple[str, str, str, int, bool]) -> bool:
    return step[0] in ("prompt", "log")


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


_OF_SESSIONS = {
    # Just before whatever else is told of the moment.
    "end": ("session_end", "exit", 2 * SECOND),
    "clear": ("session_start", "clear", 0),
    "child": ("session_start", "subagent", 0),
}


def _work_record(kind: str, at_us: int) -> dict[str, Any]:
    match kind:
        case "edit":
            return edit(at_us)
        case "check":
            return shell(at_us, "pytest -q")
        case "commit":
            return shell(at_us, "git commit -am done")
        case "back":
            return shell(at_us, ("git checkout -- app.py", "git restore src/", "git stash")[at_us % 3])
        case "request":
            return request(at_us)
        case "end" | "clear" | "child":
            told, source, before_us = _OF_SESSIONS[kind]
            return {"kind": told, "source": source, "at_us": at_us - before_us}
        case "again":
            # The agent's log and its transcript tell of one request, each at a time of its own.
            logged = {"origin": 0} if at_us % 2 else {}
            return request(at_us, request_id=f"req-{at_us % 3}", output_tokens=at_us % 5, **logged)
        case "call":
            details = {} if at_us % 2 else {"lines_added": None}
            return edit(at_us, call_id=f"call-{at_us % 3}") | details
        case "stop":
            return {"kind": "interruption", "at_us": at_us}
        case _:
            return {"kind": "error", "at_us": at_us, "status_code": 529}


@examples(80)
@given(CORRECTED, st.randoms(use_true_random=False), st.lists(st.integers(0, 60), max_size=12))
def test_any_order_any_batches_and_duplicates_give_the_same_tables(story: Any, random: Any, cuts: Any) -> None:
    """Late, shuffled, doubled and cut anywhere, or one at a time: the tables are those of the facts applied at once."""
    facts = told(story)
    at_once = tables(project(facts))
    assert at_once["failed"] == []
    shuffled = list(facts) + [fact for fact in facts if random.random() < 0.2]
    random.shuffle(shuffled)
    assert tables(project(shuffled, cuts)) == at_once
    assert tables(project(facts, range(len(facts)))) == at_once


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
    assert rows["failed"] == []
    assert len(rows["turns"]) == 2
    assert rows["sub_sessions"]


def test_a_prompt_that_was_captured_three_ways_is_one_turn() -> None:
    """A plugin, the agent's own log and an imported transcript each saw the same prompt."""
    log = Log()
    log.prompt("s1", PROMPTS[0], MONDAY)
    log.prompt("s1", PROMPTS[0], MONDAY + SECOND, name="read later", source="claude-code-transcript")
    log.records("s1", {"kind": "prompt", "at_us": MONDAY + 2 * SECOND, "text": PROMPTS[0]})
    assert len(tables(project(log.facts))["turns"]) == 1


# --- late facts, each of which once left the tables of a live server unlike those of a replay ---------------------


def _live_and_replayed(log: Log) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The tables after one fact at a time, in the order told, and after all at once."""
    return tables(project(log.facts, range(len(log.facts)))), tables(project(log.facts))


def test_a_late_first_prompt_takes_its_session_out_of_a_merged_sub_session() -> None:
    """The arc that was merged is gone, so what is left of the sub-session must be concluded again."""
    log = Log()
    log.prompt("s1", PROMPTS[0], MONDAY, cwd_digest=7)
    log.records("s1", edit(MONDAY + MINUTE), {"kind": "session_end", "source": "exit", "at_us": MONDAY + 2 * MINUTE})
    log.prompt("s2", PROMPTS[1], MONDAY + 5 * MINUTE, cwd_digest=7)
    log.records("s2", edit(MONDAY + 6 * MINUTE))
    assert len(tables(project(log.facts))["sub_sessions"]) == 1
    log.prompt("s2", PROMPTS[5], MONDAY - MINUTE, cwd_digest=7)
    live, replayed = _live_and_replayed(log)
    assert live["failed"] == []
    assert live == replayed
    assert len(live["sub_sessions"]) == 2


def _prompts(*texts: str | tuple[str, str]) -> Log:
    """An hour apart, some with the agent's name for them."""
    log = Log()
    for number, each in enumerate(texts):
        text, host = each if isinstance(each, tuple) else (each, None)
        log.prompt("s1", text, MONDAY + number * HOUR, name=f"{number}", host_prompt_id=host, cwd_digest=7)
    return log


def _overtaken() -> Log:
    """Until a prompt is there, telemetry that names it lies with the turn before by time."""
    log = _prompts(PROMPTS[0], PROMPTS[3], PROMPTS[-1]).records("s1", edit(MONDAY + 10 * MINUTE, prompt_id="later"))
    log.prompt("s1", PROMPTS[1], MONDAY + 4 * HOUR, host_prompt_id="later", cwd_digest=7)
    return log


def _named_twice() -> Log:
    """A name that is used again, much later, takes nothing away from the turn that bore it first."""
    log = _prompts((PROMPTS[0], "twice"), PROMPTS[3], PROMPTS[-1], (PROMPTS[1], "twice"))
    return log.records("s1", edit(MONDAY + MINUTE, prompt_id="twice"), request(MONDAY + 4 * HOUR))


def _reports_of_tasks() -> Log:
    """Of two reports of background tasks the first has the name of work long before it: it is not brought back."""
    log = _prompts(PROMPTS[0], PROMPTS[3], PROMPTS[8], PROMPTS[0])
    log.records("s1", edit(MONDAY + MINUTE, prompt_id="task"))
    log.prompt("s1", PROMPTS[6], MONDAY + 3 * HOUR + MINUTE, name="first", host_prompt_id="task", cwd_digest=7)
    log.prompt("s1", PROMPTS[6], MONDAY + 3 * HOUR + 5 * MINUTE, name="second", cwd_digest=7)
    return log


def _joined_far_back() -> Log:
    """A plugin tells of a prompt that the log saw; three others have come between the two captures."""
    log = Log().claim("s1").records("s1", {"kind": "prompt", "at_us": MONDAY, "text": PROMPTS[0]})
    for number, text in enumerate((PROMPTS[3], PROMPTS[-1], PROMPTS[1]), 1):
        log.prompt("s1", text, MONDAY + number * 20 * SECOND, cwd_digest=7)
    log.prompt("s1", PROMPTS[0], MONDAY + 90 * SECOND, cwd_digest=7)
    return log


def _clear_without_words() -> Log:
    """Only the plugin tells that what the log saw was a clear: the turn before it is closed by it."""
    log = _prompts(PROMPTS[0], PROMPTS[3])
    log.records("s1", {"kind": "prompt", "at_us": MONDAY + 2 * HOUR, "prompt_id": "clears"})
    log.prompt("s1", PROMPTS[4], MONDAY + 2 * HOUR, host_prompt_id="clears", cwd_digest=7)
    return log


def _two_at_once() -> Log:
    """An arc that opens at the very moment at which the last turn of the arc before began."""
    log = _prompts(PROMPTS[0])
    _, later = sorted(_captures_at_once(log), key=turn_id_from_capture)
    log.corrects_gap("s1", later, True)
    for number in range(3):
        log.prompt("s1", f"go on with part {number} of it please", MONDAY + HOUR + number * MINUTE, cwd_digest=7)
    return log


def _captures_at_once(log: Log) -> list[UUID]:
    at_us = MONDAY + HOUR - MINUTE
    return [log.prompt("s1", f"go on with the {what} of it please", at_us, cwd_digest=7) for what in ("head", "tail")]


def _merged_amid_others() -> Log:
    """A sub-session goes on in a session that began at the very moment at which another one did."""
    log = Log()
    log.works("s1", MONDAY)
    first, second = sorted(("s2", "s3"), key=lambda session: turn_id_from_capture(_of_an_hour_later(session)))
    for session in (first, second):
        log.works(session, MONDAY + HOUR, PROMPTS[3])
    log.corrects_gap(first, _of_an_hour_later(first), False)
    log.works("s4", MONDAY + 2 * HOUR, PROMPTS[-1])
    return log


def _of_an_hour_later(session: str) -> UUID:
    return prompt_name(session, PROMPTS[3], MONDAY + HOUR)


def _burst_across_arcs() -> Log:
    """Of five tiny prompts each opens an arc."""
    log = Log()
    for number in range(7):
        capture_id = log.prompt("s1", f"go {number}", MONDAY + number * MINUTE, cwd_digest=7)
        log.corrects_gap("s1", capture_id, True)
    return log


_ASKED = [("prompt", session, PROMPTS[0], MONDAY, False) for session in SESSIONS]
_CHILD = [("work", session, "child", MONDAY, False) for session in SESSIONS]
LATE: dict[str, list[Placed]] = {
    "work that names a prompt not yet captured": _overtaken().facts,
    "a name that is used twice": _named_twice().facts,
    "work that names a text of the agent's": _reports_of_tasks().facts,
    "a prompt that is joined over others": _joined_far_back().facts,
    "that a prompt was a clear": _clear_without_words().facts,
    "prompts of one moment in two arcs": _two_at_once().facts,
    "a sub-session merged at a moment when another began": _merged_amid_others().facts,
    "tiny prompts of an arc each": _burst_across_arcs().facts,
    "a word about a session that proves to be a sub-agent's": told(
        [_ASKED[1], ("said", "s2", "gap", 0, False), _ASKED[0], _CHILD[1]]
    ),
    "a word about a sub-agent's session, and a later capture": told(
        [_ASKED[0], _CHILD[0], ("said", "s1", "gap", 0, False), _ASKED[1]]
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_what_comes_late_leaves_the_tables_of_a_replay(case: str) -> None:
    facts = LATE[case]
    assert tables(project(facts, range(len(facts)))) == tables(project(facts))


def test_a_sessions_end_counts_by_its_time_whatever_prompt_it_names() -> None:
    """A hook may name the last prompt it knew of; the session ended after the last prompt there was."""
    log = Log()
    log.prompt("s1", PROMPTS[0], MONDAY, host_prompt_id="first", cwd_digest=7)
    log.prompt("s1", PROMPTS[3], MONDAY + HOUR, cwd_digest=7)
    log.prompt("s1", PROMPTS[-1], MONDAY + 2 * HOUR, cwd_digest=7)
    end = {"kind": "session_end", "source": "exit", "at_us": MONDAY + 4 * HOUR, "prompt_id": "first"}
    log.records("s1", end)
    log.prompt("s1", PROMPTS[1], MONDAY + 3 * HOUR, cwd_digest=7)
    live, replayed = _live_and_replayed(log)
    assert live == replayed
    assert "end" in [unpack(row[6], Arc).closed_by for row in live["arcs"]]


def test_an_answer_reaches_the_turn_that_its_prompt_was_joined_to() -> None:
    """The log saw the prompt long before the plugin sent it: the turn that is answered lies further back."""
    log = Log()
    log.records("s1", {"kind": "prompt", "at_us": MONDAY, "text": PROMPTS[0], "prompt_id": "one"})
    log.prompt("s1", PROMPTS[3], MONDAY + HOUR, cwd_digest=7)
    log.prompt("s1", PROMPTS[-1], MONDAY + 2 * HOUR, cwd_digest=7)
    late = log.prompt("s1", PROMPTS[0], MONDAY + 3 * HOUR, host_prompt_id="one", cwd_digest=7)
    log.answer("s1", late, "Done. All tests pass.", MONDAY + 3 * HOUR + MINUTE, input_tokens=5)
    live, replayed = _live_and_replayed(log)
    assert live == replayed
    assert sum(row[16] for row in live["sub_sessions"]) == 5
