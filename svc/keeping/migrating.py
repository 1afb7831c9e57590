"""The form of the log, and the steps from an older one to the present: taken at the start, safely, by whoever holds it.

The form is a number in the log's own file. A step changes it in the same transaction as whatever else it changes; one
that rewrites events has a copy of the log made first. The views and the archive know their own versions, and are built
anew where those differ.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from svc.event_log import EVENTS_FILE
from svc.keeping.backup import copy_database
from svc.keeping.walking import unheard
from svc.sqlite_store import check_form, not_opened

log = structlog.get_logger()


class Step(NamedTuple):
    """From one form of the log to the next."""

    to: int
    what: str
    """What changes, for a person."""
    copied_first: bool
    """Whether it rewrites what stands there."""
    change: Callable[[sqlite3.Connection], None]
    """Within the transaction that also raises the form."""


def _nothing(_log: sqlite3.Connection) -> None:
    """Older events are read as they are."""


STEPS = (Step(2, "new events keep their texts beside the fact, so that a text can be taken away", False, _nothing),)
"""In their order; the last one leads to the present form."""


class Upgraded(msgspec.Struct, frozen=True, kw_only=True):
    """What an upgrade did."""

    before: int
    after: int
    steps: list[str]
    copy: str | None
    """Where the log lies as it was before; None where nothing was rewritten."""


def upgrade(var: Path, steps: tuple[Step, ...] = STEPS) -> Upgraded | None:
    """Bring the log of a folder that this process holds to the present form; None where there is no log yet.

    `StoreUnavailable`: it is of a form that this program does not know, or cannot be written.
    """
    path = var / EVENTS_FILE
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            return _upgraded(db, path, steps)
    except sqlite3.Error as error:
        raise not_opened(path, error) from error


def _upgraded(db: sqlite3.Connection, path: Path, steps: tuple[Step, ...]) -> Upgraded:
    before: int = db.execute("PRAGMA user_version").fetchone()[0]
    due = [step for step in steps if step.to > before]
    if before == 0:  # made a moment ago, and still empty
        return Upgraded(before=0, after=0, steps=[], copy=None)
    copy = path.with_name(f"events-before-{due[-1].to}.db") if any(step.copied_first for step in due) else None
    if copy is not None:
        _copy(path, copy)
    for step in due:
        log.warning("the log is upgraded", to=step.to, what=step.what)
        _take(db, step)
    after: int = db.execute("PRAGMA user_version").fetchone()[0]
    check_form(after)
    return Upgraded(
        before=before, after=after, steps=[step.what for step in due], copy=None if copy is None else copy.name
    )


def _take(db: sqlite3.Connection, step: Step) -> None:
    db.execute("PRAGMA synchronous = FULL")
    db.execute("BEGIN IMMEDIATE")
    try:
        step.change(db)
        db.execute(f"PRAGMA user_version = {step.to}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _copy(path: Path, copy: Path) -> None:
    """A copy that is there is whole: it got its name last. It is of the log before the first attempt."""
    if not copy.exists():
        draft = copy.with_name(copy.name + ".draft")
        draft.unlink(missing_ok=True)
        copy_database(path, draft, unheard)
        draft.rename(copy)
