"""The scoring reads: exact shapes, windows, paging, scope."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from aggregates.times import iso
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, request, shell
from tests.support.people import ANA, ANA_SCOPE, carry_out
from tests.svc_http.house import Caller, House, prompt

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
    skill = (await api.get(f"{V3}/skill")).json
    assert skill["delta_apg"] is None
    summary = (await api.get(f"{V3}/insight/summary")).json
    assert len(summary["points"]) == 4


async def test_windows_follow_the_profiles_zone(house: House, api: Caller) -> None:
    """Nine o'clock on Monday in Greenwich is still Sunday in Honolulu: another day, another week."""
    a_days_work(house)
    for window in ("daily", "weekly"):
        carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="UTC"))
        assert (await api.get(f"{V3}/speed?window={window}")).json["sparkline"] == [0.0, 0.0, 0.0, 1.0]
        carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone="Pacific/Honolulu"))
        assert (await api.get(f"{V3}/speed?window={window}")).json["sparkline"] == [0.0, 0.0, 1.0, 0.0]


async def test_limits_and_offsets(house: House, intake: Caller) -> None:
    """50 by default, at most 500, at least 1, newest first, and pages do not overlap."""
    for number in range(60):
        await intake.post("/v1/prompts", prompt(f"Goal {number}.", tool_session_id=f"s{number}"))
        house.clock_us += SECOND
    path = f"{V3}/realtime/sub-sessions"
    sizes = {query: len((await intake.get(f"{path}?{query}")).json) for query in ("", "limit=-1", "limit=501")}
    assert sizes == {"": 50, "limit=-1": 1, "limit=501": 60}
    newest = (await intake.get(f"{path}?limit=2")).json
    assert [row["agent_session_id"] for row in newest] == ["s59", "s58"]
    next_page = (await intake.get(f"{path}?limit=2&offset=2")).json
    assert [row["agent_session_id"] for row in next_page] == ["s57", "s56"]


async def test_a_capture_shows_at_once(intake: Caller, api: Caller) -> None:
    """The realtime snapshot, on both listeners, holds what was just acknowledged."""
    await intake.post("/v1/prompts", prompt(tool_session_id="s1"))
    (row,) = (await intake.get(f"{V3}/realtime/sub-sessions")).json
    assert (row["agent_session_id"], row["is_preview"], row["turns"]) == ("s1", True, 1)
    assert (row["goal_complete"], row["crushed"], row["ended_at"]) == (None, None, None)
    assert (await api.get(f"{V3}/realtime/sub-sessions")).json == [row]


async def test_realtime_filters(house: House, intake: Caller) -> None:
    """By start and by agent session, under both of its names; a plus need not be escaped."""
    start_us = house.clock_us
    for session in ("s1", "s2"):
        await intake.post("/v1/prompts", prompt(f"Goal of {session}.", tool_session_id=session))
        house.clock_us += HOUR
    path = f"{V3}/realtime/sub-sessions"

    async def sessions(query: str) -> list[str]:
        return [row["agent_session_id"] for row in (await intake.get(f"{path}?{query}")).json]

    assert await sessions("agent_session_id=s1") == ["s1"]
    assert await sessions("claude_session_id=s2") == ["s2"]
    assert await sessions("agent_session_id=none") == []
    assert await sessions(f"from={iso(start_us + MINUTE)}") == ["s2"]
    assert await sessions("from=2026-08-01T14:30:00%2B02:00") == ["s2"]
    assert await sessions("from=2026-08-01T14:30:00+02:00") == ["s2"]
    assert await sessions("from=2026-08-01") == ["s2", "s1"]
    assert await sessions("from=2026-08-02") == []


async def test_rubric_items(house: House, api: Caller) -> None:
    """One for each settled sub-session above the floor; booleans that do not apply are null."""
    a_days_work(house)
    (item,) = (await api.get(f"{V3}/insight/sessions")).json
    for name in item["applicability"]:
        assert (item[name] is not None) == (item["applicability"][name] == "applies")
    assert (item["judge_status"], item["title_source"]) == ("ok", "rubric")


async def test_trivia(house: House, api: Caller) -> None:
    """What fell below the floor in the window, and why."""
    a_days_work(house)
    (item,) = (await api.get(f"{V3}/trivia")).json
    assert (item["reason"], item["created_at"]) == ("too_few_turns", iso(MONDAY + 2 * HOUR))
    house.clock_us += 7 * DAY
    assert (await api.get(f"{V3}/trivia")).json == []


@pytest.mark.parametrize("path", [*WINDOWED, *LISTS])
async def test_views_that_are_not_ready(house: House, api: Caller, path: str) -> None:
    house.refuses = "the views are being built"
    answer = await api.get(path)
    assert (answer.status, answer.headers["Retry-After"], answer.message) == (503, "5", "the views are being built")
