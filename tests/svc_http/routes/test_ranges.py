"""The range reads: which instants a request means, what it echoes, and what it refuses."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from aggregates.times import iso, parse_instant
from tests.support.facts import HOUR, MINUTE
from tests.support.people import ANA, carry_out
from tests.svc_http.house import Caller, House, prompt

V3 = "/v1/score_v3"
ROUTES = [f"{V3}/files", f"{V3}/prompts/top", f"{V3}/task-time", f"{V3}/model-task"]
ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."


async def echoed(api: Caller, query: str, path: str = ROUTES[0]) -> tuple[str, str, str]:
    """The range that a request was understood to mean."""
    answer = await api.get(f"{path}?{query}")
    assert answer.status == 200, answer
    shown = answer.json["range"]
    assert set(shown) == {"fromUs", "toUs", "timezone"}
    return iso(shown["fromUs"]), iso(shown["toUs"]), shown["timezone"]


@pytest.mark.parametrize("path", ROUTES)
async def test_today_is_the_default(house: House, api: Caller, path: str) -> None:
    """From midnight to midnight in the profile's zone; UTC until one is set."""
    assert await echoed(api, "", path) == ("2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z", "UTC")
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="Pacific/Kiritimati"))
    expected = ("2026-08-01T10:00:00Z", "2026-08-02T10:00:00Z", "Pacific/Kiritimati")
    assert await echoed(api, "", path) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from_us=0&to_us=1000000", ("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "UTC")),
        ("from_us=%2B1&to_us=2", ("1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000002Z", "UTC")),
        (
            "from_us=0&to_us=1000000&timezone=Asia/Seoul",
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "Asia/Seoul"),
        ),
        ("timezone=Asia/Seoul", ("2026-07-31T15:00:00Z", "2026-08-01T15:00:00Z", "Asia/Seoul")),
        ("timezone=Etc/GMT%2B5", ("2026-08-01T05:00:00Z", "2026-08-02T05:00:00Z", "Etc/GMT+5")),
        ("timezone=Etc/GMT+5", ("2026-08-01T05:00:00Z", "2026-08-02T05:00:00Z", "Etc/GMT+5")),
        ("date=2026-07-01", ("2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z", "UTC")),
        ("date=2026-07-01&timezone=Europe/Berlin", ("2026-06-30T22:00:00Z", "2026-07-01T22:00:00Z", "Europe/Berlin")),
        ("from_date=2026-07-01&to_date=2026-07-01", ("2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z", "UTC")),
        ("from_date=2026-07-01&to_date=2026-07-31", ("2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z", "UTC")),
        ("from=yesterday&window=never&since=1", ("2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z", "UTC")),
    ],
)
async def test_a_range_is_exact_or_of_local_days(api: Caller, query: str, expected: tuple[str, str, str]) -> None:
    """Microseconds as they are; dates from local midnight, the last day included; other parameters are ignored."""
    assert await echoed(api, query) == expected


