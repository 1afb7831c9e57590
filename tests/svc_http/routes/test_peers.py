"""`/v1/score_v3/peer-comparison`: one's completion rate beside the cohort's, or beside one's own days."""

from typing import Any

import pytest

from aggregates.event import Refused, Scope
from aggregates.people.acts import AddTeamMember, ChangeDeveloper, CreateDeveloper, CreateTeam, StartMembership
from tests.support.basics import ACME, ANA, ANA_SCOPE, NOW_US, carry_out, named
from tests.support.facts import DAY, HOUR, SECOND, Log
from tests.svc_http.house import Caller, House

ROUTE = "/v1/score_v3/peer-comparison"
TEAM = named("core")
ASK = "Fix the crash in src/{0}.py when the input is empty: return an empty list. Run pytest before you stop."
METADATA = {
    "leftOut": 0,
    "requiredDays": 7,
    "metric": "completionRate",
    "unit": "percent",
    "definition": "crushed_substantive_sessions / substantive_sessions",
}


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """What was answered beside the interval, which holds the caller's own rate."""
    interval, mine = found["interval"], found["myScore"]
    assert (interval is None) == (mine is None)
    assert interval is None or interval["low"] <= mine <= interval["high"]
    return {name: value for name, value in found.items() if name != "interval"}


@pytest.fixture(autouse=True)
def _team(house: House) -> None:
    carry_out(house.directory, CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"))
    _joins(house, ANA_SCOPE)


def _joins(house: House, scope: Scope) -> None:
    stay = named(f"{scope.developer_id} in core")
    command = AddTeamMember(team_membership_id=stay, team_id=TEAM, developer_id=scope.developer_id)
    assert not isinstance(carry_out(house.directory, command), Refused)


def peer(house: House, name: str) -> Scope:
    scope = Scope(ACME, named(name))
    for command in (
        CreateDeveloper(developer_id=scope.developer_id, display_name=f"Secret {name}"),
        StartMembership(organization_id=ACME, developer_id=scope.developer_id),
    ):
        assert not isinstance(carry_out(house.directory, command), Refused)
    _joins(house, scope)
    return scope


def works(house: House, scope: Scope, at_us: int, *reached: bool) -> None:
    """One goal an hour from then on, each of its own session and file: reached, or left with a failing check."""
    log = Log(scope)
    log.now_us = at_us
    for number, ok in enumerate(reached):
        asked_us = at_us + number * HOUR
        session = f"{scope.developer_id}-{asked_us}"
        log.works(session, asked_us, ASK.format(f"module{asked_us}"), f"src/module{asked_us}.py", ok=ok)
        log.records(session, {"kind": "session_end", "source": "exit", "at_us": asked_us + 61 * SECOND})
    house.has_seen(log)


async def test_four_scored_peers(house: House, api: Caller) -> None:
    """Rates 0, 50, 50, 100 beside Ana's 75: quarters at 50, 50, 75; three of four are at or below hers."""
    works(house, ANA_SCOPE, NOW_US - 2 * DAY, True, True, False, True)
    for name, reached in (("b", [False]), ("c", [True, False]), ("d", [True]), ("e", [False, True])):
        works(house, peer(house, name), NOW_US - DAY, *reached)
    answer = await api.get(ROUTE)
    assert answer.status == 200
    assert figures(answer.json) == METADATA | {
        "myScore": 75.0,
        "basis": "peers",
        "distribution": {"peerCount": 4, "cohortMean": 55.0, "p25": 50.0, "p50": 50.0, "p75": 75.0},
        "myPercentile": 75.0,
        "baseline": None,
    }


async def test_days_are_those_of_the_zone(house: House, api: Caller) -> None:
    """Six noons and a late evening in UTC; in Tokyo the evening joins the next day, and six are too few."""
    for back in range(7, 1, -1):
        works(house, ANA_SCOPE, NOW_US - back * DAY, True)
    works(house, ANA_SCOPE, NOW_US - 8 * DAY + 9 * HOUR, True)
    assert (await api.get(ROUTE)).json["basis"] == "selfHistory"
    assert (await api.get(f"{ROUTE}?tz=Asia/Tokyo")).json["basis"] == "insufficient"
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="Asia/Tokyo"))
    assert (await api.get(ROUTE)).json["basis"] == "insufficient"
    assert (await api.get(f"{ROUTE}?tz=UTC")).json["basis"] == "selfHistory"
