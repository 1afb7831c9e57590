"""Who was in a team on which days."""

from datetime import tzinfo
from uuid import UUID

import msgspec

from aggregates.people.directory import Directory, Team, TeamMembership
from aggregates.times import Window, local_date, local_day_bounds, parse_instant


class Stay(msgspec.Struct, frozen=True, order=True):
    """Whole days of one developer in a team, cut to a window: from `start_us` up to, but without, `end_us`."""

    developer_id: UUID
    start_us: int
    end_us: int


def stays_in(directory: Directory, team: Team, window: Window, zone: tzinfo) -> tuple[Stay, ...]:
    """The stays of everybody who was in the team within the window, former members too; no two overlap.

    A day of the zone counts whole on which somebody was in the team at all, so coming and going cuts no day in two.
    """
    periods = (each for each in directory.all(TeamMembership) if each.team_id == team.team_id)
    cut = (_stay(each, window, zone) for each in periods)
    joined: list[Stay] = []
    for stay in sorted(each for each in cut if each.start_us < each.end_us):
        before = joined[-1] if joined else None
        if before is not None and before.developer_id == stay.developer_id and stay.start_us <= before.end_us:
            stay = Stay(stay.developer_id, before.start_us, max(stay.end_us, before.end_us))
            joined.pop()
        joined.append(stay)
    return tuple(joined)


def _stay(period: TeamMembership, window: Window, zone: tzinfo) -> Stay:
    ended_us = None if period.ended_at is None else parse_instant(period.ended_at)
    started_us, end_us = parse_instant(period.started_at), window.end_us
    start_us = local_day_bounds(local_date(started_us, zone), zone).start_us
    if ended_us is not None:
        end_us = local_day_bounds(local_date(max(started_us, ended_us - 1), zone), zone).end_us
    return Stay(period.developer_id, max(start_us, window.start_us), min(end_us, window.end_us))
