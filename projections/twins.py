"""One request, tool call or refusal that was reported twice counts once.

An agent's own log and its transcript both tell of it, under the same request or call id. Which report counts does not
depend on which came first: the better rank, then the later time, then the id.
"""

import sqlite3
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec


class _Report(NamedTuple):
    at_us: int
    record_id: str
    position: int
    rank: int

    @property
    def order(self) -> tuple[int, int, str]:
        return self.rank, -self.at_us, self.record_id


_REPORTED_TWICE = """
WITH keys AS (SELECT DISTINCT value ->> 0 AS session, value ->> 1 AS twin FROM json_each(?))
SELECT k.session, k.twin, o.at_us, o.record_id, o.position, o.rank FROM keys k
JOIN observations o ON o.agent_session_id = k.session AND o.twin = k.twin
WHERE (SELECT count(*) FROM observations c WHERE c.agent_session_id = k.session AND c.twin = k.twin) > 1
ORDER BY 1, 2
"""


def settle_twins(db: sqlite3.Connection, keys: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Mark what another report supersedes; (session, time) of every report of a key that has more than one."""
    touched: list[tuple[str, int]] = []
    rows = db.execute(_REPORTED_TWICE, (msgspec.json.encode(keys).decode(),)).fetchall() if keys else ()
    for (session, _), reported in groupby(rows, key=lambda row: row[:2]):
        reports = sorted((_Report(*row[2:]) for row in reported), key=lambda report: report.order)
        _mark(db, session, reports)
        touched += [(session, report.at_us) for report in reports]
    return touched


def _mark(db: sqlite3.Connection, session: str, reports: Sequence[_Report]) -> None:
    """The first counts. Another stopped counting where the first better one stood in the log."""
    for index, report in enumerate(reports[1:], 1):
        since = max(report.position, min(better.position for better in reports[:index]))
        key = (session, report.at_us, report.record_id)
        db.execute(
            "UPDATE observations SET superseded = 1 WHERE agent_session_id = ? AND at_us = ? AND record_id = ?", key
        )
        db.execute(
            "UPDATE requests SET superseded = 1, changed_position = max(changed_position, ?) "
            "WHERE agent_session_id = ? AND at_us = ? AND record_id = ?",
            (since, *key),
        )
