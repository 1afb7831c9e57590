"""`/v1/team/cost`: members only, exact where everything was read, and open about what was not."""

from typing import Any

import pytest

from aggregates.event import Refused, Scope
from aggregates.people.acts import AddTeamMember, CreateTeam, EndTeam
from tests.support.facts import DAY, HOUR, MINUTE, Log, request
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_SCOPE, BEN, NOW_US, OTHER, carry_out
from tests.svc_http.house import Caller, House

TEAM, EVES_TEAM = named("core"), named("eves")
BEN_SCOPE = Scope(ACME, BEN)
MIDNIGHT = NOW_US - 12 * HOUR  # it is Saturday noon
COST = f"/v1/team/cost?team_id={TEAM}"
CENT = 10_000_000


@pytest.fixture(autouse=True)
def _teams(house: House) -> None:
    """Ana and Ben are in Core since a month ago; Eve has a team in another organization."""
    since_us = NOW_US - 30 * DAY
    for command in (
        CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"),
        CreateTeam(team_id=EVES_TEAM, organization_id=OTHER, name="Eve's"),
        AddTeamMember(team_membership_id=named("ana in core"), team_id=TEAM, developer_id=ANA),
        AddTeamMember(team_membership_id=named("ben in core"), team_id=TEAM, developer_id=BEN),
    ):
        assert not isinstance(carry_out(house.directory, command, since_us), Refused)


def spends(house: House, scope: Scope, at_us: int, **fields: Any) -> None:
    """A prompt, answered by one request for a cent."""
    log = Log(scope)
    log.now_us = at_us
    session = f"{scope.developer_id}-{at_us}"
    log.prompt(session, "Fix src/parser.py and run pytest", at_us)
    log.records(session, request(at_us + MINUTE, **fields))
    house.has_seen(log)


async def test_what_a_team_spent(house: House, api: Caller) -> None:
    """The exact shape; the dearest member first; of a team that has ended nobody is a member any more."""
    spends(house, ANA_SCOPE, NOW_US - DAY)
    spends(house, BEN_SCOPE, NOW_US - 2 * DAY, cost_usd_nano=3 * CENT)
    spends(house, ANA_SCOPE, NOW_US - 7 * DAY, cost_usd_nano=8 * CENT)
    tokens = {"inputTokens": 200, "outputTokens": 40, "cacheReadTokens": 0, "cacheCreationTokens": 0}
    counted = {"requestCount": 2, "unmeasuredRequests": 0, "isEstimate": True}
    one = {"totalTokens": 120, "requestCount": 1}
    read = {"reason": "complete", "readBatches": 0, "droppedFiles": 0, "unreadableFiles": 0}
    assert (await api.get(COST)).json == {
        "isPartial": False,
        "prevIsPartial": False,
        "readCoverage": read,
        "prevReadCoverage": read,
        "costRankingAvailable": True,
        "rollup": {"costUsd": 0.04, "lowerBoundCostUsd": None, **tokens, **counted},
        "members": [
            {"developerId": str(BEN), "displayName": "Ben", "costUsd": 0.03, **one, "share": 0.75},
            {"developerId": str(ANA), "displayName": "Ana", "costUsd": 0.01, **one, "share": 0.25},
        ],
        "pricingCoverage": {"pricedRequests": 2, "unpricedRequests": 0, "lowerBoundRequests": 0, "ratio": 1.0},
        "prevCostUsd": 0.08,
    }
    carry_out(house.directory, EndTeam(team_id=TEAM), NOW_US)
    assert (await api.get(COST)).status == 404


@pytest.mark.parametrize(
    ("query", "spent", "before"),
    [
        ("", 0.03, 0.04),
        ("&window=monthly", 0.01, 0.06),
        ("&window=daily&tz=%20", 0.01, 0.02),
        ("&window=daily&tz=Asia/Tokyo", 0.03, 0.0),
    ],
)
async def test_windows_and_zones(house: House, api: Caller, query: str, spent: float, before: float) -> None:
    """The week by default, in UTC by default; in Tokyo, Friday evening is Saturday."""
    spends(house, ANA_SCOPE, MIDNIGHT + HOUR)
    spends(house, ANA_SCOPE, MIDNIGHT - HOUR, cost_usd_nano=2 * CENT)
    spends(house, ANA_SCOPE, MIDNIGHT - 7 * DAY, cost_usd_nano=4 * CENT)
    found = (await api.get(COST + query)).json
    assert (found["rollup"]["costUsd"], found["prevCostUsd"]) == (spent, before)
