"""`/v1/score_v3/integrity`, its trend and its rows: one's own flags, and nobody else's."""

from aggregates.times import iso
from tests.support.facts import DAY, HOUR, MINUTE, SECOND, Log
from tests.support.people import ANA_SCOPE, NOW_US
from tests.svc_http.house import Caller, House

ROUTE = "/v1/score_v3/integrity"
KINDS = [
    "auto_retry_storm", "tiny_prompt_burst", "session_splitting", "pasted_inflation", "clock_skew", "foreign_session",
]  # fmt: skip
ASK = "Fix the crash in src/parser.py when the input is empty, please"


def retries(house: House, at_us: int) -> None:
    """Three prompts that are nearly the same, half a minute apart."""
    log = Log(ANA_SCOPE)
    log.now_us = at_us
    for number in range(3):
        log.prompt(f"storm-{at_us}", f"{ASK} {number}", at_us + number * 30 * SECOND)
    house.has_seen(log)


def tiny_prompts(house: House, at_us: int) -> None:
    log = Log(ANA_SCOPE)
    log.now_us = at_us
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
    assert [each["detected_at"][:10] for each in (await api.get(f"{ROUTE}/recent")).json] == [
        "2026-08-01",
        "2026-07-29",
    ]
    assert (
        (await api.get(f"{ROUTE}/recent?limit=1")).json
        == [row]
        == (await api.get(f"{ROUTE}/recent?from=2026-07-31")).json
    )


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
