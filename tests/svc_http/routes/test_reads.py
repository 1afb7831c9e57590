"""The scoring reads: windows, paging, scope, trends, and a day in short."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from aggregates.times import iso
from tests.support.basics import ANA, ANA_SCOPE, BEN_KEY, carry_out
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, request, shell
from tests.svc_http.house import Caller, House, bearer, prompt

ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
V3 = "/v1/score_v3"
WINDOWED = [f"{V3}/score", f"{V3}/speed", f"{V3}/tokens", f"{V3}/skill", f"{V3}/insight/summary", f"{V3}/trivia"]
LISTS = [f"{V3}/insight/sessions", f"{V3}/trivia", f"{V3}/realtime/sub-sessions"]
COUNTS = {
    *("total_count", "crushed_count", "decided_count", "undecided_count", "decided_rate"),
    *("unclassified_count", "overridden_count"),
}


def a_days_work(house: House) -> None:
    """One goal reached on Monday at nine, one question at eleven; it is noon."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY, cwd_digest=7)
    log.records(
        "a",
        request(MONDAY + 10 * SECOND, cache_read_tokens=1000, cache_write_tokens=50),
        edit(MONDAY + 20 * SECOND, path="src/parser.py"),
        shell(MONDAY + MINUTE, "pytest -q"),
        {"kind": "session_end", "source": "exit", "at_us": MONDAY + 61 * SECOND},
    )
    log.prompt("b", "what does src/app.py do?", MONDAY + 2 * HOUR)
    house.has_seen(log)
    house.passes(MONDAY + 3 * HOUR)


async def test_a_goal_reached(house: House, api: Caller) -> None:
    """The figures of one day's work, seen through every window that holds it."""
    a_days_work(house)
    for window in ("daily", "weekly", "monthly"):
        score = (await api.get(f"{V3}/score?window={window}")).json
        assert (score["window"], score["svc_score"], score["letter_grade"]) == (window, 100.0, "N/A")
        assert (score["decided_rate"], score["interval"]["high"]) == (100.0, 100.0)
        assert (score["crushed_count"], score["total_count"]) == (1, 1)
        assert (score["sparkline"], score["sparkline_counts"]) == ([0.0, 0.0, 0.0, 100.0], [0, 0, 0, 1])
    speed = (await api.get(f"{V3}/speed")).json
    assert (speed["cspw"], speed["delta_cspw"], speed["ttc_median_seconds"]) == (1, 1, 60.0)
    tokens = (await api.get(f"{V3}/tokens")).json
    assert tokens["breakdown"] == {"input": 100, "output": 20, "cache_read": 1000, "cache_write": 50}
    assert (await api.get(f"{V3}/skill")).json["delta_apg"] is None
    assert len((await api.get(f"{V3}/insight/summary")).json["points"]) == 4


async def test_limits_and_offsets(house: House, intake: Caller) -> None:
    """50 by default, at most 500, at least 1, newest first, and pages do not overlap; whatever integer is asked for,
    some page is answered, and unknown parameters are ignored."""
    for number in range(60):
        await intake.post("/v1/prompts", prompt(f"Goal {number}.", tool_session_id=f"s{number}"))
        house.clock_us += SECOND
    path = f"{V3}/realtime/sub-sessions"
    sizes = {"": 50, "unknown=1": 50, "offset=-3": 50, "limit=-1": 1, "limit=%2B5": 5, "limit=501": 60}
    for query, size in (sizes | {"limit=100000000000000000000": 60}).items():
        assert len((await intake.get(f"{path}?{query}")).json) == size, query
    newest = (await intake.get(f"{path}?limit=2")).json
    assert [row["agent_session_id"] for row in newest] == ["s59", "s58"]
    next_page = (await intake.get(f"{path}?limit=2&offset=2")).json
    assert [row["agent_session_id"] for row in next_page] == ["s57", "s56"]


async def test_realtime_filters(house: House, intake: Caller, api: Caller) -> None:
    """What was just acknowledged shows on both listeners; by start and by session, under both of its names."""
    start_us = house.clock_us
    for session in ("s1", "s2"):
        await intake.post("/v1/prompts", prompt(f"Goal of {session}.", tool_session_id=session))
        house.clock_us += HOUR

    async def sessions(query: str = "") -> list[str]:
        return [row["agent_session_id"] for row in (await intake.get(f"{LISTS[2]}?{query}")).json]

    rows = (await api.get(LISTS[2])).json
    assert rows == (await intake.get(LISTS[2])).json
    assert [rows[0][name] for name in ("is_preview", "turns", "goal_complete", "crushed")] == [True, 1, None, None]
    assert await sessions("agent_session_id=s1") == ["s1"]
    assert await sessions("claude_session_id=s2") == ["s2"]
    assert await sessions("agent_session_id=none") == []
    for plus in ("%2B", "+"):  # it need not be escaped
        assert await sessions(f"from=2026-08-01T14:30:00{plus}02:00") == ["s2"]
    assert await sessions(f"from={iso(start_us + MINUTE)}") == ["s2"]
    assert (await sessions("from=2026-08-01"), await sessions("from=2026-08-02")) == (["s2", "s1"], [])


@pytest.mark.parametrize("path", [*WINDOWED, *LISTS])
async def test_views_that_are_not_ready(house: House, api: Caller, path: str) -> None:
    house.refuses = "the views are being built"
    answer = await api.get(path)
    assert (answer.status, answer.headers["Retry-After"], answer.message) == (503, "5", "the views are being built")


