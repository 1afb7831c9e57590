"""The search for super-linear time finds what grows, and nothing that reads users' text is left out of it."""

import re
import sys
from collections.abc import Callable
from difflib import SequenceMatcher
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from aggregates.reading.prompt_text import prompt_opening, split_pasted
from aggregates.records.tools import changed_lines
from svc.importing.claude_lines import as_typed
from tests.fuzz.linear import Target, tried
from tests.fuzz.odd import examples
from tests.fuzz.readers import BUILT_ELSEWHERE, CUT_BEFORE, NEVER_USERS_TEXT, function_targets, is_searched, patterns


def lines_run(run: Callable[[str], object], text: str) -> float:
    """How many lines of Python a call runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run(text)
    finally:
        sys.settrace(before)
    return count


def _once(text: str) -> int:
    return sum([1 for _ in text])


def _each_after_each_b(text: str) -> int:
    found = 0
    for at, letter in enumerate(text):
        if letter == "b":
            for _ in text[at:]:
                found += 1
    return found


def _faults(run: Callable[[str], object]) -> list[str]:
    target, chance = Target("planted", run, ("b", "c"), short_chars=32), Random(1)
    tries = (tried(target, chance, cost=lines_run, noise=500) for _ in range(20))
    return [fault.unit for fault in tries if fault is not None and fault.growth > 8]


def test_a_fold_that_goes_back_for_each_letter_is_found_and_one_that_goes_forward_is_not() -> None:
    found = _faults(_each_after_each_b)
    assert found
    assert all("b" in unit for unit in found)
    assert _faults(_once) == []


def test_every_pattern_over_users_text_is_searched() -> None:
    """A pattern that is new is searched without a word; one that a function builds must name the target that has it."""
    found = patterns()
    functions = {target.name for target in function_targets()}
    built = {pattern.name for pattern in found if pattern.compiled is None and is_searched(pattern)}
    assert built == BUILT_ELSEWHERE.keys()
    assert functions.issuperset(BUILT_ELSEWHERE.values())
    names = {pattern.name for pattern in found}
    assert names.issuperset(CUT_BEFORE)
    modules = {name.rpartition(".")[0] for name in names}
    assert (names | modules).issuperset(NEVER_USERS_TEXT)


@pytest.mark.parametrize("unit", ["a\n", "a\nb\n", "\n", "a\na\nb\n", "a\nb\nc\nd\n"])
def test_aligning_equal_lines_has_a_bound_for_each_line(unit: str) -> None:
    """1.6 KB of equal lines took 700 ms, a comparison of each line with each for each line that stays."""
    old, new = "x\n" + unit * (396 // unit.count("\n")), "a\nb\n" * 198 + "y"
    work = lines_run(lambda text: changed_lines("Edit", {"old_string": old, "new_string": text}, None), new)
    assert work < 400 * (old.count("\n") + new.count("\n"))


@examples(100)
@given(*[st.lists(st.sampled_from("abcdef"), max_size=8)] * 2)
def test_ordinary_edits_are_aligned_as_difflib_has_it(before: list[str], after: list[str]) -> None:
    added, removed = changed_lines("Edit", {"old_string": "\n".join(before), "new_string": "\n".join(after)}, None)
    assert added is not None
    assert removed is not None
    assert len(after) - added == len(before) - removed
    inner_before, inner_after = _without_common_ends(before, after)
    blocks = SequenceMatcher(None, inner_before, inner_after, False).get_matching_blocks()
    assert len(inner_after) - added == sum(block.size for block in blocks)


def _without_common_ends(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    before, after = list(before), list(after)
    for end in (0, -1):
        while before and after and before[end] == after[end]:
            before.pop(end)
            after.pop(end)
    return before, after


_SENTENCE_TO_THE_JUDGE = re.compile(
    r"[^.!?\n]{0,200}?\b(?:rubric|judges?|grad(?:e|er|ing)|plan_first)\b[^.!?\n]{0,300}[.!?]?", re.IGNORECASE
)
_ORDERS = re.compile(
    r"\b(?:ignore|grade|give|is)\b.*\b(?:true|full|100)|\bignore\b.*\brubric\b|plan_first.*\btrue\b",
    re.IGNORECASE | re.DOTALL,
)
_SAID = (
    *("the rubric", "judge", "grade ", "plan_first", "ignore ", "is ", "give", " true", "full ", "100"),
    *(". ", "\n", " ", "?"),
)


@examples(150)
@given(st.lists(st.sampled_from((*_SAID, "word " * 50)), max_size=14).map("".join).map("rubric\n".__add__))
def test_what_is_told_to_the_judge_is_blanked_as_by_one_pattern(text: str) -> None:
    """The pattern says plainly what is meant, and takes 200 looks at each character."""

    def blanked(said: re.Match[str]) -> str:
        return " " * len(said[0]) if _ORDERS.search(said[0]) else said[0]

    assert split_pasted(text).own == _SENTENCE_TO_THE_JUDGE.sub(blanked, text)


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("<command-name> /review </command-name><command-args>\n a b </command-args>", "/review a b"),
        ("<command-name>" + " " * 60_000, None),
        ("<command-name>" * 5_000, None),
    ],
)
def test_tags_of_a_command_are_found_by_one_look(text: str, typed: str | None) -> None:
    """A pattern with two runs of blanks took hours for the third."""
    assert as_typed(text) == typed


@pytest.mark.parametrize(
    ("text", "picks"),
    [
        ("fix #3", True),
        ("fix # ## the first # 3", True),
        ("do items 2 and 3", True),
        ("fix #", False),
        ("fix " + "#\n" * 150, False),
        ("fix " + "# top - " * 40, False),
    ],
)
def test_a_choice_from_a_list_is_read_in_one_way(text: str, picks: bool) -> None:
    """A pattern that could read each # in two ways took longer than the world stands for the fifth."""
    assert ("picks from a list" in prompt_opening(text, text, 5)) == picks
