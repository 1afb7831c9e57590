"""`POST /v1/sub-sessions/<id>/override` and `GET /v1/sub-sessions/accuracy`: a person's word against the judges."""

from typing import Any

import pytest

from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.facts import HOUR, MINUTE, SECOND, Log, edit, request, shell
from tests.svc_http.house import Answer, Caller, House, prompt
from tests.svc_http.routes.test_reads import V3

FIX = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
FLAG = "Add a --json flag to the list command in src/cli.py and a test for it"
ACCURACY = "/v1/sub-sessions/accuracy"
NOW = NOW_US - 3 * HOUR
"""When the first prompt was sent."""


async def rows(api: Caller) -> list[dict[str, Any]]:
    """The sub-sessions as they are shown, the first started first."""
    shown = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert isinstance(shown, list)
    return shown[::-1]


async def said(api: Caller, sub_session_id: str, field: str, action: str, **payload: object) -> Answer:
    body = {"field": field, "action": action, "payload": payload}
    return await api.post(f"/v1/sub-sessions/{sub_session_id}/override", body)


async def taken(api: Caller, sub_session_id: str, field: str, action: str, **payload: object) -> str:
    """The same, which is taken: the sub-session's id from then on."""
    answer = await said(api, sub_session_id, field, action, **payload)
    assert answer.status == 200, answer
    assert set(answer.json) == {"subSessionId", "field", "action"}
    assert (answer.json["field"], answer.json["action"]) == (field, action)
    name = answer.json["subSessionId"]
    assert isinstance(name, str)
    return name


def told() -> Log:
    """Ana's two goals: a crash is fixed in three prompts; an hour later, in another session, a flag is added."""
    log = Log(ANA_SCOPE)
    log.prompt("s1", FIX, NOW, cwd_digest=7)
    log.records("s1", request(NOW + SECOND), edit(NOW + MINUTE, path="src/parser.py"))
    log.prompt("s1", "Also return an empty list in src/parser.py when the file is missing", NOW + 5 * MINUTE)
    log.records("s1", request(NOW + 5 * MINUTE + SECOND), edit(NOW + 6 * MINUTE, path="src/parser.py"))
    log.prompt("s1", "And run pytest for src/parser.py again", NOW + 10 * MINUTE)
    log.records("s1", request(NOW + 10 * MINUTE + SECOND), shell(NOW + 11 * MINUTE, "pytest -q"))
    log.works("s2", NOW + HOUR, FLAG, "src/cli.py")
    return log


@pytest.fixture
def busy(house: House) -> House:
    """A service that has seen both goals settle."""
    house.has_seen(told(), NOW_US)
    return house


async def names(api: Caller) -> tuple[str, ...]:
    return tuple(row["sub_session_id"] for row in await rows(api))


async def score(api: Caller) -> dict[str, Any]:
    shown = (await api.get(f"{V3}/score")).json
    assert isinstance(shown, dict)
    return shown


# --- boundaries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [1, 2])
async def test_a_split_opens_a_new_sub_session_at_that_turn(busy: House, api: Caller, index: int) -> None:
    """The first part keeps the id; the merge rule never joins them again; each part is split by its own turns."""
    first, second = await names(api)
    assert await taken(api, first, "boundary", "split_at_turn", split_turn_idx=index) == first
    shown = await rows(api)
    assert [row["turns"] for row in shown] == [index, 3 - index, 1]
    assert [shown[0]["sub_session_id"], shown[2]["sub_session_id"]] == [first, second]
    answer = await said(api, first, "boundary", "split_at_turn", split_turn_idx=index)
    assert (answer.status, "one turn" in answer.message) == (400, index == 1)


