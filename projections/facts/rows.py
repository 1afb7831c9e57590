"""The rows that facts stand for, by table, what they touched, and the prices stored beside what was observed."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from aggregates.capture import events as captures
from aggregates.event import Digester, Event, Scope
from aggregates.ids import flag_id
from aggregates.prices.catalog import Snapshot
from aggregates.prices.prices import Price, PriceBook, Usage, price_book
from aggregates.scores.integrity import IntegrityFinding, Skew, clock_skew, foreign_session
from aggregates.times import US_PER_DAY
from aggregates.turns.turn import SKEW_US, CapturedResponse, Observation
from aggregates.turns.turns import Capture
from projections.reader import declared, json_array, owner, pack, unpack

BEGINNING_US = -(1 << 62)
END_US = 1 << 62  # before and after every time that can be captured
Row = tuple[object, ...]
Digesters = Callable[[UUID], Digester]


class Reprice(msgspec.Struct, frozen=True):
    """Requests without a price get one, of this revision; only those that stand before it in the log."""

    position: int
    organization_id: str
    catalog_revision: int
    from_us: int
    to_us: int

    @property
    def asked(self) -> tuple[str, int, int, int]:
        return self.organization_id, self.from_us, self.to_us, self.position


class Touched(msgspec.Struct):
    """What may change the turns of which sessions."""

    touched_times: list[tuple[str, int]] = []  # (agent session, time) of everything new in it
    touched_hosts: list[tuple[str, str]] = []  # (agent session, host prompt id) that something new belongs to
    touched_names: list[tuple[str, str]] = []  # (agent session, host prompt id) of new captures
    touched_texts: list[tuple[str, int, int]] = []  # (agent session, text digest, time) of new captures
    touched_captures: list[str] = []  # captures that were answered, or of whose turn a person said something
    touched_turns: list[str] = []  # turns whose sub-session got a new title

    def extend(self, other: "Touched") -> None:
        for name in self.__struct_fields__:
            getattr(self, name).extend(getattr(other, name))


class Rows(Touched):
    sessions: list[Row] = []
    captures: list[Row] = []
    folders: list[Row] = []
    answers: list[Row] = []
    observations: list[Row] = []
    telemetry_records: list[Row] = []
    metric_points: list[Row] = []
    requests: list[Row] = []
    titles: list[Row] = []
    corrections: list[Row] = []
    judge_answers: list[Row] = []
    setups: list[Row] = []
    arrivals: list[Row] = []
    catalogs: list[Row] = []
    report_steps: list[Row] = []
    repricings: list[Reprice] = []
    skews: list[Row] = []
    flags: list[Row] = []
    touched_details: list[str] = []  # agent sessions whose tool calls tell their lines
    withdrawn: list[Row] = []  # captures to which no answer came, as a newer reader says, and where it says so
    formers: list[dict[str, object]] = []  # what an older reader of an agent's files told, and told otherwise
    touched_duplicates: list[tuple[str, str]] = []  # (agent session, key) of what may have been reported twice


_BILLED = Usage.__struct_fields__


def write_rows(db: sqlite3.Connection, rows: Rows) -> None:
    for name, table in declared().items():
        if found := getattr(rows, name, ()):
            insert(db, name, found, f"ON CONFLICT DO {table.on_conflict}")
    for statement in _OF_OLDER_READERS:
        db.executemany(statement, rows.formers)
    db.executemany("DELETE FROM answers WHERE capture_id = ? AND position < ?", rows.withdrawn)


_OF_OLDER_READERS = (
    "UPDATE observations SET superseded = 1, twin = NULL "
    "WHERE agent_session_id = :session AND at_us = :at AND record_id = :id",
    "UPDATE requests SET superseded = 1, changed_position = max(changed_position, :position) "
    "WHERE developer_id = :developer AND at_us = :at AND record_id = :id",
)


_GATHERED_CLOSE_US = 2 * 60 * 1_000_000
_GATHERED = """
UPDATE observations SET superseded = 1
WHERE agent_session_id IN (SELECT value FROM json_each(?)) AND record_id LIKE '%:agentsview:%' AND superseded = 0
AND at_us >= (SELECT r.at_us FROM requests r WHERE r.agent_session_id = observations.agent_session_id
    AND r.record_id NOT LIKE '%:agentsview:%' ORDER BY r.at_us LIMIT 1) - ?
RETURNING agent_session_id AS session, at_us AS at, record_id AS id
"""
_LEFT = """
UPDATE requests SET superseded = 1, changed_position = max(changed_position, (
    SELECT max(r.position) FROM requests r WHERE r.agent_session_id = :session))
