"""The six kinds of flags, each on both sides of its bounds (scoring.md, section 6)."""

from math import ceil
from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rapidfuzz.distance import Levenshtein

from aggregates.event import Span
from aggregates.scores.integrity import (
    KINDS,
    Clear,
    FlagKind,
    IntegrityFinding,
    Skew,
    TurnEvidence,
    alike,
    clears_of,
    clock_skew,
    flags_of_session,
    foreign_session,
    may_be_alike,
    session_splitting,
    skew_day,
    turn_evidence,
)
from aggregates.turns.turn import FileWork, Work
from tests.support.judging import turn

SECOND = 1_000_000
MINUTE = 60 * SECOND
MONDAY = 1_767_603_600 * SECOND  # Monday 2026-01-05, 09:00 UTC
NAMESPACE = UUID("3f2b8c1e-0000-4000-8000-000000000001")


def sign(
    at_us: int,
    *,
    characters: int | None = 100,
    pasted: int = 0,
    tiny: bool = False,
    alike: bool = False,
    files: tuple[int, ...] = (),
    cleared_us: int | None = None,
) -> TurnEvidence:
    """What a turn shows; its id comes from its time."""
    return TurnEvidence(_turn(at_us), at_us, characters, pasted, tiny, files, cleared_us, alike)


def _turn(at_us: int) -> UUID:
    return uuid5(NAMESPACE, f"turn {at_us}")


def flags(kind: FlagKind, *signs: TurnEvidence) -> list[IntegrityFinding]:
    """The flags of that kind in a session; no other kind is found."""
    found = flags_of_session("s1", signs)
    assert {each.kind for each in found} <= {kind}
    return found


def test_there_are_six_kinds() -> None:
    assert (
        *("auto_retry_storm", "tiny_prompt_burst", "session_splitting", "pasted_inflation", "clock_skew"),
        "foreign_session",
    ) == KINDS


# --- what a turn shows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tiny"),
    [
        pytest.param("Why is so", True, id="nine characters are tiny"),
        pytest.param("Why is so?", False, id="ten characters are not"),
        pytest.param("수정해", True, id="three CJK characters are worth nine"),
        pytest.param("수정해줘", False, id="four CJK characters are worth twelve"),
        pytest.param("ok\n```\nx = 1\n```", False, id="what was pasted makes it longer"),
        pytest.param(None, False, id="a text that was not captured is not tiny"),
    ],
)
def test_a_tiny_prompt_has_under_ten_characters(text: str | None, tiny: bool) -> None:
    assert turn_evidence(turn(text)).tiny is tiny


def test_the_sign_of_a_turn() -> None:
    """Lengths, times and files; whether it is like the one before is not said yet."""
    pasted = "Look at this\n```\n" + "x = 1\n" * 50 + "```\n"
    files = tuple(FileWork(digest, 0, Span(0, 0), 0, 0, 0) for digest in (9, 4))
    seen = replace(turn(pasted), work=Work(files=files), closed_us=MONDAY + MINUTE, closed_by="clear")
    found = turn_evidence(seen)
    assert (found.turn_id, found.at_us, found.characters) == (seen.turn_id, seen.started_us, len(pasted))
    assert seen.prompt is not None
    assert 0 < found.pasted_characters == seen.prompt.pasted_characters
    assert (found.files, found.cleared_us, found.alike) == ((4, 9), MONDAY + MINUTE, False)
    assert turn_evidence(replace(seen, closed_by="end")).cleared_us is None
    assert (turn_evidence(turn(None)).characters, turn_evidence(turn(None)).pasted_characters) == (None, 0)


# --- storms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("fix it", "fix it", True, id="equal texts"),
        pytest.param("aaaaaaaaaa", "aaaaaaaabb", True, id="two of ten differ"),
        pytest.param("aaaaaaaaaa", "aaaaaaabbb", False, id="three of ten differ"),
        pytest.param("aaaaa", "aaaa", True, id="one of five is missing"),
        pytest.param("aaaa", "aaab", False, id="one of four differs"),
        pytest.param("aaaaaaaaa", "aaaaaaabb", False, id="two of nine differ"),
        pytest.param("Try again, please.", "try again please", True, id="three of eighteen differ"),
        pytest.param("run the tests", "write the docs", False, id="other words"),
        pytest.param("", "", True, id="two empty texts"),
        pytest.param("a", "", False, id="one empty text"),
    ],
)
def test_alike_is_four_in_five(one: str, other: str, expected: bool) -> None:
    """1 - distance / longer length, 0.8 included, either way round."""
    assert alike(one, other) is expected
    assert alike(other, one) is expected


