"""Trends: every period is there, whether anything happened in it or not."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from tests.support.facts import DAY
from tests.support.people import ANA, BEN_KEY, carry_out
from tests.svc_http.house import Caller, House, bearer
from tests.svc_http.routes.test_reads import V3, a_days_work

TRIVIA = f"{V3}/trivia/trend"
TOKENS = f"{V3}/tokens/trend"


async def test_tokens_over_the_last_windows(house: House, api: Caller) -> None:
    """The last point is what the window itself shows; the others are empty."""
    a_days_work(house)
    for window in ("daily", "weekly", "monthly"):
        shown = (await api.get(f"{TOKENS}?window={window}")).json
        assert (set(shown), shown["window"], len(shown["points"])) == ({"window", "points"}, window, 12)
        *before, last = shown["points"]
        current = (await api.get(f"{V3}/tokens?window={window}")).json
        assert {name: last[name] for name in current if name in last} == {
            name: current[name] for name in current if name in last
        }
        assert all((each["crush_weight"], each["tet"], each["total_count"]) == (0, 1, 0) for each in before)
    assert last["period_start"] == "2026-01-01T00:00:00Z"


async def test_each_point_is_compared_with_the_window_before_it(house: House, api: Caller) -> None:
    """The first point, too, though the window before it is not shown."""
    a_days_work(house)
    house.clock_us += DAY
    points = (await api.get(f"{TOKENS}?window=daily&points=2")).json["points"]
    assert [point["crush_weight"] for point in points] == [1170.0, 0.0]
    assert [(point["tet"], point["tet_count"]) for point in points] == [(1.0, 0), (1.0, 0)]


@pytest.mark.parametrize(("asked", "shown"), [("1", 1), ("52", 52), ("53", 52), ("0", 1), ("-7", 1)])
async def test_how_many_points(api: Caller, asked: str, shown: int) -> None:
    assert len((await api.get(f"{TOKENS}?points={asked}")).json["points"]) == shown


async def test_trivia_over_days(house: House, api: Caller) -> None:
    """Every day of the range is a point, and every reason a count."""
    a_days_work(house)
    shown = (await api.get(f"{TRIVIA}?from=2026-01-04&to=2026-01-06")).json
    assert {name: shown[name] for name in ("from", "to", "period")} == {
        "from": "2026-01-04T00:00:00Z",
        "to": "2026-01-07T00:00:00Z",
        "period": "day",
    }
    assert [(point["period_start"], point["total"]) for point in shown["points"]] == [
        ("2026-01-04T00:00:00Z", 0),
        ("2026-01-05T00:00:00Z", 1),
        ("2026-01-06T00:00:00Z", 0),
    ]
    for point in shown["points"]:
        assert [each["reason"] for each in point["by_reason"]] == [
            "interrupted",
            "no_real_work",
            "too_few_lines",
            "no_mutating_calls",
            "too_few_turns",
        ]
        assert sum(each["count"] for each in point["by_reason"]) == point["total"]
    others = (await api.using(bearer(BEN_KEY)).get(f"{TRIVIA}?from=2026-01-04&to=2026-01-06")).json
    assert [point["total"] for point in others["points"]] == [0, 0, 0]


async def test_days_are_those_of_the_profiles_zone(house: House, api: Caller) -> None:
    """Eleven o'clock on Monday in Greenwich is one o'clock in Honolulu, and Tuesday in Kiritimati."""
    a_days_work(house)
    for zone, day in (("Pacific/Honolulu", "2026-01-05T10:00:00Z"), ("Pacific/Kiritimati", "2026-01-05T10:00:00Z")):
        carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone=zone))
        points = (await api.get(f"{TRIVIA}?from=2026-01-04&to=2026-01-06")).json["points"]
        assert {point["period_start"]: point["total"] for point in points}[day] == 1
