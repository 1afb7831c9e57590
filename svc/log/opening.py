"""Opening the log that a folder holds, or the store that is named beside it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from svc.log.codec import Codec
from svc.log.folder import keep_internal_secret
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


class ListedKeys(Protocol):
    """Whose data keys there are."""

    def there(self) -> frozenset[UUID]: ...

    def listed(self) -> frozenset[UUID] | None:
        """Developers whose key was made and not destroyed; None where nobody lists them."""
        ...

    def list_made(self, developer_ids: Iterable[UUID]) -> None: ...

    def path_of(self, developer_id: UUID) -> Path:
        """The file, or how the place of the key is called."""
        ...


def open_log(at: Place | Path) -> tuple[EventStore, Vault]:
    """Open the log of a folder, or of its store, and make it where there is none. Raises `StoreUnavailable`."""
    place = at if isinstance(at, Place) else Place(at)
    if place.store is None:
        vault = Vault(FileKeys(place.var / KEYS_FOLDER))
        return open_sqlite_store(place.var / EVENTS_FILE, Codec(vault)), vault
    return _open_shared(place)


def listed_keys(var: Path, store: EventStore) -> ListedKeys:
    """Those of an opened log."""
    if store.shared is None:
        return FileKeys(var / KEYS_FOLDER)
    from svc.log.shared import KeyRows

    return KeyRows(store.shared)


def holds_data(place: Place) -> bool:
    """Whether there is a log: a store says so itself when it is opened."""
    return place.store is not None or (place.var / EVENTS_FILE).exists()


def make_missing_master_key(path: Path, store: str) -> bool:
    """Make the file of a new store's master key; whether it did.

    Raises `StoreUnavailable` where the store was set up under a key already: one that is made now opens nothing.
    """
    if path.exists():
        return False
    from svc.log.shared import make_master_key, under_a_master_key

    recorder = _driver()(store)
    try:
        if under_a_master_key(recorder):
            raise StoreUnavailable(
                f"the store is set up already, and there is no master key in {path}: copy that of a node that serves"
            )
    finally:
        recorder.close()
    return make_master_key(path)


def _open_shared(place: Place) -> tuple[EventStore, Vault]:
    # Here, not above: who stays with one process pays nothing for the driver.
    from svc.log.shared import SharedKeys, read_master_key

    open_recorder = _driver()
    if place.store is None or place.master_key_file is None:
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


def _driver() -> "Callable[[str], PostgresRecorder]":
    """What opens a store. Raises `StoreUnavailable` where this svc has no driver."""
    try:
        from svc.log.postgres import open_recorder
    except ImportError as error:
        raise StoreUnavailable(NO_DRIVER) from error
    return open_recorder
