"""Arcs: where a session is cut, when an arc settles, which arcs are one sub-session, and what is rework."""

import re
from typing import Any

from msgspec.structs import replace

from aggregates.judging.boundary import TURNS_MAX, OpenArc, topic_shift
from aggregates.judging.rubric import GapAnswer
from aggregates.sub_sessions.arcs import (
    Arc,
    ReworkReason,
    ReworkView,
    belongs_to,
    cut_arcs,
    rework_of,
    unsure_gaps,
    why_rework,
)
from aggregates.turns.turn import Turn
from tests.support.stages import DAY, HOUR, MINUTE, arc_of, judged, prompt, response, turn_at, uuid, worked
from tests.support.tables import beside, table

TASK = ("names a new task", "asks like a first prompt")
MORE_THAN_TASK = (*TASK, "names a step", "wants or reports something")
PROMPTS = {
    "goal": prompt("words over 6"),
    "thanks": prompt(navigational="acknowledgement"),
    "goes-on": prompt("words over 6"),
    "rather-on": prompt("words over 6", "path", opens=TASK[1:], topic="the invoices"),
    "doubtful": prompt("words over 6", "path", opens=TASK),
    "rather-new": prompt("words over 6", opens=TASK, topic="the invoices as files"),
    "new": prompt("words over 6", opens=MORE_THAN_TASK, topic="one two three four five six seven eight"),
    "unseen": None,
}
SAYS = {"yes": True, "no": False, "nothing": None}
TURN = r"(\d+):([\w-]+)(?:~(\w+))?(?:\+(\d))?(?:/(\w+))?(?:!(\w+)@(\d+))?"


def turns_of(told: str) -> list[Turn]:
    """A minute and a prompt, then `~` marks, `+` a file read, `/` how it opens, `!` what closes it and when."""
    return [
        turn_at(
            int(minute),
            PROMPTS[said],
            work=worked(marks, changed=(1,) if "C" in marks else (), read=map(int, read)),
            opening=opening or None,
            closed=closed or None,
            closed_at=int(at) if at else None,
        )
        for minute, said, marks, read, opening, closed, at in re.findall(TURN, told)
    ]


def answers_of(told: str) -> dict[Any, GapAnswer]:
    """After a prompt `=` what a text model said of the gap before it, and the minute of the turn it was asked about."""
    return {
        uuid(int(minute)): GapAnswer(uuid(int(before or 0)), judged("boundary", boundary=SAYS[said]), 55)
        for minute, said, before in re.findall(r"(\d+):[^ ]*=(yes|nothing|no)(\d*)", told)
    }


def shape(arc: Arc) -> str:
    """Its opening and minutes, `!` its closing, `^` a person's word, `=` whose verdicts it keeps."""
    closed = "" if arc.closed_us is None else f"!{arc.closed_by}@{arc.closed_us // MINUTE}"
    said = "" if arc.said is None else "^yes" if arc.said else "^no"
    judges = [verdict.judge.partition("/")[0] for verdict in (arc.shift, *arc.continuations) if verdict is not None]
    turns = ",".join(str(turn_id.int) for turn_id in arc.turn_ids)
    return f"{arc.opened_by}:{turns}{closed}{said}{''.join(f'={judge}' for judge in judges)}"


@beside()
def test_a_session_is_cut_at_its_boundaries(told: str, arcs: str) -> None:
    """At a clear, an end, a topic shift, or a commit of own changes that the next turn does not continue. A text model
    goes before the embedded judge, a person before both. What parted two arcs is kept with the second, what joined them
    with the whole. An arc closes where that was said, else with the next one."""
    said = {uuid(int(minute)): SAYS[word] for minute, word in re.findall(r"(\d+):[^ ]*\^(yes|no)", told)}
    cut = cut_arcs(turns_of(told), "start", None, said, answers_of(told))  # type: ignore[arg-type]
    assert " ".join(map(shape, cut)) == arcs


