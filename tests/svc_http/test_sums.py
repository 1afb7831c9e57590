"""What sums over people tell, as docs/security.md says: by the size of the group, and by differences."""

from fractions import Fraction

import pytest

from aggregates.event import Refused, Scope
from aggregates.people.acts import (
    AddTeamMember,
    CreateDeveloper,
    CreateTeam,
    PeopleAct,
    RemoveTeamMember,
    StartMembership,
)
from aggregates.scores.grades import PEER_RANGES_MAX, Comparison, compare
from aggregates.times import US_PER_DAY
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND, Log, edit, request, shell
from tests.support.log import named
from tests.support.people import ACME, ANA_SCOPE, NOW_US, carry_out
from tests.svc_http.house import Caller, House

TEAM = named("core")
SUMMARY = f"/v1/team/daily-summary?team_id={TEAM}&date=2026-01-05"
PEERS = "/v1/score_v3/peer-comparison"


def _carried_out(house: House, *commands: PeopleAct, at_us: int = MONDAY - HOUR) -> None:
    for command in commands:
        assert not isinstance(carry_out(house.directory, command, at_us), Refused)


def _company(house: House, people: int) -> list[Scope]:
    """A team of Ana and so many others, since before that Monday."""
    others = [Scope(ACME, named(f"peer {number}")) for number in range(people - 1)]
    _carried_out(house, CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"))
    for each in others:
        _carried_out(house, CreateDeveloper(developer_id=each.developer_id, display_name=str(each.developer_id)))
        _carried_out(house, StartMembership(organization_id=ACME, developer_id=each.developer_id))
    for each in (ANA_SCOPE, *others):
        stay = named(f"{each.developer_id} in core")
        _carried_out(house, AddTeamMember(team_membership_id=stay, team_id=TEAM, developer_id=each.developer_id))
    return [ANA_SCOPE, *others]


def _works(house: House, scope: Scope, *times_us: int) -> None:
    """A goal is reached in the morning, and at each of the times."""
    log = Log(scope)
    for at_us in (MONDAY + HOUR, *times_us):
        session, path = f"{scope.developer_id} {at_us}", f"src/auth_{at_us}.py"
        log.prompt(session, f"Fix the failing login test in {path}, the session cookie is lost", at_us)
        changed = edit(at_us + MINUTE, path=path)
        log.records(session, request(at_us + SECOND), changed, shell(at_us + 2 * MINUTE, "pytest -q"))
    house.has_seen(log)


@pytest.mark.parametrize("people", range(1, 7))
async def test_what_a_group_of_so_many_is_told(house: House, api: Caller, people: int) -> None:
    for each in _company(house, people):
        _works(house, each)
    house.passes(MONDAY + 20 * HOUR)
    day = (await api.get(SUMMARY)).json
    assert (day["membersActive"], day["subSessions"]) == (people, people)
    outcome = [day[name] for name in ("crushed", "trivia", "byIntent")]
    assert [value is not None for value in outcome] == [people >= 3] * 3
    peers = (await api.get(f"{PEERS}?from=2026-01-01&to=2026-01-31")).json
    assert (peers["distribution"] is not None) == (people >= 5)


def _told(mine: float, peers: list[float]) -> Comparison:
    found = compare(mine, sorted(peers), [])
    assert found.distribution is not None
    return found


@pytest.mark.parametrize("mine", [10.0, 90.0])
def test_of_five_people_the_quartiles_and_the_mean_are_all_four_rates(mine: float) -> None:
    """If one's own is the lowest or the highest."""
    peers = [20.0, 35.0, 60.0, 85.0]
    told = _told(mine, peers).distribution
    assert told is not None
    inner = [told.p25, told.p50, told.p75]
    end = 5 * told.cohort_mean - sum(inner) - mine
    assert sorted([*inner, end]) == pytest.approx(peers)


def test_who_leaves_a_team_leaves_their_rate() -> None:
    peers = [20.0, 35.0, 60.0, 85.0, 47.0]
    before, after = _told(50.0, peers).distribution, _told(50.0, peers[:-1]).distribution
    assert before is not None
    assert after is not None
    assert 6 * before.cohort_mean - 5 * after.cohort_mean == pytest.approx(47.0)


async def test_who_leaves_a_team_takes_nothing_from_a_day_before(house: House, api: Caller) -> None:
    company = _company(house, 4)
    for each in company:
        _works(house, each)
    house.passes(MONDAY + 20 * HOUR)
    before = (await api.get(SUMMARY)).json
    gone = named(f"{company[-1].developer_id} in core")
    _carried_out(house, RemoveTeamMember(team_membership_id=gone), at_us=NOW_US)
    assert (await api.get(SUMMARY)).json == before


def test_shifted_ranges_tell_of_the_hour_between_them() -> None:
    """Five people; one of them started one more goal in that hour, and reached it."""
    with_it, without = Fraction(3, 4), Fraction(2, 3)
    others = [20.0, 35.0, 60.0]
    wide, narrow = (_told(90.0, [*others, float(100 * rate)]).distribution for rate in (with_it, without))
    assert wide is not None
    assert narrow is not None
    assert 5 * (wide.cohort_mean - narrow.cohort_mean) == pytest.approx(float(100 * (with_it - without)))


async def test_a_day_of_another_zone_tells_of_the_hour_between_them(house: House, api: Caller) -> None:
    """Three members; one of them reached a goal in the last hour of the day in UTC."""
    company = _company(house, 3)
    for each in company[:-1]:
        _works(house, each)
    _works(house, company[-1], MONDAY + 14 * HOUR + MINUTE)
    house.passes(MONDAY + 30 * HOUR)
    utc, east = [(await api.get(f"{SUMMARY}&tz={zone}")).json for zone in ("UTC", "Etc/GMT-1")]
    assert utc["membersActive"] == east["membersActive"] == 3
    assert utc["crushed"] - east["crushed"] == 1


async def test_a_further_range_is_429_until_midnight(house: House, api: Caller) -> None:
    house.clock_us = 101 * US_PER_DAY - 90 * SECOND
    for day in range(1, PEER_RANGES_MAX + 1):
        assert (await api.get(f"{PEERS}?from=1970-03-{day:02}&to=1970-03-{day:02}")).status == 200
    refused = await api.get(f"{PEERS}?from=1970-02-01&to=1970-02-02")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "90")
    assert "midnight UTC" in refused.message
    assert (await api.get(f"{PEERS}?from=1970-03-01&to=1970-03-01")).status == 200
    assert (await api.get(PEERS)).status == 200