TRIVIA = f"{V3}/trivia/trend"
TOKENS = f"{V3}/tokens/trend"


async def test_tokens_over_the_last_windows(house: House, api: Caller) -> None:
    """The last point is what the window itself shows; each is compared with the one before, shown or not."""
    a_days_work(house)
    for window in ("daily", "weekly", "monthly"):
        shown = (await api.get(f"{TOKENS}?window={window}")).json
        assert (set(shown), shown["window"], len(shown["points"])) == ({"window", "points"}, window, 12)
        *before, last = shown["points"]
        current = (await api.get(f"{V3}/tokens?window={window}")).json
        assert {name: last[name] for name in last if name in current} == {n: current[n] for n in last if n in current}
        assert all((each["crush_weight"], each["tet"], each["total_count"]) == (0, 1, 0) for each in before)
    for asked, count in (("1", 1), ("52", 52), ("53", 52), ("0", 1), ("-7", 1)):
        assert len((await api.get(f"{TOKENS}?points={asked}")).json["points"]) == count
    house.clock_us += DAY
    points = (await api.get(f"{TOKENS}?window=daily&points=2")).json["points"]
    assert [(point["crush_weight"], point["tet"], point["tet_count"]) for point in points] == [(1170, 1, 0), (0, 1, 0)]


async def test_trivia_over_days(house: House, api: Caller) -> None:
    """Every day of the range is a point, and every reason a count."""
    a_days_work(house)
    shown = (await api.get(f"{TRIVIA}?from=2026-01-04&to=2026-01-06")).json
    days = [f"2026-01-0{day}T00:00:00Z" for day in range(4, 8)]
    assert (shown["from"], shown["to"], shown["period"]) == (days[0], days[-1], "day")
    totals = {point["period_start"]: point["total"] for point in shown["points"]}
    assert totals == dict(zip(days, (0, 1, 0), strict=False))
    reasons = ["interrupted", "no_real_work", "too_few_lines", "no_mutating_calls", "too_few_turns"]
    assert shown["points"][1]["by_reason"] == [{"reason": each, "count": int(each == reasons[-1])} for each in reasons]
    others = (await api.using(bearer(BEN_KEY)).get(f"{TRIVIA}?from=2026-01-04&to=2026-01-06")).json
    assert [point["total"] for point in others["points"]] == [0, 0, 0]


PATH = f"{V3}/today-summary"


async def test_a_day_without_anything(intake: Caller, api: Caller) -> None:
    """Zeros are exact; an average of nothing is null; both listeners tell the same."""
    shown = (await intake.get(PATH)).json
    assert (shown["date"], shown["timezone"], shown["apg"], shown["narrative"]) == ("2026-08-01", "UTC", None, None)
    zeros = ("svc_score", "prompts", "tokens", "cost_usd", "active_seconds", "throttle_hours", "trivia_count")
    assert {shown[name] for name in zeros} == {0}
    assert (await api.get(PATH)).json == shown


async def test_a_day_agrees_with_its_pages(house: House, api: Caller) -> None:
    """The same figures as those of the daily window and of the day's range; a question without telemetry had a cost."""
    a_days_work(house)
    shown = (await api.get(PATH)).json
    score = (await api.get(f"{V3}/score?window=daily")).json
    for name in ("svc_score", *COUNTS):
        assert shown[name] == score[name], name
    (trivia,) = (await api.get(f"{V3}/trivia?window=daily")).json
    assert (trivia["reason"], trivia["created_at"]) == ("too_few_turns", iso(MONDAY + 2 * HOUR))
    assert shown["apg"] == (await api.get(f"{V3}/insight/summary?window=daily")).json["apg_current"]
    assert shown["active_seconds"] == (await api.get(f"{V3}/task-time")).json["totalActiveSeconds"]
    assert (shown["prompts"], shown["sample_count"], shown["date"], shown["trivia_count"]) == (2, 1, "2026-01-05", 1)
    assert (shown["tokens"], shown["cost_usd"], shown["unreported_sub_sessions"]) == (None, None, 1)


async def test_what_a_day_lacks_and_lost(house: House, api: Caller) -> None:
    """The tokens are known, the cost is not; and the hours that throttling took."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    refused = {"kind": "error", "at_us": MONDAY + SECOND, "status_code": 429}
    log.records("a", refused, request(MONDAY + SECOND + 6 * MINUTE, cost_usd_nano=None), edit(MONDAY + 2 * SECOND))
    log.prompt("b", "/clear", MONDAY + HOUR)
    house.has_seen(log)
    house.passes(MONDAY + 2 * HOUR)
    shown = (await api.get(PATH)).json
    assert (shown["tokens"], shown["cost_usd"], shown["unpriced_requests"]) == (120, None, 1)
    assert (shown["unreported_sub_sessions"], shown["prompts"]) == (0, 2)
    assert shown["throttle_hours"] == pytest.approx(0.1)


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
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="Pacific/Honolulu"))
    house.clock_us -= 48 * HOUR
    for window in ("daily", "weekly"):  # nine on Monday in Greenwich is still Sunday in Honolulu
        assert (await api.get(f"{V3}/speed?window={window}")).json["sparkline"] == [0.0, 0.0, 1.0, 0.0]
