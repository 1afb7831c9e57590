"""The tables: the files that hold them, connections to these, and one step that brings them up to the log.

A file is called `views-<schema>.<decoder>.<reading>-r<rules>-<n>.db`; `views.current` names the one that serves. A
file is never renamed or replaced under an open connection: a new one is built beside it, and the pointer moves.
"""

import re
import shutil
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple, cast
from uuid import UUID
from weakref import WeakKeyDictionary, proxy

import structlog
from msgspec.structs import replace

from aggregates.capture.events import DECODER_VERSION, PromptAnswered, PromptCaptured, RecordsCaptured, is_older
from aggregates.event import DeveloperEvent, Event, RecordedEvent, Scope, Unavailable, Words
from aggregates.reading.readings import READING_VERSION
from aggregates.retained import ReadingsRetained, RetainedReading, RetainedWords, retained_readings
from aggregates.telemetry.envelope import without_rest
from aggregates.telemetry.export import reread
from projections.apply import Bookmark, apply, atomic, bookmark, derive_later, pass_over
from projections.derive.integrity import TextsUnavailable
from projections.facts.facts import GiveWay, reading_in
from projections.facts.rows import Touched
from projections.reader import SCHEMA_VERSION, create_tables, is_passing
from svc.log.codec import CorruptEvent
from svc.log.store import EventStore, StoreUnavailable, leave_out
from svc.log.vault import sync
from svc.process import MIB_BYTES, READ_BYTES_MAX, STORE_BUSY_TIMEOUT_MS

RULES_VERSION = 3  # of the rules that this program applies
VIEWS_WAL_BYTES = 8 * MIB_BYTES  # what their write-ahead log is cut to once readers let it; beside a rebuild it grows
GIVE_WAY_SQLITE_STEPS = 1_000  # between two looks at the clock: 0.7 ms apart, at most 5; 500 cost a tenth more
READ_PIECES = 10  # in which a batch of facts is read: all 500 at once would take 20 ms without a look
USUAL_EVENT_SECONDS = 0.005  # of deriving, for each event, before it counts in the budget: some twice the usual
RECALL_EVENTS = 50  # facts about forgotten texts in one read: each holds up to `STANDING_BYTES` of readings
RECALL_CHUNKS_MAX = 64  # how many of them a replay keeps at hand, since developers alternate in the log: some 20 MiB
LEAP_EVENTS = 10_000  # of so many each session is derived once: sessions of many people lie mixed in the log
LEAP_BATCH_EVENTS = 1_000  # so many of them become rows at a time
PLACES = 4_096  # positions that are looked up together: a developer has few facts about them

log = structlog.get_logger()
POINTER = "views.current"
READ_BY = f"{DECODER_VERSION}.{READING_VERSION}"
_TABLES = f"{SCHEMA_VERSION}.{READ_BY}"  # they hold what was read, and where its words stand
NAME = re.compile(r"views-(\d+(?:\.\d+){0,2})-r(\d+)-(\d+)\.db")
_COPIES = re.compile(r"(verify|check)-[a-z0-9_]{8}")  # of commands of former versions that were killed
_READ = frozenset({"prompt", "response", "words"})  # words that conclusions need; opening the others takes time


class ViewsDamaged(Unavailable, sqlite3.DatabaseError):
    """A page or a row of the views cannot be read; only new views help. The message names the file."""

    told = (
        "the views are damaged at this place and are built anew from the log; try again soon, and where that does "
        "not help, see what `svc verify` says"
    )


def current_file(folder: Path, *, of_any_rules: bool = False) -> Path | None:
    """The file that serves, where it was built for these tables and, unless `of_any_rules`, these rules."""
    try:
        name = (folder / POINTER).read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    match = NAME.fullmatch(name)
    if match is None or match[1] != _TABLES or not (of_any_rules or int(match[2]) == RULES_VERSION):
        return None
    path = folder / name
    return path if path.exists() else None


def rules_of(path: Path) -> int:
    """The version of the rules that a views file was built by."""
    match = NAME.fullmatch(path.name)
    assert match is not None, path.name
    return int(match[2])


