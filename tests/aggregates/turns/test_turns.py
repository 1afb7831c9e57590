"""Turns: which captures are one prompt, what belongs to it, and how it opens, on each side of every bound."""

import re
from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from aggregates.ids import turn_id_from_capture, turn_id_from_host
from aggregates.reading.readings import BUTTON
from aggregates.records.record import RecordKind
from aggregates.turns.turn import Opening, Turn, active_by_turns_us, active_us
from aggregates.turns.turns import Aliases, Capture, CaptureKind, PlacedObservation, build_turns, join_captures
from tests.support.stages import MINUTE, SECOND, answer, capture, prompt, seen, tool, uuid
from tests.support.tables import beside, each_of, table

SESSION = "session"
CLEAR = prompt(navigational="command", clears=True)


def turns_of(captures: Sequence[Capture], reports: Sequence[PlacedObservation] = ()) -> list[Turn]:
    return build_turns(SESSION, captures, {}, reports, openings={})[0]


def groups(captures: Sequence[Capture], taken: frozenset[str] = frozenset()) -> list[list[int]]:
    return [[each.position for each in group.captures] for group in join_captures(captures, taken)]


KINDS: dict[str, CaptureKind] = {"p": "plugin", "t": "transcript", "l": "log"}
REPORTS: dict[str, RecordKind] = {"start": "session_start", "end": "session_end", "compacts": "compaction"}
REPORTS |= {"tool": "tool", "request": "request"}
NOTICE = replace(prompt(), maker="the report of a background task")
PRESSED = replace(prompt(), maker=BUTTON)
COMMAND = prompt(navigational="command")


def captured(told: str) -> list[Capture]:
    """A number, a kind and what it is, then `@` seconds, `#` the prompt id and `=` another text; `=-`: none."""
    found = []
    pattern = r"(\d)([ptl])([nbca]?)(?:@([\d.]+))?(?:#(\w+))?(?:=(\S+))?"
    for number, kind, maker, seconds, host, text in re.findall(pattern, told):
        said = None if text == "-" else text or "Add a flag"
        at_us, reading = round(float(seconds or 0) * SECOND), {"n": NOTICE, "b": PRESSED, "c": COMMAND}.get(maker)
        one = capture(int(number), KINDS[kind], at_us=at_us, host=host or None, text=said, reading=reading)
        found.append(replace(one, sent_again="again" if maker == "a" else None))
    return found


def reported(told: str) -> list[PlacedObservation]:
    """What a session did, `~` by a sub-agent, `:` why, `@` in which second, `#` for which prompt."""
    return [
        seen(
            REPORTS[what],
            round(float(seconds) * SECOND),
            source=source or None,
            prompt_id=host or None,
            sidechain=bool(side),
            tool=tool() if what == "tool" else None,
        )
        for side, what, source, seconds, host in re.findall(r"(~?)(\w+)(?::(\w+))?@(-?[\d.]+)(?:#(\w+))?", told)
    ]


TYPED = "1p#runs=one 2l@0.000001#runs=one 3p@5#runs=two 4l@6"


@beside()
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


def test_an_import_changes_no_time_and_no_answer_that_was_seen_live() -> None:
    """What it alone tells is added: how long the answer took."""
    imported = {uuid(1): answer(3 * SECOND, elapsed_ms=2_900, position=9)}
    log, file = capture(2, "log", at_us=SECOND), capture(1, "transcript")
    live = [seen("response", 2 * SECOND)]
    (alone,), _ = build_turns(SESSION, [log], {}, live, openings={})
    (both,), _ = build_turns(SESSION, [file, log], imported, live, openings={})
    assert both.elapsed_ms == 2_900
    for name in ("started_us", "last_activity_us", "agent_us", "response_position"):
        assert getattr(both, name) == getattr(alone, name), name
    (unheard,), _ = build_turns(SESSION, [file, log], imported, [], openings={})
    assert (unheard.started_us, unheard.last_activity_us, unheard.response_position) == (SECOND, 3 * SECOND, 9)


