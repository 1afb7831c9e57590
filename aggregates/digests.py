"""Keyed digests: the same word or path of one developer always gives the same number, and nobody without that
developer's key can tell which word it was."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import blake2b
from struct import Struct

_CACHE_ENTRIES_MAX = 8_000
_CACHED_CHARS_MAX = 200
"""Words and paths are; a whole prompt, which may be megabytes, seldom comes again."""


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
            if len(text) > _CACHED_CHARS_MAX:
                return known
            if len(self._cache) >= _CACHE_ENTRIES_MAX:
                self._cache.clear()
            self._cache[text] = known
        return known

    def numbers(self, texts: Collection[str]) -> list[int]:
        """The number of each text, in their order."""
        known = self._cache.get
        return [self.number(text) if (number := known(text)) is None else number for text in texts]

    def digest(self, text: str) -> bytes:
        """16 bytes; decides whether two texts as received are the same."""
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()


def packed(numbers: Sequence[int]) -> bytes:
    """Numbers of a digester as bytes: many of them are read back from a stored body in no time, and mostly unused."""
    return _layout(len(numbers)).pack(*numbers)


def unpacked(data: bytes) -> tuple[int, ...]:
    """What `packed` was given."""
    return _layout(len(data) // 8).unpack(data)


@lru_cache(maxsize=1024)
def _layout(count: int) -> Struct:
    """To make one out takes longer than to use it."""
    return Struct(f"<{count}q")