def new_file(folder: Path) -> Path:
    numbers = [int(match[3]) for path in folder.iterdir() if (match := NAME.fullmatch(path.name))]
    return folder / f"views-{_TABLES}-r{RULES_VERSION}-{max(numbers, default=0) + 1}.db"


def point_to(path: Path) -> None:
    """Make a file the one that serves, atomically and durably: a replay does not sync what it writes."""
    draft = path.with_name(POINTER + ".draft")
    draft.write_text(path.name + "\n", encoding="ascii")
    for written in (path, draft):
        sync(written)
    draft.replace(path.with_name(POINTER))


def remove(path: Path) -> None:
    """Delete a views file; open connections keep what they see."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove_others(folder: Path, keep: Path) -> None:
    for path in list(folder.iterdir()):
        if _COPIES.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
        views = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
        if NAME.fullmatch(views.name) and views != keep:
            remove(views)


def open_writer(path: Path | str) -> sqlite3.Connection:
    """The one connection that writes; the tables are made where they are missing. For any one thread at a time."""
    db = sqlite3.connect(path, timeout=STORE_BUSY_TIMEOUT_MS / 1_000, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        # A crash may cost the last transactions: they are projected again from the log, which is synced in full.
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA journal_size_limit={VIEWS_WAL_BYTES}")
        db.execute("PRAGMA cache_size=-16384")
        create_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads, for any one thread at a time."""
    uri, wait_seconds = f"{path.absolute().as_uri()}?mode=ro", STORE_BUSY_TIMEOUT_MS / 1_000
    return sqlite3.connect(uri, timeout=wait_seconds, uri=True, isolation_level=None, check_same_thread=False)


@contextmanager
def snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """A views file as it is at this moment, while it may be written: until the end its write-ahead log grows."""
    with closing(open_reader(path)) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        yield db


def serving_file(folder: Path, store: EventStore) -> Path:
    """The file that the pointer names, or a new, empty one where that cannot be read. Raises `StoreUnavailable`."""
    path, reason, position = current_file(folder, of_any_rules=True), "there are none for these tables", 0
    if path is not None:
        try:
            with closing(open_writer(path)) as db:
                mark = bookmark(db)
                reason = "" if belongs_to_log(mark, store) else f"{path.name} was built from another log"
                position = 0 if reason else mark.position
        except sqlite3.DatabaseError as error:
            if is_passing(error):
                raise StoreUnavailable(f"{path.name}: {error}; another program holds it, or the disk does") from error
            reason = f"{path.name} cannot be read: {error}"
    if path is None or reason:
        if store.head():
            log.warning("the views are built anew from the log", reason=reason)
        path = new_file(folder)
        open_writer(path).close()
        point_to(path)
    if store.head() - position <= LEAP_EVENTS:  # else the others may hold readings
        remove_others(folder, path)
    return path


def earlier_files(path: Path) -> list[Path]:
    """Views files that were begun before this one, in this order: a later one is being built."""
    numbered = {int(match[3]): each for each in path.parent.iterdir() if (match := NAME.fullmatch(each.name))}
    return [numbered[n] for n in sorted(numbered) if n < int(path.stem.rpartition("-")[2])]


@contextmanager
def taking_readings(path: Path, store: EventStore) -> Iterator[None]:
    """While views are made, no text is read anew where earlier views, of other tables or rules, hold what was read."""
    kept, named = readings_of_log(store), path.name.rpartition("-")[0]
    with ExitStack() as opened:
        opened.callback(setattr, kept, "earlier", None)
        for other in earlier_files(path):
            if f".{READ_BY}-r" in other.name and other.name.rpartition("-")[0] != named:
                with suppress(sqlite3.Error):  # of what is damaged, or too old
                    db = opened.enter_context(closing(open_reader(other)))
                    if belongs_to_log(bookmark(db), store):
                        kept.earlier = db
        yield


