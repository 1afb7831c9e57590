"""The rubric judge: what kind of thing a prompt asks for, and which habits it shows (scoring.md, section 3).

A linear model over the features of the prompt's own words and of what came before it in the sub-session; every
weight is a whole number of thousandths in `judge_weights.py`, so a verdict can be followed by hand. The arithmetic of
sub-sessions stands below: it is exact and knows nothing of how a prompt was judged.
"""

from collections.abc import Sequence

from aggregates.features import FEATURES
from aggregates.reading import PromptReading
from aggregates.rubric_model import CONTEXT_NUMBER, MAY_REST_ON_PASTED, SHIPPED, RubricModel
from aggregates.turn import Turn
from aggregates.verdicts import BOOLEANS, CHANGE_INTENTS, BooleanName, Evidence, Intent, Rubric, applicable

_REVIEW_CUES = frozenset({FEATURES.index("cue:review"), FEATURES.index("word:review")})
_LOOK_BACK_TURNS = 8

_MISSED: dict[BooleanName, str] = {
    "goal_explicit": "no outcome by which a reader could tell that it is reached",
    "scope_bounded": "no file, function or surface named, and nothing left out",
    "references_concrete": "nothing findable: no path, symbol, line, ticket or command",
    "context_sufficient": "the agent would have to ask back or guess",
    "verification_requested": "no test, expected output or check named",
    "root_cause_oriented": "the cause is not asked for",
    "plan_first": "no plan, steps or exploration before the change",
}
_EARNED: dict[BooleanName, str] = {
    "goal_explicit": "says what should hold afterwards",
    "scope_bounded": "says where, or what to leave alone",
    "references_concrete": "points at something findable",
    "context_sufficient": "enough to start without asking back",
    "verification_requested": "asks for a check",
    "root_cause_oriented": "asks for the cause",
    "plan_first": "asks for, gives or follows a plan",
}


def judge_prompt(
    prompt: PromptReading | None, position: int, earlier: Sequence[Turn], model: RubricModel = SHIPPED
) -> Rubric:
    """Judge one prompt by itself. `earlier` are the turns before it in the same sub-session, in order."""
    if prompt is None or prompt.navigational:
        return Rubric("skipped")
    if prompt.foreign or prompt.wordless:
        return Rubric("unclassified")
    active = (*prompt.features, *context_features(prompt, earlier, model))
    intent, confidence = model.intent(active)
    earned = model.booleans(active, intent)
    if prompt.shows("bare paste"):
        earned = tuple(name for name in earned if name in MAY_REST_ON_PASTED)
    evidence = tuple((name, _evidence(name, name in earned, prompt, position)) for name in applicable(intent))
    return Rubric("ok", intent, confidence, earned, evidence)


def context_features(prompt: PromptReading, earlier: Sequence[Turn], model: RubricModel = SHIPPED) -> tuple[int, ...]:
    """What the sub-session held before a prompt, as features."""
    few, short, named = not prompt.shows("words over 6"), not prompt.shows("words over 16"), prompt.shows("reference")
    if not earlier:
        found = {
            "context:first": True,
            "context:first and short": short,
            "context:first and of few words": few,
            "context:first and nothing named": not named,
            "context:first and plain": short and not named,
            "context:first and pasted": prompt.pasted_characters > 0,
            "short and nothing named": short and not named,
        }
        return tuple(CONTEXT_NUMBER[name] for name, holds in found.items() if holds)
    before = earlier[-1]
    names = ["short and nothing named"] if short and not named else []
    if before.response is not None and before.response.asks:
        names.append("context:after an offer")
    if before.response is None or not before.response.characters:
        names.append("context:after silence")
    if before.prompt is not None and before.prompt.navigational == "command":
        names.append("context:after a command")
        if not _REVIEW_CUES.isdisjoint(before.prompt.features):
            names.append("context:after a review command")
    asked = next(
        (t.prompt for t in reversed(earlier[-_LOOK_BACK_TURNS:]) if t.prompt is not None and not t.prompt.navigational),
        None,
    )
    if asked is not None:
        names.append(f"context:after {model.intent(asked.features)[0]}")
    return tuple(CONTEXT_NUMBER[name] for name in names)


def _evidence(name: BooleanName, earned: bool, prompt: PromptReading, position: int) -> Evidence:
    if not earned:
        return Evidence(_MISSED[name])
    span = prompt.spans[BOOLEANS.index(name)]
    return Evidence(_EARNED[name], position, span if span is not None else prompt.summary)


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
