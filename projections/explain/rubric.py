"""Why a sub-session has its grade: the words that earned or missed each boolean."""

from bisect import bisect_right
from itertools import accumulate
from typing import Any

import msgspec

from aggregates.judging.prompt import how_to_earn, rubric_evidence
from aggregates.judging.rubric import BLANK_LINE, joined_turns
from aggregates.reading.verdicts import BooleanName, Rubric, applicable, kind_of
from aggregates.scores.grades import rubric_letter
from aggregates.times import iso
from projections.derive.sessions import prompt_id
from projections.explain import evidence
from projections.sub_sessions.rows import UNCLASSIFIED, JudgedTurn

PROMPTS_MAX = 200  # a sub-session of more prompts is explained by its first ones
_NEVER = "asked of none of its prompts: it does not apply to what each was judged as"


class ExplainedSpan(msgspec.Struct, frozen=True):
    """From `start` up to `end`, in characters."""

    start: int
    end: int


class BooleanExplained(evidence.EvidencePiece, frozen=True, kw_only=True):
    """One boolean: the words that earned it, or what was missed."""

    earned: bool  # surely shown; where `unsure`, nobody can tell
    unsure: bool
    chance: float | None  # the calibrated probability that it is true, 0-1; None where a text model judged
    prompt_id: str | None  # which prompt earned it; None where none did
    span: ExplainedSpan | None  # where the quoted words stand in the prompt at `position`, to be marked
    how_to_earn: str | None  # of one that was missed: how this very prompt would earn it


class HabitExplained(BooleanExplained, frozen=True, kw_only=True):
    """One boolean of the sub-session; one that was missed points at a prompt of which it was asked."""

    asked_of: list[int]  # positions of the prompts of which it was asked; the first 200


class PromptExplained(msgspec.Struct, frozen=True, kw_only=True):
    """How one prompt was judged by itself; `booleans` holds those that apply to its own intent."""

    prompt_id: str
    submitted_at: str
    position: int
    quote: str | None
    judge: str
    judge_status: str
    text: str
    intent_class: str
    confidence: float | None
    standing_score: float | None
    booleans: dict[BooleanName, BooleanExplained]
    not_asked: list[BooleanName]  # habits of the sub-session that do not apply to its own intent


class RubricExplained(evidence.ExplainedPart, frozen=True, kw_only=True):
    """The grade: `booleans` holds those that apply to the sub-session's intent."""

    judge: str
    judge_status: str
    intent_class: str
    intent_prompt_id: str | None
    letter_grade: str | None
    score: float | None
    booleans: dict[BooleanName, HabitExplained]
    prompts: list[PromptExplained]
    prompts_not_shown: int


def rubric(facts: evidence.SubSessionEvidence) -> RubricExplained:
    row, intent, judged = facts.row, facts.row.intent, facts.row.judged_intent
    shown = [_prompt(facts, each) for each in facts.prompts[:PROMPTS_MAX]]
    unread = sum(each.quote is None and turn.prompt is not None for each, turn in zip(shown, facts.turns, strict=False))
    habits: dict[BooleanName, HabitExplained] = {}
    naming, score, text = None, None, ["No prompt of it could be classified, so it has no grade and is not counted."]
    if intent is not None:
        habits, score, by = {name: _habit(facts, shown, name) for name in applicable(intent)}, row.standing.score, ""
        classified = [each for each in facts.prompts if each.body.rubric.intent is not None]
        # A person may have named another intent.
        named = (each for each in classified if each.body.rubric.intent == intent == judged)
        naming = next((each.turn for each in named), None)
        if naming is not None:
            why = "" if naming is classified[0].turn else ", the first that asks for a change"
            by = f"by the prompt of {iso(naming.started_us)}{why}"
        earned = [name for name, each in habits.items() if each.earned]
        unsure = [name for name, each in habits.items() if each.unsure]
        missed = [name for name in habits if name not in (*earned, *unsure)]
        told = len(habits) - len(unsure)
        without = "could not be classified" if judged is None else f"was judged as {kind_of(judged)}"
        grade = "That is too little for a grade."
        text = [
            f"It is {kind_of(intent)}, {by or 'as you said'}.",
            f"{len(earned)} of the {told} habits that can be told were shown: {', '.join(earned) or 'none'}.",
            *([f"Missed: {', '.join(missed)}."] if missed else []),
            *([f"Nobody can tell: {', '.join(unsure)}."] if unsure else []),
            grade if score is None else f"That is {score:.0f} of 100, {rubric_letter(score)}.",
            *([f"You said that it is {kind_of(intent)}; without that it {without}."] if intent != judged else []),
        ]
    silent = sum(turn.prompt is None for turn in facts.turns)
    return RubricExplained(
        judge=facts.prompts[0].body.rubric.judge,
        judge_status=row.detail.judge_status,
        intent_class=row.kind,
        intent_prompt_id=None if naming is None else prompt_id(naming),
        letter_grade=None if score is None else rubric_letter(score),
        score=score,
        booleans=habits,
        prompts=shown,
        prompts_not_shown=len(facts.prompts) - len(shown),
        text=text,
        not_observed=[
            *evidence.missing((silent, f"the text of {evidence.counted(silent, 'prompt')}")),
            *evidence.missing((unread, f"the text of {evidence.counted(unread, 'prompt')}"), why=evidence.FORGOTTEN),
        ],
        positions=evidence.ascending(turn.position for turn in facts.turns),
    )


