"""Turns: which captures are one prompt, what belongs to it, and how it opens, on each side of every bound."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from aggregates.ids import turn_id_from_capture, turn_id_from_host
from aggregates.reading.readings import BUTTON, PromptReading
from aggregates.records.record import RecordKind
from aggregates.turns.turn import CapturedResponse, Opening, Turn
from aggregates.turns.turns import Aliases, Capture, CaptureKind, PlacedObservation, build_turns, join_captures
from tests.support.stages import DAY, MINUTE, SECOND, capture, prompt, seen, tool, uuid
from tests.support.tables import table

SESSION = "session"
CLEAR = prompt(navigational="command", clears=True)


def turns_of(captures: Sequence[Capture], reports: Sequence[PlacedObservation] = ()) -> list[Turn]:
    return build_turns(SESSION, captures, {}, reports, openings={})[0]


def groups(captures: Sequence[Capture], taken: frozenset[str] = frozenset()) -> list[list[int]]:
    return [[each.position for each in group.captures] for group in join_captures(captures, taken)]


KINDS: dict[str, CaptureKind] = {"p": "plugin", "t": "transcript", "l": "log"}


def captured(told: str) -> list[Capture]:
    """Of each word a number and a kind, then `@` seconds, `#` the prompt id and `=` another text; `=-`: none."""
    found = []
    for number, kind, seconds, host, text in re.findall(r"(\d)([ptl])(?:@([\d.]+))?(?:#(\w))?(?:=(\S+))?", told):
        said = None if text == "-" else text or "Add a flag"
        at_us = round(float(seconds or 0) * SECOND)
        found.append(capture(int(number), KINDS[kind], at_us=at_us, host=host or None, text=said))
    return found


@table(
    ("told", "joined"),
    {
        "same text, two minutes later": ("1p 2l@120", "12"),
        "same text, later still": ("1p 2l@120.000001", "1 2"),
        "the agent's log came first": ("1l 2p@120", "12"),
        "one of each kind": ("1p 2t 3l", "312"),
        "two of one kind": ("1p 2p@1", "1 2"),
        "different texts": ("1p 2l=b", "1 2"),
        "no texts": ("1p=- 2l=-", "1 2"),
        "the same prompt id, a day later": ("1p#p 2l@86400#p=-", "12"),
        "the same id, one kind": ("1p#p 2p@1#p", "1 2"),
        "different ids, the same text": ("1p#p 2l#q", "1 2"),
        "the later one without an id": ("1p#p 2l@1", "12"),
        "the earlier one without an id": ("1p 2l@1#p", "12"),
        "an id that came with the log keeps another out": ("1p 2l@1#p 3t@2#q", "12 3"),
        "a text sent twice, one by one": ("1p 2p@60 3l@60 4l@60", "13 42"),
        "the two minutes are counted from the first capture": ("1p 2t@120 3l@180", "12 3"),
        "a prompt id used twice joins the first prompt": ("1p#p=a 2p@1#p=b 3l#p", "31 2"),
        "prompts come in time order": ("1l@5 2p@4=b", "2 1"),
    },
)
def test_captures_of_one_prompt_are_joined(told: str, joined: str) -> None:
    """By the id they name, else by the same text within two minutes, never two of a kind; in any order of arrival."""
    wanted = [[int(number) for number in group] for group in joined.split()]
    assert groups(captured(told)) == groups(captured(told)[::-1]) == wanted


def test_a_prompt_id_of_an_earlier_turn_joins_nothing_anymore() -> None:
    """The text under it does."""
    captures = [capture(1, host="p"), capture(2, "log", host="p", text="b")]
    assert groups(captures) == [[2, 1]]
    assert groups(captures, frozenset({"p"})) == [[1], [2]]
    assert groups([capture(1, host="p"), capture(2, "log", host="p")], frozenset({"p"})) == [[2, 1]]


@pytest.mark.parametrize("own", ["running", "own", None])
def test_a_prompt_that_is_typed_while_the_agent_works_counts_once(own: str | None) -> None:
    """Its hook carries the id of the turn that runs; its telemetry that one too, or one of its own."""
    captures = [
        capture(1, host="running", text="one"),
        capture(2, "log", host="running", text="one", at_us=1),
        capture(3, host="running", text="two", at_us=5 * SECOND),
        capture(4, "log", host=own, text="two", at_us=6 * SECOND),
    ]
    assert groups(captures) == groups(captures[::-1]) == [[1, 2], [3, 4]]
    work = own or "running"
    reports = [
        seen("tool", 3 * SECOND, tool=tool(), prompt_id="running"),
        seen("tool", 7 * SECOND, tool=tool(), prompt_id=work),
        seen("tool", 8 * SECOND, tool=tool(), prompt_id=work),
    ]
    turns = turns_of(captures, reports)
    assert [turn.work.tool_calls for turn in turns] == [1, 2]
    late, _ = build_turns(SESSION, captures[2:], {}, reports, openings={}, taken_names=frozenset({"running"}))
    assert [turn.work.tool_calls for turn in late] == [2]


def test_what_goes_on_for_the_first_of_two_prompts_stays_with_it() -> None:
    captures = [
        capture(1, host="p", text="one"),
        capture(2, host="p", text="two", at_us=5 * SECOND),
        capture(3, "log", host="q", text="two", at_us=6 * SECOND),
    ]
    reports = [seen("tool", 7 * SECOND, tool=tool(), prompt_id=name) for name in ("p", "p", "q")]
    assert [turn.work.tool_calls for turn in turns_of(captures, reports)] == [2, 1]


NOTICE = replace(prompt(), maker="the report of a background task")
PRESSED = replace(prompt(), maker=BUTTON)


def test_what_an_agent_wrote_is_no_prompt_and_its_work_belongs_to_the_prompt_before() -> None:
    """It is told once, however many told it; the last answer is the answer."""
    captures = [
        capture(1, text="one"),
        capture(2, text="notice", reading=NOTICE, at_us=MINUTE, host="n"),
        capture(3, "log", text="notice", reading=NOTICE, at_us=MINUTE + 1, host="n"),
        capture(4, text="notice", reading=NOTICE, at_us=2 * MINUTE),
        capture(5, text="two", at_us=10 * MINUTE),
    ]
    answers = {
        uuid(place): CapturedResponse(at_us, True, place, None, 5_000, "m", place, None, None, None, None)
        for place, at_us in ((1, SECOND), (2, 2 * MINUTE))
    }
    reports = [seen("tool", MINUTE + 2, tool=tool(), prompt_id="n")]
    (first, second), aliases = build_turns(SESSION, captures, answers, reports, openings={})
    assert (first.made, second.made) == ((NOTICE.maker,) * 2, ())
    assert (first.work.tool_calls, first.response_position, first.last_activity_us) == (1, 2, 2 * MINUTE)
    assert [(usage.requests, usage.input_tokens) for usage in first.work.usage] == [(2, 3)]
    assert {uuid(2), uuid(3), uuid(4)} <= set(aliases[0].ids)


@table(("reading", "turns"), {"words of the agent": (NOTICE, 1), "a button": (PRESSED, 2)})
def test_a_session_begins_with_a_person(reading: PromptReading, turns: int) -> None:
    """Who pressed a button is one; later presses belong to the turn before."""
    captures = [
        capture(1, text="made", reading=reading),
        capture(2, text="one", at_us=MINUTE),
        capture(3, text="made", reading=reading, at_us=2 * MINUTE),
    ]
    found = turns_of(captures)
    assert (len(found), found[-1].made) == (turns, (reading.maker,))
    assert len(turns_of(captures[:1])) == turns - 1


def test_what_an_agent_asks_for_itself_before_the_first_prompt_is_not_its_work() -> None:
    """Helpers at its start; what names the prompt, and what the main agent asked, is."""
    reports = [
        seen("request", -2, sidechain=True),
        seen("request", -2, sidechain=True, prompt_id="p"),
        seen("request", -1),
        seen("request", 1, sidechain=True),
    ]
    (turn,) = turns_of([capture(1, host="p")], reports)
    assert sum(usage.requests for usage in turn.work.usage) == 3


@table(
    ("report", "place"),
    {
        "at the moment of a prompt: to it": (seen("tool", 10 * MINUTE, tool=tool()), 1),
        "just before it: to the one before": (seen("tool", 10 * MINUTE - 1, tool=tool()), 0),
        "before all prompts: to the first": (seen("tool", -1, tool=tool()), 0),
        "long after all: to the last": (seen("tool", DAY, tool=tool()), 3),
        "by the prompt id, whatever the time": (seen("tool", DAY, tool=tool(), prompt_id="p"), 0),
        "by the id that only the log named": (seen("tool", 0, tool=tool(), prompt_id="log"), 1),
        "an id used twice: to the last": (seen("tool", DAY, tool=tool(), prompt_id="twice"), 3),
        "an id used twice: not before its time": (seen("tool", 25 * MINUTE, tool=tool(), prompt_id="twice"), 2),
        "an unknown id: by time": (seen("tool", DAY, tool=tool(), prompt_id="unknown"), 3),
    },
)
def test_a_report_belongs_to_the_prompt_it_names_else_to_the_last_one_before_it(
    report: PlacedObservation, place: int
) -> None:
    """The prompts are ten minutes apart."""
    captures = [
        capture(1, host="p", text="one"),
        capture(2, text="two", at_us=10 * MINUTE),
        capture(3, "log", text="two", at_us=10 * MINUTE, host="log"),
        capture(4, text="three", at_us=20 * MINUTE, host="twice"),
        capture(5, text="four", at_us=30 * MINUTE, host="twice"),
    ]
    assert [turn.work.tool_calls for turn in turns_of(captures, [report])] == [int(n == place) for n in range(4)]


def test_a_sub_agents_session_has_no_turns() -> None:
    reports = [seen("tool", SECOND, tool=tool()), seen("session_start", DAY, source="subagent")]
    assert build_turns(SESSION, [capture(1)], {}, reports, openings={}) == ([], [])


NAMED, UNNAMED = turn_id_from_host(SESSION, "p"), turn_id_from_capture(uuid(1))


@table(
    ("captures", "taken", "ids", "names"),
    {
        "the host's name first": ([capture(1, host="p")], (), [NAMED], ["p"]),
        "a name that only the log told": ([capture(1), capture(2, "log", host="p")], (), [NAMED], ["p"]),
        "else the capture that is read": ([capture(2, "log"), capture(1)], (), [UNNAMED], [None]),
        "a name of an earlier turn is not used": ([capture(1, host="p")], ("p",), [UNNAMED], [None]),
        "another turn's other name does not matter": ([capture(1, host="p")], ("q",), [NAMED], ["p"]),
        "a name used twice counts for the first turn": (
            [capture(2, host="p"), capture(1, host="p", at_us=1)],
            (),
            [NAMED, UNNAMED],
            ["p", None],
        ),
    },
)
def test_a_turns_id_is_the_hosts_name_for_it_else_that_of_its_capture(
    captures: list[Capture], taken: tuple[str, ...], ids: list[UUID], names: list[str | None]
) -> None:
    turns, aliases = build_turns(SESSION, captures, {}, [], openings={}, taken_names=frozenset(taken))
    assert [turn.turn_id for turn in turns] == ids
    assert [(alias.turn_id, alias.host_prompt_id) for alias in aliases] == list(zip(ids, names, strict=True))


def test_a_turn_answers_to_all_its_captures_whichever_names_it() -> None:
    """An id that a late capture made obsolete still finds the turn."""
    _, aliases = build_turns(SESSION, [capture(1), capture(2, "log", host="p")], {}, [], openings={})
    ids = {NAMED, UNNAMED, uuid(1), uuid(2), turn_id_from_capture(uuid(2))}
    assert aliases == [Aliases(NAMED, tuple(sorted(ids)), "p")]


def test_turns_of_one_moment_are_ordered_by_their_ids() -> None:
    ids = [turn.turn_id for turn in turns_of([capture(n, text=str(n)) for n in range(6)])]
    assert ids == sorted(turn_id_from_capture(uuid(n)) for n in range(6))


def reported(told: str) -> list[PlacedObservation]:
    """Of each word what a session did, `:` why and `@` in which second."""
    words = (word.partition("@") for word in told.split())
    kinds: dict[str, RecordKind] = {"start": "session_start", "end": "session_end", "compacts": "compaction"}
    pairs = ((*what.partition(":")[::2], round(float(seconds) * SECOND)) for what, _, seconds in words)
    return [seen(kinds[what], at_us, source=source or None) for what, source, at_us in pairs]


CALM, ENDED, CLEARED, BY_PROMPT = (
    "start - -",
    "start/end@300 end -",
    "start/clear@300 clear -",
    "start/clear@600 clear -",
)


@table(
    ("clearing", "told", "course"),
    {
        "nothing was said: one opening": (None, "", CALM),
        "an end opens the next": (None, "end@300", ENDED),
        "an end for another reason": (None, "end:logout@300", ENDED),
        "an end by a clear": (None, "end:clear@300", CLEARED),
        "a start by a clear": (None, "start:clear@300", CLEARED),
        "a session that is resumed": (None, "start:resume@300", CALM),
        "a compaction": (None, "compacts:clear@300", CALM),
        "of two in one gap the first": (None, "end@300 start:clear@360", ENDED),
        "an end at the moment of a prompt": (None, "end@600", "start -/end@600 end"),
        "an end after all opens nothing": (None, "end@86400", "start - -/end@86400"),
        "an end before all closes nothing": (None, "end@-1", CALM),
        "a clearing prompt": (1, "", BY_PROMPT),
        "a clear told twice": (1, "start:clear@660", BY_PROMPT),
        "an end and then a clearing prompt": (1, "end@300", "start/end@300 clear -"),
        "a clearing prompt and then an end": (1, "end@660", "start/clear@600 clear/end@660 end"),
        "an end, and the clear that led to it": (None, "end@300 start:clear@305", CLEARED),
        "an end, and the prompt that led to it": (1, "end@595", "start/clear@595 end/end@600 end"),
        "an end and a clearing prompt later on": (1, "end@594.999999", "start/end@594 clear -"),
        "a clearing prompt that is the first": (0, "", CALM),
    },
)
def test_a_clear_or_an_end_closes_the_turn_before_and_opens_the_next(
    clearing: int | None, told: str, course: str
) -> None:
    """Prompts at 0, 10 and 20 minutes. No turn is ever closed before it began: arcs rest on that."""
    captures = [
        capture(n, text=str(n), at_us=n * 10 * MINUTE, reading=CLEAR if n == clearing else prompt()) for n in range(3)
    ]
    turns = turns_of(captures, reported(told))
    closings = ["" if turn.closed_us is None else f"/{turn.closed_by}@{turn.closed_us // SECOND}" for turn in turns]
    assert [f"{turn.opening or '-'}{closing}" for turn, closing in zip(turns, closings, strict=True)] == course.split()
    assert all(turn.closed_us is None or turn.closed_us >= turn.started_us for turn in turns)


@pytest.mark.parametrize("known", ["end", "clear", "start", None])
def test_how_a_tail_opens_is_as_known(known: Opening | None) -> None:
    """What was said before the tail is not at hand; a later turn opens as seen."""
    captures = [capture(n, text=str(n), at_us=n * 10 * MINUTE) for n in range(2)]
    turns, _ = build_turns(SESSION, captures, {}, reported("end@300"), openings={turn_id_from_capture(uuid(0)): known})
    assert [turn.opening for turn in turns] == [known, "end"]


def test_a_clear_that_belongs_to_an_end_before_the_tail_ends_with_it() -> None:
    """The end itself is not at hand: how the turn opened tells it."""
    captures = [capture(n, text=str(n), at_us=n * MINUTE, reading=prompt() if n else CLEAR) for n in range(2)]
    turns, _ = build_turns(SESSION, captures, {}, [], openings={turn_id_from_capture(uuid(0)): "end"})
    assert [(turn.opening, turn.closed_by) for turn in turns] == [("end", "end"), ("end", None)]


def test_a_turn_that_is_new_at_a_tails_beginning_opens_nothing() -> None:
    """Only the first turn of a whole session starts it; an end before the tail was told already."""
    reports = [seen("session_end", -1)]
    turns, _ = build_turns(SESSION, [capture(1)], {}, reports, openings={turn_id_from_capture(uuid(9)): "end"})
    assert [(turn.opening, turn.closed_by) for turn in turns] == [(None, None)]


@pytest.mark.parametrize(
    ("reports", "agent_us"),
    [
        ([], 0),
        ([seen("request", 3 * SECOND)], 3 * SECOND),
        ([seen("request", 3 * SECOND), seen("request", 9 * SECOND, sidechain=True)], 3 * SECOND),
        ([seen("tool", 4 * SECOND, tool=tool()), seen("session_end", 9 * SECOND)], 4 * SECOND),
    ],
)
def test_the_agents_last_deed_is_no_chore_of_its_own_and_no_end(reports: list[Any], agent_us: int) -> None:
    """Nor is it the prompt itself: one that nobody answered has none."""
    (turn,) = turns_of([capture(1, at_us=SECOND)], reports)
    assert turn.agent_us == agent_us