@table(
    ("said", "weighs"),
    {
        "goes on, and once committed": ("goes-on", (False, False, False)),
        "goes on, unsure once committed": ("rather-on", (False, False, True)),
        "goes on, unsure": ("doubtful", (False, True, True)),
        "another topic": ("rather-new", (True, True, True)),
        "another topic, likelier": ("new", (True, True, True)),
    },
)
def test_the_prompts_above_weigh_what_their_names_say(said: str, weighs: tuple[bool, bool, bool]) -> None:
    """Shift, unsure, and unsure after a commit. Weights that are trained anew may ask for other prompts here."""
    first, turn = turns_of(f"0:goal 9:{said}")
    plain, after = topic_shift(OpenArc([first]), turn), topic_shift(OpenArc([first]), turn, after_commit=True)
    assert (plain.shift, plain.unsure, after.unsure) == weighs


def test_no_goal_is_followed_for_longer_than_so_many_turns() -> None:
    arcs = cut_arcs([turn_at(number) for number in range(TURNS_MAX + 1)], "start", None)
    assert [len(arc.turn_ids) for arc in arcs] == [TURNS_MAX, 1]


def test_an_arc_holds_what_its_turns_amount_to() -> None:
    """Its opening turn names it; the last known directory and all files are its own."""
    shift = cut_arcs(turns_of("0:goal 9:new"), "start", None)[1].shift
    turns = [
        turn_at(1, PROMPTS["goal"], work=worked(changed=(5,), read=(3,)), lasts_us=HOUR, cwd=7),
        turn_at(2, PROMPTS["goes-on"], work=worked(changed=(4,), read=(5,)), cwd=8),
        turn_at(3, PROMPTS["goes-on"]),
    ]
    (arc,) = cut_arcs(turns, "topic", shift)
    assert (arc.arc_id, arc.agent_session_id, arc.opened_by, arc.shift) == (uuid(1), "session", "topic", shift)
    assert (arc.started_us, arc.last_activity_us, arc.cwd_digest) == (MINUTE, MINUTE + HOUR, 8)
    assert (arc.touched_files, arc.changed_files) == ((3, 4, 5), (4, 5))


@table(
    ("closed", "settles_us"),
    {
        "open: quiet for thirty minutes": ({}, HOUR + 30 * MINUTE),
        "at its boundary": ({"closed_by": "end", "closed_us": HOUR + MINUTE}, HOUR + MINUTE),
        "quiet long before its boundary": ({"closed_by": "topic", "closed_us": 5 * HOUR}, HOUR + 30 * MINUTE),
        "active after its boundary": ({"closed_by": "clear", "closed_us": MINUTE}, MINUTE),
    },
)
def test_an_arc_settles_at_its_boundary_or_after_thirty_quiet_minutes(closed: dict[str, Any], settles_us: int) -> None:
    assert arc_of(last_activity_us=HOUR, **closed).settles_at_us == settles_us


@beside()
def test_a_gap_is_unsure_between_the_bounds(told: str, unsure: bool) -> None:
    """What a commit adds is part of its chance."""
    turns = turns_of(told)
    assert [gap.turn for gap in unsure_gaps([], turns, ())] == turns[1:] * unsure


def test_a_gap_beyond_any_doubt_is_not_unsure() -> None:
    asked = prompt("phrase:review_asked", "prose")
    review = turn_at(0, asked, answer=response(asks=True), work=worked("CI", changed=(1,)))
    report = prompt("has report", opens=("points back at once", "adds to what is there"))
    assert unsure_gaps([], [review, turn_at(9, report, work=worked(changed=(1,)))], ()) == []


def test_an_arc_knows_how_unsure_its_end_is() -> None:
    """What a judge hardly saw; where a person said it, or the session was cleared, nothing is unsure."""
    first, last = cut_arcs(turns_of("0:goal 9:new"), "start", None)
    assert last.shift is not None
    assert (first.end_chance, last.end_chance) == (last.shift.chance, None)
    said, _ = cut_arcs(turns_of("0:goal 9:new"), "start", None, {uuid(9): True})
    cleared, _ = cut_arcs(turns_of("0:goal 9:new/clear"), "start", None)
    assert (said.end_chance, cleared.end_chance) == (None, None)


