"""`POST /v1/prompts/response`: retries, conflicts, provenance and the canonical hash. And `POST /v1/import`: the
largest that is taken, and where it is looked at."""

from hashlib import sha256
from threading import get_ident
from typing import Any

import pytest

from aggregates.capture.events import PromptAnswered
from svc_http.routes import capture as capture_routes
from tests.svc_http.house import Caller, House, prompt

RESPONSE = "/v1/prompts/response"


def answered(house: House) -> list[PromptAnswered]:
    return [event for event in house.events if isinstance(event, PromptAnswered)]


async def capture(intake: Caller, text: str = "Add a test.", session: str = "session-1") -> str:
    answer = await intake.post("/v1/prompts", prompt(text, tool_session_id=session))
    assert answer.status == 201
    prompt_id = answer.json["id"]
    assert isinstance(prompt_id, str)
    return prompt_id


def response(prompt_id: str, text: str = "Done.", operation: str = "op-1", **fields: object) -> dict[str, Any]:
    return {"prompt_id": prompt_id, "response_operation_id": operation, "response_text": text, **fields}


async def test_a_response_is_captured(house: House, intake: Caller) -> None:
    """204 without a body; every field is kept. A session beside the id changes nothing."""
    prompt_id = await capture(intake)
    fields: dict[str, Any] = {"responded_at": "2026-08-01T12:00:10Z", "elapsed_ms": 1234.4, "model": "claude-opus"}
    fields |= {"input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 30, "cache_creation_tokens": 40}
    fields |= {"cost_usd": 0.0125, "cost_catalog_revision": 7, "cost_kind": "public_list_price_estimate"}
    body = response(prompt_id, tool_session_id="session-1", **fields)
    answer = await intake.post(RESPONSE, body, {"X-Any-Plugin-Version": "9.0.0"})
    assert (answer.status, answer.body) == (204, b"")
    (event,) = answered(house)
    assert event.responded_at_us == 1_785_585_610_000_000
    assert (event.elapsed_ms, event.model, event.cost_usd_nano) == (1234, "claude-opus", 12_500_000)
    counts = (event.input_tokens, event.output_tokens, event.cache_read_tokens, event.cache_creation_tokens)
    assert counts == (10, 20, 30, 40)
    assert (event.cost_catalog_revision, event.cost_kind) == (7, "public_list_price_estimate")


_COUNTS = ("elapsed_ms", "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "cost_usd")
_TEXTS = (("response_text", "Something else."), ("response_text", None), ("model", "another"))


@pytest.mark.parametrize(("field", "value"), [*_TEXTS, *((each, 1) for each in _COUNTS)])
async def test_other_content_for_an_answered_prompt(house: House, intake: Caller, field: str, value: object) -> None:
    """409: the text and each of the seven managed fields belong to the content. The same again is 204: absent and
    null are the same, as are 5 and 5.0."""
    prompt_id = await capture(intake)
    body = response(prompt_id, elapsed_ms=5)
    for again in ({}, {"elapsed_ms": 5.0, "model": None}):
        assert (await intake.post(RESPONSE, body | again)).status == 204
    for operation in ("op-1", "op-2"):
        answer = await intake.post(RESPONSE, body | {field: value, "response_operation_id": operation})
        assert answer.status == 409
        assert prompt_id in answer.message
    assert len(answered(house)) == 1


CONTENT = {
    "response_text": 'Done: "x" < ü 😀 \n',
    "elapsed_ms": 1200,
    "input_tokens": 10,
    "output_tokens": None,
    "cache_read_tokens": 0,
    "cache_creation_tokens": None,
    "model": "claude-sonnet-4-5",
    "cost_usd": 0.000001,
}
CANONICAL = (
    '{"cache_creation_tokens":null,"cache_read_tokens":0,"cost_usd":0.000001,"elapsed_ms":1200,"input_tokens":10,'
    '"model":"claude-sonnet-4-5","output_tokens":null,"response_text":"Done: \\"x\\" < ü 😀 \\n"}'
)
"""Written by hand from RFC 8785: keys sorted, no spaces, numbers as JavaScript prints them."""


async def test_the_canonical_hash(house: House, intake: Caller) -> None:
    """A hash that fits is accepted, also where null fields were left out; another one is a 400."""
    prompt_id, digest = await capture(intake), sha256(CANONICAL.encode()).hexdigest()
    sent = {name: value for name, value in CONTENT.items() if value is not None}
    for said, status, stored in (("0" * 64, 400, 0), (digest, 204, 1)):
        answer = await intake.post(RESPONSE, response(prompt_id, response_content_hash=said) | sent)
        assert (answer.status, len(answered(house))) == (status, stored)
        assert status == 204 or "response_content_hash" in answer.message


# --- exchanges that are imported ------------------------------------------------------------------------------------

RECORD: dict[str, Any] = {"record_id": "tool:1", "at_us": 1_785_402_030_000_000, "kind": "tool"}


def exchange(**record: Any) -> dict[str, Any]:
    return {"agent_session_id": "session-2", "drafts": [{"record": RECORD | record}]}


async def test_what_an_agent_says_at_most_is_taken(house: House, intake: Caller) -> None:
    most: dict[str, Any] = {"input_tokens": 10**12, "output_tokens": 10**12, "cost_usd": 1_000_000}
    assert (await intake.post(RESPONSE, response(await capture(intake), **most))).status == 204
    before = len(house.events)
    largest = exchange(record_id="x" * 1_024, input_tokens=10**12, cost_usd_nano=10**15, status_code=999)
    answer = await intake.post("/v1/import", {"source": "codex", "exchanges": [largest]})
    assert (answer.status, answer.json["exchanges"][0]["created"]) == (200, 1)
    assert len(house.events) == before + 2, "the session is its developer's, and it has a record"


async def test_records_are_looked_at_beside_the_loop(intake: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 MiB that takes long enough for everybody else to notice."""
    threads: list[int] = []
    monkeypatch.setattr(capture_routes, "_check", lambda *_: threads.append(get_ident()))
    answer = await intake.post("/v1/import", {"source": "codex", "exchanges": [exchange(), exchange()]})
    assert (answer.status, len(threads), get_ident() in threads) == (200, 1, False)
