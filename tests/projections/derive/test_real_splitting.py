"""Labelled prompts, cut at a sentence: real words, so that floor, boundaries and outcomes are the real ones."""

import re
from collections import Counter
from random import Random

from aggregates.reading.readings import maker_of
from aggregates.reading.verdicts import BOOLEANS, Rubric
from tests.judges.judge import read_lines
from tests.projections.derive.test_splitting import Judged, figures, ok, raised
from tests.support.real_data import FOLDER, NEEDS_REAL_DATA

SENTENCE_END = re.compile(r"[.!?]\s+(?=\S)|\n+")
EACH = 3
"""Every third of them: `test_splitting.py` holds the arithmetic for any verdicts, here only the words are real."""
SHARES_MAX = {"letter": 0.25, "skill_index": 0.20, "apg": 0.20, "svc_score": 0.12, "cspw": 0.12, "cut in two": 0.25}
"""How many labelled prompts the shipped judges may judge better in halves, or as two goals. Only ever made smaller."""

pytestmark = NEEDS_REAL_DATA


def halves(text: str) -> tuple[str, str] | None:
    """Cut at the sentence in the middle; None where it is one sentence."""
    ends = [found.end() for found in SENTENCE_END.finditer(text)]
    inner = [end for end in ends if text[:end].strip() and text[end:].strip()]
    middle = inner[len(inner) // 2] if inner else 0
    return (text[:middle], text[middle:]) if middle else None


def labelled() -> list[tuple[str, tuple[str, str], Rubric]]:
    """Every labelled prompt of a person that can be cut: whole, in halves, and what the experts say of the whole."""
    found = []
    for item in read_lines(FOLDER / "labels/prompts.jsonl"):
        label, cut = item["label"], halves(item["prompt"])
        if cut is not None and label["status"] == "ok" and maker_of(item["prompt"]) is None:
            earned = {name for name in BOOLEANS if label[name]}
            found.append((item["prompt"], cut, ok(label["intent"], earned)))
    return found


def test_halves_of_a_prompt_raise_no_figure_where_they_earn_what_the_experts_say_of_the_whole() -> None:
    """Each half earns some of it, and both are known to be one goal."""
    random = Random(7)
    prompts = labelled()[::EACH]
    assert len(prompts) > 100
    for text, cut, whole in prompts:
        assert whole.intent is not None
        shares = [ok(whole.intent, {name for name in whole.earned if random.random() < 0.7}) for _ in cut]
        pieces = [Judged(half, share) for half, share in zip(cut, shares, strict=True)]
        assert raised(figures([Judged(text, whole)]), figures(pieces)) == [], text


def test_how_often_the_shipped_judges_give_halves_more_does_not_grow() -> None:
    """The specification asks for never; a judge that reads each prompt by itself cannot promise it.

    No check ran, so that an outcome hangs on the words.
    """
    prompts = labelled()
    more = Counter(
        name
        for text, cut, _ in prompts
        for name in raised(
            figures([Judged(text)], checked=False, joined=False),
            figures([Judged(half) for half in cut], checked=False, joined=False),
        )
    )
    assert {name: count for name, count in more.items() if count > SHARES_MAX[name] * len(prompts)} == {}