async def test_what_is_merged_is_one_until_it_is_split_again(busy: House, api: Caller) -> None:
    """The earlier one's id stays, and the later one's leads to it; the later word about a turn wins. A client that
    lost the answer may ask again under the id it knew: nothing more is merged."""
    first, second = await names(api)
    before, figures = await rows(api), ("turns", "letter_grade", "total_tokens")
    await taken(api, first, "boundary", "split_at_turn", split_turn_idx=2)
    part = (await rows(api))[1]["sub_session_id"]
    for _ in range(2):
        assert await taken(api, second, "boundary", "merge_with_previous") == part
        assert [row["turns"] for row in await rows(api)] == [2, 2]
    assert await taken(api, part, "boundary", "merge_with_previous") == first
    (row,) = await rows(api)
    assert (row["sub_session_id"], row["turns"], row["agent_session_id"]) == (first, 4, "s1")
    assert (await api.get(f"{V3}/sub-sessions/{second}")).json["score_v3_sub_session_id"] == first
    assert await taken(api, first, "boundary", "split_at_turn", split_turn_idx=3) == first
    assert [[row[name] for name in figures] for row in await rows(api)] == [[row[n] for n in figures] for row in before]


# --- verdicts -------------------------------------------------------------------------------------------------


WORDS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("completion", "mark_incomplete", {}, {"goal_complete": False, "crushed": False}),
    ("rollback", "mark_rework", {}, {"goal_complete": True, "rework": True, "crushed": False}),
    ("label", "set_intent", {"intent_class": "question"}, {"intent_class": "question", "unsure_count": 0}),
    ("label", "rename", {"new_label": "Mine"}, {"title": "Mine", "title_source": "user_edited"}),
]


@pytest.mark.parametrize(("field", "action", "payload", "shown"), WORDS)
async def test_a_word_counts_everywhere_until_it_is_taken_back(
    busy: House, api: Caller, field: str, action: str, payload: dict[str, Any], shown: dict[str, Any]
) -> None:
    """In every list and figure; what is cleared twice stays as it was judged."""
    first, _ = await names(api)
    before = await rows(api), await score(api)
    assert await taken(api, first, field, action, **payload) == first
    row = (await rows(api))[0]
    assert {name: row[name] for name in shown} == shown
    if row["crushed"] is False:
        assert (await api.get(f"{V3}/speed/sessions")).json[-1]["rework_of"] is None, "of nothing that is known"
    assert (await score(api))["svc_score"] == (100.0 if row["crushed"] else 50.0)
    for path in ("score", "speed", "tokens", "skill"):
        assert (await api.get(f"{V3}/{path}")).json["overridden_count"] == 1
    for _ in range(2):
        await taken(api, first, field, "clear")
        assert (await rows(api), await score(api)) == before


async def test_nobody_rises_among_peers_by_a_word_of_ones_own(house: House, api: Caller) -> None:
    """What was said counts not there. Both sides of a split, and what was joined, are left out: more than a tenth of
    one's own leaves no score."""
    log = Log(ANA_SCOPE)
    for number in range(21):
        session, at_us = f"s{number}", NOW - number * HOUR
        log.works(session, at_us, f"Fix the crash in src/{session}.py, it must return a list", f"src/{session}.py")
        log.prompt(session, "And run pytest", at_us + 5 * MINUTE)
        log.records(session, shell(at_us + 6 * MINUTE, "pytest -q"))
    house.has_seen(log, NOW_US)

    async def compared() -> list[object]:
        found = (await api.get(f"{V3}/peer-comparison")).json
        return [found[name] for name in ("myScore", "basis", "leftOut")]

    first, second, third, *_ = [row["sub_session_id"] for row in await rows(api)]
    before = await compared()
    await taken(api, third, "completion", "mark_incomplete")
    await taken(api, third, "rollback", "mark_rework")
    assert (await score(api))["crushed_count"] == 20
    assert await compared() == before == [100.0, before[1], 0]
    await taken(api, first, "boundary", "split_at_turn", split_turn_idx=1)
    assert await compared() == [100.0, before[1], 2]
    await taken(api, second, "boundary", "split_at_turn", split_turn_idx=1)
    assert await compared() == [None, "insufficient", 4]


async def test_overrides_outlive_a_merge_and_late_work(busy: House, api: Caller) -> None:
    """They stand against captures; judging anew keeps them, and of two the later one counts."""
    first, second = await names(api)
    await taken(api, first, "completion", "mark_incomplete")
    await taken(api, second, "completion", "mark_complete")
    await taken(api, second, "boundary", "merge_with_previous")
    assert (await rows(api))[0]["goal_complete"] is True
    log = Log(ANA_SCOPE)
    log.records("s1", edit(NOW + 7 * MINUTE, path="src/late.py"))
    busy.has_seen(log)
    assert [row["goal_complete"] for row in await rows(api)] == [True]
    await taken(api, first, "boundary", "split_at_turn", split_turn_idx=3)
    assert [row["goal_complete"] for row in await rows(api)] == [False, True]


