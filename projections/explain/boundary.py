"""Why a sub-session begins and ends where it does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from uuid import UUID

from aggregates.judging.answers import GapAnswer, answered_boundary
from aggregates.judging.boundary import PAUSE_US, OpenArc, stays, sureness, topic_shift, weighed
from aggregates.reading.verdicts import BoundaryVerdict, Evidence
from aggregates.sub_sessions.arcs import Arc, committed
from aggregates.sub_sessions.merging import MERGE_GAP_US
from aggregates.times import US_PER_SECOND, iso
from aggregates.turns.turn import Observation, Turn
from projections.derive.sessions import arc_before, prompt_id, turns_of
from projections.explain.facts import Told, ascending, counted, one_line, unquoted
from projections.explain.shapes import BoundaryExplained, KeptExplained, MergedArc, Piece, SignalExplained
from projections.facts.answers import gap_answers
from projections.reader import unpack

_OPENED = {
    "start": "It opens with the first prompt of its agent session.",
    "clear": "It opens here because the session was cleared before this prompt.",
    "end": "It opens here because the session had ended; what comes after an end is a new sub-session.",
    "topic": "It opens here because the boundary judge sees another topic in this prompt.",
    "commit": "It opens here because the work before was committed, and this prompt does not go on with it.",
    "person": "It opens here because a person said so.",
}


_CLOSED = {
    "clear": "It ends because the session was cleared.",
    "end": "It ends because the session ended.",
    "topic": "It ends because the next prompt opens another topic.",
    "commit": "It ends because its work was committed, and the next prompt does not go on with it.",
    "person": "It ends because a person said so.",
}


_QUIET = "It settled after 30 minutes without any activity; a later prompt may still go on with it."


_OPEN = "Nothing has ended it yet; it settles after 30 minutes without any activity."


_NO_FOLDER = "the working directory: not observed, so nothing could be merged across a clear or an end"


def boundary(told: Told) -> BoundaryExplained:
    """What was said or judged at its first prompt, at its end, where parts of it were merged, and what stayed in it."""
    first, closing = told.arcs[0], told.arcs[-1].closed_by
    opening = told.prompt_piece("its first prompt", told.turns[0])
    weighed = opens_by(told, first)
    shift = _shift(first, weighed)
    evidence = _opening_evidence(told, first, first.shift if shift is not None else None, opening)
    merged = [_merged(told, told.arcs[:place], arc) for place, arc in enumerate(told.arcs) if place]
    stayed, in_all = kept(told), kept_in_all(told)
    return BoundaryExplained(
        kind=first.opened_by,
        closed_by=closing,
        judge=None if shift is None else shift.judge,
        confidence=None if shift is None else shift.confidence,
        evidence=evidence,
        signals=signals(weighed),
        merged=merged,
        kept=stayed,
        kept_not_shown=in_all - len(stayed),
        text=[
            _OPENED.get(first.opened_by, f"It opens here: {first.opened_by}."),
            *_judge_sentences(shift, weighed),
            *map(_merge_sentence, merged, told.arcs[1:]),
            *_kept_sentences(stayed, in_all),
            _CLOSED.get(closing or "", _QUIET if told.row.settled else _OPEN),
        ],
        not_observed=[
            *unquoted(opening, told.turns[0]),
            *([_NO_FOLDER] if all(arc.cwd_digest is None for arc in told.arcs) else []),
        ],
        positions=ascending(
            [told.turns[0].position, *(each.position for part in (evidence, merged, stayed) for each in part)]
        ),
    )


def _shift(first: Arc, weighed: Sequence[tuple[str, int]]) -> BoundaryVerdict | None:
    """What was judged where it opens; that it opens after a commit is judged as well, and not kept."""
    if first.opened_by == "commit" and first.shift is None and weighed:
        return BoundaryVerdict(True, sureness(total(weighed)), ())
    return first.shift if first.opened_by in ("topic", "commit") else None


def _judge_sentences(shift: BoundaryVerdict | None, weighed: Sequence[tuple[str, int]]) -> list[str]:
    if shift is None:
        return []
    reasons = sums(weighed) if weighed else "; ".join(each.what for each in shift.evidence) + "."
    return [f"The judge, {shift.judge}, is {shift.confidence:.0%} sure. {reasons}"]


def _kept_sentences(stayed: Sequence[KeptExplained], in_all: int) -> list[str]:
    """How many stayed, and the one that came nearest to opening another topic."""
    if not stayed:
        return []
    said = f"{counted(in_all, 'later prompt', 'later prompts')} stayed in it; `kept` tells by whom and why."
    asked = [
        f"{each.judge} was asked whether a later prompt opens another topic, and says no."
        for each in stayed
        if each.judge.startswith("model:")
    ]
    weighed = [each for each in stayed if each.signals]
    if not weighed:
        return [said, *asked]
    nearest = max(weighed, key=lambda each: sum(signal.weight for signal in each.signals))
    return [said, *asked, f"Nearest to a boundary was that of {nearest.submitted_at}. {nearest.text}"]


def _opening_evidence(told: Told, first: Arc, shift: BoundaryVerdict | None, opening: Piece) -> list[Piece]:
    """What the judge went by; else where the boundary was said, and the prompt that it lies before."""
    judged = [] if shift is None else [_judged(each, opening) for each in shift.evidence]
    shown = judged if any(each.position == opening.position for each in judged) else [*judged, opening]
    if first.opened_by == "commit" and told.before is not None:
        return [_said(told, told.before, "the commit before it", _commits), *shown]
    if first.opened_by in ("clear", "end") and told.before is not None:
        return [_said(told, told.before, f"the {first.opened_by} before it", _closes), *shown]
    return shown


def _judged(evidence: Evidence, opening: Piece) -> Piece:
    """A signal of the prompt's own quotes it; an answer of a text model stands elsewhere, and holds no words."""
    if evidence.position in (None, opening.position):
        return Piece(what=evidence.what, position=opening.position, quote=opening.quote)
    return Piece(what=evidence.what, position=evidence.position, quote=None)


