"""Arcs: where a session is cut, from when an arc counts as settled, and which gaps are unsure."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from aggregates.judging.boundary import TURNS_MAX, OpenArc, topic_shift
from aggregates.judging.rubric import GapAnswer, JudgeAnswered
from aggregates.reading.readings import PromptReading
from aggregates.sub_sessions.arcs import Arc, BoundaryKind, cut_arcs, unsure_gaps
from aggregates.turns.turn import Turn, Work
from tests.support.stages import HOUR, MINUTE, arc_of, prompt, response, turn_at, uuid, worked

COMMITTED = worked("CM", changed=(1,))
GOAL = prompt("words over 6")
THANKS = prompt(navigational="acknowledgement")
GOES_ON = prompt("words over 6")
LIKELY_GOES_ON = prompt("words over 6", "path", opens=("asks like a first prompt",), topic="the invoices")
DOUBTFUL = prompt("words over 6", "path", opens=("names a new task", "asks like a first prompt"))
LIKELY_NEW = prompt(
    "words over 6", opens=("names a new task", "asks like a first prompt"), topic="the invoices as files"
)
NEW_TOPIC = prompt(
    "words over 6",
    opens=("names a new task", "asks like a first prompt", "names a step", "wants or reports something"),
    topic="one two three four five six seven eight",
)
FIRST, SHIPPED = turn_at(0, GOAL), turn_at(0, GOAL, work=COMMITTED)
"""The turn before: as it is, and with its changes committed."""


@pytest.mark.parametrize(
    ("reading", "shift", "unsure", "unsure_once_committed"),
    [
        pytest.param(GOES_ON, False, False, False, id="goes on, and once committed"),
        pytest.param(LIKELY_GOES_ON, False, False, True, id="goes on, unsure once committed"),
        pytest.param(DOUBTFUL, False, True, True, id="goes on, unsure"),
        pytest.param(LIKELY_NEW, True, True, True, id="another topic"),
        pytest.param(NEW_TOPIC, True, True, True, id="another topic, likelier"),
    ],
)
def test_the_prompts_above_weigh_what_their_names_say(
    reading: PromptReading, shift: bool, unsure: bool, unsure_once_committed: bool
) -> None:
    """Weights that are trained anew may ask for other prompts here."""
    arc, turn = OpenArc([FIRST]), turn_at(9, reading)
    plain, after = topic_shift(arc, turn), topic_shift(arc, turn, after_commit=True)
    assert (plain.shift, plain.unsure, after.unsure) == (shift, unsure, unsure_once_committed)


def test_no_goal_is_followed_for_longer_than_so_many_turns() -> None:
    arcs = cut_arcs([turn_at(number) for number in range(TURNS_MAX + 1)], "start", None)
    assert [len(arc.turn_ids) for arc in arcs] == [TURNS_MAX, 1]


def shape(arcs: Sequence[Arc]) -> list[tuple[BoundaryKind, list[int]]]:
    return [(arc.opened_by, [turn_id.int for turn_id in arc.turn_ids]) for arc in arcs]


WHOLE: list[tuple[BoundaryKind, list[int]]] = [("start", [0, 9])]


def parted(kind: BoundaryKind) -> list[tuple[BoundaryKind, list[int]]]:
    return [("start", [0]), (kind, [9])]


@pytest.mark.parametrize(
    ("turns", "arcs"),
    [
        pytest.param([], [], id="no turn, no arc"),
        pytest.param([FIRST], [("start", [0])], id="one turn, one arc"),
        pytest.param([FIRST, turn_at(9, GOES_ON)], WHOLE, id="a turn that goes on"),
        pytest.param([FIRST, turn_at(3_000, GOES_ON)], [("start", [0, 3_000])], id="idle time is no boundary"),
        pytest.param([FIRST, turn_at(9, GOES_ON, opening="clear")], parted("clear"), id="a clear"),
        pytest.param([FIRST, turn_at(9, GOES_ON, opening="end")], parted("end"), id="an end"),
        pytest.param([FIRST, turn_at(9, GOES_ON, opening="start")], WHOLE, id="a start within is none"),
        pytest.param([FIRST, turn_at(9, NEW_TOPIC)], parted("topic"), id="a topic shift"),
        pytest.param([FIRST, turn_at(9, DOUBTFUL)], WHOLE, id="a doubtful turn goes on"),
        pytest.param([SHIPPED, turn_at(9, LIKELY_NEW)], parted("commit"), id="another topic after a commit"),
        pytest.param([SHIPPED, turn_at(9, GOES_ON)], WHOLE, id="a turn that goes on after a commit"),
        pytest.param([SHIPPED, turn_at(9, THANKS)], WHOLE, id="thanks after a commit"),
        pytest.param([SHIPPED, turn_at(9)], WHOLE, id="an unseen prompt after a commit"),
        pytest.param([SHIPPED, turn_at(9, NEW_TOPIC)], parted("commit"), id="another topic after one"),
        pytest.param([SHIPPED, turn_at(9, DOUBTFUL, opening="end")], parted("end"), id="an end after one"),
        pytest.param(
            [turn_at(0, GOAL, work=worked("M")), turn_at(9, DOUBTFUL)], WHOLE, id="a commit of what nobody changed"
        ),
        pytest.param(
            [turn_at(0, GOAL, work=worked("C", changed=(1,))), turn_at(9, DOUBTFUL)], WHOLE, id="a change uncommitted"
        ),
        pytest.param(
            [turn_at(0, GOAL, work=worked("C")), turn_at(1, GOES_ON, work=worked("M")), turn_at(9, DOUBTFUL)],
            [("start", [0, 1]), ("commit", [9])],
            id="a change in one turn and its commit in the next",
        ),
        pytest.param(
            [SHIPPED, turn_at(1, GOES_ON), turn_at(9, DOUBTFUL)],
            [("start", [0, 1, 9])],
            id="a commit before the last turn is past",
        ),
        pytest.param(
            [SHIPPED, turn_at(1, DOUBTFUL, work=worked("M", read=(8,))), turn_at(9, DOUBTFUL)],
            [("start", [0]), ("commit", [1, 9])],
            id="a change of the arc before does not count",
        ),
    ],
)
def test_a_session_is_cut_at_its_boundaries(turns: list[Turn], arcs: list[tuple[BoundaryKind, list[int]]]) -> None:
    """A clear, an end, a topic shift, or a commit of own changes that the next turn does not continue."""
    assert shape(cut_arcs(turns, "start", None)) == arcs


def model_says(boundary: bool | None, before: int = 0) -> GapAnswer:
    """What a text model answered about the gap after the turn of that minute."""
    answer = JudgeAnswered(
        received_at_us=0,
        organization_id=uuid(1),
        developer_id=uuid(2),
        kind="boundary",
        agent_session_id="session",
        capture_id=uuid(3),
        model="m",
        prompt_version=1,
        input_digest=b"",
        confidence=0.8,
        boundary=boundary,
    )
    return GapAnswer(uuid(before), answer, 55)


@pytest.mark.parametrize(
    ("second", "work", "answer", "arcs", "judges"),
    [
        pytest.param(GOES_ON, worked(), model_says(True), parted("topic"), ["model:m"], id="it parts"),
        pytest.param(NEW_TOPIC, worked(), model_says(False), WHOLE, ["model:m"], id="it joins"),
        pytest.param(GOES_ON, COMMITTED, model_says(True), parted("commit"), ["model:m"], id="it parts at a commit"),
        pytest.param(DOUBTFUL, COMMITTED, model_says(False), WHOLE, ["model:m"], id="it joins over a commit"),
        pytest.param(NEW_TOPIC, worked(), model_says(None), parted("topic"), ["embedded/2"], id="it said nothing"),
        pytest.param(
            NEW_TOPIC, worked(), model_says(False, 5), parted("topic"), ["embedded/2"], id="it was asked of another gap"
        ),
        pytest.param(GOES_ON, worked(), model_says(True, 5), WHOLE, [], id="an embedded no is not kept"),
        pytest.param(THANKS, worked(), model_says(True), WHOLE, [], id="a turn that cannot shift stays"),
        pytest.param(LIKELY_NEW, COMMITTED, None, parted("commit"), ["embedded/2"], id="nobody was asked"),
    ],
)
def test_a_text_models_answer_goes_before_the_embedded_judge(
    second: PromptReading,
    work: Work,
    answer: GapAnswer | None,
    arcs: list[tuple[BoundaryKind, list[int]]],
    judges: list[str | None],
) -> None:
    """What parted two arcs is kept with the second, what joined them with the whole."""
    turns = [turn_at(0, GOAL, work=work), turn_at(9, second)]
    cut = cut_arcs(turns, "start", None, answers={} if answer is None else {uuid(9): answer})
    assert shape(cut) == arcs
    verdicts = [verdict for arc in cut for verdict in (arc.shift, *arc.continuations)]
    assert [None if verdict is None else verdict.judge for verdict in verdicts] == [None, *judges]


@pytest.mark.parametrize(
    ("second", "said", "arcs", "words"),
    [
        pytest.param(turn_at(9, GOES_ON), {uuid(9): True}, parted("person"), [None, True], id="a person parts"),
        pytest.param(
            turn_at(9, GOES_ON, opening="end"), {uuid(9): True}, parted("person"), [None, True], id="at an end as well"
        ),
        pytest.param(
            turn_at(9, NEW_TOPIC), {uuid(9): False}, parted("topic"), [None, False], id="no boundary: told to the merge"
        ),
        pytest.param(turn_at(9, GOES_ON), {uuid(9): False}, WHOLE, [None], id="no boundary where there is none"),
        pytest.param(turn_at(9, GOES_ON), {uuid(0): False}, WHOLE, [False], id="of the first turn: told to the merge"),
    ],
)
def test_a_persons_word_goes_before_every_boundary(
    second: Turn, said: dict[UUID, bool], arcs: list[tuple[BoundaryKind, list[int]]], words: list[bool | None]
) -> None:
    """That there is one cuts here; that there is none is told with the arc that it opens."""
    cut = cut_arcs([FIRST, second], "start", None, said, {uuid(9): model_says(False)} if said.get(uuid(9)) else {})
    assert (shape(cut), [arc.said for arc in cut]) == (arcs, words)


@pytest.mark.parametrize(
    ("turns", "closings"),
    [
        pytest.param([FIRST], [(None, None)], id="an open arc"),
        pytest.param([turn_at(0, GOAL, closed="end", closed_at=3)], [("end", 3)], id="an end that nothing follows"),
        pytest.param([FIRST, turn_at(9, NEW_TOPIC)], [("topic", 9), (None, None)], id="closed by the next one's start"),
        pytest.param(
            [turn_at(0, GOAL, closed="clear", closed_at=3), turn_at(9, GOES_ON, opening="clear")],
            [("clear", 3), (None, None)],
            id="closed when the clear was seen",
        ),
        pytest.param([FIRST, turn_at(1, GOES_ON, closed="end", closed_at=3)], [("end", 3)], id="after its last turn"),
        pytest.param(
            [turn_at(0, GOAL, closed="end", closed_at=3), turn_at(9, GOES_ON, opening="clear")],
            [("end", 3), (None, None)],
            id="closed by the end, though the next one opens with a clear",
        ),
    ],
)
def test_an_arc_closes_where_that_was_said_else_with_the_next_one(
    turns: list[Turn], closings: list[tuple[BoundaryKind | None, int | None]]
) -> None:
    cut = cut_arcs(turns, "start", None)
    assert [(arc.closed_by, None if arc.closed_us is None else arc.closed_us // MINUTE) for arc in cut] == closings


def test_an_arc_holds_what_its_turns_amount_to() -> None:
    """Its opening turn names it; the last known directory and all files are its own."""
    shift = cut_arcs([FIRST, turn_at(9, NEW_TOPIC)], "start", None)[1].shift
    turns = [
        turn_at(1, GOAL, work=worked(changed=(5,), read=(3,)), lasts_us=HOUR, cwd=7),
        turn_at(2, GOES_ON, work=worked(changed=(4,), read=(5,)), cwd=8),
        turn_at(3, GOES_ON),
    ]
    (arc,) = cut_arcs(turns, "topic", shift)
    assert (arc.arc_id, arc.agent_session_id, arc.opened_by, arc.shift) == (uuid(1), "session", "topic", shift)
    assert (arc.started_us, arc.last_activity_us, arc.cwd_digest) == (MINUTE, MINUTE + HOUR, 8)
    assert (arc.touched_files, arc.changed_files) == ((3, 4, 5), (4, 5))
    assert shift is not None
    assert shift.shift


@pytest.mark.parametrize(
    ("arc", "settles_us"),
    [
        pytest.param(arc_of(last_activity_us=HOUR), HOUR + 30 * MINUTE, id="open: quiet for thirty minutes"),
        pytest.param(
            arc_of(last_activity_us=HOUR, closed_by="end", closed_us=HOUR + MINUTE), HOUR + MINUTE, id="at its boundary"
        ),
        pytest.param(
            arc_of(last_activity_us=HOUR, closed_by="topic", closed_us=5 * HOUR),
            HOUR + 30 * MINUTE,
            id="quiet long before its boundary",
        ),
        pytest.param(
            arc_of(last_activity_us=HOUR, closed_by="clear", closed_us=MINUTE), MINUTE, id="active after its boundary"
        ),
    ],
)
def test_an_arc_settles_at_its_boundary_or_after_thirty_quiet_minutes(arc: Arc, settles_us: int) -> None:
    assert arc.settles_at_us == settles_us


REVIEW = turn_at(0, prompt("phrase:review_asked", "prose"), answer=response(asks=True), work=worked("CI", changed=(1,)))
SURELY_GOES_ON = turn_at(
    9, prompt("has report", opens=("points back at once", "adds to what is there")), work=worked(changed=(1,))
)


@pytest.mark.parametrize(
    ("first", "second", "unsure"),
    [
        pytest.param(FIRST, turn_at(9, DOUBTFUL), True, id="near even odds"),
        pytest.param(FIRST, turn_at(9, LIKELY_NEW), True, id="another topic"),
        pytest.param(FIRST, turn_at(9, NEW_TOPIC), True, id="another topic, likelier"),
        pytest.param(FIRST, turn_at(9, LIKELY_GOES_ON), False, id="the same topic, rather surely"),
        pytest.param(FIRST, turn_at(9, GOES_ON), False, id="the same topic, surely"),
        pytest.param(REVIEW, SURELY_GOES_ON, False, id="the same topic, beyond any doubt"),
        pytest.param(SHIPPED, turn_at(9, LIKELY_GOES_ON), True, id="a commit makes it unsure"),
        pytest.param(FIRST, turn_at(9, THANKS), False, id="a turn that cannot shift"),
    ],
)
def test_a_gap_is_unsure_between_the_bounds(first: Turn, second: Turn, unsure: bool) -> None:
    """What a commit adds is part of its chance."""
    assert [gap.turn for gap in unsure_gaps([], [first, second], ())] == ([second] if unsure else [])


def test_an_arc_knows_how_unsure_its_end_is() -> None:
    """What a judge hardly saw; where a person said it, or the session was cleared, nothing is unsure."""
    turns = [FIRST, turn_at(9, NEW_TOPIC)]
    first, last = cut_arcs(turns, "start", None)
    assert last.shift is not None
    assert (first.end_chance, last.end_chance) == (last.shift.chance, None)
    said, _ = cut_arcs(turns, "start", None, {turns[1].turn_id: True})
    assert said.end_chance is None
    cleared, _ = cut_arcs([turns[0], turn_at(9, NEW_TOPIC, opening="clear")], "start", None)
    assert cleared.end_chance is None


def test_the_gaps_of_an_arc_are_found_in_order() -> None:
    """The one before it as well, where a judge parted the two; none of which a person spoke."""
    before, turns = [FIRST, turn_at(1, GOES_ON)], [turn_at(n, DOUBTFUL) for n in (2, 3, 4)]
    found = unsure_gaps(before, turns, ())
    assert [(gap.arc, gap.turn) for gap in found] == [
        (tuple(before), turns[0]),
        ((turns[0],), turns[1]),
        (tuple(turns[:2]), turns[2]),
    ]
    assert [gap.turn for gap in unsure_gaps([], turns, {uuid(3)})] == [turns[2]]
    assert unsure_gaps(before, turns, {uuid(2), uuid(3), uuid(4)}) == []


def test_a_gap_tells_its_chance() -> None:
    """A sum below 0: the same topic; 0.7 of a logit more after a commit."""
    (plain,) = unsure_gaps([], [FIRST, turn_at(9, DOUBTFUL)], ())
    (after,) = unsure_gaps([], [SHIPPED, turn_at(9, DOUBTFUL)], ())
    (shift,) = unsure_gaps([], [FIRST, turn_at(9, LIKELY_NEW)], ())
    assert plain.logit < 0 < shift.logit
    assert after.logit - plain.logit == 700
    assert plain.chance < after.chance < shift.chance