FOUR = "1p#p=one 2p@600=two 3l@600#log=two 4p@1200#twice=three 5p@1800#twice=four"


@beside()
def test_a_report_belongs_to_the_prompt_it_names_else_to_the_last_one_before_it(
    told: str, reports: str, work: str
) -> None:
    """`four`: four prompts, of which the second has a name in the log alone, and the last two have one name."""
    turns, aliases = build_turns(
        SESSION, captured(FOUR if told == "four" else told), {}, reported(reports), openings={}
    )
    done = [turn.work.tool_calls + sum(usage.requests for usage in turn.work.usage) for turn in turns]
    assert (" ".join(map(str, done)), len(aliases)) == (work, len(turns))


def test_work_in_the_name_of_an_earlier_turn_stays_with_what_was_typed_meanwhile() -> None:
    told, reports = captured(TYPED + "=two")[2:], reported("tool@3#runs tool@7#runs tool@8#runs")
    late, _ = build_turns(SESSION, told, {}, reports, openings={}, taken_names=frozenset({"runs"}))
    assert [turn.work.tool_calls for turn in late] == [2]


def test_what_an_agent_wrote_is_no_prompt_and_its_work_belongs_to_the_prompt_before() -> None:
    """It is told once, however many told it; the last answer is the answer."""
    captures = captured("1p=one 2pn@60#n=notice 3ln@60.000001#n=notice 4pn@120=notice 5p@600=two")
    numbered = {
        place: answer(at * SECOND, position=place, model="m", input_tokens=place) for place, at in ((1, 1), (2, 120))
    }
    answers = {uuid(place): each for place, each in numbered.items()}
    (first, second), aliases = build_turns(SESSION, captures, answers, reported("tool@60.000002#n"), openings={})
    assert (first.made, second.made) == ((NOTICE.maker,) * 2, ())
    assert (first.work.tool_calls, first.response_position, first.last_activity_us) == (1, 2, 2 * MINUTE)
    assert [(usage.requests, usage.input_tokens) for usage in first.work.usage] == [(2, 3)]
    assert {uuid(2), uuid(3), uuid(4)} <= set(aliases[0].ids)


@table(
    ("told", "made"),
    {
        "words of the agent alone": ("1pn=made", []),
        "words of the agent, a prompt, and such words again": ("1pn=made 2p@60=one 3pn@120=made", [(NOTICE.maker,)]),
        "a button alone": ("1pb=made", [()]),
        "a button, a prompt, and a button": ("1pb=made 2p@60=one 3pb@120=made", [(), (BUTTON,)]),
    },
)
def test_a_session_begins_with_a_person(told: str, made: list[tuple[str, ...]]) -> None:
    """Who pressed a button is one; later presses belong to the turn before."""
    assert [turn.made for turn in turns_of(captured(told))] == made


NAMED, UNNAMED = turn_id_from_host(SESSION, "p"), turn_id_from_capture(uuid(1))


@table(
    ("told", "taken", "ids"),
    {
        "the host's name first": ("1p#p", "", {NAMED: "p"}),
        "a name that only the log told": ("1p 2l#p", "", {NAMED: "p"}),
        "else the capture that is read": ("2l 1p", "", {UNNAMED: None}),
        "a name of an earlier turn is not used": ("1p#p", "p", {UNNAMED: None}),
        "another turn's other name does not matter": ("1p#p", "q", {NAMED: "p"}),
        "a name used twice counts for the first turn": ("2p#p 1p@1#p", "", {NAMED: "p", UNNAMED: None}),
    },
)
def test_a_turns_id_is_the_hosts_name_for_it_else_that_of_its_capture(
    told: str, taken: str, ids: dict[UUID, str | None]
) -> None:
    turns, aliases = build_turns(SESSION, captured(told), {}, [], openings={}, taken_names=frozenset(taken))
    assert [turn.turn_id for turn in turns] == list(ids)
    assert [(alias.turn_id, alias.host_prompt_id) for alias in aliases] == list(ids.items())


