"""The six kinds of flags, each on both sides of its bounds."""

from dataclasses import dataclass
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from aggregates.scores.integrity import (
    Clear,
    Found,
    Kind,
    Sign,
    Skew,
    alike,
    clears_of,
    clock_skew,
    flags_of_session,
    foreign_session,
    may_be_alike,
    session_splitting,
)
from tests.support.facts import MINUTE, MONDAY, NAMESPACE, SECOND


def sign(
    at_us: int,
    *,
    characters: int | None = 100,
    pasted: int = 0,
    tiny: bool = False,
    alike: bool = False,
    files: tuple[int, ...] = (),
    cleared_us: int | None = None,
) -> Sign:
    """What a turn shows; its id comes from its time."""
    return Sign(_turn(at_us), at_us, characters, pasted, tiny, files, cleared_us, alike)


def _turn(at_us: int) -> UUID:
    return uuid5(NAMESPACE, f"turn {at_us}")


def flags(kind: Kind, *signs: Sign) -> list[Found]:
    """The flags of that kind in a session; no other kind is found."""
    found = flags_of_session("s1", signs)
    assert {each.kind for each in found} <= {kind}
    return found


# --- storms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("fix it", "fix it", True),
        ("aaaaaaaaaa", "aaaaaaaabb", True),  # 2 of 10
        ("aaaaaaaaaa", "aaaaaaabbb", False),  # 3 of 10
        ("aaaaa", "aaaa", True),  # 1 of 5
        ("aaaa", "aaab", False),  # 1 of 4
        ("aaaaaaaaa", "aaaaaaabb", False),  # 2 of 9
        ("Try again, please.", "try again please", True),  # 3 of 18
        ("run the tests", "write the docs", False),
        ("", "", True),
        ("a", "", False),
    ],
)
def test_alike_is_four_in_five(one: str, other: str, expected: bool) -> None:
    """1 - distance / longer length, 0.8 included, either way round."""
    assert alike(one, other) is expected
    assert alike(other, one) is expected


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
    assert not alike(head + tail, "z" * 500_000)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (sign(MONDAY), sign(MONDAY + 60 * SECOND), True),
        (sign(MONDAY), sign(MONDAY + 60 * SECOND + 1), False),
        (sign(MONDAY, characters=100), sign(MONDAY, characters=80), True),
        (sign(MONDAY, characters=100), sign(MONDAY, characters=79), False),
        (sign(MONDAY, characters=79), sign(MONDAY, characters=100), False),
        (sign(MONDAY, characters=None), sign(MONDAY), False),
        (sign(MONDAY), sign(MONDAY, characters=None), False),
    ],
)
def test_which_neighbours_are_compared(first: Sign, second: Sign, expected: bool) -> None:
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


def test_two_alike_are_none() -> None:
    """Once more is no storm, and one that is different in between ends a run."""
    assert flags("auto_retry_storm", *(sign(MONDAY + n, alike=n % 2 == 1) for n in range(8))) == []


# --- bursts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([0, 1, 2, 3], []),
        ([0, 1, 2, 3, 5], [5]),
        ([0, 1, 2, 3, 5.001], []),
        ([0, 1, 2, 3, 4, 5, 6, 7], [8]),
        ([0, 0, 0, 0, 0, 4, 4, 4, 4, 8], [10]),
        ([0, 0, 0, 0, 0, 10, 10, 10, 10, 10], [5, 5]),
    ],
)
def test_five_tiny_prompts_in_five_minutes_are_a_burst(minutes: list[float], expected: list[int]) -> None:
    """Windows that overlap are one burst; longer prompts in between change nothing."""
    tiny = [sign(MONDAY + round(m * MINUTE), tiny=True, characters=3) for m in minutes]
    others = [sign(each.at_us + 1) for each in tiny]
    signs = sorted([*tiny, *others], key=lambda each: each.at_us)
    assert [found.count for found in flags("tiny_prompt_burst", *signs)] == expected


def test_a_burst_fires_at_the_fifth() -> None:
    """Its time, its turn."""
    tiny = [sign(MONDAY + n * MINUTE, tiny=True) for n in range(6)]
    (found,) = flags("tiny_prompt_burst", *tiny)
    assert (found.detected_us, found.turn_id, found.window_seconds) == (tiny[4].at_us, tiny[4].turn_id, 300)


