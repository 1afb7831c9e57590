"""One sub-session by itself, and its prompts: what is shown, under which ids, and to whom."""

import pytest

from aggregates.times import iso
from projections.sub_sessions import detail as prompt_rows
from tests.support.basics import ANA_SCOPE
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND, Log, request
from tests.svc_http.house import Caller, House, prompt
from tests.svc_http.routes.test_reads import ASK, V3, a_days_work

UNKNOWN_IDS = ["00000000-0000-4000-8000-000000000000", "1", "%F0%9F%98%80", "x" * 300]


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
    assert shown["models"] == [work | {"unpriced_requests": 0, "unmeasured_requests": 0}]
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
    for path in ("", "/prompts", "/explain"):
        shown = await api.get(f"{V3}/sub-sessions/{former}{path}")
        assert shown.status == 200
        found = shown.json[0] if path == "/prompts" else shown.json
        assert found["score_v3_sub_session_id"] == present


@pytest.mark.parametrize("path", ["", "/prompts", "/explain"])
@pytest.mark.parametrize("wanted", UNKNOWN_IDS)
async def test_an_unknown_id(api: Caller, path: str, wanted: str) -> None:
    """404, whether it could be an id or not."""
    answer = await api.get(f"{V3}/sub-sessions/{wanted}{path}")
    assert (answer.status, "sub-session" in answer.message) == (404, True)


# --- ranges ---------------------------------------------------------------------------------------------------
