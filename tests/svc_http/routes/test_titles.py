"""`PATCH /v1/score_v3/sub-sessions/<id>`: a person names a sub-session."""

import msgspec
import pytest

from tests.support.facts import MINUTE
from tests.svc_http.house import Caller, House, prompt
from tests.svc_http.routes.test_reads import V3

PATH = f"{V3}/sub-sessions"


async def a_sub_session(intake: Caller) -> str:
    """A capture, and the id of what it opened."""
    await intake.post("/v1/prompts", prompt())
    (row,) = (await intake.get(f"{V3}/realtime/sub-sessions")).json
    name = row["score_v3_sub_session_id"]
    assert isinstance(name, str)
    return name


async def test_a_title_is_set(intake: Caller, api: Caller) -> None:
    """200 with the rubric item as it then stands; the realtime row shows it too."""
    name = await a_sub_session(intake)
    answer = await api.call("PATCH", f"{PATH}/{name}", {"title": "Empty input", "summary": "Parser returns a list."})
    assert answer.status == 200
    shown = {field: answer.json[field] for field in ("title", "summary", "title_source")}
    assert shown == {"title": "Empty input", "summary": "Parser returns a list.", "title_source": "user_edited"}
    assert answer.json["score_v3_sub_session_id"] == name
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert (row["title"], row["title_source"]) == ("Empty input", "user_edited")


async def test_a_title_steers_nobody(intake: Caller, api: Caller) -> None:
    """Neither the one of a prompt nor a person's holds control characters, or such that turn the writing round."""
    hostile = "\x1b[2J\x9b\u202e\u2066\u200b"
    await intake.post("/v1/prompts", prompt(prompt_text=f"Fix the{hostile} login"))
    (row,) = (await intake.get(f"{V3}/realtime/sub-sessions")).json
    assert row["title"] == "Fix the[2J login"
    sent = {"title": f"One{hostile}", "summary": f"Two{hostile}."}
    answer = await api.call("PATCH", f"{PATH}/{row['score_v3_sub_session_id']}", sent)
    assert (answer.json["title"], answer.json["summary"]) == ("One[2J", "Two[2J.")


async def test_a_title_without_a_summary(intake: Caller, api: Caller) -> None:
    """An absent or null summary leaves the one that is there."""
    name = await a_sub_session(intake)
    await api.call("PATCH", f"{PATH}/{name}", {"title": "One", "summary": "Kept."})
    answer = await api.call("PATCH", f"{PATH}/{name}", {"title": "Two", "summary": None})
    assert (answer.json["title"], answer.json["summary"]) == ("Two", "Kept.")


async def test_no_automatic_title_replaces_it(house: House, intake: Caller, api: Caller) -> None:
    """Not when the sub-session settles either."""
    name = await a_sub_session(intake)
    await api.call("PATCH", f"{PATH}/{name}", {"title": "Mine"})
    house.passes(house.clock_us + 31 * MINUTE)
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert (row["is_preview"], row["title"], row["title_source"]) == (False, "Mine", "user_edited")


async def test_the_longest_title(intake: Caller, api: Caller) -> None:
    """60 characters and 240, whatever script they are of."""
    name = await a_sub_session(intake)
    answer = await api.call("PATCH", f"{PATH}/{name}", {"title": "제" * 60, "summary": "é" * 240})
    assert (answer.status, answer.json["title"]) == (200, "제" * 60)


BAD = {
    "no title": ({"summary": "x"}, "title"),
    "null title": ({"title": None}, "title"),
    "blank title": ({"title": " \t\u3000"}, "title"),
    "empty title": ({"title": ""}, "title"),
    "title too long": ({"title": "x" * 61}, "title"),
    "title a number": ({"title": 5}, "title"),
    "NUL in the title": ({"title": "a\0b"}, "title"),
    "summary too long": ({"title": "x", "summary": "x" * 241}, "summary"),
    "summary a list": ({"title": "x", "summary": []}, "summary"),
    "a list": ([], "object"),
}


@pytest.mark.parametrize("case", BAD)
async def test_bad_input_is_refused(house: House, intake: Caller, api: Caller, case: str) -> None:
    """400 that names the field; nothing changes."""
    name = await a_sub_session(intake)
    known = len(house.events)
    body, field = BAD[case]
    answer = await api.call("PATCH", f"{PATH}/{name}", msgspec.json.encode(body))
    assert answer.status == 400
    assert field in answer.message
    assert len(house.events) == known
