"""One turn: when it was active, whether it was answered, whose text and whose numbers it holds."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest

from aggregates.reading.readings import ResponseReading
from aggregates.turns.turn import CapturedResponse, ModelUsage, Turn, active_by_turns_us, active_us
from aggregates.turns.turns import Capture, CaptureKind, PlacedObservation, build_turns
from tests.support.stages import DAY, MINUTE, answer, capture, prompt, response, seen, tool, uuid
from tests.support.tables import table


def turn_of(
    captures: Sequence[Capture],
    reports: Sequence[PlacedObservation] = (),
    answers: Mapping[UUID, CapturedResponse] | None = None,
) -> Turn:
    (turn,), _ = build_turns("session", captures, answers or {}, reports, openings={})
    return turn


@table(
    ("given", "answered_us"),
    {
        "as the client said": (answer(9 * MINUTE), 9 * MINUTE),
        "as the client said, whatever it took": (answer(9 * MINUTE, elapsed_ms=1_000), 9 * MINUTE),
        "never before the prompt": (answer(MINUTE), 5 * MINUTE),
        "on receipt, where nothing was said": (answer(9 * MINUTE, timed=False), 9 * MINUTE),
        "received before the prompt's time: at the prompt": (answer(MINUTE, timed=False), 5 * MINUTE),
        "prompt plus the time it took": (answer(9 * MINUTE, timed=False, elapsed_ms=60_000), 6 * MINUTE),
        "it took no time": (answer(9 * MINUTE, timed=False, elapsed_ms=0), 5 * MINUTE),
        "ten minutes ahead is believed": (answer(9 * MINUTE, timed=False, elapsed_ms=14 * 60_000), 19 * MINUTE),
        "over ten minutes is not": (answer(9 * MINUTE - 1, timed=False, elapsed_ms=14 * 60_000), 9 * MINUTE - 1),
        "nor is a receipt before the prompt": (answer(4 * MINUTE, timed=False, elapsed_ms=10 * 60_000), 5 * MINUTE),
    },
)
def test_a_response_happened_when_the_client_said_or_after_the_time_it_took(
    given: CapturedResponse, answered_us: int
) -> None:
    """The prompt was at five minutes; a time over ten minutes ahead of the receipt is replaced by it."""
    assert given.answered_us(5 * MINUTE) == answered_us


@table(
    ("reports", "given", "last_us"),
    {
        "the prompt alone": ([], None, MINUTE),
        "the last report": ([seen("tool", 4 * MINUTE), seen("request", 3 * MINUTE)], None, 4 * MINUTE),
        "a report from before the prompt": ([seen("tool", 0)], None, MINUTE),
        "a session's start is no activity": ([seen("session_start", 4 * MINUTE)], None, MINUTE),
        "nor is its end": ([seen("session_end", 4 * MINUTE)], None, MINUTE),
        "nor a counter of lines": ([seen("lines", 4 * MINUTE)], None, MINUTE),
        "the answer": ([], answer(5 * MINUTE), 5 * MINUTE),
        "an answer after the last report": ([seen("tool", 4 * MINUTE)], answer(5 * MINUTE), 5 * MINUTE),
        "a report after the answer": ([seen("tool", 6 * MINUTE)], answer(5 * MINUTE), 6 * MINUTE),
        "counted from the prompt that was answered": ([], answer(DAY, timed=False, elapsed_ms=60_000), 3 * MINUTE),
    },
)
def test_a_turn_is_active_until_its_last_report_or_answer(
    reports: list[PlacedObservation], given: CapturedResponse | None, last_us: int
) -> None:
    """The agent's log told the prompt a minute before the plugin did."""
    captures = [capture(1, at_us=2 * MINUTE), capture(2, "log", at_us=MINUTE)]
    turn = turn_of(captures, reports, {} if given is None else {uuid(1): given})
    assert (turn.started_us, turn.last_activity_us) == (MINUTE, last_us)


@table(
    ("reports", "given", "answered"),
    {
        "nothing": ([], None, False),
        "a captured response": ([], answer(), True),
        "a reported response": ([seen("response", 1)], None, True),
        "an answered request": ([seen("request", 1)], None, True),
        "a sub-agent's request alone": ([seen("request", 1, sidechain=True)], None, False),
        "an error and a tool call": ([seen("error", 1), seen("tool", 2, tool=tool())], None, False),
    },
)
def test_a_turn_is_answered_by_a_response_or_a_request(
    reports: list[PlacedObservation], given: CapturedResponse | None, answered: bool
) -> None:
    turn = turn_of([capture(1)], reports, {} if given is None else {uuid(1): given})
    assert turn.answered is answered


FIRST, SECOND_ANSWER = response("first"), response("second")


