"""One request, tool call or refusal that was reported twice counts once.

An agent's own log and its transcript both tell of it, under the same request or call id. Which report counts does not
depend on which came first: the better rank, then the later time, then the id.

Codex and Gemini name no requests, and Gemini no calls. There the k-th report of one source is the k-th alike of the
other: what is alike stands in the key, and the two lie close together in time.
"""

import sqlite3
from collections.abc import Iterable, Sequence, Set
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from projections.reader import json_array

UNNAMED = "~"
"""A key that begins with this says what a report is like, and not which thing it tells of."""
_CLOSE_US = 2 * 60 * 1_000_000


class _Report(NamedTuple):
    at_us: int
    record_id: str
    position: int
    rank: int

    @property
    def order(self) -> tuple[int, int, str]:
        return self.rank, -self.at_us, self.record_id

    @property
    def by_transcript(self) -> bool:
        """A transcript's report ranks one behind the agent's log, see `telemetry._rank`."""
        return self.rank % 2 == 1


_REPORTED_TWICE = """
SELECT o.twin, o.at_us, o.record_id, o.position, o.rank FROM json_each(?2) k
CROSS JOIN observations o ON o.agent_session_id = ?1 AND o.twin = k.value
WHERE EXISTS (SELECT 1 FROM observations c WHERE c.agent_session_id = ?1 AND c.twin = k.value LIMIT 1 OFFSET 1)
AND (k.value NOT LIKE '~%' OR (SELECT count(DISTINCT c.rank % 2) FROM observations c
    WHERE c.agent_session_id = ?1 AND c.twin = k.value) > 1)
ORDER BY 1
"""
"""Mostly a key has one report, which an index alone tells."""


def settle_duplicates(db: sqlite3.Connection, keys: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
    """Mark what another report supersedes; (session, time) of every report of a key that has more than one."""
    by_session: dict[str, set[str]] = {}
    for session, key in keys:
        by_session.setdefault(session, set()).add(key)
    return [(session, at_us) for session, some in by_session.items() for at_us in _settle(db, session, some)]


def _settle(db: sqlite3.Connection, session: str, keys: Set[str]) -> list[int]:
    touched: list[int] = []
    rows = db.execute(_REPORTED_TWICE, (session, json_array(sorted(keys)))).fetchall()
    for key, reported in groupby(rows, key=itemgetter(0)):
        reports = sorted((_Report(*row[1:]) for row in reported), key=lambda report: report.order)
        if key.startswith(UNNAMED):
            _pair(db, session, reports)
        else:
            _mark(db, session, reports)
        touched += [report.at_us for report in reports]
    return touched


def _pair(db: sqlite3.Connection, session: str, reports: Sequence[_Report]) -> None:
    """A report counts unless it is the worse one of a pair; a pair may change when an earlier report comes late."""
    worse = _worse(reports)
    since = max(report.position for report in reports)
    for report in reports:
        _write(db, session, report, report in worse, since)


def _worse(reports: Sequence[_Report]) -> set[_Report]:
    """Of each pair, in the order of time, the one that does not count."""
    ordered = sorted(reports, key=lambda report: (report.at_us, report.record_id))
    logged = [report for report in ordered if not report.by_transcript]
    written = [report for report in ordered if report.by_transcript]
    worse: set[_Report] = set()
    while logged and written:
        apart_us = logged[0].at_us - written[0].at_us
        if abs(apart_us) <= _CLOSE_US:
            worse.add(max(logged.pop(0), written.pop(0), key=lambda report: report.order))
        else:
            (logged if apart_us < 0 else written).pop(0)
    return worse


def _mark(db: sqlite3.Connection, session: str, reports: Sequence[_Report]) -> None:
    """The first counts. Another stopped counting where the first better one stood in the log."""
    for index, report in enumerate(reports[1:], 1):
        since = max(report.position, min(better.position for better in reports[:index]))
        _write(db, session, report, True, since)


def _write(db: sqlite3.Connection, session: str, report: _Report, superseded: bool, since: int) -> None:
    key = (session, report.at_us, report.record_id)
    where = "WHERE agent_session_id = ? AND at_us = ? AND record_id = ?"
    db.execute(f"UPDATE observations SET superseded = ? {where}", (superseded, *key))
    db.execute(
        f"UPDATE requests SET superseded = ?, changed_position = max(changed_position, ?) {where}",
        (superseded, since, *key),
    )