def test_the_gaps_of_an_arc_are_found_in_order() -> None:
    """The one before it as well, where a judge parted the two; none of which a person spoke."""
    before, turns = turns_of("0:goal 1:goes-on"), turns_of("2:doubtful 3:doubtful 4:doubtful")
    found = [(gap.arc, gap.turn) for gap in unsure_gaps(before, turns, ())]
    assert found == [(tuple(before), turns[0]), ((turns[0],), turns[1]), (tuple(turns[:2]), turns[2])]
    assert [gap.turn for gap in unsure_gaps([], turns, {uuid(3)})] == [turns[2]]
    assert unsure_gaps(before, turns, {uuid(2), uuid(3), uuid(4)}) == []


def test_a_gap_tells_its_chance() -> None:
    """A sum below 0: the same topic; 0.7 of a logit more after a commit."""
    stories = ("0:goal 9:doubtful", "0:goal~CM 9:doubtful", "0:goal 9:rather-new")
    plain, after, shift = (unsure_gaps([], turns_of(told), ())[0] for told in stories)
    assert plain.logit < 0 < shift.logit
    assert after.logit - plain.logit == 700
    assert plain.chance < after.chance < shift.chance


# --- which neighbouring arcs are one sub-session --------------------------------------------------------------

CLOSED_US = HOUR


@beside()
def test_a_clear_or_an_end_is_bridged_by_time_place_and_files(
    before: dict[str, Any], after: dict[str, Any], merges: bool
) -> None:
    """Within ten minutes, in one known directory, sharing half of the smaller set; a person's word goes first."""
    closed: dict[str, Any] = {"closed_by": "end", "closed_us": CLOSED_US, "touched": (1, 2)}
    opened: dict[str, Any] = {"session": "another", "started_us": CLOSED_US + MINUTE, "touched": (1, 2)}
    assert belongs_to([arc_of(1, **(closed | before))], arc_of(2, **(opened | after))) is merges


def test_the_files_of_all_merged_arcs_count_and_the_time_of_the_last_one() -> None:
    """A third arc may go on with what only the first one touched."""
    first = arc_of(1, closed_by="end", closed_us=CLOSED_US, touched=(1, 2))
    second = arc_of(2, started_us=CLOSED_US, closed_by="clear", closed_us=CLOSED_US + 5 * MINUTE, touched=(2, 3))
    third = arc_of(3, started_us=CLOSED_US + 15 * MINUTE, touched=(1, 9))
    assert belongs_to([first, second], third)
    assert not belongs_to([second], third)
    assert not belongs_to([second, first], third)


# --- what takes back or repeats earlier, completed work -------------------------------------------------------


ENDED_US = 0
EARLIER = ReworkView(
    uuid(1), "session", ENDED_US - 1, ENDED_US, True, (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), False, False
)
AGAIN = replace(EARLIER, sub_session_id=uuid(9), started_us=ENDED_US + DAY, ended_us=ENDED_US + 2 * DAY)
"""The same goal on the same files, a day later."""
REVERT = {"goal_tokens": (11, 12, 13), "changed_files": (), "agent_session_id": "another"}
"""Of another goal, and it changes nothing itself."""


@beside()
def test_rework_takes_back_or_repeats_completed_work(
    before: dict[str, Any], after: dict[str, Any], reason: ReworkReason | None
) -> None:
    """Within seven days of its end, on half of the files it changed; a goal is alike from .6 of all words on. A
    correction and a revert ask for no like goal, and a revert counts what it touched, changed or not."""
    earlier, later = replace(EARLIER, **before), replace(AGAIN, **((REVERT if "reverts" in after else {}) | after))
    found = rework_of(later, [earlier])
    assert (found and why_rework(later, earlier)) == reason


def test_the_newest_earlier_one_is_named() -> None:
    """By its end, then by its id; whatever the order they come in."""
    older = replace(EARLIER, sub_session_id=uuid(5), ended_us=ENDED_US - 1)
    twin = replace(EARLIER, sub_session_id=uuid(2))
    assert rework_of(AGAIN, [older, twin, EARLIER]) == uuid(2)
    assert rework_of(AGAIN, [EARLIER, older]) == uuid(1)
