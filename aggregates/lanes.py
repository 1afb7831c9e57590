"""Vectors of whole numbers, each kept as one integer, so that adding two vectors is one addition.

A vector's numbers stand side by side in lanes of 32 bits. A negative number borrows from the lane above it; `unpack`
gives that back. Sums stay right while every lane stays within 31 bits.
"""

import struct
from collections.abc import Sequence

_BITS = 32


class Lanes:
    """Vectors of `count` signed numbers."""

    def __init__(self, count: int) -> None:
        self.bits = count * _BITS
        """Above these bits there is room for whatever else is to be added up."""
        self.bytes = self.bits // 8
        self.signs = sum(1 << (place * _BITS + _BITS - 1) for place in range(count))
        """Added to a sum of vectors, it makes every lane positive, so that nothing borrows any more."""
        self._struct = struct.Struct(f"<{count}i")

    def pack(self, values: Sequence[int]) -> int:
        """The vector of these numbers."""
        return sum(value << (place * _BITS) for place, value in enumerate(values))

    def unpack(self, total: int) -> tuple[int, ...]:
        """The numbers of a sum of vectors to which `signs` were added."""
        numbers: tuple[int, ...] = self._struct.unpack((total ^ self.signs).to_bytes(self.bytes, "little"))
        return numbers
