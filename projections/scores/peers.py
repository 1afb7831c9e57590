"""How the completion rates of a cohort compare. Only totals of each developer are read, and none of them is shown."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import tzinfo
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.scores.grades import score_of
from aggregates.scores.peers import Comparison, compare
from aggregates.times import Window, local_date
from projections.reader import Reader

# --- judged values: what peers are compared by stays what the judges said, whatever people decided for themselves -----

JUDGED_QUALIFIES = "s.settles_at_us <= b.log_time_us AND s.floor_passed AND s.judged_intent IS NOT NULL"
JUDGED_CRUSHED = f"{JUDGED_QUALIFIES} AND s.judged_goal_complete AND s.judged_rework_of IS NULL"
"""Conditions of a sub-session `s` at the time `b` of the newest fact, without anybody's override."""

_TOTALS = (
    f"SELECT d.value, coalesce(sum({JUDGED_CRUSHED}), 0), count(*) FROM bookmark b CROSS JOIN json_each(:developers) d "
    "CROSS JOIN sub_sessions s WHERE s.organization_id = :organization AND s.developer_id = d.value "
    f"AND s.started_us >= :start AND s.started_us < :end AND {JUDGED_QUALIFIES} GROUP BY d.value"
)
_OWN = (
    f"SELECT s.started_us, {JUDGED_CRUSHED} FROM bookmark b CROSS JOIN sub_sessions s "
    "WHERE s.organization_id = :organization AND s.developer_id = :developer "
    f"AND s.started_us >= :start AND s.started_us < :end AND {JUDGED_QUALIFIES} ORDER BY s.started_us"
)


def peer_comparison(reader: Reader, scope: Scope, cohort: Sequence[UUID], window: Window, zone: tzinfo) -> Comparison:
    """The caller beside the cohort, which does not hold the caller; days are those of the zone."""
    rates = _rates(reader, scope, (scope.developer_id, *cohort), window)
    mine = rates.pop(str(scope.developer_id), None)
    return compare(mine, sorted(rates.values()), _daily(reader, scope, window, zone))


def _rates(reader: Reader, scope: Scope, developers: Sequence[UUID], window: Window) -> dict[str, float]:
    """The completion rate of everybody who has one."""
    bound = {
        "organization": str(scope.organization_id),
        "developers": msgspec.json.encode(sorted(developers)).decode(),
        "start": window.start_us,
        "end": window.end_us,
    }
    rows = reader.db.execute(_TOTALS, bound)
    found = {name: score_of(crushed, qualifying) for name, crushed, qualifying in rows}
    return {name: rate for name, rate in found.items() if rate is not None}


def _daily(reader: Reader, scope: Scope, window: Window, zone: tzinfo) -> list[float]:
    """The caller's rate of each day that has one, oldest first."""
    bound = {
        "organization": str(scope.organization_id),
        "developer": str(scope.developer_id),
        "start": window.start_us,
        "end": window.end_us,
    }
    days: defaultdict[str, list[int]] = defaultdict(list)
    for started_us, crushed in reader.db.execute(_OWN, bound):
        days[local_date(started_us, zone).isoformat()].append(crushed)
    return [100.0 * sum(crushed) / len(crushed) for _, crushed in sorted(days.items())]
