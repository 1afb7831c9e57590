"""Keyed digests: the same word or path of one developer always gives the same number, and nobody without that
developer's key can tell which word it was."""

from hashlib import blake2b

_CACHE_ENTRIES_MAX = 20_000


class Digester:
    """Digests under one developer's key; remembers recent words, since words repeat."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cache: dict[str, int] = {}

    def number(self, text: str) -> int:
        """A 63-bit number that fits an SQLite integer."""
        known = self._cache.get(text)
        if known is None:
            known = int.from_bytes(self.digest(text)[:8], "big") >> 1
            if len(self._cache) >= _CACHE_ENTRIES_MAX:
                self._cache.clear()
            self._cache[text] = known
        return known

    def digest(self, text: str) -> bytes:
        """16 bytes; decides whether two texts as received are the same."""
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()
