"""`POST /v1/import`: what of an exchange is refused, before anything is stored."""

from threading import get_ident
from typing import Any

import pytest

from svc_http.routes import capture
from tests.svc_http.house import Caller, House

RECORD: dict[str, Any] = {"record_id": "tool:1", "at_us": 1_785_402_030_000_000, "kind": "tool"}
PROMPT: dict[str, Any] = {"line_id": "line-1", "text": "Fix it.", "at_us": 1_785_402_000_000_000}


def exchange(**record: Any) -> dict[str, Any]:
    return {"agent_session_id": "session-2", "drafts": [{"record": RECORD | record}]}


@pytest.mark.parametrize(
    "wrong",
    [
        *(exchange(record_id=value) for value in (" ", "x" * 1_025, 1)),
        *(exchange(input_tokens=value) for value in (-1, 10**12 + 1, 0.5)),
        *(exchange(**{name: value}) for name, value in (("at_us", 10**18), ("kind", "other thing"), ("origin", 0))),
        {"agent_session_id": " "},
        {"agent_session_id": "s", "drafts": [{"record": RECORD, "more": [["a", -1, 0]]}]},
        {"agent_session_id": "s", "drafts": [{"record": RECORD, "more": [["a", 1, 0]] * 501}]},
        *({"agent_session_id": "s", "prompt": PROMPT | more} for more in ({"text": " "}, {"line_id": ""})),
        {"agent_session_id": "s", "prompt": PROMPT, "answer": {"text": "Done.", "at_us": 1, "elapsed_ms": -1}},
    ],
)
async def test_what_no_agent_says_is_refused(house: House, intake: Caller, wrong: dict[str, Any]) -> None:
    """Also where the exchange before it is right: a body is taken or refused as a whole."""
    body = {"source": "codex", "exchanges": [{"agent_session_id": "s", "prompt": PROMPT}, wrong]}
    answer = await intake.post("/v1/import", body)
    assert answer.status == 400
    assert "exchanges[" in answer.json["message"]
    assert house.events == []


async def test_what_an_agent_says_at_most_is_taken(house: House, intake: Caller) -> None:
    largest = exchange(record_id="x" * 1_024, input_tokens=10**12, cost_usd_nano=10**15, status_code=999)
    answer = await intake.post("/v1/import", {"source": "codex", "exchanges": [largest]})
    assert (answer.status, answer.json["exchanges"][0]["created"]) == (200, 1)
    assert len(house.events) == 2, "the session is its developer's, and it has a record"


async def test_records_are_looked_at_beside_the_loop(intake: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 MiB that takes long enough for everybody else to notice."""
    threads: list[int] = []
    monkeypatch.setattr(capture, "_check", lambda *_: threads.append(get_ident()))
    answer = await intake.post("/v1/import", {"source": "codex", "exchanges": [exchange(), exchange()]})
    assert (answer.status, len(threads), get_ident() in threads) == (200, 1, False)
