"""Who was in a team on which days: the stays that its costs are counted over."""

from collections.abc import Iterable
from datetime import tzinfo
from itertools import groupby
from operator import attrgetter
from uuid import UUID

import msgspec

from aggregates.directory import Directory
from aggregates.ids import membership_stream
from aggregates.people_records import Membership, Team, TeamMembership
from aggregates.times import local_date
from aggregates.windows import Window, local_day_bounds


class Stay(msgspec.Struct, frozen=True):
    """Whole days of one developer in a team, cut to a window: from `start_us` up to, but without, `end_us`."""

    developer_id: UUID
    start_us: int
    end_us: int


def stays_in(directory: Directory, team: Team, window: Window, zone: tzinfo) -> tuple[Stay, ...]:
    """The stays of everybody who was in the team within the window, former members too; no two overlap.

    A day of the zone counts whole on which somebody was in the team at all, so coming and going cuts no day in two.
    Who leaves the organization leaves the team.
    """
    of_team = (stay for stay in directory.all(TeamMembership) if stay.team_id == team.team_id)
    cut = (_days(stay, _ended_us(directory, team, stay), window, zone) for stay in of_team)
    inside = sorted((stay for stay in cut if stay.start_us < stay.end_us), key=attrgetter(*Stay.__struct_fields__))
    return tuple(stay for _, own in groupby(inside, attrgetter("developer_id")) for stay in _joined(own))


def _ended_us(directory: Directory, team: Team, stay: TeamMembership) -> int | None:
    membership = directory.get(Membership, membership_stream(team.organization_id, stay.developer_id))
    ends = (stay.ended_at_us, None if membership is None else membership.ended_at_us)
    return min((end for end in ends if end is not None), default=None)


def _days(stay: TeamMembership, ended_us: int | None, window: Window, zone: tzinfo) -> Stay:
    start_us = local_day_bounds(local_date(stay.started_at_us, zone), zone).start_us
    end_us = window.end_us
    if ended_us is not None:
        last_us = max(stay.started_at_us, ended_us - 1)
        end_us = local_day_bounds(local_date(last_us, zone), zone).end_us
    return Stay(stay.developer_id, max(start_us, window.start_us), min(end_us, window.end_us))


def _joined(stays: Iterable[Stay]) -> list[Stay]:
    """Who left and came back on the same day was there on one day, not on two."""
    joined: list[Stay] = []
    for stay in stays:
        if joined and stay.start_us <= joined[-1].end_us:
            end_us = max(stay.end_us, joined[-1].end_us)
            joined[-1] = msgspec.structs.replace(joined[-1], end_us=end_us)
        else:
            joined.append(stay)
    return joined
