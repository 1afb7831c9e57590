"""Why a sub-session begins and ends where it does, and why later prompts stayed in it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

import msgspec

from aggregates.event import shaped
from aggregates.judging.boundary import PAUSE_US, OpenArc, cannot_shift, contributions, topic_shift, verdict_of
from aggregates.judging.rubric import GapAnswer, answered_boundary
from aggregates.reading.verdicts import BoundaryVerdict
from aggregates.sub_sessions.arcs import FULL, MERGE_GAP_US, Arc, committed
from aggregates.times import US_PER_MINUTE, US_PER_SECOND, iso
from aggregates.turns.turn import Observation, Turn
from aggregates.turns.turns import Capture
from projections.derive.sessions import arc_before, gap_answers, neighbour, prompt_id, turns_of
from projections.explain import evidence
from projections.reader import bodies, sql, unpack

KEPT_MAX = 50  # so many prompts that stayed are shown; a count tells of the others
_NAMED_MAX = 4
_NO_FOLDER = "the working directory: not observed, so nothing could be merged across a clear or an end"


class MergedArc(msgspec.Struct, frozen=True, kw_only=True):
    """A later part that was joined to the sub-session, across a boundary."""

    agent_session_id: str
    opened_by: str
    started_at: str
    gap_seconds: float | None  # from the close of the part before; None where it was not closed
    shared_files: int
    position: int


class SignalExplained(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the embedded boundary judge weighed."""

    what: str
    weight: float  # in logits; above 0 it speaks for another topic. The sum decides


class KeptExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A later prompt at which a judge saw no boundary."""

    prompt_id: str
    submitted_at: str
    judge: str
    confidence: float
    position: int  # of the prompt; of the answer where a text model was asked
    text: str
    signals: list[SignalExplained]  # the heaviest first; empty where it cannot open a topic, or a text model was asked


class BoundaryExplained(evidence.ExplainedPart, frozen=True, kw_only=True):
    kind: str  # why it opened: `start`, `clear`, `end`, `topic`, `commit` or `person`
    closed_by: str | None  # None while nothing but silence ends it
    judge: str | None  # who judged that it opens here; None where that was said, or a session begins
    confidence: float | None
    evidence: list[evidence.EvidencePiece]
    signals: list[SignalExplained]  # what the embedded judge weighed; empty where it was not asked
    merged: list[MergedArc]
    kept: list[KeptExplained]  # the first prompts within it that might have opened another one, in order
    kept_not_shown: int


def boundary(facts: evidence.SubSessionEvidence) -> BoundaryExplained:
    """What was said or judged at its first prompt, at its end, where parts of it were merged, and what stayed in it."""
    arcs, first, last, turn = facts.arcs, facts.arcs[0], facts.arcs[-1], facts.turns[0]
    opening = facts.prompt_piece("its first prompt", turn)
    signals, shift = _opening(facts, first)
    opened_by = _opening_evidence(facts, first, first.shift if shift is not None else None, opening)
    opens = [evidence.SENTENCES["opened"].get(first.opened_by, f"It opens here: {first.opened_by}.")]
    if shift is not None:
        sure = [*opens, f"The judge, {shift.judge}, is {shift.confidence:.0%} sure."]
        opens = [evidence.said("opened", "unsure", chance=shift.chance)] if shift.unsure else sure
    merged, joined = _merged(facts)
    kept, in_all = list(islice(_kept(facts), KEPT_MAX)), sum(len(arc.turn_ids) - 1 for arc in arcs)
    stayed = [f"{evidence.counted(in_all, 'later prompt')} stayed in it."] if kept else []
    asked = (each.judge for each in kept if each.judge.startswith("model:"))
    stayed += [f"{judge} was asked whether a later prompt opens another topic, and says no." for judge in asked]
    if nearest := _nearest(kept):
        stayed.append(f"Nearest to a boundary was that of {nearest.submitted_at}. {nearest.text}")
    if last.end_chance is not None:
        closing = evidence.said("closed", "unsure", chance=last.end_chance)
    else:
        ends = evidence.SENTENCES["closed"]
        closing = ends.get(last.closed_by or "") or ends["settled" if facts.row.settled else "open"]
    no_folder = all(arc.cwd_digest is None for arc in arcs)
    return BoundaryExplained(
        kind=first.opened_by,
        closed_by=last.closed_by,
        judge=None if shift is None else shift.judge,
        confidence=None if shift is None else shift.confidence,
        evidence=opened_by,
        signals=signals,
        merged=merged,
        kept=kept,
        kept_not_shown=in_all - len(kept),
        text=[*opens, *joined, *stayed, closing],
        not_observed=[*evidence.unquoted(opening, turn), *([_NO_FOLDER] if no_folder else [])],
        positions=evidence.ascending(
            [turn.position, *(each.position for part in (opened_by, merged, kept) for each in part)]
        ),
    )


def _weighed(arc: OpenArc, turn: Turn, after_commit: bool) -> tuple[list[SignalExplained], BoundaryVerdict]:
    signals = contributions(arc, turn, after_commit=after_commit)
    shown = [SignalExplained(what=name, weight=weight / 1000) for name, weight in signals]
    return shown, verdict_of(sum(weight for _, weight in signals))


def _opening(facts: evidence.SubSessionEvidence, first: Arc) -> tuple[list[SignalExplained], BoundaryVerdict | None]:
    """What the embedded judge weighed where it opened an arc, and what was judged."""
    shift, after_commit = first.shift, first.opened_by == "commit"
    if first.opened_by not in ("topic", "commit"):
        return [], None
    if shift is not None and (shift.judge.startswith("model:") or any(each.what == FULL for each in shift.evidence)):
        return [], shift
    before = arc_before(facts.reader.db, first)
    if before is None:
        return [], shift
    signals, verdict = _weighed(OpenArc(turns_of(facts.reader.db, [before])), facts.turns[0], after_commit)
    # After a commit it is judged as well, and not kept.
    return signals, verdict if after_commit and shift is None and signals else shift


def _opening_evidence(
    facts: evidence.SubSessionEvidence, first: Arc, shift: BoundaryVerdict | None, opening: evidence.EvidencePiece
) -> list[evidence.EvidencePiece]:
    """What the judge went by; else where the boundary was said, and the prompt that it lies before."""
    # A signal of the prompt's own quotes it; an answer of a text model stands elsewhere, and holds no words.
    shown = [
        msgspec.structs.replace(opening, what=each.what)
        if each.position in (None, opening.position)
        else evidence.EvidencePiece(what=each.what, position=each.position, quote=None)
        for each in (() if shift is None else shift.evidence)
    ]
    if all(each.position != opening.position for each in shown):
        shown.append(opening)
    turn, opened_by = facts.turns[0], first.opened_by
    before = neighbour(facts.reader.db, turn, "<")
    if opened_by not in ("commit", "clear", "end") or before is None:
        return shown
    # The last report of it from the turn before to the first turn; else the first prompt.
    what, span = f"the {opened_by} before it", (before.agent_session_id, before.started_us, turn.started_us)
    for position, record_id, body in facts.reader.db.execute(sql("reports_in_span"), span):
        seen = unpack(body, Observation)
        commits = seen.tool is not None and seen.tool.commit
        closes = seen.kind == "session_end" or (seen.kind == "session_start" and seen.source == "clear")
        if commits if opened_by == "commit" else closes:
            quote = evidence.one_line(facts.command(position, record_id))
            return [evidence.EvidencePiece(what=what, position=position, quote=quote), *shown]
    query = "SELECT body FROM captures WHERE agent_session_id = ? AND at_us BETWEEN ? AND ? ORDER BY at_us DESC"
    for each in bodies(facts.reader.db, Capture, query, span):
        if opened_by == "clear" and each.reading is not None and each.reading.clears:
            return [evidence.EvidencePiece(what=what, position=each.position, quote="/clear"), *shown]
    return [facts.prompt_piece(what, turn), *shown]


def _merged(facts: evidence.SubSessionEvidence) -> tuple[list[MergedArc], list[str]]:
    """The later arcs of the sub-session, and why each was joined to the ones before."""
    merged, sentences = [], []
    touched: set[int] = set(facts.arcs[0].touched_files)
    for before, arc in pairwise(facts.arcs):
        each = MergedArc(
            agent_session_id=arc.agent_session_id,
            opened_by=arc.opened_by,
            started_at=iso(arc.started_us),
            gap_seconds=None if before.closed_us is None else (arc.started_us - before.closed_us) / US_PER_SECOND,
            shared_files=len(touched.intersection(arc.touched_files)),
            position=next(turn for turn in facts.turns if turn.turn_id == arc.arc_id).position,
        )
        touched.update(arc.touched_files)
        minutes, files = MERGE_GAP_US // US_PER_MINUTE, evidence.counted(each.shared_files, "file")
        by = "rule" if arc.said is None else "person"
        sentences.append(evidence.said("merged", by, started_at=each.started_at, minutes=minutes, files=files))
        merged.append(each)
    return merged, sentences


def _kept(facts: evidence.SubSessionEvidence) -> Iterator[KeptExplained]:
    for arc in facts.arcs:
        own = set(arc.turn_ids)
        first, *later = (turn for turn in facts.turns if turn.turn_id in own)
        answers = gap_answers(facts.reader.db, arc.agent_session_id) if later else {}
        so_far = OpenArc([first])
        for turn in later:
            yield _stayed(so_far, turn, answers.get(turn.turn_id))
            so_far.add(turn)


def _stayed(so_far: OpenArc, turn: Turn, answer: GapAnswer | None) -> KeptExplained:
    """In the order in which a boundary is decided: a text model's word goes before the embedded judge's."""
    answered, why_not = answered_boundary(so_far, turn, answer), cannot_shift(so_far, turn)
    signals: list[SignalExplained] = []
    if answered is not None:
        verdict, text = answered, f"{answered.judge} was asked whether it opens another topic, and says no."
    elif why_not is not None:
        verdict, text = topic_shift(so_far, turn), f"It opens no other topic, whatever it says: {why_not}."
    else:
        signals, verdict = _weighed(so_far, turn, committed(so_far))
        text = evidence.said("weighed", "unsure" if verdict.unsure else "no", chance=verdict.chance)
        passed_us = turn.started_us - so_far.last.started_us
        # Why a long pause was not weighed, where somebody may look for it.
        if passed_us > PAUSE_US and not any(each.what.startswith("stands apart") for each in signals):
            text += evidence.said("weighed", "silence", minutes=passed_us // US_PER_MINUTE)
    return shaped(
        KeptExplained,
        verdict,
        prompt_id=prompt_id(turn),
        submitted_at=iso(turn.started_us),
        position=next((each.position for each in verdict.evidence if each.position is not None), turn.position),
        text=text,
        signals=signals,
    )


def _nearest(kept: Iterable[KeptExplained]) -> KeptExplained | None:
    """Of the prompts that were weighed, the one nearest to a boundary."""
    judged = [each for each in kept if each.signals]
    return max(judged, key=lambda each: sum(signal.weight for signal in each.signals), default=None)


def boundary_numbers(explained: BoundaryExplained) -> list[str]:
    """What the embedded judge weighed, in numbers: where it opens, and at the later prompt nearest to a boundary."""
    places = [("Where it opens", explained.signals)]
    if nearest := _nearest(explained.kept):
        places.append((f"At the prompt of {nearest.submitted_at}", nearest.signals))
    return [f"{place}: {_sides(signals)}" for place, signals in places if signals]


def _sides(signals: Sequence[SignalExplained]) -> str:
    """What speaks for another topic and what against it, in numbers."""
    sides = []
    for sign in (1, -1):
        named = [each for each in signals if each.weight * sign > 0]
        told = [f"{each.what} ({each.weight:+.2f})" for each in named[:_NAMED_MAX]]
        told += [f"{len(named) - _NAMED_MAX} more"] if len(named) > _NAMED_MAX else []
        sides.append("; ".join(told) or "nothing")
    total = sum(each.weight for each in signals)
    return evidence.said("weighed", "sums", for_it=sides[0], against=sides[1], total=total)
