"""How the completion rates of a cohort compare. Only totals of each developer are read, and none of them is shown."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, tzinfo
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.scores.grades import score_of
from aggregates.scores.peers import Comparison, compare
from aggregates.times import Window, local_date
from projections.reader import Reader
from projections.sub_sessions.rows import IN_RANGE, bound

# What the judges said, without anybody's override: nobody compares better by overriding their own sub-sessions.
JUDGED_QUALIFIES = "s.settles_at_us <= b.log_time_us AND s.floor_passed AND s.judged_intent IS NOT NULL"
JUDGED_CRUSHED = f"{JUDGED_QUALIFIES} AND s.judged_goal_complete AND s.judged_rework_of IS NULL"

_TOTALS = (
    f"SELECT d.value, coalesce(sum({JUDGED_CRUSHED}), 0), count(*) FROM bookmark b CROSS JOIN json_each(:developers) d "
    "CROSS JOIN sub_sessions s WHERE s.organization_id = :organization AND s.developer_id = d.value "
    f"{IN_RANGE} AND {JUDGED_QUALIFIES} GROUP BY d.value"
)
_OWN = (
    f"SELECT s.started_us, {JUDGED_CRUSHED} FROM bookmark b CROSS JOIN sub_sessions s "
    f"WHERE s.organization_id = :organization AND s.developer_id = :developer {IN_RANGE} AND {JUDGED_QUALIFIES}"
)


def peer_comparison(reader: Reader, scope: Scope, cohort: Sequence[UUID], window: Window, zone: tzinfo) -> Comparison:
    """The caller against the cohort, which does not hold the caller; days are those of the zone."""
    developers = msgspec.json.encode(sorted((scope.developer_id, *cohort))).decode()
    totals = reader.db.execute(_TOTALS, bound(scope, window, developers=developers))
    rates = {name: rate for name, *counts in totals if (rate := score_of(*counts)) is not None}
    mine = rates.pop(str(scope.developer_id), None)
    days: defaultdict[date, list[int]] = defaultdict(list)
    for started_us, crushed in reader.db.execute(_OWN, bound(scope, window)):
        days[local_date(started_us, zone)].append(crushed)
    daily = [100.0 * sum(crushed) / len(crushed) for _, crushed in sorted(days.items())]
    return compare(mine, sorted(rates.values()), daily)
