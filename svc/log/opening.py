"""Opening the log that a folder holds, or the store that its nodes share.

What nodes share besides events: data keys, wrapped by a master key that never leaves the nodes, and leases.
"""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from eventsourcing.domain import EventSourcingError

from svc.log.codec import Codec
from svc.log.folder import keep_internal_secret, write_secret
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER, open_sqlite_store
from svc.log.store import EventStore, LogRecorder, StoreUnavailable
from svc.log.vault import KEY_BYTES, FileKeys, Keys, Vault, VaultError
from svc.process import Place
from svc.settings import secret_in

if TYPE_CHECKING:
    from svc.log.postgres import PostgresRecorder

NO_DRIVER = (
    "the store is PostgreSQL, and this svc has no driver for it: install the extra (`pip install 'svc[postgres]'`), "
    "or use the one file or the image, which have it"
)
LEASE_SECONDS = 15.0  # how long a node that vanished keeps the others from its jobs
_NONCE_BYTES = 12
_MASTER = UUID(int=0)  # owns the row by which a node knows that its master key is this store's


def open_log(at: Place | Path) -> EventStore:
    """Open the log of a folder, or of its store, and make it where there is none. Raises `StoreUnavailable`."""
    place = at if isinstance(at, Place) else Place(at)
    if place.store is None:
        return open_sqlite_store(place.var / EVENTS_FILE, Codec(Vault(FileKeys(place.var / KEYS_FOLDER))))
    open_recorder = _driver()
    if place.master_key_file is None:
        raise StoreUnavailable("a store that nodes share needs a master key: name its file by SVC_MASTER_KEY_FILE")
    master = read_master_key(place.master_key_file)
    recorder = open_recorder(place.store)
    keys = SharedKeys(recorder, master)
    try:
        keys.prove()
        keep_internal_secret(place.var, internal_secret_of(master))
    except BaseException:
        recorder.close()
        raise
    return EventStore(recorder, Codec(Vault(keys)))


def holds_data(place: Place) -> bool:
    """Whether there is a log: a store says so itself when it is opened."""
    return place.store is not None or (place.var / EVENTS_FILE).exists()


def make_missing_master_key(path: Path, store: str) -> bool:
    """Make a new store's master key; whether it did. `StoreUnavailable`: it has one, and another would open nothing."""
    if path.exists():
        return False
    with closing(_driver()(store)) as recorder, _unusable():
        if recorder.rows("SELECT 1 FROM {schema}.svc_keys LIMIT 1"):
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


def read_master_key(path: Path) -> bytes:
    """Raises `StoreUnavailable` where the file holds none, `SettingsError` where others may read it."""
    make = f"`svc init` makes one in a new store; on a further node, copy the first one's to {path}"
    if not path.exists():
        raise StoreUnavailable(f"there is no master key in {path}: {make}")
    try:
        key = bytes.fromhex(secret_in(str(path), "master_key_file"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreUnavailable(f"{path} holds no master key, which is {2 * KEY_BYTES} hex digits: {make}")
    return key


def internal_secret_of(master_key: bytes) -> str:
    """The nodes' one secret of administration."""
    return blake2b(b"", key=master_key, digest_size=KEY_BYTES, person=b"internal-secret").hexdigest()


def make_master_key(path: Path) -> bool:
    try:
        write_secret(path, os.urandom(KEY_BYTES).hex())
    except FileExistsError:
        return False
    return True


class SharedKeys(Keys):
    """Data keys in the store, each wrapped by the master key and bound to its owner."""

    def __init__(self, recorder: LogRecorder, master_key: bytes) -> None:
        self._recorder, self._master = recorder, AESGCM(master_key)

    def prove(self) -> None:
        """Raises `StoreUnavailable` where the store was set up under another master key."""
        try:
            self.keep(_MASTER, bytes(KEY_BYTES))
        except VaultError as error:
            raise StoreUnavailable(
                "this is not the master key under which the store was set up; copy that of a node that serves"
            ) from error

    def load(self, developer_id: UUID) -> bytes | None:
        with _unusable():
            found = self._recorder.rows("SELECT wrapped FROM {schema}.svc_keys WHERE owner = %s", [developer_id])
        if not found:
            return None
        wrapped = bytes(found[0]["wrapped"])
        try:
            return self._master.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], developer_id.bytes)
        except InvalidTag:
            raise VaultError(f"the key of {developer_id} in the store was not wrapped by this master key") from None

    def keep(self, developer_id: UUID, key: bytes) -> bytes:
        insert = "INSERT INTO {schema}.svc_keys (owner, wrapped) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        nonce = os.urandom(_NONCE_BYTES)
        with _unusable():
            wrapped = nonce + self._master.encrypt(nonce, key, developer_id.bytes)
            self._recorder.rows(insert, [developer_id, wrapped], writing=True)
        return self.load(developer_id) or key

    def destroy(self, developer_id: UUID) -> None:
        with _unusable():
            self._recorder.write("DELETE FROM {schema}.svc_keys WHERE owner = %s", [[developer_id]])

    def there(self) -> frozenset[UUID]:
        with _unusable():
            found = self._recorder.rows("SELECT owner FROM {schema}.svc_keys")
        return frozenset(row["owner"] for row in found) - {_MASTER}

    def path_of(self, developer_id: UUID) -> Path:
        return Path("svc_keys", str(developer_id))


@contextmanager
def _unusable() -> Iterator[None]:
    try:
        yield
    except EventSourcingError as error:
        raise OSError(f"the keys in the store cannot be used: {error}") from error


class Leases:
    """Which jobs this node may do: a row each, with an end by the server's clock and an epoch that counts holders."""

    def __init__(self, recorder: LogRecorder, holder: str) -> None:
        self._recorder, self.holder = recorder, holder

    def held(self, names: Collection[str]) -> dict[str, int]:
        """Renew those of these that this node holds, take those that nobody does; the epoch of each."""
        take = (
            "INSERT INTO {schema}.svc_leases AS l (name, holder, epoch, expires_at) "
            "SELECT name, %s, 1, clock_timestamp() + %s * interval '1 second' FROM unnest(%s::text[]) AS name "
            "ORDER BY name ON CONFLICT (name) DO UPDATE "
            "SET holder = excluded.holder, expires_at = excluded.expires_at, "
            "epoch = l.epoch + (l.holder <> excluded.holder)::int "
            "WHERE l.holder = excluded.holder OR l.expires_at < clock_timestamp() RETURNING name, epoch"
        )
        try:
            found = self._recorder.rows(take, [self.holder, LEASE_SECONDS, sorted(names)], writing=True)
        except EventSourcingError as error:
            raise StoreUnavailable(str(error)) from error
        return {row["name"]: row["epoch"] for row in found}

    def release(self) -> None:
        """Let others take what this node holds; at a stop."""
        give_up = "UPDATE {schema}.svc_leases SET expires_at = '-infinity', holder = '' WHERE holder = %s"
        with suppress(EventSourcingError):  # then they end by themselves
            self._recorder.rows(give_up, [self.holder], writing=True)
