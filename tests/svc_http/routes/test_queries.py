"""What a query may ask: each wrong way is refused, by a 400 that names the parameter and what to send."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from aggregates.times import iso
from tests.support.basics import ANA, carry_out, named
from tests.svc_http.house import Caller, House

V1, V3 = "/v1", "/v1/score_v3"
TEAM = named("core")
COST, THROTTLE, ANALYTICS = f"{V1}/team/cost", f"{V1}/intelligence/throttle", f"{V1}/telemetry/analytics"
TREND, PEERS, FILES = f"{V3}/trivia/trend", f"{V3}/peer-comparison", f"{V3}/files"
WINDOWS, RANGE = "window must be one of daily, weekly, monthly", "send either window, or from and to"
DAY, PAIR, ZONE = "date must be a date", "from and to go together", "a time zone must be an IANA name"
RANGED = (f"{V3}/score", f"{V3}/speed", f"{V3}/tokens", f"{V3}/skill", f"{V3}/insight/summary")
OF_DAYS = (FILES, f"{V3}/prompts/top", f"{V3}/task-time", f"{V3}/model-task")
OF_RECORDS = tuple(f"{V1}/telemetry/{each}" for each in ("logs", "metrics", "traces", "stats"))

REFUSED: list[tuple[str, str, str]] = [
    # windows, and ranges in their place
    *((path, "window=yearly", WINDOWS) for path in (*RANGED, f"{V3}/trivia", f"{COST}?team_id={TEAM}")),
    *((RANGED[0], f"window={each}", WINDOWS) for each in ("", "Weekly", "week", "daily,weekly")),
    *((path, "from=2026-08-01", PAIR) for path in (*RANGED, TREND, PEERS, THROTTLE, ANALYTICS)),
    *((path, "window=range", RANGE) for path in RANGED),
    (RANGED[0], "window=weekly&from=2026-07-01&to=2026-08-01", RANGE),
    # periods
    (TREND, "period=hour", "period must be one of day, week, month"),
    (TREND, "from=2026-01-02&to=2026-01-01", "to must lie after from"),
    (TREND, "from=1970-01-01&to=2026-01-01", "the range has more than 1000 days"),
    (TREND, "from=1970-01-01&to=9998-01-01&period=month", "the range has more than 1000 months"),
    # times, days and zones
    (PEERS, "from=yesterday&to=2026-07-01", "from must be an ISO 8601 time or date"),
    (THROTTLE, "from=2026-01-05&to=noon", "to must be an ISO 8601 time"),
    (PEERS, "tz=Mars", f"tz: {ZONE}"),
    *((f"{COST}?team_id={TEAM}", f"tz={each}", f"tz: {ZONE}") for each in ("../../etc/passwd", "%2B02:00")),
    (f"{V3}/today-summary", "date=2026-02-30", DAY),
    (f"{V3}/today-summary", "timezone=", ZONE),
    *((path, "date=2026-07-01T00:00:00Z", DAY) for path in OF_DAYS),
    *((path, "from_us=1&to_us=2&timezone=Nowhere", ZONE) for path in OF_DAYS),
    *((FILES, f"timezone={each}", ZONE) for each in ("%2B02:00", "Europe", "UTC%00")),
    # ranges of days
    (FILES, "to_us=1", "from_us and to_us go together"),
    (FILES, "from_us=5&to_us=5", "to_us must lie after from_us"),
    (FILES, "from_us=0&to_us=99999999999999999999", "must lie between 1970 and 9998"),
    *((FILES, f"from_us={each}&to_us=4", "from_us must be an integer") for each in ("", "1.5", "%D9%A3", "9" * 5000)),
    (FILES, "from_date=2026-07-01&to_date=soon", "to_date must be a date"),
    (FILES, "from_date=2026-07-02&to_date=2026-07-01", "to_date must lie after from_date"),
    (FILES, "from_us=1&to_us=2&date=2026-07-01", "send one of"),
    (FILES, "date=2026-07-01&from_date=2026-07-01&to_date=2026-07-02", "send one of"),
    (ANALYTICS, "from=2026-01-05&to=2026-01-05&date=2026-01-05", "send one of"),
    (ANALYTICS, "from=2026-01-05&to=2026-01-05&from_us=1&to_us=2", "send one of"),
    # each end by itself
    *((path, "from=noon", "from must be") for path in OF_RECORDS),
    *((path, "from=2026-01-06&to=2026-01-05", "to must lie after from") for path in OF_RECORDS),
    (OF_RECORDS[0], "to=1999-01-01", "to must lie after from"),
    # teams, zones by minutes, pages
    *((path, "", "team_id is missing") for path in (COST, f"{THROTTLE}/team", f"{V1}/team/daily-summary")),
    *((path, "team_id=core", "team_id must be a UUID, not 'core'") for path in (COST, f"{THROTTLE}/team")),
    (COST, "team_id=", "team_id must be a UUID"),
    (THROTTLE, "tz_offset=1.5", "tz_offset must be an integer"),
    (THROTTLE, "tz_offset=841", "tz_offset must be minutes east of UTC, from -720 to 840"),
    (f"{THROTTLE}/team?team_id={TEAM}", "tz_offset=-721", "tz_offset must be minutes east of UTC"),
    (FILES, "limit=x", "limit must be an integer"),
    (FILES, "offset=1.5", "offset must be an integer"),
    (f"{V1}/insights/report", "from=x&to=y", "from must be an ISO 8601 time"),
    (f"{V1}/insights/report", "from=2020-01-01&to=2026-01-01", "the range is longer than 366 days"),
]


async def test_what_cannot_be_meant_is_refused(api: Caller) -> None:
    for path, query, said in REFUSED:
        answer = await api.get(f"{path}{'&' if '?' in path else '?'}{query}")
        assert (answer.status, said in answer.message) == (400, True), (path, query, answer)


# --- which instants a range means ----------------------------------------------------------------------------------


async def echoed(api: Caller, query: str, path: str = FILES) -> tuple[str, str, str]:
    """The range that a request was understood to mean."""
    answer = await api.get(f"{path}?{query}")
    assert answer.status == 200, answer
    shown = answer.json["range"]
    assert set(shown) == {"fromUs", "toUs", "timezone"}
    return iso(shown["fromUs"]), iso(shown["toUs"]), shown["timezone"]


@pytest.mark.parametrize("path", OF_DAYS)
async def test_today_is_the_default(house: House, api: Caller, path: str) -> None:
    """From midnight to midnight in the profile's zone; UTC until one is set."""
    assert await echoed(api, "", path) == ("2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z", "UTC")
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="Pacific/Kiritimati"))
    expected = ("2026-08-01T10:00:00Z", "2026-08-02T10:00:00Z", "Pacific/Kiritimati")
    assert await echoed(api, "", path) == expected
