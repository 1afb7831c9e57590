"""Why a sub-session has its grade: the words that earned or missed each boolean."""

from collections.abc import Mapping, Sequence

from aggregates.judging.evidence import rubric_evidence
from aggregates.reading.verdicts import BooleanName, Intent, Rubric, applicable, kind_of
from aggregates.scores.grades import rubric_letter, score_of
from aggregates.times import iso
from aggregates.turns.turn import Turn
from projections.derive.sessions import prompt_id
from projections.derive.sub_session_rows import PromptBody
from projections.explain.facts import FORGOTTEN, Told, ascending, counted, one_line
from projections.explain.shapes import BooleanExplained, HabitExplained, PromptExplained, RubricExplained
from projections.sub_sessions.shown import UNCLASSIFIED

PROMPTS_MAX = 200
"""A sub-session of more prompts is explained by its first ones."""

_NAVIGATES = {
    "short": "it is under 10 characters long",
    "command": "it is a command of the agent's own",
    "shell": "it is a shell command typed through",
    "acknowledgement": "it only acknowledges",
}
_ASKED_OF_NONE = "asked of none of its prompts: it does not apply to what each was judged as"

_Judged = tuple[Turn, PromptBody, float | None]


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
        text=[*_sentences(intent, score, _named_by(told.prompts, giving), booleans), *_corrected(told)],
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
    intent: Intent | None, score: float | None, by: str, booleans: Mapping[BooleanName, HabitExplained]
) -> list[str]:
    if intent is None or score is None:
        return ["No prompt of it could be classified, so it has no grade and is not counted."]
    earned = [name for name, each in booleans.items() if each.earned]
    missed = [name for name, each in booleans.items() if not each.earned]
    return [
        f"It is {kind_of(intent)}, {by}.",
        f"{len(earned)} of the {len(booleans)} habits that apply were shown: {', '.join(earned) or 'none'}.",
        *([f"Missed: {', '.join(missed)}."] if missed else []),
        f"That is {score:.0f} of 100, {rubric_letter(score)}.",
    ]


def _named_by(prompts: Sequence[_Judged], giving: Turn | None) -> str:
    if giving is None:
        return "as a person said"
    first = next(turn for turn, body, _ in prompts if body.rubric.intent is not None)
    why = "" if giving is first else ", the first that asks for a change"
    return f"by the prompt of {iso(giving.started_us)}{why}"


def _corrected(told: Told) -> list[str]:
    judged, intent = told.judged.intent, told.row.intent
    if intent is None or intent == judged:
        return []
    without = "could not be classified" if judged is None else f"was judged as {kind_of(judged)}"
    return [f"A person said that it is {kind_of(intent)}; without that it {without}."]


def _gives_intent(prompts: Sequence[_Judged], intent: Intent | None) -> Turn | None:
    """None where a person named it."""
    return next((turn for turn, body, _ in prompts if intent is not None and body.rubric.intent == intent), None)


def _of_all(told: Told, shown: Sequence[PromptExplained], name: BooleanName) -> HabitExplained:
    """As the first prompt earned it; where none did, what was missed by those of which it was asked."""
    judged = [place for place, (_, body, _) in enumerate(told.prompts) if _asks(body.rubric, name)]
    asked_of = [told.turns[place].position for place in judged[:PROMPTS_MAX]]
    earning = next((place for place in judged if name in told.prompts[place][1].rubric.earned), None)
    if earning is not None:
        return _habit(_own(told, shown, earning, name), asked_of)
    if not judged:
        return HabitExplained(
            earned=False, prompt_id=None, what=_ASKED_OF_NONE, position=None, quote=None, asked_of=asked_of
        )
    missed = [_own(told, shown, place, name) for place in judged if place < len(shown) or place == judged[0]]
    nearest = next((each for each in missed if each.quote is not None), missed[0])
    apart = [body.rubric.intent for _, body, _ in told.prompts if body.rubric.intent and not _asks(body.rubric, name)]
    return _habit(nearest, asked_of, _of_how_many(len(judged), apart))


