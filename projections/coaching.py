"""Which habits showed least in a window, each with one of the developer's own prompts that missed it."""

import msgspec

from aggregates.habits import GRADED_MIN, HABITS, NOT_ENOUGH, NOTHING_MISSED, Language, weakest
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.turn import Turn
from aggregates.verdicts import BooleanName
from aggregates.windows import Window
from projections.bodies import unpack
from projections.reader import Reader
from projections.skill import Skill
from projections.started import bounds
from projections.sub_session_rows import PromptBody, mask
from projections.top_prompts import preview
from projections.turn_texts import prompt_id

HABITS_SHOWN = 3
_LOOKED_AT = 5
"""So many prompts are looked at for one whose text is still there."""


class MissedPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A prompt that did not show the habit, nor did an earlier one of its sub-session."""

    prompt_id: str
    sub_session_id: str
    submitted_at: str
    preview: str


class CoachedHabit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One habit to work on."""

    boolean: BooleanName
    label: str
    habit: str
    share: float
    """Of the prompts that called for it, 0-1."""
    prompt_count: int
    """How many called for it."""
    example: MissedPrompt | None
    """None where no text of one is left."""


class Coaching(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The weakest habits, the weakest first; where there are none, the note says why."""

    items: list[CoachedHabit]
    note: str | None


def coaching(reader: Reader, scope: Scope, window: Window, skill: Skill, language: Language) -> Coaching:
    """`skill`: the figures of the same window."""
    names = weakest(skill.per_boolean, skill.per_boolean_counts, HABITS_SHOWN)
    items = [_coached(reader, scope, window, skill, name, language) for name in names]
    if items:
        return Coaching(items=items, note=None)
    enough = any(count >= GRADED_MIN for count in skill.per_boolean_counts.values())
    return Coaching(items=[], note=(NOTHING_MISSED if enough else NOT_ENOUGH)[language])


def _coached(
    reader: Reader, scope: Scope, window: Window, skill: Skill, name: BooleanName, language: Language
) -> CoachedHabit:
    habit = HABITS[language][name]
    return CoachedHabit(
        boolean=name,
        label=habit.label,
        habit=habit.advice,
        share=skill.per_boolean[name],
        prompt_count=skill.per_boolean_counts[name],
        example=_example(reader, scope, window, name),
    )


_MISSING = (
    "SELECT t.body, p.sub_session_id, p.at_us, p.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id "
    "WHERE p.organization_id = ? AND p.developer_id = ? AND p.at_us >= ? AND p.at_us < ? AND p.counted "
    "AND p.applicable & ? AND NOT p.standing_earned & ? ORDER BY p.at_us DESC, p.turn_id DESC LIMIT ?"
)


def _example(reader: Reader, scope: Scope, window: Window, name: BooleanName) -> MissedPrompt | None:
    """The newest one whose text is there."""
    bit = mask((name,))
    rows = reader.db.execute(_MISSING, (*bounds(scope, window), bit, bit, _LOOKED_AT)).fetchall()
    refs = [unpack(row[3], PromptBody).prompt for row in rows]
    texts = reader.texts(refs)
    for (turn, sub_session_id, at_us, _), ref in zip(rows, refs, strict=True):
        shown = preview(texts, ref)
        if shown is not None:
            return MissedPrompt(
                prompt_id=prompt_id(unpack(turn, Turn)),
                sub_session_id=sub_session_id,
                submitted_at=iso(at_us),
                preview=shown,
            )
    return None