@pytest.mark.parametrize(
    ("zone", "day", "start", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", 23),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", 25),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", 23),
        ("America/New_York", "2026-11-01", "2026-11-01T04:00:00Z", 25),
        ("Australia/Sydney", "2026-10-04", "2026-10-03T14:00:00Z", 23),
        ("Australia/Sydney", "2026-04-05", "2026-04-04T13:00:00Z", 25),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z", 24.5),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", 23),  # midnight is skipped
        ("America/Havana", "2024-11-03", "2024-11-03T04:00:00Z", 25),  # midnight comes twice: from the first one
        ("Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00Z", 24),
    ],
)
async def test_days_are_as_long_as_the_zone_makes_them(
    api: Caller, zone: str, day: str, start: str, hours: float
) -> None:
    """On the days when clocks change, in spring and in autumn; both forms of naming a day agree."""
    end = iso(parse_instant(start) + round(hours * HOUR))
    assert await echoed(api, f"date={day}&timezone={zone}") == (start, end, zone)
    assert await echoed(api, f"from_date={day}&to_date={day}&timezone={zone}") == (start, end, zone)


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("from_us=1", "from_us and to_us go together"),
        ("to_us=1", "from_us and to_us go together"),
        ("from_us=5&to_us=5", "to_us must lie after from_us"),
        ("from_us=5&to_us=4", "to_us must lie after from_us"),
        ("from_us=-1&to_us=4", "between 1970 and 9998"),
        ("from_us=0&to_us=99999999999999999999", "between 1970 and 9998"),
        ("from_us=&to_us=4", "from_us must be an integer"),
        ("from_us=1.5&to_us=4", "from_us must be an integer"),
        ("from_us=1&to_us=2026-08-01", "to_us must be an integer"),
        ("from_us=%D9%A3&to_us=4", "from_us must be an integer"),
        ("from_us=0&to_us=" + "9" * 5000, "to_us must be an integer"),
        ("from_date=2026-07-01", "from_date and to_date go together"),
        ("to_date=2026-07-01", "from_date and to_date go together"),
        ("from_date=2026-07-02&to_date=2026-07-01", "to_date must lie after from_date"),
        ("from_date=2026-07-01&to_date=soon", "to_date must be a date"),
        ("date=", "date must be a date"),
        ("date=2026-02-30", "date must be a date"),
        ("date=20260701", "date must be a date"),
        ("date=2026-07-01T00:00:00Z", "date must be a date"),
        ("date=9999-12-31", "date must be a date"),
        ("from_us=1&to_us=2&date=2026-07-01", "send one of"),
        ("from_us=1&to_us=2&from_date=2026-07-01&to_date=2026-07-02", "send one of"),
        ("date=2026-07-01&from_date=2026-07-01&to_date=2026-07-02", "send one of"),
        ("from_us=1&to_date=2026-07-01", "send one of"),
        ("timezone=", "IANA"),
        ("timezone=Mars/Olympus", "IANA"),
        ("timezone=%2B02:00", "IANA"),
        ("timezone=../../etc/passwd", "IANA"),
        ("timezone=Europe", "IANA"),
        ("timezone=UTC%00", "IANA"),
        ("from_us=1&to_us=2&timezone=Nowhere", "IANA"),
        ("limit=x", "limit must be an integer"),
        ("offset=1.5", "offset must be an integer"),
    ],
)
async def test_what_cannot_be_meant_is_refused(api: Caller, path: str, query: str, word: str) -> None:
    """400 that names the parameter."""
    answer = await api.get(f"{path}?{query}")
    assert (answer.status, word in answer.message) == (400, True), answer


async def test_captures_as_they_come_in(house: House, intake: Caller, api: Caller) -> None:
    """A plugin alone, without telemetry: time from prompt to answer, its model, and no files."""
    sent = await intake.post("/v1/prompts", prompt(ASK, tool_session_id="s1"))
    house.clock_us += 2 * MINUTE
    answer = {"prompt_id": sent.json["id"], "response_operation_id": "op-1", "response_text": "Fixed; pytest passes."}
    usage = {"model": "claude-sonnet-4-5", "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}
    assert (await intake.post("/v1/prompts/response", answer | usage)).status == 204
    (task,) = (await api.get(f"{V3}/task-time")).json["items"]
    assert (task["activeSeconds"], task["endedAt"], task["crushed"]) == (120.0, None, None)
    (pair,) = (await api.get(f"{V3}/model-task")).json["items"]
    assert (pair["model"], pair["totalTokens"], pair["costUsd"]) == ("claude-sonnet-4-5", 15, 0.25)
    assert (pair["subSessions"], pair["completionRate"]) == (1, None)
    assert (await api.get(f"{V3}/files")).json["items"] == []
    assert (await api.get(f"{V3}/prompts/top")).json["items"] == []  # below the floor so far


async def test_a_task_is_called_what_a_person_called_it(house: House, intake: Caller, api: Caller) -> None:
    """From then on, and also while it is open."""
    await intake.post("/v1/prompts", prompt(ASK, tool_session_id="s1"))
    (task,) = (await api.get(f"{V3}/task-time")).json["items"]
    assert task["title"] in ASK
    path = f"{V3}/sub-sessions/{task['subSessionId']}"
    assert (await api.call("PATCH", path, {"title": "Empty\n input"})).status == 200
    (task,) = (await api.get(f"{V3}/task-time")).json["items"]
    assert task["title"] == "Empty input"
