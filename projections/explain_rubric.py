"""Why a sub-session has its grade: the words that earned or missed each boolean."""

from collections.abc import Mapping, Sequence

from aggregates.grades import rubric_letter, score_of
from aggregates.rubric_evidence import rubric_evidence
from aggregates.times import iso
from aggregates.turn import Turn
from aggregates.verdicts import BooleanName, Evidence, Intent, Rubric, applicable
from projections.explain_facts import FORGOTTEN, Told, ascending, counted, one_line
from projections.explain_shapes import BooleanExplained, PromptExplained, RubricExplained
from projections.sub_session_rows import PromptBody
from projections.sub_session_shown import UNCLASSIFIED
from projections.turn_texts import prompt_id

PROMPTS_MAX = 200
"""A sub-session of more prompts is explained by its first ones."""

_NAVIGATES = {
    "short": "it is under 10 characters long",
    "command": "it is a command of the agent's own",
    "shell": "it is a shell command typed through",
    "acknowledgement": "it only acknowledges",
}
_AS_A_WHOLE = "by the prompt as a whole, no words of it stand out"
_MISSED_BY_ALL = "no prompt of the sub-session earned it"


def rubric(told: Told) -> RubricExplained:
    """Each prompt by itself, and what the sub-session has of them."""
    shown = [_prompt(told, *each) for each in told.prompts[:PROMPTS_MAX]]
    intent, row = told.row.intent, told.row
    score = None if intent is None else score_of(len(row.earned), len(applicable(intent)))
    giving = _gives_intent(told.prompts, intent if intent == told.judged.intent else None)
    booleans = {} if intent is None else {name: _of_all(told, shown, name) for name in applicable(intent)}
    return RubricExplained(
        judge=told.prompts[0][1].rubric.judge,
        judge_status=row.detail.judge_status,
        intent_class=intent or UNCLASSIFIED,
        intent_prompt_id=None if giving is None else prompt_id(giving),
        letter_grade=None if score is None else rubric_letter(score),
        score=score,
        booleans=booleans,
        prompts=shown,
        prompts_not_shown=len(told.prompts) - len(shown),
        text=[*_sentences(intent, score, giving, booleans), *_corrected(told)],
        not_observed=_unread(told, shown),
        positions=ascending(turn.position for turn in told.turns),
    )


def _unread(told: Told, shown: Sequence[PromptExplained]) -> list[str]:
    missing = sum(turn.prompt is None for turn in told.turns)
    silent = [each.quote is None and turn.prompt is not None for each, turn in zip(shown, told.turns, strict=False)]
    return [
        f"the text of {counted(count, 'prompt', 'prompts')}: {why}"
        for count, why in ((missing, "not observed"), (sum(silent), FORGOTTEN))
        if count
    ]


def _sentences(
    intent: Intent | None, score: float | None, giving: Turn | None, booleans: Mapping[BooleanName, BooleanExplained]
) -> list[str]:
    if intent is None or score is None:
        return ["No prompt of it could be classified, so it has no grade and is not counted."]
    by = "as a person said" if giving is None else f"by the prompt of {iso(giving.started_us)}"
    earned = [name for name, each in booleans.items() if each.earned]
    missed = [name for name, each in booleans.items() if not each.earned]
    return [
        f"It is {_kind(intent)}, {by}.",
        f"{len(earned)} of the {len(booleans)} habits that apply were shown: {', '.join(earned) or 'none'}.",
        *([f"Missed: {', '.join(missed)}."] if missed else []),
        f"That is {score:.0f} of 100, {rubric_letter(score)}.",
    ]


def _corrected(told: Told) -> list[str]:
    judged, intent = told.judged.intent, told.row.intent
    if intent is None or intent == judged:
        return []
    without = "could not be classified" if judged is None else f"was judged as {_kind(judged)}"
    return [f"A person said that it is {_kind(intent)}; without that it {without}."]


def _kind(intent: Intent) -> str:
    name = intent.replace("_", " ")
    return f"an {name}" if name.startswith("i") else f"a {name}"


def _gives_intent(prompts: Sequence[tuple[Turn, PromptBody, float | None]], intent: Intent | None) -> Turn | None:
    """None where a person named it."""
    return next((turn for turn, body, _ in prompts if intent is not None and body.rubric.intent == intent), None)


def _of_all(told: Told, shown: Sequence[PromptExplained], name: BooleanName) -> BooleanExplained:
    """As the first prompt earned it; where none did, what was missed."""
    for prompt in shown:
        own = prompt.booleans.get(name)
        if own is not None and own.earned:
            return own
    earned = name in told.row.earned  # by a prompt that is not shown any more
    missed = next((prompt.booleans[name].what for prompt in shown if name in prompt.booleans), _MISSED_BY_ALL)
    what = "a later prompt earned it" if earned else missed
    return BooleanExplained(earned=earned, prompt_id=None, what=what, position=told.turns[0].position, quote=None)


def _prompt(told: Told, turn: Turn, body: PromptBody, standing: float | None) -> PromptExplained:
    own, text = body.rubric, told.text(body.prompt)
    ok = own.status == "ok" and own.intent is not None
    return PromptExplained(
        prompt_id=prompt_id(turn),
        submitted_at=iso(turn.started_us),
        position=turn.position,
        quote=one_line(text),
        judge=own.judge,
        judge_status=own.status,
        text=_why(turn, own),
        intent_class=own.intent or UNCLASSIFIED,
        confidence=own.confidence if ok else None,
        standing_score=standing,
        booleans=_booleans(turn, own, text),
    )


def _why(turn: Turn, own: Rubric) -> str:
    if own.status == "ok" and own.intent is not None:
        return (
            f"Judged as {_kind(own.intent)}, {own.confidence:.0%} sure; it shows {', '.join(own.earned) or 'no habit'}."
        )
    if own.status != "skipped":
        return {
            "unclassified": "Not classified: the judge cannot tell from its own words what is wanted.",
            "pending": "Not judged yet.",
        }.get(own.status, "Could not be judged.")
    if turn.prompt is None:
        return "Not judged: its text was not observed."
    return f"Not judged: {_NAVIGATES.get(turn.prompt.navigational or '', 'it only navigates')}."


def _is_whole(turn: Turn, evidence: Evidence) -> bool:
    """Whether the judge went by no words in particular, so that the beginning of the prompt stands for all of it."""
    return evidence.span is not None and turn.prompt is not None and evidence.span == turn.prompt.summary


def _booleans(turn: Turn, own: Rubric, text: str | None) -> dict[BooleanName, BooleanExplained]:
    """The words of a forgotten prompt cannot be quoted; what was earned stands all the same."""
    called = prompt_id(turn)
    return {
        name: BooleanExplained(
            earned=name in own.earned,
            prompt_id=called if name in own.earned else None,
            what=f"{each.what}; {_AS_A_WHOLE}" if _is_whole(turn, each) else each.what,
            position=turn.position,
            quote=None if each.span is None or text is None else one_line(text[each.span.start : each.span.end]),
        )
        for name, each in rubric_evidence(text or "", own, turn.position).items()
    }