def _habit(facts: evidence.SubSessionEvidence, shown: list[PromptExplained], name: BooleanName) -> HabitExplained:
    """As the prompt earned it that shows it best; where none did, what was missed by those of which it was asked."""
    asked = [place for place, each in enumerate(facts.prompts) if _applies(name, each.body.rubric)]
    asked_of = [facts.turns[place].position for place in asked[:PROMPTS_MAX]]
    if not asked:
        none: dict[str, Any] = dict.fromkeys(HabitExplained.__struct_fields__)
        return HabitExplained(**none | {"earned": False, "unsure": True, "what": _NEVER, "asked_of": asked_of})

    def own(place: int) -> BooleanExplained:
        """Of a prompt that is not shown the text is read here."""
        return (shown[place].booleans if place < len(shown) else _booleans(facts, facts.prompts[place]))[name]

    def telling(place: int) -> tuple[bool, bool, int]:
        """Words of a prompt of the goal's own kind show most."""
        return facts.prompts[place].body.rubric.intent != facts.row.intent, own(place).quote is None, place

    earning, more = [place for place in asked if name in facts.prompts[place].body.rubric.earned], ""
    if earning:
        nearest = own(min([each for each in earning if each < len(shown)] or earning[:1], key=telling))
    else:
        missed = [own(place) for place in asked if place < len(shown) or place == asked[0]]
        doubtful = next((each for each in missed if each.unsure), None)
        nearest = doubtful or next((each for each in missed if each.quote is not None), missed[0])
        if len(asked) > 1:
            more = f"; asked of {len(asked)} prompts{'' if doubtful else ', and none of them earned it'}"
        others = [each.body.rubric.intent for each in facts.prompts if not _applies(name, each.body.rubric)]
        apart = [kind_of(intent) for intent in others if intent is not None]
        if apart:
            kinds = ", ".join(dict.fromkeys(apart))
            more += f"; not asked of {evidence.counted(len(apart), 'prompt')}: it does not apply to {kinds}"
    return HabitExplained(**msgspec.structs.asdict(nearest) | {"what": nearest.what + more, "asked_of": asked_of})


def _applies(name: BooleanName, own: Rubric) -> bool:
    return own.intent is not None and name in applicable(own.intent)


def _prompt(facts: evidence.SubSessionEvidence, prompt: JudgedTurn) -> PromptExplained:
    turn, own, intent = prompt.turn, prompt.body.rubric, facts.row.intent
    wanted = () if own.intent is None or intent is None else applicable(intent)
    not_asked = [name for name in wanted if not _applies(name, own)]
    judged = own.status == "ok" and own.intent is not None
    if prompt.body.unit_prompt_id is not None:
        why = evidence.said("not_judged", "together")
    elif judged and own.intent is not None:
        kind, shows = kind_of(own.intent), ", ".join(own.earned) or "no habit"
        without = f" Not asked of it, since it does not apply to {kind}: {', '.join(not_asked)}." if not_asked else ""
        why = f"Judged as {kind}, {own.confidence:.0%} sure; it shows {shows}.{without}"
    elif own.status == "skipped" and turn.prompt is not None:
        why = f"Not judged: {evidence.SENTENCES['navigates'].get(turn.prompt.navigational or '', 'it only navigates')}."
    else:
        why = evidence.SENTENCES["not_judged"].get(own.status, "Could not be judged.")
    return PromptExplained(
        prompt_id=prompt_id(turn),
        submitted_at=iso(turn.started_us),
        position=turn.position,
        quote=evidence.one_line(facts.text(prompt.body.prompt)),
        judge=own.judge,
        judge_status=own.status,
        text=why,
        intent_class=own.intent or UNCLASSIFIED,
        confidence=own.confidence if judged else None,
        standing_score=prompt.standing_score,
        booleans=_booleans(facts, prompt),
        not_asked=not_asked,
    )


def _booleans(facts: evidence.SubSessionEvidence, prompt: JudgedTurn) -> dict[BooleanName, BooleanExplained]:
    """Of a prompt and those judged with it. The words of a forgotten one cannot be quoted; what was earned stands."""
    own = prompt.body.rubric
    unit = [prompt, *(each for each in facts.prompts if each.body.unit_prompt_id == prompt_id(prompt.turn))]
    unit = unit[: len(joined_turns([each.turn for each in unit]))]
    texts = [text for each in unit if (text := facts.text(each.body.prompt)) is not None]
    text = BLANK_LINE.join(texts) if len(texts) == len(unit) else None
    starts = [0, *accumulate(len(each) + len(BLANK_LINE) for each in texts)]
    verdicts, explained = {each.name: each for each in own.booleans}, {}
    for name, found in rubric_evidence(text, own, prompt.turn.position).items():
        verdict, place, span, quote = verdicts[name], 0, None, None
        if found.span is not None:
            place = bisect_right(starts, found.span.start) - 1
            if text is not None:
                span = ExplainedSpan(found.span.start - starts[place], found.span.end - starts[place])
                quote = evidence.one_line(text[found.span.start : found.span.end])
        explained[name] = BooleanExplained(
            earned=name in own.earned,
            unsure=verdict.value is None,
            chance=verdict.chance,
            span=span,
            how_to_earn=how_to_earn(name, text) if verdict.value is False else None,
            prompt_id=prompt_id(prompt.turn) if name in own.earned else None,
            what=found.what,
            position=unit[place].turn.position,
            quote=quote,
        )
    return explained
