"""The log of a var folder: the event store and the keys that seal its words."""

from pathlib import Path

from svc.codec import Codec
from svc.sqlite_store import open_sqlite_store
from svc.store import EventStore
from svc.vault import FileKeys, Vault

EVENTS_FILE = "events.db"
KEYS_FOLDER = "keys"


def open_log(var: Path) -> tuple[EventStore, Vault]:
    """The event store and the vault of a var folder."""
    vault = Vault(FileKeys(var / KEYS_FOLDER))
    return open_sqlite_store(var / EVENTS_FILE, Codec(vault)), vault