@table(
    ("reports", "given", "read"),
    {
        "none": ([], None, (None, None)),
        "the captured one": ([], answer(reading=FIRST, position=8), (FIRST, 8)),
        "the reported one": ([seen("response", 1, 9, response=FIRST)], None, (FIRST, 9)),
        "the last reported one": (
            [seen("response", 1, 9, response=FIRST), seen("response", 2, 11, response=SECOND_ANSWER)],
            None,
            (SECOND_ANSWER, 11),
        ),
        "the captured one before the reported one": (
            [seen("response", 1, 9, response=SECOND_ANSWER)],
            answer(reading=FIRST, position=8),
            (FIRST, 8),
        ),
    },
)
def test_the_captured_response_is_read_before_a_reported_one(
    reports: list[PlacedObservation], given: CapturedResponse | None, read: tuple[ResponseReading | None, int | None]
) -> None:
    turn = turn_of([capture(1)], reports, {} if given is None else {uuid(1): given})
    assert (turn.response, turn.response_position) == read


@table(
    ("kinds", "read"),
    {
        "the plugin's before all": (("log", "transcript", "plugin"), 3),
        "the transcript's before the log's": (("log", "transcript"), 2),
        "the log's alone": (("log",), 1),
    },
)
def test_whose_text_and_answer_are_read(kinds: tuple[CaptureKind, ...], read: int) -> None:
    """The plugin's first, then the transcript's, then the log's; a directory from whichever names one."""
    readings = {n: prompt(words=f"reading {n}") for n in (1, 2, 3)}
    captures = [
        capture(n, kind, at_us=n, reading=readings[n], cwd=5 if n == len(kinds) else None)
        for n, kind in enumerate(kinds, 1)
    ]
    turn = turn_of(captures, (), {uuid(n): answer(position=n, elapsed_ms=n) for n in (1, 2, 3)})
    assert (turn.prompt, turn.position, turn.capture_id) == (readings[read], read, uuid(read))
    assert (turn.words_start, turn.from_log, turn.cwd_digest) == (read * 100, kinds[read - 1] == "log", 5)
    assert (turn.response_position, turn.elapsed_ms) == (read, read)


def _unknown(*sums: int) -> ModelUsage:
    """One request to a model that nobody named."""
    return ModelUsage("unknown", 1, *sums)


@table(
    ("given", "expected"),
    {
        "no numbers": (answer(), ()),
        "tokens without a price": (answer(input_tokens=3), (_unknown(3, 0, 0, 0, 0, 1, 0, 1),)),
        "a zero that was told": (answer(output_tokens=0), (_unknown(0, 0, 0, 0, 0, 1, 0, 1),)),
        "a price without tokens": (answer(cost_usd_nano=7), (_unknown(0, 0, 0, 0, 7, 0, 0, 1, 1),)),
        "everything": (
            answer(
                model="opus",
                input_tokens=1,
                output_tokens=2,
                cache_read_tokens=3,
                cache_write_tokens=4,
                cost_usd_nano=5,
                lower_bound=True,
            ),
            (ModelUsage("opus", 1, 1, 2, 3, 4, 5, 0, 1, 1),),
        ),
    },
)
def test_a_responses_numbers_stand_in_where_no_request_log_covers_the_turn(
    given: CapturedResponse, expected: tuple[ModelUsage, ...]
) -> None:
    """With a request log they are not added to it."""
    alone = turn_of([capture(1)], [seen("tool", 1, tool=tool())], {uuid(1): given})
    assert alone.work.usage == expected
    logged = turn_of([capture(1)], [seen("request", 1, model="sonnet")], {uuid(1): given})
    assert [row.model for row in logged.work.usage] == ["sonnet"]


@pytest.mark.parametrize(
    ("minutes", "active"),
    [
        ([], 0),
        ([7], 0),
        ([0, 5], 5),  # five minutes are not over five minutes
        ([0, 5.001], 0),
        ([0, 3, 20, 22], 5),
        ([22, 0, 20, 3, 3], 5),
        ([0, 20], 0),
        ([0, 4, 8, 12, 16, 20], 20),
    ],
)
def test_gaps_over_five_minutes_are_not_active(minutes: list[float], active: int) -> None:
    """Whatever the order, and however often one moment is told."""
    assert active_us(int(minute * MINUTE) for minute in minutes) == active * MINUTE


@pytest.mark.parametrize(
    ("turns", "active"),
    [
        ([], 0),
        ([(0, 5)], 5),
        ([(0, 5.001)], None),  # it may hold a pause
        ([(0, 3), (20, 22)], 5),
        ([(0, 3), (1, 5), (9, 10)], 10),
        ([(0, 3), (20, 26)], None),
    ],
)
def test_turns_tell_the_active_time_by_their_ends_unless_one_is_long(
    turns: list[tuple[float, float]], active: float | None
) -> None:
    """In minutes; gaps between turns count as those within."""
    spans = [(int(start * MINUTE), int(end * MINUTE)) for start, end in turns]
    assert active_by_turns_us(spans) == (None if active is None else active * MINUTE)
