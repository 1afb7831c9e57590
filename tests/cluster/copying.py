"""Copy a log into PostgreSQL, or back: `python -m tests.cluster.copying SOURCE TARGET --master-key-file FILE`. Events
keep position, id and bytes; data keys go along. A digest compares both. A copy that was broken off goes on."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec

from aggregates.event import Mendable
from svc.cli.common import tell, working
from svc.log.folder import held
from svc.log.opening import make_missing_master_key, open_log
from svc.log.sqlite import EVENTS_FILE
from svc.log.store import EventStore
from svc.maintenance.verify import forgotten, settle
from svc.process import READ_BYTES_MAX, Place
from svc.views.replay import Progress

COPY_EVENTS = 1_000


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    events: int  # in the copy; those that an earlier run copied among them
    position: int
    keys: int
    sha256: str  # over every event of the log, the same of both


def copy_log(source: Place, target: Place, heard: Progress) -> Copied:
    """Copy all of a log. Raises `Mendable`, `FolderInUse`, `StoreUnavailable`, `Conflict`."""
    with _opened(source) as old, _opened(target) as new:
        head, done = old.head(), new.head()
        if done > head or (done and old.fingerprint(done) != new.fingerprint(done)):
            raise Mendable(f"the target holds {done} events that are not the first of the source: name an empty one")
        keys = _copy_keys(old, new)
        while rows := old.recorder.select_after(done, COPY_EVENTS, READ_BYTES_MAX):
            if [row.id for row in rows] != [*range(done + 1, done + len(rows) + 1)]:
                raise Mendable(f"an event is missing in the source after position {done}; see `svc verify`")
            new.insert([rows])
            done = rows[-1].id
            heard(done, 2 * head)
        events, digest = _digest(old, lambda position: heard(head + position // 2, 2 * head))
        if (events, digest) != _digest(new, lambda position: heard(head + (head + position) // 2, 2 * head)):
            raise Mendable(
                "the copy is not the same as the source, where texts may have been deleted between two runs: "
                "empty the target and copy again"
            )
        settle(new)
        return Copied(events=events, position=done, keys=keys, sha256=digest)


@contextmanager
def _opened(place: Place) -> Iterator[EventStore]:
    """A folder is held, so that nobody writes meanwhile; a store needs a folder for a moment only."""
    if place.store is None:
        with held(place.var), closing(open_log(place)) as store:
            yield store
        return
    with TemporaryDirectory(prefix="svc-copy-") as name, closing(open_log(place._replace(var=Path(name)))) as store:
        yield store


def _copy_keys(old: EventStore, new: EventStore) -> int:
    old_vault, new_vault = old.vault, new.vault
    owners = old_vault.keys.there()
    for owner in sorted(owners):
        key = old_vault.keys.load(owner)
        if key is not None and new_vault.keys.keep(owner, key) != key:
            raise Mendable(f"the target has another key of developer {owner}: name an empty one")
    for owner in (new_vault.keys.there() - owners) & forgotten(old):
        new_vault.keys.destroy(owner)
    return len(owners)


def _digest(store: EventStore, heard: Callable[[int], None]) -> tuple[int, str]:
    events, position, digest = 0, 0, hashlib.sha256()
    while rows := store.recorder.select_after(position, COPY_EVENTS, READ_BYTES_MAX):
        for row in rows:
            named = f"{row.id} {row.originator_id} {row.originator_version} {row.topic} {len(row.state)} "
            digest.update(named.encode() + row.state)
        events, position = events + len(rows), rows[-1].id
        heard(position)
    return events, digest.hexdigest()


@click.command()
@click.argument("source")
@click.argument("target")
@click.option("--master-key-file", metavar="FILE", type=click.Path(path_type=Path), help="Made where it is missing.")
def main(source: str, target: str, master_key_file: Path | None) -> None:
    """Copy the log of SOURCE to TARGET: a data folder each, or an address of PostgreSQL. Stop the server first."""
    old, new = _place(source, master_key_file), _place(target, master_key_file)
    with working("copying", "what was copied so far is kept; run it again for the rest") as heard:
        if old.store is None and not (old.var / EVENTS_FILE).exists():
            raise Mendable(f"{source} holds no data; name the folder of a server, or its store")
        if new.store is not None and master_key_file is not None:
            make_missing_master_key(master_key_file, new.store)
        copied = copy_log(old, new, heard)
    tell(copied, True, "")


def _place(text: str, master_key_file: Path | None) -> Place:
    if text.startswith(("postgresql://", "postgres://")):
        return Place(Path(), text, master_key_file)
    return Place(Path(text).expanduser())


if __name__ == "__main__":
    main()
