"""What sums over people tell, as docs/security.md says: by the size of the group, and by differences."""

from collections.abc import Sequence

import pytest

from aggregates.event import Scope
from aggregates.people.acts import RemoveTeamMember
from aggregates.scores.grades import PEER_RANGES_MAX, compare
from aggregates.times import US_PER_DAY
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND
from tests.support.people import ANA_SCOPE
from tests.svc_http.browsing import CORE, carried_out, core, enters, in_core, works
from tests.svc_http.house import Caller, House

SUMMARY = f"/v1/team/daily-summary?team_id={CORE}&date=2026-01-05"
PEERS = "/v1/score_v3/peer-comparison"


def _company(house: House, people: int) -> Sequence[Scope]:
    """A team of Ana and so many others, since before that Monday; each reaches a goal in the morning."""
    before = MONDAY - HOUR
    company = core(
        house, ANA_SCOPE, *(enters(house, f"peer {n}", at_us=before) for n in range(1, people)), at_us=before
    )
    works(house, *company, at_us=MONDAY + HOUR)
    return company


@pytest.mark.parametrize("people", range(1, 7))
async def test_what_a_group_of_so_many_is_told(house: House, api: Caller, people: int) -> None:
    _company(house, people)
    house.passes(MONDAY + 20 * HOUR)
    day = (await api.get(SUMMARY)).json
    assert (day["membersActive"], day["subSessions"]) == (people, people)
    outcome = [day[name] for name in ("crushed", "trivia", "byIntent")]
    assert [value is not None for value in outcome] == [people >= 3] * 3
    peers = (await api.get(f"{PEERS}?from=2026-01-01&to=2026-01-31")).json
    assert (peers["distribution"] is not None) == (people >= 5)


@pytest.mark.parametrize("mine", [10.0, 90.0])
def test_of_five_people_the_quartiles_and_the_mean_are_all_four_rates(mine: float) -> None:
    """If one's own is the lowest or the highest; and from two looks the rate of who left in between follows."""
    peers = [20.0, 35.0, 60.0, 85.0]
    told, before = compare(mine, peers, []).distribution, compare(mine, [*peers, 90.0], []).distribution
    assert told is not None
    assert before is not None
    inner = [told.p25, told.p50, told.p75]
    assert sorted([*inner, 5 * told.cohort_mean - sum(inner) - mine]) == pytest.approx(peers)
    assert 6 * before.cohort_mean - 5 * told.cohort_mean == pytest.approx(90.0)


async def test_who_leaves_a_team_takes_nothing_from_a_day_before(house: House, api: Caller) -> None:
    company = _company(house, 4)
    house.passes(MONDAY + 20 * HOUR)
    before = (await api.get(SUMMARY)).json
    carried_out(house, RemoveTeamMember(team_membership_id=in_core(company[-1].developer_id)))
    assert (await api.get(SUMMARY)).json == before


async def test_a_day_of_another_zone_tells_of_the_hour_between_them(house: House, api: Caller) -> None:
    """Three members; one of them reached a goal in the last hour of the day in UTC."""
    works(house, _company(house, 3)[-1], at_us=MONDAY + 14 * HOUR + MINUTE)
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
