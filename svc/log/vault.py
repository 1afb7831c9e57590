"""Data keys, one per developer, and the sealing of words under them.

The keys lie outside the log, so a person can be forgotten: once their key is destroyed, nothing that was sealed under
it can be read again, in the log or in any backup of it. Who comes back gets a new key, and old words stay closed.

A sealed text is: version (1 byte), developer id (16), key id (8), nonce (12), ciphertext. The first 25 bytes are
authenticated together with the text. The ciphertext (AES-256-GCM) holds one byte that says whether the text was
compressed, and the text in UTF-8.
"""

import contextlib
import os
import zlib
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from typing import Protocol
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aggregates.event import Digester

KEY_BYTES = 32
MADE_FILE = "made.txt"
_VERSION = b"\x01"
_KEY_ID_BYTES = 8
_NONCE_BYTES = 12
_HEADER_BYTES = 1 + 16 + _KEY_ID_BYTES
_PLAIN, _DEFLATED = b"\x00", b"\x01"
_DEFLATE_FROM_BYTES = 128  # shorter texts hardly shrink, and a path or a title is read far more often than it is stored
_DEFLATE_LEVEL = 1  # level 6 saves 3 % more of a prompt for a third more time


class VaultError(Exception):
    """A key or a sealed text is not what the vault wrote."""


class KeyMissing(OSError):
    """A key was made and its file is gone. A new one would close the old words for good."""


class Keys(Protocol):
    """Where data keys lie. OSError where the place cannot be used."""

    def load(self, developer_id: UUID) -> bytes | None: ...

    def keep(self, developer_id: UUID, key: bytes) -> bytes:
        """Keep a key durably and return it; a key that is there already stays and is returned instead."""

    def destroy(self, developer_id: UUID) -> None: ...

    def there(self) -> frozenset[UUID]:
        """Developers who have a key."""

    def listed(self) -> frozenset[UUID] | None:
        """Developers whose key was made and not destroyed; None without a list: then the log tells."""
        return None

    def path_of(self, developer_id: UUID) -> Path:
        """The file, or how the place of the key is called."""


