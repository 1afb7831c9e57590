"""Verifies a folder, also under a running server: the log, the keys, the tables against a replay, the archive.

Whose key was made is listed beside the keys, since the log shows no lost file. A folder without a list (an older one, a
restored one, one whose keys all went) gets it from the log: who claimed a session had a key, unless forgotten since.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.capture.events import SessionClaimed
from aggregates.event import DeveloperEvent
from aggregates.people.directory import Developer
from aggregates.retained import DeveloperForgotten, ForgetOrdered
from projections.apply import bookmark
from projections.derive.integrity import TextsUnavailable
from projections.reader import declared
from svc.actors.administration import load_directory
from svc.archive.folder import ARCHIVE, ARCHIVE_MANIFEST, flaw_of
from svc.log.codec import CorruptEvent
from svc.log.opening import open_log
from svc.log.sqlite import EVENTS_FILE
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import FileKeys
from svc.process import Place
from svc.views.replay import Progress, digests, nameless
from svc.views.views import ViewsWriter, belongs_to_log, current_file, open_reader, snapshot

FINDINGS_MAX = 200  # how many findings of a verification are shown; a broken disk has no end of them

log = structlog.get_logger()
ADVICE = (
    "put the file back from a backup (`svc restore BACKUP --var NEW` unpacks one), and run no `svc replay` before: "
    "without it the scores of this developer are lost; where no backup has it, `svc forget` accepts that"
)
_RESTORE = (
    "restore the newest backup that verifies (`svc restore`), or go on: it is passed over, and what it told is lost"
)
_REBUILD = "build the tables anew with `svc replay`; the log is whole"
_LOG_FIRST = "see the log first: what it lost is missing in a replay"
_KEYS_FIRST = "put the missing keys back first (see there): a replay without them would lose scores"
_OTHER_KEY = "put the key file of a backup back that was made before; keep the one that is there until then"
_DELETE_ARCHIVE = f"stop the server, delete {ARCHIVE}/ and {ARCHIVE_MANIFEST}, start it: the archive is written anew"


class LostKey(NamedTuple):
    developer_id: UUID
    name: str  # as shown; blank where the log cannot tell
    path: Path

    @property
    def who(self) -> str:
        return f"{self.name} ({self.developer_id})" if self.name else str(self.developer_id)


def lost_keys(store: EventStore) -> list[LostKey]:
    """Developers whose key was made and is gone; changes nothing."""
    made = store.vault.keys.listed()
    missing = (_developers(store, SessionClaimed) if made is None else made) - store.vault.keys.there()
    if missing:  # that of somebody who is being forgotten goes rightly, before the list says so
        missing -= forgotten(store)
    return _keys_of(store, missing)


def _keys_of(store: EventStore, developer_ids: Collection[UUID]) -> list[LostKey]:
    """Where keys belong, with the names of their developers; blank where nobody can tell who is who."""
    names = dict[UUID, str]()
    with suppress(CorruptEvent):
        developers = load_directory(store).all(Developer) if developer_ids else ()
        names = {each.id: each.display_name for each in developers}
    return [LostKey(each, names.get(each, ""), store.vault.keys.path_of(each)) for each in sorted(developer_ids)]


def settle(store: EventStore) -> None:
    """Bring the list of key files up to them, or make it from the log."""
    keys = store.vault.keys
    if isinstance(keys, FileKeys):
        listed, there = keys.listed(), keys.there()
        made = _developers(store, SessionClaimed) - forgotten(store) if listed is None else listed
        if listed is None or not there <= made:
            keys.list_made(made | there)


def tell(lost: Sequence[LostKey]) -> None:
    """The first one by name: a lost folder of keys has no end of them."""
    if lost:
        first, more = lost[0], len(lost) - 1
        what = "key files of developers are missing; `svc verify` names all"
        log.error(what, developer=first.who, file=str(first.path), more=more, do=ADVICE)


def forgotten(store: EventStore) -> frozenset[UUID]:
    """Developers who were forgotten, or are to be."""
    return _developers(store, ForgetOrdered, DeveloperForgotten)


def _developers(store: EventStore, *kinds: type[DeveloperEvent]) -> frozenset[UUID]:
    pieces = store.pieces(0, topics=[kind.TOPIC for kind in kinds])
    found = (each.event for piece in pieces for each in piece.events)
    return frozenset(event.developer_id for event in found if isinstance(event, kinds))


class Finding(msgspec.Struct, frozen=True):
    part: str  # `log`, `keys`, `views` or `archive`
    where: str
    what: str
    do: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    clean: bool
    events: int
    position: int  # the tables were compared with a replay up to here; 0 where they could not be
    archive_files: int
    findings: list[Finding]
    more: int = 0  # findings beyond a bound


async def verify(place: Place, heard: Progress) -> Verified:
    """Check everything. Raises `StoreUnavailable` where the log cannot be opened."""
    var = place.var
    with closing(open_log(place)) as store:
        found, events = await trio.to_thread.run_sync(_log, var, store, heard, abandon_on_cancel=True)
        of_keys = await trio.to_thread.run_sync(_keys, store)
        in_views, position = await _views(place, store, heard)
        in_archive, files = await trio.to_thread.run_sync(_archive, var, store, heard, abandon_on_cancel=True)
    if found or of_keys:  # then a replay rightly gives something else
        do = _LOG_FIRST if found else _KEYS_FIRST
        in_views = [msgspec.structs.replace(each, do=do) for each in in_views]
    findings = [*found, *of_keys, *in_views, *in_archive]
    return Verified(
        clean=not findings,
        events=events,
        position=position,
        archive_files=files,
        findings=findings[:FINDINGS_MAX],
        more=max(0, len(findings) - FINDINGS_MAX),
    )


def _log(var: Path, store: EventStore, heard: Progress) -> tuple[list[Finding], int]:
    findings = [Finding("log", where, flaw, _RESTORE) for where, flaw in _flaws_beside(var, store)]
    head, events, before = store.head(), 0, 0
    try:
        for piece in store.pieces(0, head, open_words=True):
            findings += [Finding("log", f"position {each.position}", each.what, _RESTORE) for each in piece.corrupt]
            events += len(piece.all)
            for position in (each.position for each in piece.all):
                if position != before + 1:  # both stores number events without a gap
                    first, last = before + 1, position - 1
                    gap = f"position {first}" if first == last else f"positions {first} to {last}"
                    findings.append(Finding("log", gap, "an event was deleted", _RESTORE))
                before = position
            before = piece.reached
            heard(before, head)
    except StoreUnavailable as error:
        findings.append(Finding("log", f"after position {before}", f"cannot be read: {error}", _RESTORE))
    return findings, events


def _integrity_flaws(db: sqlite3.Connection) -> list[str]:
    return [str(row[0]) for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]


def _flaws_beside(var: Path, store: EventStore) -> Iterator[tuple[str, str]]:
    """What else the store tells of its log, and where."""
    if store.shared is not None:
        head, query = store.head(), "SELECT coalesce(max(notification_id), 0) AS last FROM {schema}.stored_events"
        last = store.shared.rows(query)[0]["last"]
        if last < head:
            yield "svc_log", f"events were deleted at the end: position {head} was given, {last} is last"
        return
    try:
        with closing(open_reader(var / EVENTS_FILE)) as db:
            yield from ((EVENTS_FILE, flaw) for flaw in _integrity_flaws(db))
            newest = db.execute("SELECT max(rowid) FROM stored_events").fetchone()[0]
            for (last,) in db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'"):
                if last != newest:
                    at = f"it once held position {last}, now {newest or 0} is last"
                    yield EVENTS_FILE, f"events were deleted at the end: {at}"
    except sqlite3.Error as error:
        yield EVENTS_FILE, str(error)


def _keys(store: EventStore) -> list[Finding]:
    lost, vault = lost_keys(store), store.vault
    closed = {name: vault.unopened[name] for name in vault.unopened.keys() - forgotten(store)}
    findings = []
    have = vault.keys.there()
    for key in (*lost, *_keys_of(store, closed.keys() - {each.developer_id for each in lost})):
        there, count = key.developer_id in have, closed.get(key.developer_id, 0)
        flaw = "not the one that sealed their texts" if there else "missing"
        what = f"the key of {key.who} is {flaw}; {count} {'text' if count == 1 else 'texts'} in the log cannot be read"
        where = f"{key.path.parent.name}/{key.path.name}"
        findings.append(Finding("keys", where, what, _OTHER_KEY if there else ADVICE))
    return findings


async def _views(place: Place, store: EventStore, heard: Progress) -> tuple[list[Finding], int]:
    path = current_file(place.var)
    if path is None:
        return [], 0
    try:
        with snapshot(path) as live, nameless(place.var) as again:
            findings = [Finding("views", path.name, flaw, _REBUILD) for flaw in _integrity_flaws(live)]
            mark = bookmark(live)
            if not belongs_to_log(mark, store):
                return [*findings, Finding("views", path.name, "was built from another log", _REBUILD)], 0
            replay = ViewsWriter(again, store, trio.from_thread.check_cancelled).fill
            try:
                await trio.to_thread.run_sync(partial(replay, heard, up_to=mark.position))
            except (sqlite3.Error, StoreUnavailable, TextsUnavailable) as error:
                what = f"a replay ended: {error}"
                return [*findings, Finding("views", path.name, what, "see what is said of the log")], 0
            findings += await trio.to_thread.run_sync(_differences, path.name, live, again)
            return findings, mark.position
    except sqlite3.DatabaseError as error:
        return [Finding("views", path.name, f"cannot be read: {error}", _REBUILD)], 0


def _differences(name: str, live: sqlite3.Connection, replayed: sqlite3.Connection) -> list[Finding]:
    """The first five rows of each table that differ, by their keys."""
    of_live, of_replay, findings = digests(live), digests(replayed), list[Finding]()
    for table in of_live:
        if of_live[table] == of_replay[table]:
            continue
        key, found = declared()[table].keys, list[str]()
        query = f"SELECT {', '.join(key)}, * FROM {table} ORDER BY {', '.join(key)}"
        place_of = itemgetter(slice(len(key)))
        of_both = merge(live.execute(query), replayed.execute(query), key=place_of)
        for place, same in groupby(of_both, place_of):
            one, *other = same
            if len(found) == 5:
                break
            if other != [one]:
                found.append(", ".join(f"{name} {value}" for name, value in zip(key, place, strict=False)))
        what = "differs from what the log gives"
        findings += [Finding("views", f"{name}, table {table}, row {row}", what, _REBUILD) for row in found]
    return findings


def _archive(var: Path, store: EventStore, heard: Progress) -> tuple[list[Finding], int]:
    manifest = var / ARCHIVE_MANIFEST
    if not manifest.exists():
        return [], 0
    flaws, number = [], 0
    try:
        with closing(open_reader(manifest)) as connection:
            flaws += [(manifest.name, flaw) for flaw in _integrity_flaws(connection)]
            position, checksum = connection.execute("SELECT position, checksum FROM state").fetchone()
            if position and store.fingerprint(position) != checksum:
                flaws.append((manifest.name, "was made from another log"))
            files = connection.execute("SELECT name, byte_count, digest FROM files ORDER BY name").fetchall()
            for number, (name, byte_count, digest) in enumerate(files, 1):
                heard(number, len(files))
                if flaw := flaw_of(var / ARCHIVE / name, byte_count, digest):
                    flaws.append((f"{ARCHIVE}/{name}", flaw))
    except sqlite3.Error as error:
        flaws = [(manifest.name, f"cannot be read: {error}")]
    return [Finding("archive", where, flaw, _DELETE_ARCHIVE) for where, flaw in flaws], number
