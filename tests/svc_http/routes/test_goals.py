"""The goals of a range over HTTP: found by id, filter and words; and what is no filter, no place and no word."""

import pytest

from tests.support.basics import ANA_SCOPE, BEN_KEY
from tests.support.facts import DAY, HOUR, MONDAY, Log
from tests.svc_http.house import Caller, House, bearer

GOALS = "/v1/score_v3/goals"
SEARCH = f"{GOALS}/search"
ONE = "/v1/score_v3/sub-sessions"


@pytest.fixture
def asked(house: House) -> list[str]:
    """Three questions, an hour apart, and their ids."""
    log = Log(ANA_SCOPE)
    for number, session in enumerate("abc"):
        log.prompt(session, f"Where are the retries of part {number}?", MONDAY + number * HOUR, cwd_digest=number)
    house.has_seen(log, MONDAY + DAY)
    return ["a", "b", "c"]


@pytest.mark.usefixtures("asked")
async def test_a_range_has_no_bound_of_days_and_counts_add_up(api: Caller) -> None:
    for query in ("", "?from=1971-01-01&to=2036-01-01", "?from=2026-01-05&to=2026-01-05", "?to=2030-01-01"):
        found = (await api.get(f"{GOALS}{query}")).json
        assert (found["begun"], sum(found["counts"].values()), found["is_partial"]) == (3, 3, False)
    for empty in ("?from=2031-01-01&to=2032-01-01", "?from=1971-01-01&to=1971-02-01"):
        found = (await api.get(f"{GOALS}{empty}")).json
        assert (found["begun"], found["goals"], found["oldest_at"]) == (0, [], "2026-01-05T09:00:00Z")


@pytest.mark.parametrize("text", ["%3Cscript%3E", "%E2%80%AErtl", "%1b%5b31m", "x" * 4_000, "%27%3B--"])
@pytest.mark.usefixtures("asked")
async def test_a_project_or_agent_that_is_none_has_no_goals(api: Caller, text: str) -> None:
    for name in ("project", "agent"):
        answer = await api.get(f"{GOALS}?{name}={text}")
        assert (answer.status, answer.json["begun"]) == (200, 0)
    assert (await api.get(f"{GOALS}?project=UNKNOWN")).json["begun"] == 3


@pytest.mark.usefixtures("asked")
async def test_words_are_found_and_pages_follow(api: Caller) -> None:
    first = (await api.post(SEARCH, {"words": "RETRIES part", "limit": 2})).json
    assert [each["found"]["turn"] for each in first["goals"]] == [1, 1]
    second = (await api.post(SEARCH, {"words": "RETRIES part", "cursor": first["next"]})).json
    assert [each["found"]["sentence"] for each in second["goals"]] == ["Where are the retries of part 0?"]
    assert (second["next"], second["looked_back_to"]) == (None, "2026-01-05T09:00:00Z")
    assert (await api.using(bearer(BEN_KEY)).post(SEARCH, {"words": "retries"})).json["goals"] == []


@pytest.mark.usefixtures("asked")
async def test_eight_characters_name_a_goal_wherever_its_id_does(api: Caller) -> None:
    whole = (await api.get(GOALS)).json["goals"][0]["score_v3_sub_session_id"]
    for start in (whole[:8], whole[:8].upper()):
        for path in (f"{ONE}/{start}", f"{ONE}/{start}/explain", f"{ONE}/{start}/turns"):
            assert (await api.get(path)).json["score_v3_sub_session_id"] == whole
        said = await api.post(f"/v1/sub-sessions/{start}/override", {"field": "completion", "action": "mark_complete"})
        assert (said.status, said.json["subSessionId"]) == (200, whole)
    for none in ("00000000", whole[:7], whole[:9], "zzzzzzzz"):
        assert (await api.get(f"{ONE}/{none}")).status == 404
    assert (await api.using(bearer(BEN_KEY)).get(f"{ONE}/{whole[:8]}")).status == 404
