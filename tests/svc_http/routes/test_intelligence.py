"""What held requests up, what models were used for, and what was flagged: ranges, scope, shapes."""

import pytest

from aggregates.times import iso
from projections.scores import throttle
from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, request
from tests.support.tables import beside
from tests.svc_http.browsing import CORE, core
from tests.svc_http.house import Caller, House

THROTTLE = "/v1/intelligence/throttle"
OF_TEAM = f"{THROTTLE}/team?team_id={CORE}"
RIGHTSIZING = "/v1/intelligence/rightsizing"


@pytest.fixture
def monday(house: House) -> House:
    """A request of Ana's met a rate limit on Monday at nine, and was answered a minute later; it is noon."""
    error = {"kind": "error", "at_us": MONDAY, "status_code": 429, "model": "opus"}
    house.has_seen(Log(ANA_SCOPE).claim("a").records("a", error, request(MONDAY + MINUTE)), MONDAY + 3 * HOUR)
    return house


@beside("query", "events")
async def test_the_range_of_throttling(monday: House, api: Caller, query: str, events: int) -> None:
    """Half-open; a bare date is a day of the zone that the offset names."""
    assert len((await api.get(f"{THROTTLE}?{query}")).json["events"]) == events


@pytest.mark.parametrize(
    ("path", "name", "age_us"), [(THROTTLE, "events", 28 * DAY), (RIGHTSIZING, "modelUsage", MINUTE + 90 * DAY)]
)
async def test_default_ranges(monday: House, api: Caller, path: str, name: str, age_us: int) -> None:
    """The last 28 days of throttling, the last 90 of models."""
    monday.clock_us = MONDAY + age_us
    assert len((await api.get(path)).json[name]) == 1
    monday.clock_us += 1
    assert (await api.get(path)).json[name] == []
    if path == RIGHTSIZING:  # each end has a default of its own
        monday.clock_us = MONDAY + 3 * HOUR
        for query, count in (("from=2026-01-05T09:02:00Z", 0), ("to=2026-01-05", 1), ("to=2026-01-04", 0)):
            assert len((await api.get(f"{path}?{query}")).json[name]) == count, query


async def test_a_personal_read_is_whole_or_refused(monday: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 that says what to do; waiting would not help. A team's read says that it is partial."""
    core(monday, ANA_SCOPE, at_us=MONDAY)
    monkeypatch.setattr(throttle, "PERSONAL_REQUESTS_MAX", 1)
    monkeypatch.setattr(throttle, "TEAM_REQUESTS_MAX", 1)
    answer = await api.get(THROTTLE)
    assert (answer.status, "Retry-After" in answer.headers) == (503, False)
    assert "ask for a shorter range" in answer.message
    assert (await api.get(OF_TEAM)).json["isPartial"] is True


# --- integrity: one's own flags, and nobody else's -----------------------------------------------------------------


ROUTE = "/v1/score_v3/integrity"
KINDS = [
    "auto_retry_storm", "tiny_prompt_burst", "session_splitting", "pasted_inflation", "clock_skew", "foreign_session",
]  # fmt: skip
ASK = "Fix the crash in src/parser.py when the input is empty, please"


def retries(house: House, at_us: int) -> None:
    """Three prompts that are nearly the same, half a minute apart."""
    log = Log(ANA_SCOPE, at_us)
    for number in range(3):
        log.prompt(f"storm-{at_us}", f"{ASK} {number}", at_us + number * 30 * SECOND)
    house.has_seen(log)


def tiny_prompts(house: House, at_us: int) -> None:
    log = Log(ANA_SCOPE, at_us)
    for number, text in enumerate(("go", "on", "yes", "well", "next")):
        log.prompt(f"tiny-{at_us}", text, at_us + number * 30 * SECOND)
    house.has_seen(log)


async def test_flags_of_a_window(house: House, api: Caller) -> None:
    """By kind; today is the first day of the month, and a Saturday."""
    retries(house, NOW_US - HOUR)
    retries(house, NOW_US - 2 * DAY)
    tiny_prompts(house, NOW_US - DAY)
    retries(house, NOW_US - 7 * DAY)
    week, day = {"auto_retry_storm": 2, "tiny_prompt_burst": 1}, {"auto_retry_storm": 1}
    for query, expected in (("", week), ("?window=weekly", week), ("?window=daily", day), ("?window=monthly", day)):
        found = (await api.get(ROUTE + query)).json
        assert found == {"by_kind": [{"kind": kind, "count": count} for kind, count in expected.items()]}


async def test_a_row(house: House, api: Caller) -> None:
    """The storm fired at its third prompt, in the sub-session that holds it."""
    retries(house, NOW_US - HOUR)
    (row,) = (await api.get(f"{ROUTE}/recent")).json
    (shown,) = (await api.get("/v1/score_v3/realtime/sub-sessions")).json
    assert row["score_v3_sub_session_id"] == shown["score_v3_sub_session_id"]
    assert row["agent_session_id"] == f"storm-{NOW_US - HOUR}"
    assert (row["kind"], row["count"], row["window_seconds"]) == ("auto_retry_storm", 3, 60)
    assert row["detected_at"] == iso(NOW_US - HOUR + MINUTE)
    assert row["details"] == {"first_at": iso(NOW_US - HOUR), "last_at": iso(NOW_US - HOUR + MINUTE)}
    retries(house, NOW_US - 3 * DAY)
    retries(house, NOW_US - 30 * DAY)  # older than four weeks
    days = [each["detected_at"][:10] for each in (await api.get(f"{ROUTE}/recent")).json]
    assert days == ["2026-08-01", "2026-07-29"]
    for query in ("limit=1", "from=2026-07-31"):
        assert (await api.get(f"{ROUTE}/recent?{query}")).json == [row]


async def test_a_trend_has_every_period(house: House, api: Caller) -> None:
    """Empty ones too, with every kind at 0; the last is cut by nothing."""
    retries(house, NOW_US - HOUR)
    tiny_prompts(house, NOW_US - 2 * DAY)
    found = (await api.get(f"{ROUTE}/trend?from=2026-07-30&to=2026-08-01")).json
    assert (found["from"], found["to"], found["period"]) == ("2026-07-30T00:00:00Z", "2026-08-02T00:00:00Z", "day")
    starts = [point["period_start"] for point in found["points"]]
    assert starts == [f"2026-{day}T00:00:00Z" for day in ("07-30", "07-31", "08-01")]
    assert [point["total"] for point in found["points"]] == [1, 0, 1]
    assert [[each["kind"] for each in point["by_kind"]] for point in found["points"]] == [KINDS] * 3
    assert [[each["count"] for each in point["by_kind"]] for point in found["points"]] == [
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
    ]