# --- how often ------------------------------------------------------------------------------------------------


async def test_accuracy_counts_sub_sessions_with_a_standing_override(busy: House, api: Caller) -> None:
    """One that was overridden twice in a field counts once; a split is that of the sub-session it opened."""
    first, second = await names(api)
    for action in ("mark_incomplete", "mark_complete"):
        await taken(api, first, "completion", action)
    for name, label in ((first, "One"), (second, "Two")):
        await taken(api, name, "label", "rename", new_label=label)
    await taken(api, first, "label", "set_intent", intent_class="bug_fix")
    await taken(api, first, "boundary", "split_at_turn", split_turn_idx=2)
    shown = {row["field"]: row for row in (await api.get(ACCURACY)).json["rows"]}
    assert {field: (row["overrides"], row["subSessions"]) for field, row in shown.items()} == {
        "boundary": (1, 3),
        "completion": (1, 3),
        "rollback": (0, 3),
        "label": (2, 3),
    }
    rates = [shown[field]["agreementRate"] for field in ("rollback", "label")]
    assert rates == [1.0, pytest.approx(1 / 3)]


async def test_the_window_of_accuracy(house: House, api: Caller) -> None:
    """Between a day and ninety; a day is 24 hours, back from now: the second goal was begun within them."""
    house.has_seen(told(), NOW + 24 * HOUR + 30 * MINUTE)
    days = [(await api.get(f"{ACCURACY}?window_days={asked}")).json["windowDays"] for asked in (0, 7, 900)]
    assert [*days, (await api.get(ACCURACY)).json["windowDays"]] == [1, 7, 90, 28]
    assert (await api.get(f"{ACCURACY}?window_days=1")).json["rows"][0]["subSessions"] == 1


# --- a title ----------------------------------------------------------------------------------------------------

PATH = f"{V3}/sub-sessions"


async def a_sub_session(intake: Caller, text: str = FIX) -> str:
    """A capture, and the id of what it opened."""
    await intake.post("/v1/prompts", prompt(text))
    (row,) = (await intake.get(f"{V3}/realtime/sub-sessions")).json
    return str(row["score_v3_sub_session_id"])


async def test_a_title_is_set(house: House, intake: Caller, api: Caller) -> None:
    """200 with the rubric item as it then stands; no automatic title replaces it, and a summary left out stays."""
    name = await a_sub_session(intake)
    answer = await api.call("PATCH", f"{PATH}/{name}", {"title": "One", "summary": "é" * 240})
    assert (answer.status, answer.json["score_v3_sub_session_id"]) == (200, name)
    answer = await api.call("PATCH", f"{PATH}/{name}", {"title": "제" * 60, "summary": None})
    shown = {field: answer.json[field] for field in ("title", "summary", "title_source")}
    assert shown == {"title": "제" * 60, "summary": "é" * 240, "title_source": "user_edited"}
    house.passes(house.clock_us + 31 * MINUTE)
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert (row["is_preview"], row["title"], row["title_source"]) == (False, "제" * 60, "user_edited")
    await taken(api, name, "label", "rename", new_label="Mine")
    assert (await rows(api))[0]["title"] == "Mine"


async def test_a_title_steers_nobody(intake: Caller, api: Caller) -> None:
    """Neither the one of a prompt nor a person's holds control characters, or such that turn the writing round."""
    hostile = "\x1b[2J\x9b\u202e\u2066\u200b"
    name = await a_sub_session(intake, f"Fix the{hostile} login")
    assert (await rows(intake))[0]["title"] == "Fix the[2J login"
    answer = await api.call("PATCH", f"{PATH}/{name}", {"title": f"One{hostile}", "summary": f"Two{hostile}."})
    assert (answer.json["title"], answer.json["summary"]) == ("One[2J", "Two[2J.")