def belongs_to_log(mark: Bookmark, store: EventStore) -> bool:
    """Whether views were built from this log; after a restore they may know events that it does not hold."""
    return mark.position == 0 or store.fingerprint(mark.position) == mark.checksum


Cost = tuple[UUID, float]  # a developer, and by how many seconds of processor time their facts took longer than usual


class Stepped(NamedTuple):
    position: int  # that the views hold now
    changed: Collection[Scope] = ()  # whose sub-sessions
    costs: Sequence[Cost] = ()


class ViewsWriter:
    """Brings views up to a log, in one thread at a time."""

    def __init__(self, db: sqlite3.Connection, store: EventStore, give_way: GiveWay = without_rest) -> None:
        """`give_way` is called about once a millisecond: between facts, and from within SQLite's statements."""
        self.db, self._store, self._give_way = db, store, give_way

    def step(self, limit_events: int, later: Touched | None = None) -> Stepped:
        """Apply the next facts after the bookmark, or pass a corrupt one over. `later`: is told what to derive."""
        self.db.set_progress_handler(self._give_way, GIVE_WAY_SQLITE_STEPS)
        after = bookmark(self.db).position
        try:
            facts = self._read_facts(after, limit_events)
        except CorruptEvent:
            # One event at a time up to the corrupt one: the others count.
            try:
                facts = self._read_facts(after, limit_events=1)
            except CorruptEvent as error:
                at = error.position
                log.error("a stored event is corrupt and is passed over", position=at, reason=str(error))
                pass_over(self.db, at, "CorruptEvent", self._store.fingerprint(at))
                return Stepped(at)
        if not facts:
            return Stepped(after)
        took_seconds: defaultdict[UUID, float] = defaultdict(float)

        @contextmanager
        def metered(scope: Scope) -> Iterator[None]:
            began = time.thread_time()
            try:
                yield
            finally:
                took_seconds[scope.developer_id] += time.thread_time() - began

        position = facts[-1].position
        known = (self._store.fingerprint(position), self._store.vault.known_digester, self._fetched)
        changed = apply(self.db, facts, *known, after=after, give_way=self._give_way, meter=metered, later=later)
        written = Counter(fact.event.developer_id for fact in facts if isinstance(fact.event, DeveloperEvent))
        beyond = {each: seconds - USUAL_EVENT_SECONDS * written[each] for each, seconds in took_seconds.items()}
        return Stepped(position, changed, [cost for cost in beyond.items() if cost[1] > 0])

    def leap(self, limit_events: int, heard: Callable[[int], None], batch_events: int = LEAP_BATCH_EVENTS) -> int:
        """Apply many facts in one transaction and derive each session once; the position that the views hold now."""
        before, position, touched = -1, bookmark(self.db).position, Touched()
        end = position + limit_events
        try:
            with atomic(self.db):
                while before < position < end:
                    before, wanted = position, min(batch_events, end - position)
                    position = self.step(wanted, touched).position
                    heard(position)
                derive_later(self.db, touched, self._store.vault.known_digester, self._fetched)
        except sqlite3.OperationalError:
            self._give_way()  # what it raises within a statement, SQLite only tells as interrupted
            raise
        return position

    def fill(
        self, progress: Callable[[int, int], None], batch_events: int = LEAP_BATCH_EVENTS, up_to: int | None = None
    ) -> None:
        """Bring empty views up to a position, by default the end of the log; no further than the log goes."""
        end, before, position = self._store.head() if up_to is None else up_to, -1, 0
        progress(position, end)
        while before < position < end:
            before, wanted = position, min(LEAP_EVENTS, end - position)
            position = self.leap(wanted, lambda done: progress(done, end), batch_events)

    def _fetched(self, positions: Iterable[int]) -> Mapping[int, Event]:
        """Events whose words the derivation needs again; a corrupt one is missing."""
        try:
            found = self._store.read_positions(positions, open_words=_READ, heard=leave_out)
            return {fact.position: fact.event for fact in self._as_read(found.values())}
        except StoreUnavailable as error:
            raise TextsUnavailable(str(error)) from error

    def _read_facts(self, after: int, limit_events: int) -> Sequence[RecordedEvent]:
        facts: list[RecordedEvent] = []
        for _ in range(READ_PIECES):
            position = facts[-1].position if facts else after
            bounds = min(-(-limit_events // READ_PIECES), limit_events - len(facts)), READ_BYTES_MAX // READ_PIECES
            piece = self._store.read_after(position, *bounds, open_words=_READ) if bounds[0] else []
            if not piece:
                break
            facts += self._as_read(piece)
            self._give_way()
        return facts

    def _as_read(self, facts: Iterable[RecordedEvent]) -> Iterator[RecordedEvent]:
        """With what is retained of deleted texts, and telemetry of an older decoder as today's reads it."""
        found = [*map(readings_of_log(self._store).recalled, facts)]
        older = [fact.position for fact in found if is_older(fact.event)]
        digester_of = self._store.vault.known_digester
        # A damaged export leaves the old reading.
        whole = self._store.read_positions(older, heard=leave_out) if older else {}
        for fact in found:
            if fact.position in whole and is_older(event := whole[fact.position].event):
                fact = replace(fact, event=reread(event, digester_of(event.developer_id), self._give_way))
            yield fact


class RetainedReadings:
    """What is known of a log's texts without reading them: of deleted ones, and from earlier views; for any thread."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.earlier: sqlite3.Connection | None = None
        self._lock = Lock()
        self._read_up_to = 0
        self._facts: defaultdict[tuple[Scope, int], list[int]] = defaultdict(list)
        """Where facts stand that may tell of a developer's texts, by these texts' positions in steps of `PLACES`."""
        self._chunk = lru_cache(RECALL_CHUNKS_MAX)(self._read_chunk)

    def recalled(self, fact: RecordedEvent) -> RecordedEvent:
        """With what is known of its words."""
        match fact.event:
            case PromptCaptured(prompt=words):
                name = "prompt"
            case PromptAnswered(response=Words() as words):
                name = "response"
            case RecordsCaptured(words=words):
                name = "words"
            case _:
                return fact
        if words.text is None:
            standing = self.standing(fact.event.scope, fact.position)
        else:
            standing = reading_in(self.earlier, fact.position, fact.event) if self.earlier is not None else None
        if standing is None:
            return fact
        return replace(fact, event=replace(fact.event, **{name: RetainedWords(words.text, standing)}))

    def standing(self, scope: Scope, position: int) -> RetainedReading | None:
        with self._lock:
            found = self._find(scope, position)
            return self._find(scope, position) if found is None and self._read_more() else found

    def _find(self, scope: Scope, position: int) -> RetainedReading | None:
        chunks = map(self._chunk, self._facts.get((scope, position // PLACES), ()))
        return next((chunk[position] for chunk in chunks if position in chunk), None)

    def _read_chunk(self, sealed_at: int) -> dict[int, RetainedReading]:
        # A corrupt one is passed over at its own place in the log: what it told is lost, and no more.
        found = [each.event for each in self._store.read_positions([sealed_at], heard=leave_out).values()]
        return {row.position: row for event in found for row in retained_readings(cast(ReadingsRetained, event))}

    def _read_more(self) -> bool:
        """Take in what was retained since; whether there was anything."""
        began_at = self._read_up_to
        pieces = self._store.pieces(began_at, topics=[ReadingsRetained.TOPIC], most=RECALL_EVENTS)
        for piece in pieces:
            for recorded in piece.events:
                if isinstance(event := recorded.event, ReadingsRetained):
                    for place in range(event.first // PLACES, event.last // PLACES + 1):
                        self._facts[event.scope, place].append(recorded.position)
            self._read_up_to = piece.reached
        return self._read_up_to > began_at


_OF_LOGS: WeakKeyDictionary[EventStore, RetainedReadings] = WeakKeyDictionary()


def readings_of_log(store: EventStore) -> RetainedReadings:
    if store not in _OF_LOGS:
        _OF_LOGS[store] = RetainedReadings(proxy(store))
    return _OF_LOGS[store]
