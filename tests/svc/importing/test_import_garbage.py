"""Whatever stands in a file, an import names what it cannot read and goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.importing.codex import RolloutReader
from svc.importing.exchange import Memory
from svc.importing.gemini import SessionReader
from tests.fuzz.odd import examples
from tests.support import chats, rollouts
from tests.support.transcripts import at

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def changed(lines: list[dict[str, Any]], places: list[int], values: list[Any]) -> list[dict[str, Any]]:
    """Lines with some of their values, however deep, exchanged for others."""
    copies = json.loads(json.dumps(lines))
    for place, value in zip(places, values, strict=False):
        spots = list(_spots(copies))
        holder, key = spots[place % len(spots)]
        holder[key] = value
    return list(copies)


def _spots(value: Any) -> Any:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _spots(value[key])


ROLLOUT = [
    rollouts.meta(0, rollouts.CHILD, source={"subagent": {"thread_spawn": {"parent_thread_id": rollouts.THREAD}}}),
    *rollouts.turn(10),
    rollouts.item("local_shell_call", 30, call_id=None, id="l1", action={"type": "exec", "command": ["ls"]}),
    rollouts.event("exec_command_end", 31, call_id="l1", exit_code=0, duration={"secs": 1, "nanos": 5}, command=["ls"]),
    rollouts.event("mcp_tool_call_end", 32, call_id="l1", result={"Ok": {"isError": False}}, duration="1s"),
    rollouts.event(
        "item_completed", 33, item={"type": "CommandExecution", "id": "n1", "command": "ls", "exit_code": 0}
    ),
    rollouts.event("turn_aborted", 34, reason="interrupted"),
]
CHAT = [
    chats.head(),
    *chats.exchange(10),
    chats.message("error", "e", 30, "[API Error: x]"),
    {"$set": {"kind": "main"}},
]
MANGLED = st.lists(st.integers(0, 10_000), max_size=4), st.lists(JSON, min_size=4, max_size=4)


@examples(100)
@given(*MANGLED)
def test_a_rollout_with_any_values_in_it_is_read_to_its_end(places: list[int], values: list[Any]) -> None:
    reader = RolloutReader(Path("r.jsonl"), "r.jsonl", Memory())
    mangled = changed(ROLLOUT, places, values)
    found = list(reader.read(rollouts.raw(mangled).splitlines(keepends=True)))
    assert reader.lines == len(mangled)
    assert all(draft.record.record_id for exchange in found for draft in exchange.drafts)


@examples(100)
@given(*MANGLED)
def test_a_chat_with_any_values_in_it_is_read_to_its_end(places: list[int], values: list[Any]) -> None:
    mangled = changed(CHAT, places, values)
    reader = SessionReader(Path("s.jsonl"), "s.jsonl", Memory())
    list(reader.read(rollouts.raw(mangled).splitlines(keepends=True)))
    assert reader.lines == len(mangled)
    whole = SessionReader(Path("s.json"), "s.json", Memory())
    list(whole.read([chats.document(mangled)]))
    assert whole.lines == len(mangled)


def test_a_number_that_json_does_not_know_tears_its_line_or_its_document() -> None:
    """A line is one of many; a document is whole or it is not."""
    mangled: list[Any] = [float("inf"), *CHAT[1:]]
    reader = SessionReader(Path("s.jsonl"), "s.jsonl", Memory())
    list(reader.read(rollouts.raw(mangled).splitlines(keepends=True)))
    assert (reader.lines, [torn.line for torn in reader.torn]) == (len(mangled), [1])
    whole = SessionReader(Path("s.json"), "s.json", Memory())
    assert list(whole.read([chats.document(mangled)])) == []
    assert (whole.lines, [torn.line for torn in whole.torn]) == (1, [1])


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", at(5)[:-1], "2026-03-02"])
def test_any_time_that_is_one_is_taken(time: str) -> None:
    reader = RolloutReader(Path("r.jsonl"), "r.jsonl", Memory())
    told = {**rollouts.event("user_message", 1, message="go"), "timestamp": time}
    assert len(list(reader.read([rollouts.raw([told])]))) == 1
