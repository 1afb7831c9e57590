"""The range reads: which instants a request means, what it echoes, and what it refuses."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from aggregates.times import iso
from tests.support.people import ANA, carry_out
from tests.svc_http.house import Caller, House

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
        (
            "from_us=0&to_us=1000000&timezone=Asia/Seoul",
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "Asia/Seoul"),
        ),
        ("timezone=Asia/Seoul", ("2026-07-31T15:00:00Z", "2026-08-01T15:00:00Z", "Asia/Seoul")),
        ("timezone=Etc/GMT+5", ("2026-08-01T05:00:00Z", "2026-08-02T05:00:00Z", "Etc/GMT+5")),
        ("date=2026-07-01&timezone=Europe/Berlin", ("2026-06-30T22:00:00Z", "2026-07-01T22:00:00Z", "Europe/Berlin")),
        ("from_date=2026-07-01&to_date=2026-07-31", ("2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z", "UTC")),
        ("from=yesterday&window=never&since=1", ("2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z", "UTC")),
    ],
)
async def test_a_range_is_exact_or_of_local_days(api: Caller, query: str, expected: tuple[str, str, str]) -> None:
    """Microseconds as they are; dates from local midnight, the last day included; other parameters are ignored."""
    assert await echoed(api, query) == expected
