"""What throttling cost and what models were used for, over HTTP: shapes, ranges, scope, teams."""

from uuid import UUID

import pytest

from aggregates.people.acts import AddTeamMember, CreateTeam
from projections.scores import throttle
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, Log, request
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_SCOPE, carry_out
from tests.svc_http.house import Caller, House

THROTTLE = "/v1/intelligence/throttle"
TEAM = named("team")
OF_TEAM = f"{THROTTLE}/team?team_id={TEAM}"
RIGHTSIZING = "/v1/intelligence/rightsizing"


def refused(log: Log, session: str, at_us: int = MONDAY) -> Log:
    """A request met a rate limit; the next one, a minute later, was answered."""
    log.claim(session)
    return log.records(
        session, {"kind": "error", "at_us": at_us, "status_code": 429, "model": "opus"}, request(at_us + MINUTE)
    )


def joining(member: UUID, stay: str = "first") -> AddTeamMember:
    """The command by which somebody joins the team."""
    return AddTeamMember(team_membership_id=named(f"{stay} stay of {member}"), team_id=TEAM, developer_id=member)


def a_team(house: House, *members: UUID) -> None:
    carry_out(house.directory, CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"), MONDAY)
    for member in members:
        carry_out(house.directory, joining(member), MONDAY)


@pytest.fixture
def monday(house: House) -> House:
    """Ana was held up on Monday morning; it is Monday noon."""
    house.has_seen(refused(Log(ANA_SCOPE), "a"))
    house.passes(MONDAY + 3 * HOUR)
    return house


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("", 1),
        ("from=2026-01-05T09:00:00Z&to=2026-01-05T09:00:01Z", 1),
        ("from=2026-01-05T10:00:00+01:00&to=2026-01-05T10:00:01+01:00", 1),
        ("from=2026-01-05T09:00:01Z&to=2026-01-06T00:00:00Z", 0),
        ("from=2026-01-05&to=2026-01-05", 1),
        ("from=2026-01-05&to=2026-01-05&tz_offset=-540", 1),  # nine in the morning is midnight there
        ("from=2026-01-05&to=2026-01-05&tz_offset=-541", 0),
        ("from=2026-01-04&to=2026-01-04&tz_offset=-541", 1),
        ("from=2026-01-06&to=2026-01-06&tz_offset=840", 0),
        ("from=2026-01-05&to=2026-01-05&tz_offset=%2B840", 1),
    ],
)
async def test_the_range_of_throttling(monday: House, api: Caller, query: str, events: int) -> None:
    """28 days by default, half-open; a bare date is a day of the zone that the offset names."""
    assert len((await api.get(f"{THROTTLE}?{query}")).json["events"]) == events


async def test_the_default_range_of_throttling(monday: House, api: Caller) -> None:
    monday.clock_us = MONDAY + 28 * DAY
    assert len((await api.get(THROTTLE)).json["events"]) == 1
    monday.clock_us += 1
    assert (await api.get(THROTTLE)).json["events"] == []


async def test_a_personal_read_is_whole_or_refused(monday: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 that says what to do; waiting would not help. A team's read says that it is partial."""
    a_team(monday, ANA)
    monkeypatch.setattr(throttle, "PERSONAL_REQUESTS_MAX", 1)
    monkeypatch.setattr(throttle, "TEAM_REQUESTS_MAX", 1)
    answer = await api.get(THROTTLE)
    assert (answer.status, "Retry-After" in answer.headers) == (503, False)
    assert "ask for a shorter range" in answer.message
    assert (await api.get(OF_TEAM)).json["isPartial"] is True


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 1),
        ("from=2026-01-05", 1),
        ("from=2026-01-05T09:02:00Z", 0),
        ("to=2026-01-05", 1),
        ("to=2026-01-04", 0),
        ("from=2026-01-01&to=2026-01-31", 1),
    ],
)
async def test_the_range_of_rightsizing(monday: House, api: Caller, query: str, count: int) -> None:
    """Each end has a default of its own: 90 days ago, and now."""
    assert len((await api.get(f"{RIGHTSIZING}?{query}")).json["modelUsage"]) == count


async def test_the_default_range_of_rightsizing(monday: House, api: Caller) -> None:
    monday.clock_us = MONDAY + MINUTE + 90 * DAY
    assert len((await api.get(RIGHTSIZING)).json["modelUsage"]) == 1
    monday.clock_us += 1
    assert (await api.get(RIGHTSIZING)).json["modelUsage"] == []
