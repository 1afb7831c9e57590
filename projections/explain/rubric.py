"""Why a sub-session has its grade: the words that earned or missed each boolean."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import msgspec

from aggregates.event import shaped
from aggregates.judging import prompt as judging
from aggregates.judging.rubric import BLANK_LINE, joined_turns
from aggregates.reading import verdicts
from aggregates.reading.verdicts import BooleanName, Likely, Rubric, applicable, given, in_words, kind_of, kind_told
from aggregates.scores.grades import Interval, score_told
from aggregates.times import iso
from aggregates.turns.turn import CHANGE, Turn
from projections.derive.sessions import prompt_id
from projections.explain import evidence
from projections.sub_sessions.rows import UNCLASSIFIED, JudgedTurn, graded

PROMPTS_MAX = 200  # a sub-session of more prompts is explained by its first ones
FIRST = range(PROMPTS_MAX)
_NEVER = "asked of none of its prompts: it does not apply to what each was judged as"


class ExplainedSpan(msgspec.Struct, frozen=True):
    """From `start` up to `end`, in characters."""

    start: int
    end: int


class BooleanExplained(evidence.EvidencePiece, frozen=True, kw_only=True):
    """One boolean: the words that earned it, or what was missed."""

    earned: bool  # surely shown; where `unsure`, nobody can tell
    unsure: bool
    chance: float  # the calibrated probability that it is true, 0-1; 0 or 1 where a text model said it
    likely: Likely  # the same in words
    prompt_id: str | None  # which prompt earned it; None where none did
    span: ExplainedSpan | None  # where the quoted words stand in the prompt at `position`, to be marked
    how_to_earn: str | None  # of one that was missed


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
    kind_told: str | None
    confidence: float | None
    standing_score: float | None
    booleans: dict[BooleanName, BooleanExplained]
    not_asked: list[BooleanName]  # habits of the sub-session that do not apply to its own intent


class RubricExplained(evidence.ExplainedPart, frozen=True, kw_only=True):
    """The grade: `booleans` holds those that apply to the sub-session's intent."""

    judge: str
    judge_status: str
    intent_class: str
    kind_told: str | None
    intent_prompt_id: str | None
    letter_grade: str | None
    grade_told: str | None
    score: float | None  # as it is expected
    score_interval: Interval | None
    booleans: dict[BooleanName, HabitExplained]
    prompts: list[PromptExplained]
    prompts_not_shown: int


_NOT_ASKED: dict[str, Any] = dict.fromkeys(("quote", "span", "how_to_earn")) | {"what": "it may not be asked of it"}
_Own = Callable[[int], dict[BooleanName, BooleanExplained]]


