"""Applying a batch of facts to the views in one transaction: one code path for live serving and for replay."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import groupby
from operator import itemgetter
from uuid import UUID

import msgspec

from aggregates.event import DeveloperEvent, Event, Scope
from projections.derive.developers import PromptTexts, rebuild_sub_sessions, refresh_title
from projections.derive.integrity import TextsUnavailable, flag_sessions
from projections.derive.sessions import rebuild_session, touched_from
from projections.facts.facts import Broken, Fact, GiveWay, Priced, priced, read_rows, reason
from projections.facts.rows import (
    BEGINNING_US,
    Digesters,
    Rows,
    Touched,
    flag_skews,
    leave_gathered,
    newest_book,
    reprice,
    write_rows,
)
from projections.facts.telemetry import link_copies, newly_detailed, settle_duplicates
from projections.reader import FetchEvents, Reader, is_damage, is_passing, json_array, sql


class Overtaken(Exception):
    """Another writer moved the views on meanwhile; nothing was changed."""


Meter = Callable[[Scope], AbstractContextManager[object]]  # is open while what one developer wrote is derived


class Bookmark(msgspec.Struct, frozen=True):
    position: int
    log_time_us: int  # the newest time of receipt among all facts applied: what has settled by then, has settled
    checksum: bytes  # of the event at that position, to notice a log that was exchanged under the views


def bookmark(db: sqlite3.Connection) -> Bookmark:
    row = db.execute("SELECT position, log_time_us, checksum FROM bookmark").fetchone()
    return Bookmark(*row)


def apply(
    db: sqlite3.Connection,
    facts: Sequence[Fact],
    checksum: bytes,
    digesters: Digesters,
    fetch: FetchEvents,
    *,
    after: int | None = None,
    give_way: GiveWay | None = None,
    meter: Meter = nullcontext,
    later: Touched | None = None,
) -> set[Scope]:
    """Apply facts in log order, all in one transaction; the developers whose sub-sessions changed.

    A fact that breaks a rule, or does not fit its table, is listed in `failed`, and nothing of it is kept. `checksum`:
    that of the last fact's event. `fetch`: reads events whose words are needed again. `after`: where the views stood
    when the facts were read. `later`: is told what they touched, for `derive_later`; nothing is derived now. Raises
    `Overtaken` where they stand elsewhere by now, and what `fetch` raises.
    """
    with_prices, position = priced(facts, newest_book(db)), facts[-1].position
    try:
        together = read_rows(with_prices, digesters, give_way)
    except Exception:
        together = None  # one of them breaks a rule, and what it left in the rows may be half of it
    with atomic(db):
        before = bookmark(db)
        if after is not None and before.position != after:
            raise Overtaken(f"another process writes these views: they stood at {after} and now hold more")
        rows, broken = _stored(db, together, with_prices, digesters)
        texts = PromptTexts(Reader(db, _with_batch(facts, fetch)), digesters)
        changed = set() if later is not None else _derive(db, rows, position, broken, texts, meter)
        db.executemany("INSERT OR REPLACE INTO failed VALUES (?, ?)", broken)
        db.execute(
            "UPDATE bookmark SET position = ?, log_time_us = max(log_time_us, ?), checksum = ?",
            (position, max(fact.event.received_at_us for fact in facts), checksum),
        )
        if later is not None:
            later.extend(rows)
        if rows.touched_turns:  # titles
            changed |= {fact.event.scope for fact in facts if isinstance(fact.event, DeveloperEvent)}
        return changed.union(Scope(*map(UUID, ids)) for ids in db.execute(sql("settled_since"), (before.log_time_us,)))


def derive_later(db: sqlite3.Connection, touched: Touched, digesters: Digesters, fetch: FetchEvents) -> None:
    """Derive what facts touched that were applied before: once a session, however often it was touched."""
    broken = Broken()
    with atomic(db):
        _derive(db, touched, bookmark(db).position, broken, PromptTexts(Reader(db, fetch), digesters), nullcontext)
        db.executemany("INSERT OR REPLACE INTO failed VALUES (?, ?)", broken)


def next_due_us(db: sqlite3.Connection) -> int | None:
    """The earliest time at which an open sub-session settles if nothing more happens."""
    due_us: int | None = db.execute(sql("next_to_settle")).fetchone()[0]
    return due_us


_NO_ROW = (ArithmeticError, sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""What a value raises that no column takes; faults of the disk are none of a fact's."""


