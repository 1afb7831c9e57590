"""Sums beyond 63 bits of numbers that fit into them: SQLite's own fails there, and what a client tells may be large."""

from collections.abc import Sequence

_LOW_BITS = 30


def sum_in_halves(name: str) -> str:
    """Two columns, in the SQL that SQLite and DuckDB share: the upper and the lower bits by themselves."""
    return f"coalesce(sum({name} >> {_LOW_BITS}), 0), coalesce(sum({name} & {2**_LOW_BITS - 1}), 0)"


def whole_sums(halves: Sequence[int]) -> list[int]:
    """One sum for each pair of columns."""
    return [(high << _LOW_BITS) + low for high, low in zip(halves[::2], halves[1::2], strict=True)]
