"""Intake takes or refuses everything as documented; what was taken can be replayed and read.

`make fuzz` tries many times as much; docs/security.md.
"""

from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mill import Mill, drawn_ids
from tests.fuzz.odd import as_json, bent, damaged, examples, packed
from tests.support.otlp import claude, counter, log, logs, metrics, span, traces
from tests.support.people import NOW_US as CLOCK_US

DOCUMENTED = {200, 201, 204, 400, 404, 409, 413, 415}
"""What docs/wire.md says of intake, but for credentials, capacity and time."""
EVENT_IDS = [str(UUID(int=number)) for number in (1, 2)]
MILL = Mill()
START_NANO = (CLOCK_US - 4 * 3_600_000_000) * 1_000


def _at(minutes: float) -> str:
    return str(START_NANO + int(minutes * 60e9))


PROMPTS: list[Any] = [
    {"prompt_text": "Fix the crash in src/app.py when the file is empty, run pytest", "tool_session_id": "s1"},
    {
        "prompt_text": "thanks, that works",
        "tool_session_id": "s1",
        "client_event_id": EVENT_IDS[0],
        "submitted_at": "2026-08-01T08:30:00Z",
        "cwd": "/home/ana/shop",
    },
    {
        "prompt_text": "no, still wrong; the token is sk-ant-api03-" + "A1b2C3d4" * 11,
        "tool_session_id": "s2",
        "source": "codex",
        "client_event_id": EVENT_IDS[1],
        "host_prompt_id": "p1",
        "submitted_at": "2026-08-01T11:00:00+02:00",
        "metadata": {"branch": "main", "n": [1, 2.5, None]},
        "original_char_count": 70_000,
        "untruncated_sha256": "ab" * 32,
        "truncated": True,
    },
]
RESPONSES: list[Any] = [
    {
        "client_event_id": event_id,
        "response_operation_id": f"op-{event_id}",
        "response_text": "Done. All tests pass.",
        "elapsed_ms": 61_000,
        "input_tokens": 900,
        "output_tokens": 80,
        "cache_read_tokens": 5_000,
        "cache_creation_tokens": 70,
        "model": "claude-sonnet-4-5",
        "cost_usd": 0.0123,
        "cost_catalog_revision": 1,
        "cost_kind": "reported",
        "responded_at": "2026-08-01T08:31:00Z",
    }
    for event_id in EVENT_IDS
] + [{"tool_session_id": "s1", "plugin_version": "0.5.0", "response_text": "Done."}]
_CLAUDE: list[tuple[str, dict[str, Any]]] = [
    ("user_prompt", {"prompt": "Add a --json flag to the list command in src/cli.py", "prompt_length": "52"}),
    ("api_request", {"model": "claude-sonnet-4-5", "input_tokens": "900", "output_tokens": 80, "cost_usd": "0.02"}),
    ("api_request", {"model": "m", "request_id": "r1", "cost_usd_micros": 20_000, "duration_ms": "1500"}),
    ("api_error", {"error": "529 overloaded, retry after 5 s", "status_code": "529", "duration_ms": 100}),
    (
        "tool_result",
        {"tool_name": "Edit", "success": "true", "tool_input": '{"file_path":"a.py","new_string":"x\\ny"}'},
    ),
    ("tool_result", {"tool_name": "Bash", "success": "false", "tool_parameters": '{"full_command":"pytest -q"}'}),
    ("tool_decision", {"tool_name": "Bash", "decision": "reject", "source": "user_reject", "tool_use_id": "c1"}),
    ("compaction", {"trigger": "auto", "success": "true"}),
    ("assistant_response", {"response": "All done."}),
    ("user_abort", {}),
]
_OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("codex.user_prompt", {"conversation.id": "s2", "prompt": "now write the docs"}),
    ("codex.sse_event", {"conversation.id": "s2", "event.kind": "response.completed", "input_token_count": 9}),
    ("codex.tool_result", {"conversation.id": "s2", "tool_name": "shell", "arguments": '{"command":["ls"]}'}),
    ("gemini_cli.user_prompt", {"session.id": "s1", "prompt": "undo that", "prompt_id": "g1"}),
    ("gemini_cli.api_response", {"session.id": "s1", "input_token_count": 10, "thoughts_token_count": "3"}),
    ("gemini_cli.tool_call", {"session.id": "s1", "function_name": "replace", "function_args": '{"file_path":"a"}'}),
    ("svc.session_start", {"session.id": "s1", "source": "clear"}),
    ("svc.session_end", {"session.id": "s2", "reason": "exit"}),
]
LOGS: list[Any] = [
    logs(*[claude(event, each, timeUnixNano=_at(number)) for number, (event, each) in enumerate(_CLAUDE)]),
    *[logs(claude(event, each, timeUnixNano=_at(number * 7))) for number, (event, each) in enumerate(_CLAUDE)],
    *[
        logs(
            log({"event.name": event} | each, timeUnixNano=_at(number), traceId="5b" * 16), service=event.split(".")[0]
        )
        for number, (event, each) in enumerate(_OTHERS)
    ],
]
_POINT = {"timeUnixNano": _at(5), "startTimeUnixNano": _at(0)}
METRICS: list[Any] = [
    metrics(
        counter("claude_code.lines_of_code.count", _POINT | {"asInt": "12"}, {"session.id": "s1", "type": "added"})
    ),
    metrics(counter("claude_code.cost.usage", _POINT | {"asDouble": 0.5}, {"session.id": "s1", "model": "m"})),
    metrics({"name": "g", "gauge": {"dataPoints": [_POINT | {"asDouble": "NaN"}]}}),
    metrics(
        {
            "name": "h",
            "histogram": {
                "aggregationTemporality": 2,
                "dataPoints": [
                    _POINT | {"count": "3", "sum": 6.5, "bucketCounts": ["1", "2"], "explicitBounds": [2.5]}
                ],
            },
        }
    ),
    metrics({"name": "e", "exponentialHistogram": {"dataPoints": [_POINT | {"count": 2, "scale": 3, "zeroCount": 1}]}}),
    metrics({"name": "q", "summary": {"dataPoints": [_POINT | {"quantileValues": [{"quantile": 0.5, "value": 1}]}]}}),
]
_CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": "s2",
    "gen_ai.usage.input_tokens": 20,
    "gen_ai.request.model": "gpt-5",
    "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
}
_TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "run", "gen_ai.tool.call.arguments": "{}"}
SPANS: list[Any] = [
    traces(
        span("chat", _CHAT, startTimeUnixNano=_at(3), endTimeUnixNano=_at(4)),
        span("tool", _TOOL, spanId="aa" * 8, parentSpanId="eee19b7ec3c1b174", status={"code": 2, "message": "no"}),
    )
]
OVERRIDES: list[Any] = [
    {"field": "boundary", "action": "split_at_turn", "payload": {"split_turn_idx": 1}},
    {"field": "boundary", "action": "merge_with_previous", "payload": {}},
    {"field": "completion", "action": "mark_complete"},
    {"field": "rollback", "action": "mark_rework"},
    {"field": "label", "action": "rename", "payload": {"new_label": "Mine"}},
    {"field": "label", "action": "set_intent", "payload": {"intent_class": "question"}},
]
TITLES: list[Any] = [{"title": "Mine", "summary": "What it was about."}]
KINDS: dict[str, list[Any]] = {
    "/v1/prompts": PROMPTS,
    "/v1/prompts/response": RESPONSES,
    "/v1/logs": LOGS,
    "/v1/metrics": METRICS,
    "/v1/traces": SPANS,
    "override": OVERRIDES,
    "title": TITLES,
}


