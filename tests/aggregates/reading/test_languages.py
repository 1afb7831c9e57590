"""Another language is recognised where it is sure, and only there."""

import tomllib
from pathlib import Path

import pytest

from aggregates.scores.grades import NOT_JUDGED, grade_text

LISTED = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
SURELY: dict[str, list[str]] = LISTED["surely"]
ENGLISH: list[str] = LISTED["english"]


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in SURELY.items() for text in texts])
def test_a_prompt_of_another_language_has_no_figure(language: str, text: str) -> None:
    graded = grade_text(text)
    assert (language, graded.status, graded.reason, graded.letter) == (language, "unclassified", "language", None)
    assert graded.verdict == NOT_JUDGED["language"]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_with_foreign_words_is_judged(text: str) -> None:
    """Names, quotes and signs make no other language."""
    assert grade_text(text).status == "ok"
