"""Sure or silent: what nobody can say is null, in no figure, and told beside each; and figures over any range."""

from typing import Any

import pytest

from aggregates.times import iso
from tests.support.basics import ANA_SCOPE
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log, edit, request
from tests.svc_http.house import Caller, House
from tests.svc_http.routes.test_reads import ASK, V3

RANGED = ("score", "speed", "tokens", "skill", "insight/summary")


def worked(log: Log, session: str, at_us: int, **answer: Any) -> None:
    """A prompt with a change, which a text model grades, and says of its outcome what is given."""
    capture = log.prompt(session, ASK, at_us)
    log.records(session, request(at_us + SECOND), edit(at_us + MINUTE, path=f"src/{session}.py"))
    log.answers_prompt(
        session,
        capture,
        "bug_fix",
        earned=("goal_explicit", "scope_bounded", "references_concrete"),
        unsure=("root_cause_oriented", "verification_requested"),
    )
    log.answers_outcome(session, capture, **answer)


@pytest.fixture
def judged(house: House) -> House:
    """Fourteen goals a text model judged: eight reached, three not, three that it would not say."""
    log = Log(ANA_SCOPE)
    said: list[dict[str, Any]] = [{"complete": True}] * 8 + [{"complete": False}] * 3 + [{"undecided": True}] * 3
    for number, answer in enumerate(said):
        worked(log, f"s{number}", MONDAY + number * HOUR, **answer)
    house.has_seen(log, MONDAY + DAY)
    return house


async def test_an_undecided_outcome_counts_as_not_reached_until_a_person_decides_it(judged: House, api: Caller) -> None:
    """The rate over decided ones, and an interval that leaves both open; of a row the outcome is null, and it says
    why. `clear` brings the judges' silence back."""
    score = (await api.get(f"{V3}/score")).json
    assert score["svc_score"] == pytest.approx(100 * 8 / 14)
    assert score["decided_rate"] == pytest.approx(100 * 8 / 11)
    assert (score["letter_grade"], score["personal_tier"]) == ("B+", "scaling")
    interval = score["interval"]
    assert (round(interval["low"], 1), round(interval["high"], 1)) == (32.6, 92.4)
    rows = (await api.get(f"{V3}/speed/sessions")).json
    undecided = [row for row in rows if row["undecided_reason"] is not None]
    assert [(row["goal_complete"], row["crushed"], row["rework"]) for row in undecided] == [(None, None, False)] * 3
    path = f"/v1/sub-sessions/{undecided[0]['score_v3_sub_session_id']}/override"
    counts = ("total_count", "decided_count", "crushed_count", "undecided_count", "overridden_count")
    assert [score[name] for name in counts] == [14, 11, 8, 3, 0]
    for action, told in (("mark_complete", [14, 12, 9, 2, 1]), ("clear", [14, 11, 8, 3, 0])):
        await api.post(path, {"field": "completion", "action": action})
        score = (await api.get(f"{V3}/score")).json
        assert [score[name] for name in counts] == told


async def test_an_unsure_boolean_is_null_and_counts_by_its_chance(judged: House, api: Caller) -> None:
    """What the text model said is taken as said; what it would not say keeps the chance of the judge of texts."""
    item = (await api.get(f"{V3}/insight/sessions")).json[0]
    assert (item["root_cause_oriented"], item["applicability"]["root_cause_oriented"]) == (None, "unsure")
    applied = [item["applicability"][each] for each in ("plan_first", "context_sufficient")]
    assert applied == ["does_not_apply", "applies"]
    assert (item["kind_told"], item["unsure_count"]) == ("bug_fix", 2)
    why = (await api.get(f"{V3}/sub-sessions/{item['score_v3_sub_session_id']}/explain")).json["rubric"]
    chances = {name: each["chance"] for name, each in why["booleans"].items()}
    assert [chances[each] for each in ("goal_explicit", "context_sufficient")] == [1, 0]
    assert 0 < chances["root_cause_oriented"] < 1
    assert item["score"] == why["score"] == pytest.approx(100 * sum(chances.values()) / 6)
    skill = (await api.get(f"{V3}/skill")).json
    assert {name: skill["per_boolean"][name] for name in chances} == pytest.approx(chances)
    assert set(skill["per_boolean_count"].values()) == {0, 14}
    assert (skill["per_boolean_unsure"]["root_cause_oriented"], skill["unsure_count"]) == (14, 28)
    assert skill["skill_index"] == pytest.approx(item["score"])
    summary = (await api.get(f"{V3}/insight/summary")).json
    assert summary["apg_current"] == pytest.approx(item["score"])
    assert (summary["sample_count"], summary["unsure_count"]) == (14, 28)
    assert sum(each["count"] for each in summary["grade_distribution"]) == 14
    interval = summary["interval"]
    assert interval["low"] < item["score"] < interval["high"], "also of equal scores, for each may be another"


