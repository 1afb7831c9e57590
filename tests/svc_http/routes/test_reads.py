"""The scoring reads: windows, paging, scope, trends, a day in short; and one sub-session by itself with its prompts."""

import pytest

from aggregates.people.acts import ChangeDeveloper
from aggregates.times import iso
from projections.sub_sessions import detail as prompt_rows
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
    house.has_seen(log, MONDAY + 3 * HOUR)


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


async def test_requests_whose_tokens_nobody_told_are_counted(house: House, api: Caller) -> None:
    """Sums are of the others; of one goal they are null."""
    log, untold = Log(ANA_SCOPE), dict.fromkeys(("input_tokens", "output_tokens"))
    log.prompt("a", ASK, MONDAY)
    asked = request(MONDAY + SECOND, **untold), request(MONDAY + 2 * SECOND)
    log.records("a", *asked, edit(MONDAY + 3 * SECOND), shell(MONDAY + MINUTE, "pytest -q"))
    house.has_seen(log, MONDAY + 3 * HOUR)
    week, score, (row,) = [(await api.get(path)).json for path in (f"{V3}/tokens", f"{V3}/score", LISTS[2])]
    point = (await api.get(f"{TOKENS}?points=1")).json["points"][0]
    assert [each["unmeasured_requests"] for each in (week, point, score, row)] == [1] * 4
    assert (week["breakdown"]["input"], week["tpt"], row["total_tokens"]) == (100, 120, None)


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
    house.has_seen(log, MONDAY + 2 * HOUR)
    shown = (await api.get(PATH)).json
    assert (shown["tokens"], shown["cost_usd"], shown["unpriced_requests"]) == (120, None, 1)
    assert (shown["unreported_sub_sessions"], shown["prompts"]) == (0, 1), "a clear is nobody's prompt"
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


async def newest(api: Caller) -> str:
    """The id of the sub-session that started last."""
    row = (await api.get(f"{V3}/realtime/sub-sessions?limit=1")).json[0]
    name = row["score_v3_sub_session_id"]
    assert isinstance(name, str)
    return name


async def test_a_sub_session_in_lists_and_in_full(house: House, api: Caller) -> None:
    """A row for each that the completion rate of a window counts; the row again, and what it consists of."""
    a_days_work(house)
    (row,) = (await api.get(f"{V3}/speed/sessions")).json
    assert (row["agent_session_id"], row["turns"], row["duration_seconds"]) == ("a", 1, 60.0)
    assert (row["goal_complete"], row["rework"], row["rework_of"], row["crushed"]) == (True, False, None, True)
    assert (row["total_tokens"], row["cost_usd"], row["unpriced_requests"]) == (1170, 0.01, 0)
    assert 0 <= row["outcome_confidence"] <= 1
    shown = (await api.get(f"{V3}/sub-sessions/{row['score_v3_sub_session_id']}")).json
    assert {name: shown[name] for name in row} == row
    assert shown["floor"] == {"passed": True, "turns": 1, "lines": 13, "mutating_calls": 1, "reason": None}
    assert shown["files"] == [{"path": "src/parser.py", "edits": 1, "lines_added": 12, "lines_removed": 1}]
    work = {"model": "claude-sonnet-4-5", "requests": 1, "total_tokens": 1170, "cost_usd": 0.01}
    work |= {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 1000, "cache_write_tokens": 50}
    nothing = {name: 0 for name in shown["models"][0] if name.endswith("_requests")}
    assert shown["models"] == [work | nothing]
    assert (shown["agent_session_ids"], shown["title_source"], shown["is_preview"]) == (["a"], "rubric", False)
    (item,) = (await api.get(f"{V3}/insight/sessions")).json
    graded = f"{V3}/insight/rubric?from="
    spans = ("2026-01-05&to=2026-01-05", f"{iso(MONDAY)}&to={iso(MONDAY + 1)}", f"2026-01-01&to={iso(MONDAY)}")
    assert [(await api.get(graded + span)).json for span in spans] == [[item], [item], []]
    house.clock_us += 7 * 24 * HOUR
    assert (await api.get(f"{V3}/speed/sessions")).json == []


# --- prompts --------------------------------------------------------------------------------------------------


