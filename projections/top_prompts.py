"""The best prompts of a range: those of the average prompt grade, highest standing score first."""

import msgspec

from aggregates.grades import rubric_letter
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.turn import Turn
from aggregates.windows import Window
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.started import CRUSHED, SETTLED, bounds
from projections.sub_session_rows import PromptBody
from projections.turn_texts import prompt_id

PREVIEW_CHARS_MAX = 140
_PREVIEW_LOOKED_AT = 4 * PREVIEW_CHARS_MAX
"""So much of a prompt is brought onto one line; a prompt may be half a megabyte."""


class TopPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One graded prompt. Intent class and `crushed` are those of its sub-session."""

    prompt_id: str
    """As in the list of its sub-session's prompts."""
    sub_session_id: str
    agent_session_id: str
    submitted_at: str
    preview: str | None
    """None once it has been forgotten."""
    grade: str
    score: float
    """The standing score, 0-100."""
    intent_class: str
    crushed: bool | None
    """None while the sub-session is open."""


_WITH_ITS_OWN = (
    "JOIN sub_sessions s ON s.sub_session_id = p.sub_session_id "
    "AND s.organization_id = p.organization_id AND s.developer_id = p.developer_id "
)
_BEST_FIRST = "ORDER BY p.standing_score DESC, s.started_us DESC, s.sub_session_id, p.at_us, p.turn_id "
# Bodies are looked up for a page alone: sorted along with all prompts of a month, they took nine tenths of the time.
_PAGE = (
    f"WITH page(prompt) AS MATERIALIZED (SELECT p.rowid FROM prompts p {_WITH_ITS_OWN}"
    "WHERE p.organization_id = ? AND p.developer_id = ? AND p.at_us >= ? AND p.at_us < ? AND p.counted "
    f"{_BEST_FIRST} LIMIT ? OFFSET ?) "
    f"SELECT t.body, p.sub_session_id, t.agent_session_id, p.at_us, p.standing_score, s.intent, {SETTLED}, "
    f"{CRUSHED}, p.body FROM bookmark b CROSS JOIN page CROSS JOIN prompts p ON p.rowid = page.prompt {_WITH_ITS_OWN}"
    f"JOIN turns t ON t.turn_id = p.turn_id {_BEST_FIRST}"
)
"""A prompt belongs to a range by its own time, as it does for the average prompt grade."""


def top_prompts(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TopPrompt]:
    """Classified prompts of classified sub-sessions above the floor.

    Of equal scores those of the newest sub-session come first, and there the prompt that reached the score first:
    the ones after it stand where they stand because of it.
    """
    rows = reader.db.execute(_PAGE, (*bounds(scope, window), limit, offset)).fetchall()
    refs = [unpack(row[8], PromptBody).prompt for row in rows]
    texts = reader.texts(refs)
    return [
        TopPrompt(
            prompt_id=prompt_id(unpack(turn, Turn)),
            sub_session_id=sub_session_id,
            agent_session_id=session,
            submitted_at=iso(at_us),
            preview=preview(texts, ref),
            grade=rubric_letter(score),
            score=score,
            intent_class=intent,
            crushed=bool(crushed) if settled else None,
        )
        for (turn, sub_session_id, session, at_us, score, intent, settled, crushed, _), ref in zip(
            rows, refs, strict=True
        )
    ]


def preview(texts: dict[TextRef, str | None], ref: TextRef | None) -> str | None:
    """The beginning of a prompt, on one line; None where its text is not there."""
    text = None if ref is None else texts[ref]
    return None if text is None else " ".join(text[:_PREVIEW_LOOKED_AT].split())[:PREVIEW_CHARS_MAX]