# --- pasted prompts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("characters", "pasted", "expected"),
    [
        (2_001, 2_001, True),
        (2_000, 2_000, False),
        (3_000, 2_701, True),
        (3_000, 2_700, False),
        (None, 0, False),
    ],
)
def test_a_long_prompt_that_is_nearly_all_pasted(characters: int | None, pasted: int, expected: bool) -> None:
    """Over 2,000 characters, of which over 90 %."""
    found = flags("pasted_inflation", sign(MONDAY, characters=characters, pasted=pasted))
    assert bool(found) is expected
    for each in found:
        assert (each.count, each.window_seconds, each.turn_id) == (1, 0, _turn(MONDAY))
        assert each.more == {"characters": characters, "pasted_characters": pasted}


# --- clears ---------------------------------------------------------------------------------------------------


def test_a_clear_is_over_the_files_since_the_one_before() -> None:
    """All that was touched since; one that ended no work on files is none."""
    signs = [
        sign(MONDAY, files=(1, 2)),
        sign(MONDAY + MINUTE, files=(2, 3), cleared_us=MONDAY + 2 * MINUTE),
        sign(MONDAY + 3 * MINUTE, cleared_us=MONDAY + 4 * MINUTE),
        sign(MONDAY + 5 * MINUTE, files=(9,)),
        sign(MONDAY + 6 * MINUTE, cleared_us=MONDAY + 7 * MINUTE),
        sign(MONDAY + 8 * MINUTE, files=(4,)),
    ]
    assert clears_of("s1", signs) == [
        Clear(MONDAY + 2 * MINUTE, "s1", _turn(MONDAY + MINUTE), (1, 2, 3)),
        Clear(MONDAY + 7 * MINUTE, "s1", _turn(MONDAY + 6 * MINUTE), (9,)),
    ]


@dataclass(frozen=True)
class Cleared:
    """Minutes and files of clears, and the counts of the flags that they make."""

    clears: list[tuple[float, set[int]]]
    expected: list[int]


@pytest.mark.parametrize(
    "case",
    [
        Cleared([(n * 7.5, {1}) for n in range(5)], [5]),
        Cleared([(n * 7.6, {1}) for n in range(5)], []),
        Cleared([(n * 5, {1}) for n in range(4)], []),
        Cleared([(n * 5, {1}) for n in range(9)], [9]),
        Cleared([(n * 5, {1, 2} if n % 2 else {2, 3}) for n in range(5)], [5]),
        Cleared([(n * 5, {n}) for n in range(5)], []),
        Cleared([(n * 2, {1} if n % 2 else {2}) for n in range(10)], [5, 5]),
        Cleared([(0, {1}), (1, {1}), (2, {1}), (3, {1}), (4, {7, 8, 9}), (5, {1})], [5]),
        Cleared([(n, {1}) for n in (0, 1, 2, 3, 4, 60, 61, 62, 63, 64)], [5, 5]),
    ],
)
def test_five_clears_in_half_an_hour_over_the_same_files(case: Cleared) -> None:
    """Half of the smaller set is the same, as in merging; two goals side by side are told apart."""
    clears = [
        Clear(MONDAY + round(minutes * MINUTE), f"s{n % 3}", _turn(n), tuple(sorted(files)))
        for n, (minutes, files) in enumerate(case.clears)
    ]
    found = session_splitting(reversed(clears))
    assert [each.count for each in found] == case.expected
    for each in found:
        assert each.count <= 5 or each.detected_us < each.last_us
        assert each.more["agent_sessions"] == 3


# --- single facts ---------------------------------------------------------------------------------------------


def test_a_wrong_clock() -> None:
    """First and last receipt, how many facts, and by how much the clock was ahead."""
    found = clock_skew("s1", [Skew(MONDAY + 90 * SECOND, 11 * MINUTE), Skew(MONDAY, 12 * MINUTE)])
    assert (found.count, found.detected_us, found.window_seconds) == (2, MONDAY, 90)
    assert found.more == {"ahead_seconds": 720}


def test_a_session_of_somebody_else() -> None:
    """Once, when it was tried, by the name that was tried."""
    found = foreign_session("theirs", MONDAY)
    assert (found.kind, found.agent_session_id, found.turn_id) == ("foreign_session", "theirs", None)
    assert (found.count, found.detected_us, found.window_seconds) == (1, MONDAY, 0)
