"""What throttling cost and what models were used for, over HTTP: shapes, ranges, scope, teams."""

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


@pytest.fixture
def monday(house: House) -> House:
    """A request of Ana's met a rate limit on Monday at nine, and was answered a minute later; it is noon."""
    error = {"kind": "error", "at_us": MONDAY, "status_code": 429, "model": "opus"}
    house.has_seen(Log(ANA_SCOPE).claim("a").records("a", error, request(MONDAY + MINUTE)))
    house.passes(MONDAY + 3 * HOUR)
    return house


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("", 1),
        ("from=2026-01-05T10:00:00+01:00&to=2026-01-05T10:00:01+01:00", 1),
        ("from=2026-01-05T09:00:01Z&to=2026-01-06T00:00:00Z", 0),
        ("from=2026-01-05&to=2026-01-05&tz_offset=-540", 1),  # nine in the morning is midnight there
        ("from=2026-01-05&to=2026-01-05&tz_offset=-541", 0),
        ("from=2026-01-06&to=2026-01-06&tz_offset=840", 0),
        ("from=2026-01-05&to=2026-01-05&tz_offset=%2B840", 1),
    ],
)
async def test_the_range_of_throttling(monday: House, api: Caller, query: str, events: int) -> None:
    """Half-open; a bare date is a day of the zone that the offset names."""
    assert len((await api.get(f"{THROTTLE}?{query}")).json["events"]) == events


@pytest.mark.parametrize(
    ("query", "count"), [("from=2026-01-05T09:02:00Z", 0), ("to=2026-01-05", 1), ("to=2026-01-04", 0)]
)
async def test_the_range_of_rightsizing(monday: House, api: Caller, query: str, count: int) -> None:
    """Each end has a default of its own."""
    assert len((await api.get(f"{RIGHTSIZING}?{query}")).json["modelUsage"]) == count


@pytest.mark.parametrize(
    ("path", "name", "age_us"), [(THROTTLE, "events", 28 * DAY), (RIGHTSIZING, "modelUsage", MINUTE + 90 * DAY)]
)
async def test_default_ranges(monday: House, api: Caller, path: str, name: str, age_us: int) -> None:
    """The last 28 days of throttling, the last 90 of models."""
    monday.clock_us = MONDAY + age_us
    assert len((await api.get(path)).json[name]) == 1
    monday.clock_us += 1
    assert (await api.get(path)).json[name] == []


async def test_a_personal_read_is_whole_or_refused(monday: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 that says what to do; waiting would not help. A team's read says that it is partial."""
    carry_out(monday.directory, CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"), MONDAY)
    joins = AddTeamMember(team_membership_id=named("stay"), team_id=TEAM, developer_id=ANA)
    carry_out(monday.directory, joins, MONDAY)
    monkeypatch.setattr(throttle, "PERSONAL_REQUESTS_MAX", 1)
    monkeypatch.setattr(throttle, "TEAM_REQUESTS_MAX", 1)
    answer = await api.get(THROTTLE)
    assert (answer.status, "Retry-After" in answer.headers) == (503, False)
    assert "ask for a shorter range" in answer.message
    assert (await api.get(OF_TEAM)).json["isPartial"] is True
