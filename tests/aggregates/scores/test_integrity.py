"""The six kinds of flags, each on both sides of its bounds (scoring.md, section 6)."""

from math import ceil
from uuid import UUID, uuid5

from hypothesis import given, settings, strategies as st
from msgspec.structs import replace
from rapidfuzz.distance import Levenshtein

from aggregates.event import Span
from aggregates.scores.integrity import (
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
    turn_evidence,
)
from aggregates.turns.turn import FileWork, Work
from tests.support.stages import turn
from tests.support.tables import table

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


@table(
    ("text", "tiny"),
    {
        "nine characters are tiny": ("Why is so", True),
        "ten characters are not": ("Why is so?", False),
        "what was pasted makes it longer": ("ok\n```\nx = 1\n```", False),
        "a text that was not captured is not tiny": (None, False),
    },
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


@table(
    ("one", "other", "expected"),
    {
        "equal texts": ("fix it", "fix it", True),
        "two of ten differ": ("aaaaaaaaaa", "aaaaaaaabb", True),
        "three of ten differ": ("aaaaaaaaaa", "aaaaaaabbb", False),
        "other words": ("run the tests", "write the docs", False),
        "one empty text": ("a", "", False),
    },
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


@table(
    ("first", "second", "expected"),
    {
        "60 seconds apart": (sign(MONDAY), sign(MONDAY + 60 * SECOND), True),
        "over 60 seconds apart": (sign(MONDAY), sign(MONDAY + 60 * SECOND + 1), False),
        "over a fifth shorter": (sign(MONDAY, characters=100), sign(MONDAY, characters=79), False),
        "the first was not captured": (sign(MONDAY, characters=None), sign(MONDAY), False),
    },
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


@table(
    ("like_the_one_before", "counts"),
    {
        "two alike are none": ([False, True], []),
        "three alike are a storm": ([False, True, True], [3]),
        "the first is like nothing that was seen": ([True, True, True], [3]),
        "one that is different ends a run": ([False, True] * 4, []),
    },
)
def test_how_many_alike_are_a_storm(like_the_one_before: list[bool], counts: list[int]) -> None:
    signs = [sign(MONDAY + n, alike=alike) for n, alike in enumerate(like_the_one_before)]
    assert [found.count for found in flags("auto_retry_storm", *signs)] == counts


@table(
    ("minutes", "expected"),
    {
        "four are none": ([0, 1, 2, 3], []),
        "five within five minutes are one": ([0, 1, 2, 3, 5], [5]),
        "five within a microsecond more are none": ([0, 1, 2, 3, 5 + 1e-8], []),
        "windows that share none are two bursts": ([0, 0, 0, 0, 0, 10, 10, 10, 10, 10], [5, 5]),
    },
)
def test_five_tiny_prompts_in_five_minutes_are_a_burst(minutes: list[float], expected: list[int]) -> None:
    """Windows that overlap are one burst; longer prompts in between change nothing."""
    tiny = [sign(MONDAY + ceil(m * MINUTE), tiny=True, characters=3) for m in minutes]
    others = [sign(each.at_us + 1) for each in tiny]
    signs = sorted([*tiny, *others], key=lambda each: each.at_us)
    assert [found.count for found in flags("tiny_prompt_burst", *signs)] == expected


@table(
    ("characters", "pasted", "expected"),
    {
        "2,001 characters": (2_001, 2_001, True),
        "2,000 characters are not over 2,000": (2_000, 2_000, False),
        "over 90 per cent": (3_000, 2_701, True),
        "90 per cent are not over 90": (3_000, 2_700, False),
        "not captured": (None, 2_001, False),
    },
)
def test_a_long_prompt_that_is_nearly_all_pasted(characters: int | None, pasted: int, expected: bool) -> None:
    found = flags("pasted_inflation", sign(MONDAY, characters=characters, pasted=pasted))
    assert bool(found) is expected
    for each in found:
        assert (each.count, each.window_seconds, each.turn_id) == (1, 0, _turn(MONDAY))
        assert each.more == {"characters": characters, "pasted_characters": pasted}


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


A_MICROSECOND = 1 / MINUTE


@table(
    ("clears", "counts"),
    {
        "four are none": ([(n * 5, {1}) for n in range(4)], []),
        "five within half an hour are one": ([(n * 7.5, {1}) for n in range(5)], [5]),
        "a microsecond more is none": ([(0, {1}), *((n * 7.5 + A_MICROSECOND, {1}) for n in range(1, 5))], []),
        "half of the files are the same": ([(n * 5, {1, 2} if n % 2 else {2, 3}) for n in range(5)], [5]),
        "two goals are told apart": ([(n * 2, {1} if n % 2 else {2}) for n in range(10)], [5, 5]),
        "a goal of over half an hour ago is not gone on with": (
            [(0, {1}), (1, {2}), (10, {1}), (20, {1}), (31.5, {1, 2}), (32, {1}), (33, {1})],
            [5],
        ),
        "of two goals that fit the one begun last goes on": (
            [(0, {1}), (0.5, {2}), (1, {1}), (2, {1}), (3, {1}), (4, {1, 2}), (5, {2}), (6, {2}), (7, {2})],
            [5],
        ),
    },
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


def test_a_wrong_clock() -> None:
    """First and last receipt, how many facts, and by how much the clock was ahead."""
    skews = [Skew(MONDAY + 90 * SECOND, 11 * MINUTE), Skew(MONDAY, 12 * MINUTE + SECOND - 1), Skew(MONDAY + 1, 0)]
    found = clock_skew("s1", skews)
    assert (found.kind, found.agent_session_id, found.turn_id) == ("clock_skew", "s1", None)
    assert (found.count, found.detected_us, found.first_us, found.last_us) == (3, MONDAY, MONDAY, MONDAY + 90 * SECOND)
    assert found.more == {"ahead_seconds": 720}


def test_a_session_of_somebody_else() -> None:
    """Once, when it was tried, by the name that was tried."""
    found = foreign_session("theirs", MONDAY)
    assert (found.kind, found.agent_session_id, found.turn_id) == ("foreign_session", "theirs", None)
    assert (found.count, found.detected_us, found.window_seconds) == (1, MONDAY, 0)
    assert found.details == {"first_at": "2026-01-05T09:00:00Z", "last_at": "2026-01-05T09:00:00Z"}