def _stored(
    db: sqlite3.Connection, together: Rows | None, facts: Sequence[Priced], digesters: Digesters
) -> tuple[Rows, Broken]:
    """The rows that are in their tables now, and what is wrong with facts that have none."""
    # A fact that breaks a rule, or does not fit its table, must not keep the others from theirs for ever.
    with suppress(*_NO_ROW):
        if together is not None:
            _store_rows(db, together)
            return together, []
    rows, broken = Rows(), Broken()
    for fact in facts:
        try:
            one = read_rows([fact], digesters)
        except Exception as error:
            broken.append((fact[0].position, reason(error)))
            continue
        try:
            _store_rows(db, one)
            rows.extend(one)
        except _NO_ROW as error:
            broken.append((fact[0].position, reason(error)))
    return rows, broken


def _with_batch(facts: Sequence[Fact], fetch: FetchEvents) -> FetchEvents:
    """Reads events of the log, but takes those of the batch, which most are, as they are."""
    held = {fact.position: fact.event for fact in facts}

    def read(positions: Iterable[int]) -> Mapping[int, Event]:
        wanted = list(positions)
        found = {position: held[position] for position in wanted if position in held}
        missing = [position for position in wanted if position not in held]
        return {**found, **fetch(missing)} if missing else found

    return read


def pass_over(db: sqlite3.Connection, position: int, reason: str, checksum: bytes) -> None:
    """Go on after an event that cannot be read at all; it stands in `failed`."""
    with atomic(db):
        db.execute("INSERT OR REPLACE INTO failed VALUES (?, ?)", (position, reason))
        db.execute("UPDATE bookmark SET position = ?, checksum = ?", (position, checksum))


def _store_rows(db: sqlite3.Connection, rows: Rows) -> None:
    with atomic(db):
        write_rows(db, rows)
        link_copies(db, rows)
        rows.touched_times += settle_duplicates(db, rows.touched_duplicates)
        rows.touched_times += leave_gathered(db, rows)
        flag_skews(db, rows.skews)
        reprice(db, rows.repricings, rows)
        detailed = newly_detailed(db, set(rows.touched_details))
        rows.touched_times += [(session, BEGINNING_US) for session in detailed]


def _derive(
    db: sqlite3.Connection, rows: Touched, position: int, broken: Broken, texts: PromptTexts, meter: Meter
) -> set[Scope]:
    changed, touched = set(), touched_from(db, rows)
    found = db.execute(sql("claimed_sessions"), (json_array(list(touched)),))
    owned = [row for row in found if row[2] in touched]  # SQLite ends a name at a NUL, and may find another session
    for ids, sessions in groupby(owned, key=itemgetter(0, 1)):
        scope = Scope(*map(UUID, ids))
        try:
            with meter(scope), atomic(db):
                rebuilt = [rebuild_session(db, session, touched[session]) for *_, session in sessions]
                flag_sessions(db, scope, rebuilt, texts.reader)
                rebuild_sub_sessions(db, scope, rebuilt, texts)
            changed.add(scope)
        except TextsUnavailable:
            raise
        except Exception as error:
            if is_damage(error) or is_passing(error):
                raise  # the facts are not to blame
            broken.append((position, f"developer {scope.developer_id}: {reason(error)}"))
    for turn_id in sorted(set(rows.touched_turns)):
        refresh_title(db, turn_id, texts)
    return changed


@contextmanager
def atomic(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; within a transaction, of this part of it."""
    begin, undo, end = _PART if db.in_transaction else _WHOLE
    db.execute(begin)
    try:
        yield
    except BaseException:
        for statement in undo if db.in_transaction else ():  # a write that is broken off undoes the whole by itself
            db.execute(statement)
        raise
    db.execute(end)


_WHOLE = ("BEGIN IMMEDIATE", ("ROLLBACK",), "COMMIT")
_PART = ("SAVEPOINT part", ("ROLLBACK TO part", "RELEASE part"), "RELEASE part")