@settings(max_examples=20)
@given(st.text("ab ", max_size=20), st.text("ab ", max_size=20))
def test_alike_is_the_definition(one: str, other: str) -> None:
    """And no pair that is alike is passed over for its lengths."""
    longer = max(len(one), len(other))
    expected = longer == 0 or 10 * Levenshtein.distance(one, other) <= 2 * longer
    assert alike(one, other) is expected
    pair = [sign(MONDAY, characters=len(one)), sign(MONDAY, characters=len(other))]
    assert may_be_alike(*pair) or not expected


def test_long_texts_are_compared_by_head_and_tail() -> None:
    """The middle of 32 KiB and more is not looked at, so that a comparison stays bounded."""
    head, tail = "x" * 24_576, "y" * 8_192
    assert alike(head + "a" * 100_000 + tail, head + "b" * 900_000 + tail)
    assert not alike(head + "a" * 100_000 + "z" * 8_192, head + "b" * 900_000 + tail)


@pytest.mark.parametrize(
    ("differing", "expected"),
    [pytest.param(4_000, True, id="a fifth differs"), pytest.param(4_001, False, id="over a fifth differs")],
)
def test_texts_under_32_kib_are_compared_whole(differing: int, expected: bool) -> None:
    assert alike("a" * 20_000, "b" * differing + "a" * (20_000 - differing)) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(sign(MONDAY), sign(MONDAY + 60 * SECOND), True, id="60 seconds apart"),
        pytest.param(sign(MONDAY), sign(MONDAY + 60 * SECOND + 1), False, id="over 60 seconds apart"),
        pytest.param(sign(MONDAY, characters=100), sign(MONDAY, characters=80), True, id="a fifth shorter"),
        pytest.param(sign(MONDAY, characters=80), sign(MONDAY, characters=100), True, id="a quarter longer"),
        pytest.param(sign(MONDAY, characters=100), sign(MONDAY, characters=79), False, id="over a fifth shorter"),
        pytest.param(sign(MONDAY, characters=79), sign(MONDAY, characters=100), False, id="over a quarter longer"),
        pytest.param(sign(MONDAY, characters=None), sign(MONDAY), False, id="the first was not captured"),
        pytest.param(sign(MONDAY), sign(MONDAY, characters=None), False, id="the second was not captured"),
    ],
)
def test_which_neighbours_are_compared(first: TurnEvidence, second: TurnEvidence, expected: bool) -> None:
    """A minute apart at most, of like length, and both seen."""
    assert may_be_alike(first, second) is expected


def test_three_alike_are_a_storm() -> None:
    """It fires at the third, and goes on for as long as they are alike."""
    signs = [sign(MONDAY + n * 50 * SECOND, alike=n in (2, 3, 4)) for n in range(7)]
    (found,) = flags("auto_retry_storm", *signs)
    assert (found.count, found.first_us, found.last_us) == (4, signs[1].at_us, signs[4].at_us)
    assert (found.detected_us, found.turn_id, found.agent_session_id) == (signs[3].at_us, signs[3].turn_id, "s1")
    assert found.window_seconds == 150
    assert found.details == {"first_at": "2026-01-05T09:00:50Z", "last_at": "2026-01-05T09:03:20Z"}


@pytest.mark.parametrize(
    ("like_the_one_before", "counts"),
    [
        pytest.param([False, True], [], id="two alike are none"),
        pytest.param([False, True, True], [3], id="three alike are a storm"),
        pytest.param([True, True, True], [3], id="the first is like nothing that was seen"),
        pytest.param([False, True] * 4, [], id="one that is different ends a run"),
        pytest.param([False, True, True, False, True, True, True], [3, 4], id="two runs are two storms"),
    ],
)
def test_how_many_alike_are_a_storm(like_the_one_before: list[bool], counts: list[int]) -> None:
    signs = [sign(MONDAY + n, alike=alike) for n, alike in enumerate(like_the_one_before)]
    assert [found.count for found in flags("auto_retry_storm", *signs)] == counts


