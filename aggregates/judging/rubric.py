"""The rubric judge: what kind of thing a prompt asks for, and which habits it shows (scoring.md, section 3).

The arithmetic of sub-sessions below is exact and knows nothing of how a prompt was judged.
"""

from collections.abc import Sequence
from functools import lru_cache

from aggregates.reading.reading import SHORT_WEIGHT, PromptReading
from aggregates.reading.verdicts import (
    CHANGE_INTENTS,
    SHIPPED,
    BooleanName,
    Intent,
    Logits,
    Rubric,
    RubricModel,
    applicable,
)
from aggregates.turns.turn import Turn


def judge_prompt(prompt: PromptReading | None, earlier: Sequence[Turn], model: RubricModel = SHIPPED) -> Rubric:
    """Judge one prompt by itself. `earlier` are the turns before it in the same sub-session, in order.

    All of them were read for this `model`.
    """
    if prompt is None or prompt.navigational:
        return Rubric("skipped")
    if prompt.foreign or prompt.wordless:
        return Rubric("unclassified")
    own_words = prompt.weight >= SHORT_WEIGHT and not prompt.shows("bare paste")
    return _rubric(model, prompt.logits, context_names(prompt, earlier), prompt.shown, own_words)


@lru_cache(maxsize=2_048)
def _rubric(
    model: RubricModel, logits: Logits, context: tuple[str, ...], shown: tuple[int, ...], own_words: bool
) -> Rubric:
    """An open sub-session is judged anew with every turn; what was found of its earlier prompts is kept here."""
    return Rubric("ok", *model.verdict(logits, context, shown, own_words=own_words))


def context_names(prompt: PromptReading, earlier: Sequence[Turn]) -> tuple[str, ...]:
    """What the sub-session held before a prompt, as names of features."""
    short, named = not prompt.shows("words over 16"), prompt.shows("reference")
    vague = ["short and nothing named"] if short and not named else []
    if not earlier:
        return (*_opening_names(prompt, short=short, named=named), *vague)
    names = vague
    before = earlier[-1]
    if before.response is not None and before.response.asks:
        names.append("context:after an offer")
    if before.response is None or not before.response.characters:
        names.append("context:after silence")
    if before.prompt is not None and before.prompt.navigational == "command":
        names.append("context:after a command")
        if before.prompt.shows("cue:review", "word:review"):
            names.append("context:after a review command")
    return tuple(names)


def _opening_names(prompt: PromptReading, *, short: bool, named: bool) -> list[str]:
    found = {
        "context:first": True,
        "context:first and short": short,
        "context:first and of few words": not prompt.shows("words over 6"),
        "context:first and nothing named": not named,
        "context:first and plain": short and not named,
        "context:first and pasted": prompt.pasted_characters > 0,
    }
    return [name for name, holds in found.items() if holds]


def sub_session_intent(rubrics: Sequence[Rubric]) -> Intent | None:
    """The intent of the first `ok` prompt or, where that only asks, of the first later one that asks for a change."""
    intents = [rubric.intent for rubric in rubrics if rubric.status == "ok" and rubric.intent is not None]
    if not intents:
        return None
    if intents[0] in ("question", "investigation"):
        return next((intent for intent in intents[1:] if intent in CHANGE_INTENTS), intents[0])
    return intents[0]


def earned_by_sub_session(rubrics: Sequence[Rubric], intent: Intent | None) -> tuple[BooleanName, ...]:
    """The booleans applying to the sub-session's intent that any of its prompts earned, in rubric order."""
    if intent is None:
        return ()
    earned = {name for rubric in rubrics if rubric.status == "ok" for name in rubric.earned}
    return tuple(name for name in applicable(intent) if name in earned)


def standing_scores(rubrics: Sequence[Rubric], intent: Intent | None) -> list[float | None]:
    """For each prompt 100 x (booleans applying to `intent` earned so far) / (applying); None where it is not `ok`."""
    scores: list[float | None] = []
    applies = applicable(intent) if intent is not None else ()
    earned: set[BooleanName] = set()
    for rubric in rubrics:
        if rubric.status != "ok" or not applies:
            scores.append(None)
            continue
        earned.update(rubric.earned)
        scores.append(100.0 * sum(name in earned for name in applies) / len(applies))
    return scores
