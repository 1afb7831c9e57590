"""Sums that SQLite's own could not hold."""

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from projections.reader import sum_in_halves, whole_sums


@given(st.lists(st.integers(0, 2**63 - 1), max_size=20))
def test_a_sum_in_halves_is_the_sum_however_large(numbers: list[int]) -> None:
    """Of none it is 0."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE told (tokens INTEGER)")
        db.executemany("INSERT INTO told VALUES (?)", [(number,) for number in numbers])
        halves = db.execute(f"SELECT {sum_in_halves('tokens')} FROM told").fetchone()
    assert whole_sums(halves) == [sum(numbers)]