class Move(NamedTuple):
    """One request; an override or title is about the newest sub-session there is."""

    path: str
    body: bytes
    headers: dict[str, str]


@st.composite
def moves(draw: st.DrawFn) -> Move:
    """One request of any kind, more or less as it should be."""
    paths = ("/v1/prompts", "/v1/prompts/response", "/v1/logs", "/v1/logs", "/v1/metrics", "/v1/traces", "override")
    path = draw(st.sampled_from((*paths, "title")))
    body = as_json(draw(bent(KINDS[path])), escaped=draw(st.booleans()))
    return Move(path, *draw(packed(draw(damaged(body)))))


async def sent(mill: Mill, move: Move) -> int:
    """The status of the answer; what is about a sub-session where there is none is not sent."""
    headers = {"Content-Type": "application/json"} | move.headers
    if move.path.startswith("/"):
        return (await mill.intake.post(move.path, move.body, headers)).status
    rows = (await mill.api.get("/v1/score_v3/realtime/sub-sessions")).json
    if not rows:
        return 200
    name = rows[0]["sub_session_id"]
    if move.path == "title":
        return (await mill.api.call("PATCH", f"/v1/score_v3/sub-sessions/{name}", move.body, headers)).status
    return (await mill.api.post(f"/v1/sub-sessions/{name}/override", move.body, headers)).status


@examples(30)
@given(st.lists(moves(), min_size=1, max_size=6), st.randoms(use_true_random=False))
async def test_what_is_taken_can_be_derived_replayed_and_read(history: list[Move], chance: Random) -> None:
    """Odd shapes, damaged bodies and torn gzip among requests as they should be."""
    mill = MILL.empty()
    with drawn_ids(chance):
        found = [await sent(mill, move) for move in history]
    assert set(found) <= DOCUMENTED
    await mill.check(chance)


async def test_the_examples_are_taken_as_they_stand() -> None:
    """Else there would be nothing to bend."""
    mill = MILL.empty()
    for path, bodies in KINDS.items():
        for body in bodies[:-1] if path == "/v1/prompts/response" else bodies:
            status = await sent(mill, Move(path, as_json(body), {}))
            assert status in (200, 201, 204) or path == "override", (path, body, status)
    await mill.check(Random(0))