def _own(told: Told, shown: Sequence[PromptExplained], place: int, name: BooleanName) -> BooleanExplained:
    """One habit of one prompt; its text is read where it is not shown."""
    if place < len(shown):
        return shown[place].booleans[name]
    turn, body, _ = told.prompts[place]
    return _booleans(turn, body.rubric, told.text(body.prompt))[name]


def _asks(own: Rubric, name: BooleanName) -> bool:
    """Whether a habit applies to what a prompt was judged as by itself."""
    return own.intent is not None and name in applicable(own.intent)


def _of_how_many(judged: int, apart: Sequence[Intent]) -> str:
    """What else to know of a missed habit: of the prompts beside the one that is pointed at."""
    more = f"; asked of {judged} prompts, and none of them earned it" if judged > 1 else ""
    if not apart:
        return more
    kinds = ", ".join(dict.fromkeys(map(kind_of, apart)))
    return f"{more}; not asked of {counted(len(apart), 'prompt', 'prompts')}: it does not apply to {kinds}"


def _habit(own: BooleanExplained, asked_of: list[int], more: str = "") -> HabitExplained:
    return HabitExplained(
        earned=own.earned,
        prompt_id=own.prompt_id,
        what=own.what + more,
        position=own.position,
        quote=own.quote,
        asked_of=asked_of,
    )


def _prompt(told: Told, turn: Turn, body: PromptBody, standing: float | None) -> PromptExplained:
    own, text = body.rubric, told.text(body.prompt)
    ok = own.status == "ok" and own.intent is not None
    apart = _not_asked(own, told.row.intent)
    return PromptExplained(
        prompt_id=prompt_id(turn),
        submitted_at=iso(turn.started_us),
        position=turn.position,
        quote=one_line(text),
        judge=own.judge,
        judge_status=own.status,
        text=_why(turn, own, apart),
        intent_class=own.intent or UNCLASSIFIED,
        confidence=own.confidence if ok else None,
        standing_score=standing,
        booleans=_booleans(turn, own, text),
        not_asked=apart,
    )


def _not_asked(own: Rubric, intent: Intent | None) -> list[BooleanName]:
    """The habits of the sub-session that do not apply to what a prompt was judged as by itself."""
    if own.intent is None or intent is None:
        return []
    return [name for name in applicable(intent) if not _asks(own, name)]


def _why(turn: Turn, own: Rubric, apart: Sequence[BooleanName]) -> str:
    if own.status == "ok" and own.intent is not None:
        kind, shows = kind_of(own.intent), ", ".join(own.earned) or "no habit"
        without = f" Not asked of it, since it does not apply to {kind}: {', '.join(apart)}." if apart else ""
        return f"Judged as {kind}, {own.confidence:.0%} sure; it shows {shows}.{without}"
    if own.status != "skipped":
        return {
            "unclassified": "Not classified: the judge cannot tell from its own words what is wanted.",
            "pending": "Not judged yet.",
        }.get(own.status, "Could not be judged.")
    if turn.prompt is None:
        return "Not judged: its text was not observed."
    return f"Not judged: {_NAVIGATES.get(turn.prompt.navigational or '', 'it only navigates')}."


def _booleans(turn: Turn, own: Rubric, text: str | None) -> dict[BooleanName, BooleanExplained]:
    """The words of a forgotten prompt cannot be quoted; what was earned stands all the same."""
    called = prompt_id(turn)
    return {
        name: BooleanExplained(
            earned=name in own.earned,
            prompt_id=called if name in own.earned else None,
            what=each.what,
            position=turn.position,
            quote=None if each.span is None or text is None else one_line(text[each.span.start : each.span.end]),
        )
        for name, each in rubric_evidence(text, own, turn.position).items()
    }
