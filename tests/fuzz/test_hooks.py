"""Intake takes whatever a hook makes of a changed message."""

import json
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.hook.captures import AGENTS, captured
from svc.hook.machine import Connection, OpenPrompt
from tests.fuzz.mill import MILL, drawn_ids
from tests.fuzz.odd import bent, examples
from tests.support.people import NOW_US

AT = NOW_US / 1e6
CONNECTION = Connection("claude-code", "http://127.0.0.1:9", "svc_key")
_COMMON = {"session_id": "s1", "cwd": "/home/ana/shop", "prompt_id": "p1", "timestamp": "2026-08-01T09:00:00Z"}
TOLD: list[Any] = [
    {"hook_event_name": "UserPromptSubmit", "prompt": "Fix the crash in src/app.py", **_COMMON},
    {"hook_event_name": "Stop", "last_assistant_message": "Done.", "stop_hook_active": False, **_COMMON},
    {"hook_event_name": "SessionStart", "source": "startup", "model": "m", **_COMMON},
    {"hook_event_name": "SessionEnd", "reason": "exit", **_COMMON},
    {
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_use_id": "t1",
        "tool_input": {"file_path": "a.py", "new_string": "x\ny"},
        "duration_ms": 12.5,
        **_COMMON,
    },
    {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "pytest"}, **_COMMON},
]


@examples(40)
@given(st.lists(st.tuples(st.sampled_from(AGENTS), bent(TOLD)), min_size=1, max_size=4), st.randoms())
async def test_what_a_hook_sends_is_taken(calls: list[tuple[str, Any]], chance: Random) -> None:
    """No call breaks, and nothing is sent that intake would refuse for good, which would lose it."""
    mill = MILL.empty()
    remembered: dict[str, OpenPrompt] = {}
    for number, (agent, told) in enumerate(calls):
        if not isinstance(told, dict):
            continue
        with drawn_ids(chance):
            found = captured(CONNECTION, agent, told, remembered.get, AT + number)
        if found is None:
            continue
        known = remembered.get(found.session, OpenPrompt(str(UUID(int=1)), AT))
        remembered[found.session], letter = found.prompt or known, found.letter
        if letter is None:
            continue
        answer = await mill.intake.post(letter.path, json.dumps(letter.body).encode())
        refused = answer.status == 404 and found.kind == "response"
        assert answer.status in (200, 201, 204) or refused, (letter, answer)
        assert b"partialSuccess" not in answer.body, (letter, answer)
    if chance.random() < 0.2:
        await mill.check(chance)


@pytest.mark.parametrize("session", ["\0", "half \ud83d", "\ufffd"])
def test_a_session_of_a_broken_name_is_none(session: str) -> None:
    """Mended it would be taken for another one that is broken elsewhere, and what it sends would be refused."""
    assert captured(CONNECTION, "claude-code", TOLD[5] | {"session_id": session}, lambda session: None, AT) is None


@pytest.mark.parametrize("duration", [float("nan"), float("inf"), -1, 10**40, "12", None])
async def test_a_duration_that_is_none_is_left_out(duration: object) -> None:
    """The tool call is told all the same."""
    found = captured(CONNECTION, "claude-code", TOLD[4] | {"duration_ms": duration}, lambda session: None, AT)
    assert found is not None
    assert found.letter is not None
    assert "duration_ms" not in str(found.letter.body)
    assert (await MILL.empty().intake.post(found.letter.path, found.letter.body)).json == {}
