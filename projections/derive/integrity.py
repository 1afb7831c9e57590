"""Evidence for integrity flags in turns, and the flags themselves, found again where the evidence changed."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, takewhile

import msgspec
from msgspec.structs import replace

from aggregates.event import Scope
from aggregates.scores import integrity as rules
from aggregates.scores.integrity import BURST_US, CLEARS_US, Clear, TurnEvidence
from projections.derive.sessions import RebuiltSession, session_turns, text_of
from projections.facts.rows import BEGINNING_US, END_US, flag_row, insert
from projections.reader import Reader, TextRef, bodies, json_array, owner, pack, unpack

TEXTS_AT_ONCE = 32  # how many prompts are held to be compared; each may be as large as a prompt may be
_OF_SESSIONS = "'auto_retry_storm', 'tiny_prompt_burst', 'pasted_inflation'"


class TextsUnavailable(Exception):
    """The log cannot be read at present: nothing may be concluded from texts that are only not at hand."""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    sign: TurnEvidence
    text: TextRef | None  # where the prompt stands


_Tail = tuple[str, int, list[TurnEvidence], list[TurnEvidence]]
"""The evidence of a session from a time on, as it was and as it is."""


def flag_sessions(db: sqlite3.Connection, scope: Scope, rebuilt: Iterable[RebuiltSession], reader: Reader) -> None:
    """Find the flags of these sessions of one developer again; raises `TextsUnavailable`."""
    changed_us: set[int] = set()
    for one in rebuilt:
        arcs = (*one.before, *one.after)
        if arcs:
            session, from_us = arcs[0].agent_session_id, min(arc.started_us for arc in arcs)
            before, earlier = _kept(db, session, from_us), list(islice(_earlier(db, session, from_us), 1))
            drafts = [_Kept(rules.turn_evidence(turn), text_of(turn)) for turn in session_turns(db, session, from_us)]
            after = _compared([*earlier, *drafts], [*earlier, *before], reader)[len(earlier) :]
            if after != before:
                db.execute("DELETE FROM turn_signs WHERE agent_session_id = ? AND started_us >= ?", (session, from_us))
                rows = [(str(each.sign.turn_id), session, each.sign.at_us, pack(each)) for each in after]
                insert(db, "turn_signs", rows)
            was, now = ([each.sign for each in kept] for kept in (before, after))
            if was != now:
                tail = session, from_us, was, now
                _flag_session(db, scope, tail)
                changed_us |= _write_clears(db, scope, tail)
    if changed_us:
        _flag_clears(db, scope, min(changed_us), max(changed_us))


def _kept(db: sqlite3.Connection, session: str, from_us: int) -> list[_Kept]:
    query = "SELECT body FROM turn_signs WHERE agent_session_id = ? AND started_us >= ? ORDER BY started_us, turn_id"
    return bodies(db, _Kept, query, (session, from_us))


def _earlier(db: sqlite3.Connection, session: str, before_us: int) -> Iterator[_Kept]:
    """Those before a time, the latest first."""
    order = "ORDER BY started_us DESC, turn_id DESC"
    query = f"SELECT body FROM turn_signs WHERE agent_session_id = ? AND started_us < ? {order}"
    return (unpack(body, _Kept) for (body,) in db.execute(query, (session, before_us)))


def _names(pair: tuple[_Kept, _Kept]) -> tuple[int, TextRef | None, int, TextRef | None]:
    """What two neighbours are known by: when they were, and where their texts stand."""
    return pair[0].sign.at_us, pair[0].text, pair[1].sign.at_us, pair[1].text


def _compared(drafts: Sequence[_Kept], known: Sequence[_Kept], reader: Reader) -> list[_Kept]:
    """The evidence in time order, each compared with the one before unless that is known."""
    told = {_names(pair): pair[1].sign.alike for pair in pairwise(known)}
    pairs = [pair for pair in pairwise(drafts) if rules.may_be_alike(pair[0].sign, pair[1].sign)]
    new = [pair for pair in pairs if _names(pair) not in told]
    for start in range(0, len(new), TEXTS_AT_ONCE // 2):
        some = new[start : start + TEXTS_AT_ONCE // 2]
        texts = reader.texts(each.text for pair in some for each in pair)
        for pair in some:
            refs = [each.text for each in pair if each.text is not None]
            words = [text for ref in refs if (text := texts[ref]) is not None]
            # Of deleted ones it is known whether they were.
            told[_names(pair)] = (
                rules.alike(*words) if len(words) == 2 else len(refs) == 2 and reader.stood_alike(*refs)
            )
    found = {names for names in map(_names, pairs) if told[names]}
    later = (_Kept(replace(pair[1].sign, alike=_names(pair) in found), pair[1].text) for pair in pairwise(drafts))
    return [*drafts[:1], *later]


def texts_alike(db: sqlite3.Connection, session: str) -> Iterator[tuple[TextRef, TextRef]]:
    for one, other in pairwise(_kept(db, session, BEGINNING_US)):
        if other.sign.alike and one.text is not None and other.text is not None:
            yield one.text, other.text


def _flag_session(db: sqlite3.Connection, scope: Scope, tail: _Tail) -> None:
    """Find flags again from the last turn on that neither a storm nor a burst ties to the one before it."""
    session, from_us, before, after = tail
    alike_first = any(signs[0].alike for signs in (before, after) if signs)
    tiny_us = min((sign.at_us for sign in (*before, *after) if sign.tiny), default=END_US)
    found_from_us, reached = from_us, list[TurnEvidence]()
    for sign in (each.sign for each in _earlier(db, session, from_us)):
        if sign.at_us < found_from_us and not alike_first and tiny_us - sign.at_us > BURST_US:
            break
        reached.append(sign)
        found_from_us, alike_first = sign.at_us, sign.alike
        tiny_us = sign.at_us if sign.tiny else tiny_us
    stale = f"DELETE FROM flags WHERE agent_session_id = ? AND kind IN ({_OF_SESSIONS}) AND detected_at_us >= ?"
    db.execute(stale, (session, found_from_us))
    flags = rules.flags_of_session(session, [*reached[::-1], *after])
    insert(db, "flags", [flag_row(scope, found, found.turn_id) for found in flags])


def _write_clears(db: sqlite3.Connection, scope: Scope, tail: _Tail) -> set[int]:
    """The times at which a clear is new, gone, or over other files than before."""
    session, from_us, before, after = tail
    if all(sign.cleared_us is None for sign in (*before, *after)):
        return set()
    signs = (each.sign for each in _earlier(db, session, from_us))
    since = list(takewhile(lambda sign: sign.cleared_us is None, signs))
    query = "SELECT c.body FROM json_each(?) n JOIN clears c ON c.turn_id = n.value"
    known = set(bodies(db, Clear, query, (json_array([sign.turn_id for sign in before]),)))
    found = set(rules.clears_of(session, [*since[::-1], *after]))
    db.executemany("DELETE FROM clears WHERE turn_id = ?", [(str(clear.turn_id),) for clear in known - found])
    new = [(str(clear.turn_id), session, *owner(scope), clear.at_us, pack(clear)) for clear in found - known]
    insert(db, "clears", new)
    return {clear.at_us for clear in known ^ found}


def _flag_clears(db: sqlite3.Connection, scope: Scope, first_us: int, last_us: int) -> None:
    """Find flags again among these clears, and all that no pause longer than the rule's window parts from them."""
    reach = (*owner(scope), _reach(db, scope, first_us, back=True), _reach(db, scope, last_us, back=False))
    clears = bodies(db, Clear, f"SELECT body FROM clears WHERE {_OWNED} AND at_us BETWEEN ? AND ?", reach)
    stale = f"DELETE FROM flags WHERE {_OWNED} AND detected_at_us BETWEEN ? AND ? AND kind = 'session_splitting'"
    db.execute(stale, reach)
    insert(db, "flags", [flag_row(scope, found, found.turn_id) for found in rules.session_splitting(clears)])


_OWNED = "organization_id = ? AND developer_id = ?"


def _reach(db: sqlite3.Connection, scope: Scope, from_us: int, *, back: bool) -> int:
    """The last clear that is reached from a time without a pause, going back or forth; else the time itself."""
    bounds = (BEGINNING_US, from_us) if back else (from_us, END_US)
    query = f"SELECT at_us FROM clears WHERE {_OWNED} AND at_us BETWEEN ? AND ? ORDER BY at_us {'DESC' if back else ''}"
    reached_us = from_us
    for (at_us,) in db.execute(query, (*owner(scope), *bounds)):
        if abs(at_us - reached_us) > CLEARS_US:
            break
        reached_us = at_us
    return reached_us
