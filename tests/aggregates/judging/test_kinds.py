"""Prompts in ten kinds: what a senior engineer calls vague earns no goal and no scope; what is good, a B+. And prompts
of other languages: each is recognised where it is sure, and only there."""

import tomllib
from pathlib import Path

import pytest

from aggregates.judging.prompt import how_to_earn
from aggregates.reading.verdicts import BooleanName
from aggregates.scores.prompt_grade import NOT_JUDGED, PromptGrade, grade_text
from tests.support.tables import each_of

KINDS, LANGUAGES = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    for name in ("kinds", "languages")
)
SURELY = [(name, text) for name, texts in LANGUAGES["surely"].items() for text in texts]
VAGUE = ("pleading", "rambling", "keywords", "injection", "vague", "pasted", "tiny", "elsewhere")


def earned(graded: PromptGrade) -> set[str]:
    return {habit.boolean for habit in graded.habits if habit.earned}


def of_kinds(*kinds: str) -> list[str]:
    return [text for kind in kinds for text in KINDS[kind]]


@each_of(of_kinds(*VAGUE))
def test_a_vague_prompt_earns_no_goal_and_no_scope(text: str) -> None:
    """Whatever is pleaded, listed, pasted, or told to the judge."""
    assert earned(grade_text(text)).isdisjoint({"goal_explicit", "scope_bounded"})


@each_of(of_kinds("dangerous"))
def test_a_dangerous_prompt_bounds_nothing(text: str) -> None:
    """It may well say what it wants: to skip all tests."""
    assert "scope_bounded" not in earned(grade_text(text))


@each_of(of_kinds("excellent"))
def test_an_excellent_prompt_is_a_b_plus_at_least(text: str) -> None:
    graded = grade_text(text)
    assert graded.letter in {"B+", "A-", "A", "A+"}
    assert "goal_explicit" in earned(graded)


FOLLOWED = {
    "goal_explicit": "show the total at once",
    "scope_bounded": "src/app/login.py",
    "verification_requested": "make test passes",
    "root_cause_oriented": "",
}
"""What stands for the dots of an advice."""
SHORT = (
    "still failing e2e",
    "the login page is broken",
    "add a dark mode",
    "make the table sortable",
    "fix the date parsing in src/dates.py",
    "the build fails on windows",
)


@pytest.mark.parametrize("boolean", FOLLOWED)
def test_who_follows_the_advice_has_the_habit(boolean: BooleanName) -> None:
    """In no case is it called missing then; mostly it is seen."""
    seen = []
    for text in SHORT:
        advised = how_to_earn(boolean, text).partition("“")[2].partition("”")[0].replace("…", FOLLOWED[boolean])
        found = next(habit for habit in grade_text(advised).habits if habit.boolean == boolean)
        assert found.earned or found.unsure or not found.applies, advised
        seen.append(found.earned)
    assert sum(seen) >= len(SHORT) // 2


def test_an_advice_after_a_sentence_that_was_cut_has_one_ellipsis() -> None:
    text = "Rename the cart " + "and everything that hangs on it " * 9 + "and nothing else."
    advised = how_to_earn("verification_requested", text)
    assert ("… Verify that" in advised, "…." in advised) == (True, False)


@each_of(SURELY)
def test_a_prompt_of_another_language_has_no_figure(language: str, text: str) -> None:
    graded = grade_text(text)
    assert (language, graded.status, graded.reason, graded.letter) == (language, "unclassified", "language", None)
    assert graded.verdict == NOT_JUDGED["language"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fix it", "it is under 10 characters long"),
        ("thanks", "it only acknowledges"),
        ("!ls", "it is a shell command"),
    ],
)
def test_what_is_not_judged_says_why(text: str, why: str) -> None:
    graded = grade_text(text)
    assert (graded.status, graded.verdict.startswith(f"Not judged: {why}")) == ("skipped", True), graded.verdict


@each_of(LANGUAGES["english"])
def test_english_with_foreign_words_is_judged(text: str) -> None:
    """Names, quotes and signs make no other language."""
    assert grade_text(text).status == "ok"
