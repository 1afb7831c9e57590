"""Prompts written for training, from many kinds of projects, so that the judges do not know one team's talk only.

`prompts/` holds one file for each intent. A line is the letters of the booleans that are true, `|`, and the
prompt, with `\\n` for a new line: g goal_explicit, s scope_bounded, r references_concrete, c context_sufficient,
v verification_requested, k root_cause_oriented, p plan_first. A `+` before the letters marks a prompt that follows an
answer. All of them were made up for this; none is anybody's.
"""

from pathlib import Path
from typing import NamedTuple

from aggregates.verdicts import BOOLEANS, INTENTS, BooleanName, Intent, applicable

_LETTERS: dict[str, BooleanName] = dict(zip("gsrcvkp", BOOLEANS, strict=True))
_FOLDER = Path(__file__).parent / "prompts"


class Example(NamedTuple):
    """A prompt that was written for training."""

    text: str
    intent: Intent
    booleans: dict[BooleanName, bool]
    """Those that apply to the intent."""
    follows: bool
    """Whether it follows an answer; else it is the first of its session."""


def examples() -> list[Example]:
    """All of them, in the order of the intents and of the lines."""
    return [_example(line, intent) for intent in INTENTS for line in _lines(intent)]


def _lines(intent: Intent) -> list[str]:
    return (_FOLDER / f"{intent}.txt").read_text(encoding="utf-8").splitlines()


def _example(line: str, intent: Intent) -> Example:
    letters, text = line.split("|", 1)
    booleans = lettered(letters.removeprefix("+"), intent)
    return Example(text.replace("\\n", "\n"), intent, booleans, letters.startswith("+"))


def lettered(letters: str, intent: Intent) -> dict[BooleanName, bool]:
    """The booleans that apply to the intent: true are those whose letters are there."""
    true = {_LETTERS[letter] for letter in letters}
    return {name: name in true for name in applicable(intent)}