def _said(told: Told, before: Turn, what: str, shows: Callable[[Observation], bool]) -> Piece:
    """The last report that shows it, between the start of the turn before and the first turn; else the first prompt."""
    query = (
        "SELECT position, record_id, body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ? "
        "ORDER BY at_us DESC, record_id DESC"
    )
    bound = (before.agent_session_id, before.started_us, told.turns[0].started_us)
    for position, record_id, body in told.reader.db.execute(query, bound):
        if shows(unpack(body, Observation)):
            return Piece(what=what, position=position, quote=one_line(told.reader.command(position, record_id)))
    return told.prompt_piece(what, told.turns[0])


def _commits(seen: Observation) -> bool:
    return seen.tool is not None and seen.tool.commit


def _closes(seen: Observation) -> bool:
    return seen.kind == "session_end" or (seen.kind == "session_start" and seen.source == "clear")


def _merged(told: Told, earlier: Sequence[Arc], arc: Arc) -> MergedArc:
    opening = next(turn for turn in told.turns if turn.turn_id == arc.arc_id)
    closed_us = earlier[-1].closed_us
    touched = frozenset[int]().union(*(each.touched_files for each in earlier))
    return MergedArc(
        agent_session_id=arc.agent_session_id,
        opened_by=arc.opened_by,
        started_at=iso(arc.started_us),
        gap_seconds=None if closed_us is None else (arc.started_us - closed_us) / US_PER_SECOND,
        shared_files=len(touched.intersection(arc.touched_files)),
        position=opening.position,
    )


def _merge_sentence(merged: MergedArc, arc: Arc) -> str:
    if arc.said is not None:
        return f"What began at {merged.started_at} was joined to it because a person said so."
    files = counted(merged.shared_files, "file", "files")
    minutes = MERGE_GAP_US // (60 * US_PER_SECOND)
    return (
        f"What began at {merged.started_at} was joined to it: within {minutes} minutes of the close, "
        f"in the same working directory, with {files} in common."
    )


# Why later prompts stayed in a sub-session, and what the embedded boundary judge weighed where it opens.

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


def opens_by(told: Told, first: Arc) -> _Weighed:
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