def test_a_turn_answers_to_all_its_captures_whichever_names_it() -> None:
    """An id that a late capture made obsolete still finds the turn."""
    _, aliases = build_turns(SESSION, [capture(1), capture(2, "log", host="p")], {}, [], openings={})
    ids = {NAMED, UNNAMED, uuid(1), uuid(2), turn_id_from_capture(uuid(2))}
    assert aliases == [Aliases(NAMED, tuple(sorted(ids)), "p")]


def test_turns_of_one_moment_are_ordered_by_their_ids() -> None:
    ids = [turn.turn_id for turn in turns_of([capture(n, text=str(n)) for n in range(6)])]
    assert ids == sorted(turn_id_from_capture(uuid(n)) for n in range(6))


CALM, ENDED, CLEARED, BY_PROMPT = (
    "start - -",
    "start/end@300 end -",
    "start/clear@300 clear -",
    "start/clear@600 clear",
)


@beside()
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


@each_of(["end", "clear", "start", None])
def test_how_a_tail_opens_is_as_known(known: Opening | None) -> None:
    """What was said before the tail is not at hand; a later turn opens as seen."""
    captures = [capture(n, text=str(n), at_us=n * 10 * MINUTE) for n in range(2)]
    turns, _ = build_turns(SESSION, captures, {}, reported("end@300"), openings={turn_id_from_capture(uuid(0)): known})
    assert [turn.opening for turn in turns] == [known, "end"]


def test_a_clear_answers_to_the_turn_that_it_ends() -> None:
    """Beside it no trace of one is left: whoever names it finds what it ended."""
    captures = [capture(n, text=str(n), at_us=n * MINUTE, reading=CLEAR if n else prompt()) for n in range(2)]
    turns, aliases = build_turns(SESSION, captures, {}, [], openings={})
    assert [(turn.closed_by, turn.made) for turn in turns] == [("clear", ())]
    assert uuid(1) in aliases[0].ids
    assert build_turns(SESSION, captures[1:], {}, [], openings={}) == ([], [])


def test_a_turn_that_is_new_at_a_tails_beginning_opens_nothing() -> None:
    """Only the first turn of a whole session starts it; an end before the tail was told already."""
    reports = [seen("session_end", -1)]
    turns, _ = build_turns(SESSION, [capture(1)], {}, reports, openings={turn_id_from_capture(uuid(9)): "end"})
    assert [(turn.opening, turn.closed_by) for turn in turns] == [(None, None)]


@table(
    ("told", "agent_us"),
    {
        "nothing": ("", 0),
        "a request": ("request@3", 3 * SECOND),
        "a sub-agent's request later on": ("request@3 ~request@9", 3 * SECOND),
        "the session's end later on": ("tool@4 end@9", 4 * SECOND),
    },
)
def test_the_agents_last_deed_is_no_chore_of_its_own_and_no_end(told: str, agent_us: int) -> None:
    """Nor is it the prompt itself: one that nobody answered has none."""
    (turn,) = turns_of(captured("1p@1"), reported(told))
    assert turn.agent_us == agent_us


@beside()
def test_gaps_over_five_minutes_are_not_active(minutes: list[float], active: int) -> None:
    """Whatever the order, and however often one moment is told."""
    assert active_us(int(minute * MINUTE) for minute in minutes) == active * MINUTE


@beside()
def test_turns_tell_the_active_time_by_their_ends_unless_one_is_long(
    turns: list[tuple[float, float]], active: float | None
) -> None:
    """In minutes; gaps between turns count as those within."""
    spans = [(int(start * MINUTE), int(end * MINUTE)) for start, end in turns]
    assert active_by_turns_us(spans) == (None if active is None else active * MINUTE)