async def test_a_prompt_with_one_sure_boolean_has_a_score(house: House, api: Caller) -> None:
    """With an interval; only what is sure in all its booleans is shown to a person as the best. Of a question over
    which a file was changed no kind is told."""
    log = Log(ANA_SCOPE)
    capture = log.prompt("s", "Why does the parser crash on an empty file?", MONDAY)
    log.records("s", request(MONDAY + SECOND), edit(MONDAY + MINUTE))
    log.answers_prompt("s", capture, "question", earned=("goal_explicit",), unsure=("context_sufficient",))
    house.has_seen(log, MONDAY + DAY)
    summary, skill = (await api.get(f"{V3}/insight/summary")).json, (await api.get(f"{V3}/skill")).json
    assert (summary["sample_count"], summary["interval"]) == (1, None)
    assert (skill["sample_count"], skill["per_boolean_count"]["goal_explicit"]) == (1, 1)
    (item,) = (await api.get(f"{V3}/insight/sessions")).json
    assert (item["score"], item["goal_explicit"]) == (summary["apg_current"], True)
    assert 50 < item["score"] < 100
    assert item["score_interval"] == {"low": 50.0, "high": 100.0, "confidence": 0.8}
    name = item["score_v3_sub_session_id"]
    (row,) = (await api.get(f"{V3}/sub-sessions/{name}/prompts")).json
    assert (row["standing_score"], row["standing_score_interval"]) == (item["score"], item["score_interval"])
    assert (row["rubric"]["score"], row["rubric"]["kind_told"]) == (item["score"], "question")
    (top,) = (await api.get(f"{V3}/prompts/top?from_us={MONDAY}&to_us={MONDAY + DAY}")).json["items"]
    assert (top["sure"], top["kindTold"], top["gradeTold"]) == (False, None, None)


# --- figures over any range -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RANGED)
async def test_a_range_is_read_like_a_window(judged: House, api: Caller, path: str) -> None:
    """Its name is `range`; where the current window is empty the answer tells when the newest work was."""
    judged.clock_us += 90 * DAY
    newest = iso(MONDAY + 13 * HOUR)
    empty = (await api.get(f"{V3}/{path}")).json
    assert (empty["window"], empty["newest_at"]) == ("weekly", newest)
    span = f"from={iso(MONDAY)}&to={iso(MONDAY + DAY)}"
    found = (await api.get(f"{V3}/{path}?{span}")).json
    assert (found["window"], found["newest_at"]) == ("range", newest)
    assert (await api.get(f"{V3}/{path}?window=range&{span}")).json == found
    assert set(found) == set(empty)


async def test_the_ranges_before_are_of_equal_length(judged: House, api: Caller) -> None:
    """Seven hours hold seven goals, the seven before them the first seven."""
    span = f"from={iso(MONDAY + 7 * HOUR)}&to={iso(MONDAY + 14 * HOUR)}"
    score, speed, summary = [
        (await api.get(f"{V3}/{path}?{span}")).json for path in ("score", "speed", "insight/summary")
    ]
    assert score["sparkline_counts"] == [0, 0, 7, 7]
    assert (speed["sparkline"], speed["delta_cspw"]) == ([0.0, 0.0, 7.0, 1.0], -6)
    assert [point["period_start"] for point in summary["points"]] == [iso(MONDAY + h * HOUR) for h in (-14, -7, 0, 7)]


# --- one goal or two? -----------------------------------------------------------------------------------------


async def test_keeping_together_confirms_and_clearing_takes_it_back(house: House, api: Caller) -> None:
    """A gap where no boundary was seen: reviewed, and no override."""
    log = Log(ANA_SCOPE)
    for number, text in enumerate((ASK, "Also handle a header without rows in src/parser.py", "And run pytest again")):
        log.works("s", MONDAY + number * 5 * MINUTE, text, "src/parser.py")
    house.has_seen(log, MONDAY + DAY)
    (row,) = (await api.get(f"{V3}/realtime/sub-sessions")).json
    path = f"/v1/sub-sessions/{row['sub_session_id']}/override"

    async def boundary() -> tuple[int, int, int]:
        (found, *_) = (await api.get("/v1/sub-sessions/accuracy?window_days=90")).json["rows"]
        return found["overrides"], found["reviewed"], found["subSessions"]

    kept = await api.post(path, {"field": "boundary", "action": "keep_together", "payload": {"split_turn_idx": 1}})
    assert (kept.status, kept.json["subSessionId"], await boundary()) == (200, row["sub_session_id"], (0, 1, 1))
    await api.post(path, {"field": "boundary", "action": "split_at_turn", "payload": {"split_turn_idx": 2}})
    assert await boundary() == (1, 2, 2)
    await api.post(path, {"field": "boundary", "action": "clear"})
    assert await boundary() == (0, 0, 1)
