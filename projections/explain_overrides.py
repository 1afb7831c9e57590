"""What people said against the judges that stands for a sub-session, as the overrides they said it by."""

import msgspec

from aggregates.corrections import YES, OverrideField, Topic
from aggregates.turn import Turn
from aggregates.verdicts import Intent
from projections.explain_facts import Told
from projections.explain_shapes import OverrideShown
from projections.turn_texts import prompt_id

_ACTIONS: dict[Topic, tuple[OverrideField, str, str]] = {
    "gap": ("boundary", "split_at_turn", "merge_with_previous"),
    "goal": ("completion", "mark_complete", "mark_incomplete"),
    "rework": ("rollback", "mark_rework", "mark_not_rework"),
    "intent": ("label", "set_intent", "set_intent"),
}
"""Topic → the field, and the action for yes and for no."""


def overrides(told: Told) -> list[OverrideShown]:
    """In the order they were said: the latest of each kind, and of each place for boundaries."""
    standing: dict[tuple[str, str], OverrideShown] = {}
    for topic, said, position, turn in _words(told):
        field, yes, no = _ACTIONS[topic]
        place = str(turn.turn_id) if topic == "gap" else ""
        standing[topic, place] = OverrideShown(
            field=field,
            action=yes if said == YES else no,
            prompt_id=prompt_id(turn),
            intent_class=_intent(topic, said),
            position=position,
        )
    shown = list(standing.values())
    title = told.row.detail.edited_title
    if title is not None:
        shown.append(OverrideShown(field="label", action="rename", position=title.position))
    return sorted(shown, key=lambda each: each.position)


def _words(told: Told) -> list[tuple[Topic, str, int, Turn]]:
    """(topic, what was said, position, turn) of everything said about these turns, the earliest first."""
    query = (
        "SELECT c.topic, c.said, c.position, a.turn_id FROM json_each(?) i "
        "JOIN corrections c ON c.agent_session_id = i.value JOIN turn_alias a ON a.alias_id = c.capture_id "
        "ORDER BY c.position"
    )
    turns = {str(turn.turn_id): turn for turn in told.turns}
    sessions = msgspec.json.encode(sorted({turn.agent_session_id for turn in told.turns})).decode()
    found = told.reader.db.execute(query, (sessions,))
    return [(topic, said, position, turns[name]) for topic, said, position, name in found if name in turns]


def _intent(topic: Topic, said: str) -> Intent | None:
    return msgspec.convert(said, Intent) if topic == "intent" else None
