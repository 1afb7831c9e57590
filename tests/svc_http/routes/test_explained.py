"""Every explanation can be checked: what it quotes stands in the fact that it names, and what is missing is said."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import Event, Words
from svc_http.app import build_api
from tests.fuzz.odd import examples
from tests.projections.derive.test_any_order import CORRECTED, told
from tests.support.demo import import_demo
from tests.support.facts import DAY, HOUR, MONDAY, SECOND, Log, edit, request
from tests.support.people import ANA, ANA_SCOPE
from tests.svc_http.house import DIGESTER, Caller, House, bearer
from tests.svc_http.routes.test_explain import explained
from tests.svc_http.routes.test_reads import ASK, V3

JUDGED = ("boundary", "rubric", "outcome")
"""The parts that a judge decides."""


async def explanations(api: Caller) -> list[dict[str, Any]]:
    rows = (await api.get(f"{V3}/realtime/sub-sessions?limit=500")).json
    return [(await api.get(f"{V3}/sub-sessions/{row['sub_session_id']}/explain")).json for row in rows]


def words_of(event: Event) -> str:
    """All that a fact says, on one line."""
    words: Words | None = None
    match event:
        case PromptCaptured():
            words = event.prompt
        case PromptAnswered():
            words = event.response
        case RecordsCaptured():
            words = event.words
    return " ".join((words.text or "" if words else "").split())


def pieces_of(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Every piece of evidence of a part, those of its prompts among them."""
    found = [*part.get("evidence", ()), *part.get("evidence_for", ()), *part.get("evidence_against", ())]
    found += [part["goal"]] if "goal" in part else []
    found += part.get("booleans", {}).values()
    for prompt in part.get("prompts", ()):
        found += [prompt, *prompt["booleans"].values()]
    return found


def quotes_a_prompt(events: list[Event], pieces: Iterable[dict[str, Any]]) -> bool:
    """Whether one of them is in the words of a prompt that was captured."""
    quoting = [piece["position"] for piece in pieces if piece["quote"] is not None]
    facts = [events[position - 1] for position in quoting]
    return any(
        isinstance(fact, PromptCaptured)
        or (isinstance(fact, RecordsCaptured) and any(record.kind == "prompt" for record in fact.records))
        for fact in facts
    )


def check(events: list[Event], shown: dict[str, Any]) -> None:
    for name in JUDGED:
        part = shown[name]
        pieces = pieces_of(part)
        assert part["positions"], f"{name} rests on no fact"
        for piece in pieces:
            if piece["quote"] is not None:
                assert piece["quote"] in words_of(events[piece["position"] - 1]), piece
                assert piece["position"] in part["positions"], piece
        unread = any(sentence.startswith("the text of") for sentence in part["not_observed"])
        assert quotes_a_prompt(events, pieces) or unread, f"{name} quotes no prompt, and does not say why"
        for position in part["positions"]:
            assert getattr(events[position - 1], "agent_session_id", None) in shown["agent_session_ids"], name
    for position in shown["positions"]:
        assert getattr(events[position - 1], "developer_id", None) == ANA
    later = len(shown["boundary"]["kept"]) + shown["boundary"]["kept_not_shown"] + len(shown["boundary"]["merged"])
    assert later + 1 == len(shown["rubric"]["prompts"]) + shown["rubric"]["prompts_not_shown"]
    assert all(_sum(each) <= 0 for each in shown["boundary"]["kept"])
    assert _sum(shown["boundary"]) > 0 or not shown["boundary"]["signals"]
    for each in shown["rubric"]["booleans"].values():
        assert each["quote"] is not None or not each["earned"] or "no words were found" in each["what"], each


def _sum(weighed: dict[str, Any]) -> float:
    """Of what the boundary judge weighed, in logits."""
    return float(sum(signal["weight"] for signal in weighed["signals"]))


async def test_each_of_the_demo_quotes_a_prompt_and_a_fact_for_every_judge(
    house: House, api: Caller, tmp_path: Path
) -> None:
    """A month of work of both its developers."""
    house.clock_us += 20 * DAY
    await import_demo(tmp_path, house.send, ANA_SCOPE, DIGESTER, house.clock_us)
    found = await explanations(api)
    assert len(found) > 20
    for shown in found:
        check(house.events, shown)


@examples(12)
@given(CORRECTED)
async def test_each_of_any_story_quotes_a_prompt_and_a_fact_for_every_judge(story: Any) -> None:
    """Prompts seen by plugin and log, work named and unnamed, ends, errors, and what people said of it."""
    house = House()
    log = Log(ANA_SCOPE)
    log.facts = told(story, ANA_SCOPE)
    house.has_seen(log)
    house.passes(MONDAY + 2 * HOUR)
    for shown in await explanations(Caller(build_api(house), bearer())):
        check(house.events, shown)


async def test_words_that_were_forgotten(house: House, api: Caller) -> None:
    """The verdict stands; nothing can be quoted."""
    log = Log(ANA_SCOPE)
    log.prompt("a", ASK, MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND))
    house.has_seen(log)
    for event in house.events:
        for field in ("prompt", "words"):
            if hasattr(event, field):
                msgspec.structs.force_setattr(event, field, Words(None))
    shown = await explained(api, "a")
    assert shown["rubric"]["booleans"]
    quotes = [each["quote"] for each in shown["rubric"]["booleans"].values()]
    quotes += [each["quote"] for each in (*shown["boundary"]["evidence"], *shown["outcome"]["evidence_for"])]
    quotes += [shown["outcome"]["goal"]["quote"]]
    assert set(quotes) == {None}
    said = [shown[part]["not_observed"][0] for part in ("boundary", "rubric", "outcome")]
    assert said == [
        "the text of its first prompt: observed, and forgotten since",
        "the text of 1 prompt: observed, and forgotten since",
        "the text of the prompt that says what is wanted: observed, and forgotten since",
    ]
