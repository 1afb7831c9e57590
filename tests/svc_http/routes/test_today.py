"""The summary of a day: it agrees with the pages it sums up, and says what it does not know."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND, Log, edit, request
from tests.support.people import ANA, ANA_SCOPE, carry_out
from tests.svc_http.house import Caller, House
from tests.svc_http.routes.test_reads import ASK, COUNTS, V3, a_days_work

PATH = f"{V3}/today-summary"


async def test_a_day_without_anything(intake: Caller, api: Caller) -> None:
    """Zeros are exact; an average of nothing is null; both listeners tell the same."""
    shown = (await intake.get(PATH)).json
    assert (shown["date"], shown["timezone"], shown["apg"], shown["narrative"]) == ("2026-08-01", "UTC", None, None)
    zeros = ("svc_score", "prompts", "tokens", "cost_usd", "active_seconds", "throttle_hours", "trivia_count")
    assert {shown[name] for name in zeros} == {0}
    assert (await api.get(PATH)).json == shown


async def test_a_day_agrees_with_its_pages(house: House, api: Caller) -> None:
    """The same figures as those of the daily window and of the day's range."""
    a_days_work(house)
    shown = (await api.get(PATH)).json
    score = (await api.get(f"{V3}/score?window=daily")).json
    for name in ("svc_score", *COUNTS):
        assert shown[name] == score[name], name
    assert shown["apg"] == (await api.get(f"{V3}/insight/summary?window=daily")).json["apg_current"]
    assert shown["trivia_count"] == len((await api.get(f"{V3}/trivia?window=daily")).json) == 1
    assert shown["active_seconds"] == (await api.get(f"{V3}/task-time")).json["totalActiveSeconds"]
    assert (shown["prompts"], shown["sample_count"], shown["date"]) == (2, 1, "2026-01-05")


async def test_what_nobody_reported(house: House, api: Caller) -> None:
    """A question without telemetry cost something: the day's sums are unknown, and how much of them is."""
    a_days_work(house)
    shown = (await api.get(PATH)).json
    assert (shown["tokens"], shown["cost_usd"], shown["unreported_sub_sessions"]) == (None, None, 1)


async def test_what_has_no_price(house: House, api: Caller) -> None:
    """The tokens are known, the cost is not."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    log.records("a", request(MONDAY + SECOND, cost_usd_nano=None), edit(MONDAY + 2 * SECOND))
    log.prompt("b", "/clear", MONDAY + HOUR)
    house.has_seen(log)
    house.passes(MONDAY + 2 * HOUR)
    shown = (await api.get(PATH)).json
    assert (shown["tokens"], shown["cost_usd"], shown["unpriced_requests"]) == (120, None, 1)
    assert (shown["unreported_sub_sessions"], shown["prompts"]) == (0, 2)


async def test_what_throttling_cost(house: House, api: Caller) -> None:
    """The hours of the day's events."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    log.records(
        "a",
        {"kind": "error", "at_us": MONDAY + SECOND, "status_code": 429},
        request(MONDAY + SECOND + 6 * MINUTE),
    )
    house.has_seen(log)
    house.passes(MONDAY + HOUR)
    assert (await api.get(PATH)).json["throttle_hours"] == pytest.approx(0.1)


async def test_days_and_zones(house: House, api: Caller) -> None:
    """A day of the zone asked for, else of the profile's; another day than today where one is asked for."""
    a_days_work(house)
    house.clock_us += 48 * HOUR

    async def told(query: str) -> tuple[str, str, int]:
        shown = (await api.get(f"{PATH}?{query}")).json
        return shown["date"], shown["timezone"], shown["prompts"]

    assert await told("") == ("2026-01-07", "UTC", 0)
    assert await told("date=2026-01-05") == ("2026-01-05", "UTC", 2)
    assert await told("date=2026-01-05&timezone=Pacific/Honolulu") == ("2026-01-05", "Pacific/Honolulu", 1)
    assert await told("date=2026-01-04&timezone=Pacific/Honolulu") == ("2026-01-04", "Pacific/Honolulu", 1)
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="Pacific/Kiritimati"))
    assert await told("") == ("2026-01-08", "Pacific/Kiritimati", 0)
