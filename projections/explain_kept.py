"""Why later prompts stayed in a sub-session, and what the embedded boundary judge weighed where it opens."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from uuid import UUID

from aggregates.answered_gaps import GapAnswer, answered_boundary
from aggregates.arcs import Arc, committed
from aggregates.boundary import stays, sureness, topic_shift, weighed
from aggregates.boundary_signals import PAUSE_US, OpenArc
from aggregates.times import US_PER_SECOND, iso
from aggregates.turn import Turn
from aggregates.verdicts import BoundaryVerdict
from projections.arc_rows import arc_before, turns_of
from projections.explain_facts import Told
from projections.explain_shapes import KeptExplained, SignalExplained
from projections.judge_answers import gap_answers
from projections.turn_texts import prompt_id

KEPT_MAX = 50
"""So many prompts are told of that stayed; a count tells of the others."""
_NAMED_MAX = 4
"""A sentence names so many signals on either side."""

_Weighed = Sequence[tuple[str, int]]


def kept(told: Told) -> list[KeptExplained]:
    """The first prompts at which a judge saw no boundary."""
    turns = {turn.turn_id: turn for turn in told.turns}
    return list(islice((each for arc in told.arcs for each in _within(told, arc, turns)), KEPT_MAX))


def kept_in_all(told: Told) -> int:
    """How many prompts follow the first one of their part."""
    return sum(len(arc.turn_ids) - 1 for arc in told.arcs)


def _within(told: Told, arc: Arc, turns: Mapping[UUID, Turn]) -> Iterator[KeptExplained]:
    first, *later = (turns[turn_id] for turn_id in arc.turn_ids)
    answers = gap_answers(told.reader.db, arc.agent_session_id) if later else {}
    so_far = OpenArc([first])
    for turn in later:
        yield _kept(so_far, turn, answers.get(turn.turn_id))
        so_far.add(turn)


def _kept(so_far: OpenArc, turn: Turn, answer: GapAnswer | None) -> KeptExplained:
    """In the order in which a boundary is decided: a text model's word goes before the embedded judge's."""
    answered = answered_boundary(so_far, turn, answer)
    if answered is not None:
        said = f"{answered.judge} was asked whether it opens another topic, and says no."
        return _shown(turn, answered, said, [])
    why_not = stays(so_far, turn)
    if why_not is not None:
        said = f"It opens no other topic, whatever it says: {why_not}."
        return _shown(turn, topic_shift(so_far, turn), said, [])
    found = weighed(so_far, turn, committed=committed(so_far))
    verdict = BoundaryVerdict(False, sureness(total(found)), ())
    silence = _silence(turn.started_us - so_far.last.started_us, found)
    return _shown(turn, verdict, f"The judge sees no other topic. {sums(found)}{silence}", found)


def _silence(passed_us: int, found: _Weighed) -> str:
    """Why a long pause was not weighed, where somebody may look for it."""
    if passed_us <= PAUSE_US or any(name.startswith("stands apart") for name, _ in found):
        return ""
    minutes = passed_us // (60 * US_PER_SECOND)
    return (
        f" That {minutes} minutes had passed is not weighed: time counts only where a prompt stands apart, by three "
        "new words or more and by nothing that ties it to what came before."
    )


def _shown(turn: Turn, verdict: BoundaryVerdict, text: str, found: _Weighed) -> KeptExplained:
    position = next((each.position for each in verdict.evidence if each.position is not None), turn.position)
    return KeptExplained(
        prompt_id=prompt_id(turn),
        submitted_at=iso(turn.started_us),
        judge=verdict.judge,
        confidence=verdict.confidence,
        position=position,
        text=text,
        signals=signals(found),
    )


def opening(told: Told, first: Arc) -> _Weighed:
    """What was weighed where the embedded judge opened an arc, after a commit or not; nothing where it did not."""
    if first.opened_by not in ("topic", "commit") or (
        first.shift is not None and first.shift.judge.startswith("model:")
    ):
        return []
    before = arc_before(told.reader.db, first)
    if before is None:
        return []
    so_far = OpenArc(turns_of(told.reader.db, [before]))
    return weighed(so_far, told.turns[0], committed=first.opened_by == "commit")


def signals(found: _Weighed) -> list[SignalExplained]:
    """As they are shown, in logits."""
    return [SignalExplained(what=name, weight=weight / 1000) for name, weight in found]


def total(found: _Weighed) -> int:
    """In thousandths of a logit; above 0: another topic."""
    return sum(weight for _, weight in found)


def sums(found: _Weighed) -> str:
    """What speaks for another topic and what against it, and what comes of both."""
    speak = [_named([each for each in found if each[1] * sign > 0]) for sign in (1, -1)]
    return (
        f"For another topic: {speak[0]}. Against: {speak[1]}. "
        f"Together {total(found) / 1000:+.2f}; above 0 it opens another sub-session."
    )


def _named(found: _Weighed) -> str:
    more = len(found) - _NAMED_MAX
    named = [f"{name} ({weight / 1000:+.2f})" for name, weight in found[:_NAMED_MAX]]
    return "; ".join([*named, *([f"{more} more"] if more > 0 else [])]) or "nothing"