# --- bursts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        pytest.param([0, 1, 2, 3], [], id="four are none"),
        pytest.param([0, 1, 2, 3, 5], [5], id="five within five minutes are one"),
        pytest.param([0, 1, 2, 3, 5 + 1e-8], [], id="five within a microsecond more are none"),
        pytest.param([0, 1, 2, 3, 4, 5, 6, 7], [8], id="windows that overlap are one burst"),
        pytest.param([0, 0, 0, 0, 5, 5.5, 6, 7, 10], [9], id="windows that share one prompt are one burst"),
        pytest.param([0, 0, 0, 0, 0, 10, 10, 10, 10, 10], [5, 5], id="windows that share none are two bursts"),
        pytest.param([*[0] * 5, *[10] * 5, 11], [5, 6], id="the second of which goes on"),
    ],
)
def test_five_tiny_prompts_in_five_minutes_are_a_burst(minutes: list[float], expected: list[int]) -> None:
    """Windows that overlap are one burst; longer prompts in between change nothing."""
    tiny = [sign(MONDAY + ceil(m * MINUTE), tiny=True, characters=3) for m in minutes]
    others = [sign(each.at_us + 1) for each in tiny]
    signs = sorted([*tiny, *others], key=lambda each: each.at_us)
    assert [found.count for found in flags("tiny_prompt_burst", *signs)] == expected


def test_a_burst_fires_at_the_fifth() -> None:
    tiny = [sign(MONDAY + n * MINUTE, tiny=True) for n in range(6)]
    (found,) = flags("tiny_prompt_burst", *tiny)
    assert (found.detected_us, found.turn_id, found.window_seconds) == (tiny[4].at_us, tiny[4].turn_id, 300)


# --- pasted prompts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("characters", "pasted", "expected"),
    [
        pytest.param(2_001, 2_001, True, id="2,001 characters"),
        pytest.param(2_000, 2_000, False, id="2,000 characters are not over 2,000"),
        pytest.param(3_000, 2_701, True, id="over 90 per cent"),
        pytest.param(3_000, 2_700, False, id="90 per cent are not over 90"),
        pytest.param(None, 2_001, False, id="not captured"),
    ],
)
def test_a_long_prompt_that_is_nearly_all_pasted(characters: int | None, pasted: int, expected: bool) -> None:
    found = flags("pasted_inflation", sign(MONDAY, characters=characters, pasted=pasted))
    assert bool(found) is expected
    for each in found:
        assert (each.count, each.window_seconds, each.turn_id) == (1, 0, _turn(MONDAY))
        assert each.more == {"characters": characters, "pasted_characters": pasted}


# --- clears ---------------------------------------------------------------------------------------------------


def test_a_clear_is_over_the_files_since_the_one_before() -> None:
    """All that was touched since; one that ended no work on files is none."""
    signs = [
        sign(MONDAY, files=(1, 8)),
        sign(MONDAY + MINUTE, files=(3, 8), cleared_us=MONDAY + 2 * MINUTE),
        sign(MONDAY + 3 * MINUTE, cleared_us=MONDAY + 4 * MINUTE),
        sign(MONDAY + 5 * MINUTE, files=(9,)),
        sign(MONDAY + 6 * MINUTE, cleared_us=MONDAY + 7 * MINUTE),
        sign(MONDAY + 8 * MINUTE, files=(4,)),
    ]
    assert clears_of("s1", signs) == [
        Clear(MONDAY + 2 * MINUTE, "s1", _turn(MONDAY + MINUTE), (1, 3, 8)),
        Clear(MONDAY + 7 * MINUTE, "s1", _turn(MONDAY + 6 * MINUTE), (9,)),
    ]


HALF_AN_HOUR = 30.0
A_MICROSECOND = 1 / MINUTE


