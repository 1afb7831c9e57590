"""One request, tool call or refusal that was reported twice counts once.

An agent's own log and its transcript both tell of it, under the same request or call id. Which report counts does not
depend on which came first: the better rank, then the later time, then the id.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class _Report(NamedTuple):
    at_us: int
    record_id: str
    position: int
    rank: int

    @property
    def order(self) -> tuple[int, int, str]:
        return self.rank, -self.at_us, self.record_id


def settle_twins(db: sqlite3.Connection, keys: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
    """Mark what another report supersedes; (session, time) of every report of a key that has more than one."""
    touched: list[tuple[str, int]] = []
    for session, twin in sorted(set(keys)):
        reports = _reports(db, session, twin)
        if len(reports) > 1:
            _mark(db, session, reports)
            touched += [(session, report.at_us) for report in reports]
    return touched


def _reports(db: sqlite3.Connection, session: str, twin: str) -> list[_Report]:
    query = "SELECT at_us, record_id, position, rank FROM observations WHERE agent_session_id = ? AND twin = ?"
    return sorted((_Report(*row) for row in db.execute(query, (session, twin))), key=lambda report: report.order)


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
