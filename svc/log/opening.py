"""Opening the log that a folder holds, or the store that is named beside it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from svc.log.codec import Codec
from svc.log.folder import keep_internal_secret
from svc.log.shared import SharedKeys, is_set_up, make_master_key, read_master_key
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER, open_sqlite_store
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import FileKeys, Vault
from svc.process import Place

if TYPE_CHECKING:
    from svc.log.postgres import PostgresRecorder

NO_DRIVER = (
    "the store is PostgreSQL, and this svc has no driver for it: install the extra (`pip install 'svc[postgres]'`), "
    "or use the one file or the image, which have it"
)
NO_MASTER_KEY = "a store that nodes share needs a master key: name its file by SVC_MASTER_KEY_FILE"


def open_log(at: Place | Path) -> tuple[EventStore, Vault]:
    """Open the log of a folder, or of its store, and make it where there is none. Raises `StoreUnavailable`."""
    place = at if isinstance(at, Place) else Place(at)
    if place.store is None:
        vault = Vault(FileKeys(place.var / KEYS_FOLDER))
        return open_sqlite_store(place.var / EVENTS_FILE, Codec(vault)), vault
    open_recorder = _driver()
    if place.master_key_file is None:
        raise StoreUnavailable(NO_MASTER_KEY)
    master = read_master_key(place.master_key_file)
    recorder = open_recorder(place.store)
    keys = SharedKeys(recorder, master)
    try:
        keys.prove()
        keep_internal_secret(place.var, master.internal_secret)
    except BaseException:
        recorder.close()
        raise
    vault = Vault(keys)
    return EventStore(recorder, Codec(vault), recorder), vault


def holds_data(place: Place) -> bool:
    """Whether there is a log: a store says so itself when it is opened."""
    return place.store is not None or (place.var / EVENTS_FILE).exists()


def make_missing_master_key(path: Path, store: str) -> bool:
    """Make the file of a new store's master key; whether it did.

    Raises `StoreUnavailable` where the store was set up under a key already: one that is made now opens nothing.
    """
    if path.exists():
        return False
    with closing(_driver()(store)) as recorder:
        if is_set_up(recorder):
            raise StoreUnavailable(
                f"the store is set up already, and there is no master key in {path}: copy that of a node that serves"
            )
    return make_master_key(path)


def _driver() -> "Callable[[str], PostgresRecorder]":
    try:
        from svc.log.postgres import open_recorder  # who stays with one process needs no driver
    except ImportError as error:
        raise StoreUnavailable(NO_DRIVER) from error
    return open_recorder