@pytest.mark.parametrize(
    ("clears", "counts"),
    [
        pytest.param([(n * 5, {1}) for n in range(4)], [], id="four are none"),
        pytest.param([(n * 7.5, {1}) for n in range(5)], [5], id="five within half an hour are one"),
        pytest.param(
            [(0, {1}), *((n * 7.5 + A_MICROSECOND, {1}) for n in range(1, 5))], [], id="a microsecond more is none"
        ),
        pytest.param([(n * 5, {1}) for n in range(9)], [9], id="windows that overlap are one"),
        pytest.param([(n, {1}) for n in (0, 1, 2, 3, 4, 60, 61, 62, 63, 64)], [5, 5], id="an hour later is another"),
        pytest.param(
            [(0, {1}), *((HALF_AN_HOUR, {1}) for _ in range(4))], [5], id="two neighbours may lie half an hour apart"
        ),
        pytest.param(
            [(n * 5, {1, 2} if n % 2 else {2, 3}) for n in range(5)], [5], id="half of the files are the same"
        ),
        pytest.param([(n, {1, 2, 3} if n % 2 else {3, 4, 5}) for n in range(5)], [], id="a third of the files is not"),
        pytest.param([(n * 5, {n}) for n in range(5)], [], id="no file is the same"),
        pytest.param([(n * 2, {1} if n % 2 else {2}) for n in range(10)], [5, 5], id="two goals are told apart"),
        pytest.param(
            [(0, {1}), (1, {1}), (2, {1}), (3, {1}), (4, {7, 8, 9}), (5, {1})], [5], id="another goal in between"
        ),
        pytest.param(
            [(0, {1}), (1, {2}), (10, {1}), (20, {1}), (31.5, {1, 2}), (32, {1}), (33, {1})],
            [5],
            id="a goal of over half an hour ago is not gone on with",
        ),
        pytest.param(
            [(0, {1}), (0.5, {2}), (1, {1}), (2, {1}), (3, {1}), (4, {1, 2}), (5, {2}), (6, {2}), (7, {2})],
            [5],
            id="of two goals that fit the one begun last goes on",
        ),
    ],
)
def test_five_clears_in_half_an_hour_over_the_same_files(
    clears: list[tuple[float, set[int]]], counts: list[int]
) -> None:
    """Half of the smaller set is the same, as in merging, whichever of three sessions they cleared."""
    told = [
        Clear(MONDAY + round(minutes * MINUTE), f"s{n % 3}", _turn(n), tuple(sorted(files)))
        for n, (minutes, files) in enumerate(clears)
    ]
    found = session_splitting(reversed(told))
    assert [each.count for each in found] == counts
    assert all(each.more == {"agent_sessions": 3} for each in found)


def test_splitting_fires_at_the_fifth_clear() -> None:
    told = [Clear(MONDAY + n * MINUTE, f"s{n}", _turn(n), (1,)) for n in range(7)]
    (found,) = session_splitting(told)
    assert (found.kind, found.count, found.more) == ("session_splitting", 7, {"agent_sessions": 7})
    assert (found.detected_us, found.agent_session_id, found.turn_id) == (told[4].at_us, "s4", _turn(4))
    assert (found.first_us, found.last_us) == (told[0].at_us, told[6].at_us)


# --- single facts ---------------------------------------------------------------------------------------------


def test_a_wrong_clock() -> None:
    """First and last receipt, how many facts, and by how much the clock was ahead."""
    skews = [Skew(MONDAY + 90 * SECOND, 11 * MINUTE), Skew(MONDAY, 12 * MINUTE + SECOND - 1), Skew(MONDAY + 1, 0)]
    found = clock_skew("s1", skews)
    assert (found.kind, found.agent_session_id, found.turn_id) == ("clock_skew", "s1", None)
    assert (found.count, found.detected_us, found.first_us, found.last_us) == (3, MONDAY, MONDAY, MONDAY + 90 * SECOND)
    assert found.more == {"ahead_seconds": 720}


@pytest.mark.parametrize(
    ("received_us", "day"),
    [
        pytest.param(0, 0, id="the first instant of 1970"),
        pytest.param(24 * 60 * MINUTE - 1, 0, id="the last instant of its first day"),
        pytest.param(24 * 60 * MINUTE, 1, id="the first instant of its second day"),
    ],
)
def test_skews_are_flagged_by_the_day_in_greenwich(received_us: int, day: int) -> None:
    assert skew_day(received_us) == day


@pytest.mark.parametrize(
    ("length_us", "seconds"),
    [
        pytest.param(0, 0, id="a moment has none"),
        pytest.param(1, 1, id="a begun second is whole"),
        pytest.param(SECOND, 1, id="a second is one"),
        pytest.param(SECOND + 1, 2, id="a microsecond more is two"),
    ],
)
def test_the_window_of_a_flag(length_us: int, seconds: int) -> None:
    """From the first to the last of what was counted."""
    found = clock_skew(None, [Skew(MONDAY, 0), Skew(MONDAY + length_us, 0)])
    assert found.window_seconds == seconds


def test_a_session_of_somebody_else() -> None:
    """Once, when it was tried, by the name that was tried."""
    found = foreign_session("theirs", MONDAY)
    assert (found.kind, found.agent_session_id, found.turn_id) == ("foreign_session", "theirs", None)
    assert (found.count, found.detected_us, found.window_seconds) == (1, MONDAY, 0)
    assert found.details == {"first_at": "2026-01-05T09:00:00Z", "last_at": "2026-01-05T09:00:00Z"}
