"""`/v1/score_v3/peer-comparison`: one's completion rate beside the cohort's, or beside one's own days."""

from aggregates.event import Scope
from aggregates.people.acts import ChangeDeveloper
from tests.support.basics import ANA, ANA_SCOPE, NOW_US
from tests.support.facts import DAY, HOUR, SECOND, Log
from tests.svc_http.browsing import carried_out, core, enters
from tests.svc_http.house import Caller, House

ROUTE = "/v1/score_v3/peer-comparison"
ASK = "Fix the crash in src/{0}.py when the input is empty: return an empty list. Run pytest before you stop."


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
    rates = {"b": [False], "c": [True, False], "d": [True], "e": [False, True]}
    _, *peers = core(house, ANA_SCOPE, *(enters(house, name) for name in rates), at_us=NOW_US)
    for peer, reached in zip(peers, rates.values(), strict=True):
        works(house, peer, NOW_US - DAY, *reached)
    found = (await api.get(ROUTE)).json
    interval = found.pop("interval")
    assert interval["low"] <= 75.0 <= interval["high"]
    assert found == {
        "leftOut": 0,
        "requiredDays": 7,
        "metric": "completionRate",
        "unit": "percent",
        "definition": "crushed_substantive_sessions / substantive_sessions",
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
    carried_out(house, ChangeDeveloper(developer_id=ANA, timezone="Asia/Tokyo"))
    assert (await api.get(ROUTE)).json["basis"] == "insufficient"
    assert (await api.get(f"{ROUTE}?tz=UTC")).json["basis"] == "selfHistory"