WHERE agent_session_id = :session AND at_us = :at AND record_id = :id
"""


def leave_gathered(db: sqlite3.Connection, rows: Rows) -> list[tuple[str, int]]:
    """What an archive tells without an agent's ids counts only before the session's requests were heard otherwise."""
    sessions = sorted({session for session, _ in rows.touched_duplicates})
    found = db.execute(_GATHERED, (json_array(sessions), _GATHERED_CLOSE_US)).fetchall()
    db.executemany(_LEFT, [{"session": session, "at": at_us, "id": name} for session, at_us, name in found])
    return [(session, at_us) for session, at_us, _ in found]


def insert(db: sqlite3.Connection, table: str, rows: Sequence[Row], conflict: str = "") -> None:
    if rows:
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))}) {conflict}", rows)


def trusted(said_us: int | None, received_us: int) -> int:
    """The time that was said; that of receipt where none was, or one too far ahead of the server's."""
    return received_us if said_us is None or said_us > received_us + SKEW_US else said_us


def host_name(prompt_id: str | None, agent_session_id: str) -> str | None:
    """Gemini names a prompt like its session; such a name tells prompts apart no more than none."""
    return None if prompt_id == agent_session_id else prompt_id


def add_capture(rows: Rows, session: str, capture: Capture) -> None:
    known_by = capture.at_us, capture.host_prompt_id, capture.text_digest, int(capture.kind == "plugin")
    rows.captures.append((str(capture.capture_id), session, *known_by, pack(capture), None, None))
    rows.touched_times.append((session, capture.at_us))
    if capture.host_prompt_id is not None:
        rows.touched_hosts.append((session, capture.host_prompt_id))
        rows.touched_names.append((session, capture.host_prompt_id))
    if capture.text_digest is not None:
        rows.touched_texts.append((session, capture.text_digest, capture.at_us))


# Flags that single facts raise: wrong clocks, sessions of others.

_Group = tuple[str, str, str, int]  # organization, developer, agent session and day of skewed facts


def flag_row(scope: Scope, found: IntegrityFinding, fired_by: object) -> Row:
    name = flag_id(scope.organization_id, scope.developer_id, found.kind, found.agent_session_id, fired_by)
    turn_id = None if found.turn_id is None else str(found.turn_id)
    fired = found.kind, found.detected_us, found.agent_session_id, turn_id, found.count, found.window_seconds
    return str(name), *owner(scope), *fired, pack(found.details)


def add_flags(rows: Rows, position: int, event: Event) -> None:
    received_us = event.received_at_us
    match event:  # the latest time that a fact told; one too far ahead is nowhere else believed
        case captures.PromptCaptured():
            told_us = event.submitted_at_us
        case captures.PromptAnswered():
            told_us = event.responded_at_us
        case captures.RecordsCaptured():
            told_us = max((record.at_us for record in event.records), default=None)
        case captures.MetricsCaptured():
            told_us = max((point.at_us for point in event.points), default=None)
        case captures.ForeignSessionAttempted():
            rows.flags.append(flag_row(event.scope, foreign_session(event.agent_session_id, received_us), None))
            return
        case _:
            return
    if told_us is not None and told_us - received_us > SKEW_US:
        # No session is an empty name here, so that it can be looked up like any other; a day is one flag.
        when = event.agent_session_id or "", received_us // US_PER_DAY, received_us, told_us - received_us
        rows.skews.append((position, *owner(event.scope), *when))