def rubric(facts: evidence.SubSessionEvidence, turns: range = FIRST) -> RubricExplained:
    """`turns`: from 0, those whose prompts are explained; what was missed is shown in their words."""
    row, intent, judged = facts.row, facts.row.intent, facts.row.judged_intent
    turns = range(turns.start, min(turns.stop, len(facts.prompts)))
    own: _Own = cache(lambda place: _booleans(facts, facts.prompts[place]))
    shown = [_prompt(facts, facts.prompts[place], own(place)) for place in turns]
    asked = facts.turns[turns.start : turns.stop]
    unread = sum(each.quote is None and turn.prompt is not None for each, turn in zip(shown, asked, strict=True))
    habits: dict[BooleanName, HabitExplained] = {}
    naming: Turn | None = None
    text = ["No prompt of it could be classified, so it has no grade and is not counted."]
    if intent is not None:
        habits = {name: _habit(facts, own, turns, name) for name in applicable(intent)}
        # A person may have named another intent.
        naming = next((each.turn for each in facts.prompts if each.body.rubric.intent == intent == judged), None)
        without = "could not be classified" if judged is None else f"was judged as {kind_of(judged)}"
        by_person = row.said and intent != judged
        text = [
            *([score_told(row.estimate)] if row.estimate else []),
            *([f"You said that it is {kind_of(intent)}; without that it {without}."] if by_person else []),
        ]
    silent = sum(turn.prompt is None for turn in facts.turns)
    return shaped(
        RubricExplained,
        row,
        judge=facts.prompts[0].body.rubric.judge,
        judge_status=row.detail.judge_status,
        intent_class=row.kind,
        intent_prompt_id=None if naming is None else prompt_id(naming),
        **graded(row.estimate),
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


def _habit(facts: evidence.SubSessionEvidence, own: _Own, turns: range, name: BooleanName) -> HabitExplained:
    """As the prompt earned it that shows it best; where none did, what was missed by those of which it was asked."""
    intent, rubrics = facts.row.intent, [each.body.rubric for each in facts.prompts]
    chance = max([given(each.chances, intent).get(name, 0.0) for each in rubrics])
    asked = [place for place, each in enumerate(rubrics) if _applies(name, each)]
    asked_of = [facts.turns[place].position for place in asked[:PROMPTS_MAX]]
    if not asked:
        none: dict[str, Any] = dict.fromkeys(HabitExplained.__struct_fields__)
        said = {"earned": False, "unsure": True, "chance": chance, "likely": in_words(None, chance)}
        return HabitExplained(**none | said | {"what": _NEVER, "asked_of": asked_of})

    def telling(places: Sequence[int]) -> BooleanExplained:
        """The first that has words, else the first that shows it. Texts are read until there are words."""
        shown = own(places[0])[name]
        for each in (own(place)[name] for place in places):
            if each.quote is not None:
                return each
            shown = each if each.earned and not shown.earned else shown
        return shown

    earning = [place for place in asked if name in rubrics[place].earned]
    if earning:
        early = _within(FIRST, earning)
        # Words of a prompt of the goal's own kind show most.
        akin = [of for of in verdicts.KIND_GROUPS.values() if intent in of]
        near = [facts.turns[place].position for place in early if any(rubrics[place].intent in of for of in akin)]
        alike = [place for place in early if rubrics[place].intent == intent] or early
        nearest = telling(alike if judging.rests_on_words(name) else _within(turns, alike))
        # A question in between does not say what the whole is for.
        if name == "goal_explicit" and nearest.position not in near and (nearest.quote or "").endswith("?"):
            nearest = msgspec.structs.replace(nearest, likely="likely", quote=None, span=None, what=judging.AS_A_WHOLE)
    else:
        early = _within(FIRST, asked)
        nearest = next((each for place in early if (each := own(place)[name]).unsure), own(early[0])[name])
        kind = facts.row.kind_told
        kinds = verdicts.KIND_GROUPS.get(kind or "", [each for each in verdicts.INTENTS if kind in (each, None)])
        # It is missed only where it was asked of every prompt, of whatever kind the goal may be.
        everywhere = len(asked) == len(rubrics) and all(name in applicable(each) for each in kinds)
        if not (nearest.unsure or everywhere):
            nearest = msgspec.structs.replace(nearest, unsure=True, **_NOT_ASKED)
    likely = nearest.likely if earning else in_words(None if nearest.unsure else False, chance)
    told = {"asked_of": asked_of, "chance": chance, "likely": likely}
    return HabitExplained(**msgspec.structs.asdict(nearest) | told)


def _within(turns: range, places: Sequence[int]) -> Sequence[int]:
    """Those of these turns; the first where none is."""
    return [place for place in places if place in turns] or places[:1]


def _applies(name: BooleanName, own: Rubric) -> bool:
    return own.intent is not None and name in applicable(own.intent)


def _prompt(
    facts: evidence.SubSessionEvidence, prompt: JudgedTurn, booleans: dict[BooleanName, BooleanExplained]
) -> PromptExplained:
    turn, own, intent, standing = prompt.turn, prompt.body.rubric, facts.row.intent, prompt.body.standing
    wanted = () if own.intent is None or intent is None else applicable(intent)
    judged = own.status == "ok" and own.intent is not None
    if prompt.body.unit_prompt_id is not None:
        why = evidence.said("not_judged", "together")
    elif judged:
        why = f"Read as {kind_of(kind_told(own.chances))}."
    elif own.status == "skipped" and turn.prompt is not None:
        why = evidence.said("not_judged", "navigates")
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
        kind_told=kind_told(own.chances),
        confidence=own.confidence if judged else None,
        standing_score=None if standing is None else standing.score,
        booleans=booleans,
        not_asked=[name for name in wanted if not _applies(name, own)],
    )


def _booleans(facts: evidence.SubSessionEvidence, prompt: JudgedTurn) -> dict[BooleanName, BooleanExplained]:
    """Of a prompt and those judged with it. The words of a forgotten one cannot be quoted; what was earned stands."""
    own, named = prompt.body.rubric, prompt_id(prompt.turn)
    unit = [prompt, *(each for each in facts.prompts if each.body.unit_prompt_id == named)]
    unit = unit[: len(joined_turns([each.turn for each in unit]))]
    texts = [text for each in unit if (text := facts.text(each.body.prompt)) is not None]
    text = BLANK_LINE.join(texts) if len(texts) == len(unit) else None
    answer, marks = unit[-1].turn.response, unit[-1].turn.work.marks
    asked_back = answer is not None and answer.asks and not answer.invites and CHANGE not in marks
    starts = [0, *accumulate(len(each) + len(BLANK_LINE) for each in texts)]
    verdicts, explained = {each.name: each for each in own.booleans}, {}
    for name, found in judging.rubric_evidence(text, own, prompt.turn.position).items():
        verdict, place, span, quote = verdicts[name], 0, None, None
        likely = judging.in_these_words(verdict, found, asked_back=asked_back)
        is_missed = judging.missed(verdict, found)
        is_earned = judging.earned(verdict, found) and likely != "as likely as not"
        if found.span is not None:
            place = bisect_right(starts, found.span.start) - 1
            if text is not None:
                span = ExplainedSpan(found.span.start - starts[place], found.span.end - starts[place])
                quote = evidence.one_line(text[found.span.start : found.span.end])
        explained[name] = BooleanExplained(
            earned=is_earned,
            unsure=not (is_earned or is_missed),
            chance=verdict.chance,
            likely=likely,
            span=span,
            how_to_earn=judging.HABIT_WORDS[name].how if is_missed else None,
            prompt_id=named if is_earned else None,
            what=found.what,
            position=unit[place].turn.position,
            quote=quote,
        )
    return explained
