"""The rubric judge: what kind of thing a prompt asks for, and which habits it shows (scoring.md, section 3).

A file of its own, for a prompt is also judged while a person waits for it, and turns take long to import.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from aggregates.reading.readings import SHORT_WEIGHT, PromptReading, ResponseReading
from aggregates.reading.verdicts import Rubric

if TYPE_CHECKING:
    from aggregates.reading.model import Logits, RubricModel

LEANS = (
    *("phrase:accepting", "phrase:correcting", "phrase:answered", "links back at once", "picks from a list"),
    *("leans on what was said", "adds to what is there"),
)
"""What a prompt shows that rests on another one."""


class Earlier(Protocol):
    """Of a turn before a prompt what its judge looks at."""

    @property
    def prompt(self) -> PromptReading | None: ...

    @property
    def response(self) -> ResponseReading | None: ...


def judge_prompt(
    prompt: PromptReading | None, earlier: Sequence[Earlier], model: "RubricModel | None" = None
) -> Rubric:
    """Judge one prompt by itself. `earlier`: the turns before it in its sub-session; all were read for this `model`,
    the shipped one unless another is given."""
    # An image or a lone mark holds no word, and nothing pasted to judge by.
    wordless = prompt is not None and (
        prompt.shows("image alone") or (prompt.shows("no own words") and not prompt.pasted_characters)
    )
    if prompt is not None and not prompt.navigational and (prompt.foreign or wordless):
        return Rubric("unclassified", reason=None if wordless else "language")
    return forced_rubric(prompt, earlier, model)


def forced_rubric(
    prompt: PromptReading | None, earlier: Sequence[Earlier], model: "RubricModel | None" = None
) -> Rubric:
    """What would be said of a prompt in whatever language, if something had to be."""
    if prompt is None or prompt.navigational:
        return Rubric("skipped")
    from aggregates.reading.model import SHIPPED  # late: loaded with the first text

    own_words = prompt.weight >= SHORT_WEIGHT and not prompt.shows("bare paste")
    return _rubric(model or SHIPPED, prompt.logits, context_names(prompt, earlier), prompt.shown, own_words)


@lru_cache(maxsize=2_048)
def _rubric(
    model: "RubricModel", logits: "Logits", context: tuple[str, ...], shown: tuple[int, ...], own_words: bool
) -> Rubric:
    """An open sub-session is judged anew with every turn; what was found of its earlier prompts is kept here."""
    return Rubric("ok", *model.verdict(logits, context, shown, own_words=own_words))


def context_names(prompt: PromptReading, earlier: Sequence[Earlier]) -> tuple[str, ...]:
    """What the sub-session held before a prompt, as names of features."""
    first, before = not earlier, earlier[-1] if earlier else None
    short, named = not prompt.shows("words over 16"), prompt.shows("reference")
    bare = not named and not prompt.pasted_characters
    answer, asked = (None, None) if before is None else (before.response, before.prompt)
    command = asked is not None and asked.navigational == "command"
    found = {
        "context:first": first,
        "context:first and short": first and short,
        "context:first and of few words": first and not prompt.shows("words over 6"),
        "context:first and nothing named": first and not named,
        "context:first and plain": first and short and not named,
        "context:first and pasted": first and prompt.pasted_characters > 0,
        "short and nothing named": short and not named,
        "nothing pasted: report": bare and prompt.shows("only strong report", "only weak report"),
        "nothing pasted: first and vague": first and bare and prompt.shows("cue:vague"),
        "nothing pasted: error": bare and prompt.shows("cue:symptom"),
        "context:after an offer": answer is not None and answer.asks,
        "context:after silence": not first and (answer is None or not answer.characters),
        "context:after a command": command,
        "context:after a review command": command and asked is not None and asked.shows("cue:review", "word:review"),
    }
    return tuple(name for name, holds in found.items() if holds)