async def test_the_prompts_of_a_sub_session(house: House, intake: Caller, api: Caller) -> None:
    """In time order, with their answers, figures and own rubrics; by the id that the capture was answered with."""
    sent = await intake.post("/v1/prompts", prompt(ASK, tool_session_id="s1"))
    house.clock_us += MINUTE
    usage = {"model": "claude-sonnet-4-5", "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25, "elapsed_ms": 700}
    answer = {"prompt_id": sent.json["id"], "response_operation_id": "op-1", "response_text": "Fixed; pytest passes."}
    assert (await intake.post("/v1/prompts/response", answer | usage)).status == 204
    await intake.post("/v1/prompts", prompt("ok", tool_session_id="s1"))
    name = await newest(api)
    first, second = (await api.get(f"{V3}/sub-sessions/{name}/prompts")).json
    assert (first["prompt_id"], first["score_v3_sub_session_id"]) == (sent.json["id"], name)
    assert (first["prompt_text"], first["response_text"]) == (ASK, "Fixed; pytest passes.")
    figures = ("elapsed_ms", "tokens", "model", "cost_usd")
    assert [first[name] for name in figures] == [700, 15, "claude-sonnet-4-5", 0.25]
    assert (first["judge_status"], first["rubric"]["judge"]) == ("ok", "embedded/2")
    assert first["standing_score"] == first["rubric"]["score"]
    assert (second["prompt_text"], second["judge_status"], second["rubric"]) == ("ok", "skipped", None)
    assert (second["standing_score"], second["tokens"], second["model"], second["cost_usd"]) == (None,) * 4
    assert second["submitted_at"] == iso(house.clock_us)


async def test_pages_of_prompts(house: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """With limit and offset; both paths are one route; a page of very long texts ends after the one that fills it."""
    log = Log(ANA_SCOPE).claim("a")
    texts = [f"Also rename the function parse_{word} in src/parser.py." for word in ("one", "two", "three")]
    for number, text in enumerate(texts):
        at_us = MONDAY + number * MINUTE
        told = {"kind": "response", "at_us": at_us + 2 * SECOND, "text": "Fixed."}
        log.records("a", {"kind": "prompt", "at_us": at_us, "text": text}, request(at_us + SECOND), told)
    house.has_seen(log)
    name = await newest(api)

    async def page(query: str = "", path: str = "sub-sessions") -> list[tuple[object, ...]]:
        rows = (await api.get(f"{V3}/{path}/{name}/prompts?{query}")).json
        return [(row["prompt_text"], row["response_text"], row["tokens"], row["cost_usd"]) for row in rows]

    whole = [(text, "Fixed.", 120, 0.01) for text in texts]
    assert (await page(), await page(path="sessions")) == (whole, whole)
    assert (await page("limit=1&offset=1"), await page("offset=3")) == (whole[1:2], [])
    monkeypatch.setattr(prompt_rows, "PAGE_CHARS_MAX", 70)
    assert [len(await page(f"offset={offset}")) for offset in (0, 2, 3)] == [2, 1, 0]


# --- ids ------------------------------------------------------------------------------------------------------


async def test_a_former_id_leads_to_the_sub_session_that_holds_its_turn(house: House, api: Caller) -> None:
    """A capture that came late opens the sub-session instead; answers carry the present id."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY + MINUTE)
    house.has_seen(log)
    former = await newest(api)
    late = Log(ANA_SCOPE)
    late.prompt("a", "Look at src/parser.py first.", MONDAY)
    house.has_seen(late)
    present = await newest(api)
    assert present != former
    for path in ("", "/prompts", "/turns", "/explain"):
        shown = await api.get(f"{V3}/sub-sessions/{former}{path}")
        assert shown.status == 200
        found = shown.json[0] if path == "/prompts" else shown.json
        assert found["score_v3_sub_session_id"] == present


# --- which instants a range means ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["files", "prompts/top", "task-time", "model-task"])
async def test_today_is_the_default(house: House, api: Caller, path: str) -> None:
    """From midnight to midnight in the profile's zone; UTC until one is set."""
    for zone, hour in (("UTC", "00"), ("Pacific/Kiritimati", "10")):
        carry_out(house.directory, ChangeDeveloper(developer_id=ANA, timezone=zone))
        shown = (await api.get(f"{V3}/{path}")).json["range"]
        days = [f"2026-08-0{day}T{hour}:00:00Z" for day in (1, 2)]
        assert [*(iso(shown.pop(name)) for name in ("fromUs", "toUs")), shown] == [*days, {"timezone": zone}]