def flag_skews(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Find the flag of every session and day that these new rows of `skews` belong to again."""
    group = "organization_id = ? AND developer_id = ? AND agent_session_id = ? AND day = ?"
    for organization_id, developer_id, session, day in sorted({msgspec.convert(row[1:5], _Group) for row in rows}):
        query = f"SELECT received_us, ahead_us FROM skews WHERE {group}"
        skews = [Skew(*found) for found in db.execute(query, (organization_id, developer_id, session, day))]
        scope = Scope(UUID(organization_id), UUID(developer_id))
        row = flag_row(scope, clock_skew(session or None, skews), day)
        db.execute("DELETE FROM flags WHERE flag_id = ?", (row[0],))
        insert(db, "flags", [row])


# --- prices: made once, by the newest valid revision at the request's place in the log; a repricing fills in ----------

END_POSITION = 2**63 - 1  # after every position of the log
_BOOKS_MAX = 4
_books: dict[tuple[int, str], PriceBook | None] = {}
"""Books that were read lately, by revision and checksum: a snapshot is large, and asked for in every batch."""


def newest_book(db: sqlite3.Connection) -> PriceBook | None:
    revisions = "SELECT revision FROM catalogs ORDER BY revision DESC"
    books = (book_of(db, revision) for (revision,) in db.execute(revisions).fetchall())
    return next((book for book in books if book is not None), None)


def book_of(db: sqlite3.Connection, revision: int, before_position: int = END_POSITION) -> PriceBook | None:
    """The prices of one revision; None where there is none before that position, or it is not valid."""
    query = "SELECT checksum FROM catalogs WHERE revision = ? AND position < ?"
    row = db.execute(query, (revision, before_position)).fetchone()
    if row is None:
        return None
    key = (revision, row[0])
    if key not in _books:
        if len(_books) >= _BOOKS_MAX:
            _books.clear()
        body = db.execute("SELECT body FROM catalogs WHERE revision = ?", (revision,)).fetchone()[0]
        _books[key] = price_book(unpack(body, Snapshot))
    return _books[key]


def price_of(book: PriceBook | None, model: str | None, at_us: int, usage: Usage) -> Price | None:
    return None if book is None or model is None else book.price(model, at_us, usage)


def answer_price(book: PriceBook | None, answer: CapturedResponse, at_us: int) -> Price | None:
    usage = Usage(*(getattr(answer, name) for name in _BILLED[:4]))
    return None if answer.cost_usd_nano is not None else price_of(book, answer.model, at_us, usage)


_Priced = TypeVar("_Priced", Observation, CapturedResponse)


def priced(kind: type[_Priced], body: bytes, price: bytes | None) -> _Priced:
    """What was observed, with the cost it was given where its agent told none."""
    seen = unpack(body, kind)
    if price is None:
        return seen
    given = unpack(price, Price)
    lower, upper = (given.kind == f"catalog_{bound}_bound" for bound in ("lower", "upper"))
    return msgspec.structs.replace(seen, cost_usd_nano=given.cost_usd_nano, lower_bound=lower, upper_bound=upper)


# A repricing gives requests and captured responses without a price one of a named revision; what has one keeps it.

_UNPRICED = f"""
SELECT developer_id, record_id, agent_session_id, model, at_us, {", ".join(_BILLED)} FROM requests
WHERE organization_id = ? AND at_us >= ? AND at_us < ? AND cost_usd_nano IS NULL
    AND failed = 0 AND position < ?
"""
_PRICE_REQUEST = """
UPDATE requests SET cost_usd_nano = ?, cost_kind = ?, catalog_revision = ?, changed_position = max(changed_position, ?)
WHERE developer_id = ? AND at_us = ? AND record_id = ?
"""
_PRICE_OBSERVATION = "UPDATE observations SET price = ? WHERE agent_session_id = ? AND at_us = ? AND record_id = ?"
_UNPRICED_ANSWERS = """
SELECT a.capture_id, a.received_at_us, a.body FROM sessions s JOIN answers a ON a.agent_session_id = s.agent_session_id
WHERE s.organization_id = ? AND a.received_at_us >= ? AND a.received_at_us < ? AND a.price IS NULL AND a.position < ?
"""


def reprice(db: sqlite3.Connection, repricings: Iterable[Reprice], rows: Rows) -> None:
    """Price what each repricing found without a price at its place in the log, and note in `rows` what it touched."""
    for repricing in repricings:
        book = book_of(db, repricing.catalog_revision, repricing.position)
        for developer, record, session, model, at_us, *billed in db.execute(_UNPRICED, repricing.asked).fetchall():
            price = price_of(book, model, at_us, Usage(*billed))
            if price is None:
                continue
            given = (price.cost_usd_nano, price.kind, price.catalog_revision, repricing.position)
            db.execute(_PRICE_REQUEST, (*given, developer, at_us, record))
            if session is not None:
                db.execute(_PRICE_OBSERVATION, (pack(price), session, at_us, record))
                rows.touched_times.append((session, at_us))
        for capture, received_us, body in db.execute(_UNPRICED_ANSWERS, repricing.asked).fetchall():
            price = answer_price(book, unpack(body, CapturedResponse), received_us)
            if price is not None:
                db.execute("UPDATE answers SET price = ? WHERE capture_id = ?", (pack(price), capture))
                rows.touched_captures.append(capture)


_TYPES: dict[str, type[str] | type[int]] = {"TEXT": str, "INTEGER": int}
COLUMNS = {"organization_id": str} | {name: _TYPES[kind] for name, kind in declared()["requests"].types.items()}
COLUMNS |= dict.fromkeys(("failed", "sidechain", "superseded"), bool)
del COLUMNS["account"]
"""What the archive takes of each row, the organization first: ids, numbers, flags and the model's name; no words."""

_CHANGED = (
    f"SELECT {', '.join(COLUMNS)} FROM requests WHERE changed_position > ? AND changed_position <= ? "
    "ORDER BY organization_id, at_us, developer_id, record_id"
)


def stretch_end(db: sqlite3.Connection, after: int, rows_max: int) -> int:
    """How far in the log the next `rows_max` changed rows go: whole positions, even of more rows; at least `after`."""
    query = "SELECT changed_position FROM requests WHERE changed_position > ? ORDER BY changed_position LIMIT ?"
    found: list[int] = [position for (position,) in db.execute(query, (after, rows_max + 1))]
    if len(found) <= rows_max:
        return found[-1] if found else after
    return max((position for position in found if position < found[-1]), default=found[-1])


def changed_rows(db: sqlite3.Connection, after: int, up_to: int) -> Iterator[tuple[Any, ...]]:
    """The rows that last changed in (after, up_to], by organization and time; fields as in `COLUMNS`."""
    return db.execute(_CHANGED, (after, up_to))