class FileKeys(Keys):
    """One file per key. A list beside them names those made and not destroyed, so that a lost file is noticed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._list = folder / MADE_FILE
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)

    def load(self, developer_id: UUID) -> bytes | None:
        try:
            key = self.path_of(developer_id).read_bytes()
        except FileNotFoundError:
            return None
        if len(key) != KEY_BYTES:
            raise VaultError(f"key file of {developer_id}: {len(key)} bytes, where a key has {KEY_BYTES}")
        return key

    def keep(self, developer_id: UUID, key: bytes) -> bytes:
        path = self.path_of(developer_id)
        if developer_id in (self.listed() or ()) and not path.exists():
            raise KeyMissing(f"{path} is missing: put it back from a backup; `svc verify` says more")
        draft = _write_draft(self._folder, key)
        try:
            # A link, not a rename: it never replaces a key under which something may have been sealed.
            os.link(draft, path)
        except FileExistsError:
            return self.load(developer_id) or key
        finally:
            draft.unlink(missing_ok=True)
        sync(self._folder)
        if self._list.exists():  # after the key: a list must never name one that was not made
            with self._list.open("a", encoding="ascii") as file:
                file.write(f"{developer_id}\n")
                file.flush()
                os.fsync(file.fileno())
        return key

    def destroy(self, developer_id: UUID) -> None:
        path = self.path_of(developer_id)
        with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
            file.write(bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        path.unlink(missing_ok=True)
        if developer_id in (listed := self.listed() or frozenset()):
            self.list_made(listed - {developer_id})
        sync(self._folder)

    def there(self) -> frozenset[UUID]:
        return frozenset(map(UUID, (path.stem for path in self._folder.glob("*.key"))))

    def listed(self) -> frozenset[UUID] | None:
        try:
            return frozenset(map(UUID, self._list.read_text(encoding="ascii").split()))
        except (FileNotFoundError, ValueError):
            return None

    def list_made(self, developer_ids: Iterable[UUID]) -> None:
        text = "".join(f"{each}\n" for each in sorted(developer_ids))
        _write_draft(self._folder, text.encode("ascii")).replace(self._list)
        sync(self._folder)

    def path_of(self, developer_id: UUID) -> Path:
        return self._folder / f"{developer_id}.key"


class _Key:
    def __init__(self, key: bytes) -> None:
        self.id = blake2b(b"", key=key, digest_size=_KEY_ID_BYTES, person=b"key-id").digest()
        self.cipher = AESGCM(key)
        self.digester = Digester(blake2b(b"", key=key, digest_size=KEY_BYTES, person=b"digests").digest())


_NOBODY = Digester(b"nobody")


class Vault:
    """Seals and opens words; may be used from any thread."""

    def __init__(self, keys: Keys, random: Callable[[int], bytes] = os.urandom) -> None:
        self.keys, self._random = keys, random
        self._ready: dict[UUID, _Key] = {}
        self._lock = Lock()
        self.unopened: dict[UUID, int] = {}  # sealed texts met without their key, by developer

    def seal(self, developer_id: UUID, text: str) -> bytes:
        """Seal a text under the developer's key, which is made if there is none. OSError: it could not be kept."""
        key = self._key_for(developer_id)
        header = _VERSION + developer_id.bytes + key.id
        nonce = self._random(_NONCE_BYTES)
        plain = text.encode("utf-8", "surrogatepass")
        packed = _PLAIN + plain
        if len(plain) >= _DEFLATE_FROM_BYTES:
            packed = min(packed, _DEFLATED + zlib.compress(plain, _DEFLATE_LEVEL), key=len)
        return header + nonce + key.cipher.encrypt(nonce, packed, header)

    def open(self, sealed: bytes) -> str | None:
        """The text, or None once its key has been destroyed. VaultError: not what was sealed."""
        header, nonce = sealed[:_HEADER_BYTES], sealed[_HEADER_BYTES : _HEADER_BYTES + _NONCE_BYTES]
        if header[:1] != _VERSION or len(nonce) < _NONCE_BYTES:
            raise VaultError("a sealed text has an unknown form")
        developer_id = UUID(bytes=header[1:17])
        key = self._known_key(developer_id)
        if key is None or key.id != header[17:]:
            self.unopened[developer_id] = self.unopened.get(developer_id, 0) + 1
            return None
        try:
            packed = key.cipher.decrypt(nonce, sealed[_HEADER_BYTES + _NONCE_BYTES :], header)
        except InvalidTag:
            raise VaultError("a sealed text was changed after it was sealed") from None
        plain = packed[1:] if packed[:1] == _PLAIN else zlib.decompress(packed[1:])
        return plain.decode("utf-8", "surrogatepass")

    def digester(self, developer_id: UUID) -> Digester:
        """Keyed digests under the developer's key, which is made if there is none."""
        return self._key_for(developer_id).digester

    def known_digester(self, developer_id: UUID) -> Digester:
        """Keyed digests for readers of the log: a destroyed key is not made anew."""
        key = self._known_key(developer_id)
        return _NOBODY if key is None else key.digester

    def destroy(self, developer_id: UUID) -> None:
        with self._lock:
            self.keys.destroy(developer_id)
            self._ready.pop(developer_id, None)

    def let_go(self) -> None:
        """Ask for each key again: another node may have destroyed it."""
        with self._lock:
            self._ready.clear()

    def _key_for(self, developer_id: UUID) -> _Key:
        if (key := self._known_key(developer_id)) is not None:
            return key
        with self._lock:
            kept = self.keys.keep(developer_id, self._random(KEY_BYTES))
            return self._ready.setdefault(developer_id, _Key(kept))

    def _known_key(self, developer_id: UUID) -> _Key | None:
        if (key := self._ready.get(developer_id)) is not None:
            return key
        with self._lock:
            stored = self.keys.load(developer_id)
            return None if stored is None else self._ready.setdefault(developer_id, _Key(stored))


def _write_draft(folder: Path, content: bytes) -> Path:
    descriptor, name = mkstemp(suffix=".draft", dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    return Path(name)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
