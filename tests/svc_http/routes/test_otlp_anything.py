"""Whatever JSON is sent to `/v1/logs`, `/v1/metrics` or `/v1/traces`, it is answered and no fault."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.otlp import pairs
from tests.svc_http.house import Caller

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_EVENTS = st.sampled_from(
    [
        *("user_prompt", "api_request", "api_error", "tool_result", "tool_decision", "compaction", "codex.sse_event"),
        *("codex.tool_result", "codex.api_request", "gemini_cli.api_response", "gemini_cli.tool_call"),
        *("svc.session_start", "svc.tool_result", ""),
    ]
)
_KEYS = st.sampled_from(
    [
        *("session.id", "conversation.id", "prompt.id", "prompt", "tool_name", "tool_input", "tool_parameters"),
        *("success", "decision", "source", "error", "cost_usd", "cost_usd_micros", "input_tokens", "output_tokens"),
        *("cached_token_count", "event.kind", "event.timestamp", "arguments", "function_args", "function_name"),
        *("metadata", "status_code", "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.tool.call.arguments"),
        *("gen_ai.conversation.id", "gen_ai.usage.input_tokens", ""),
    ]
)
_TEXTS = st.sampled_from(
    ["Bash", "apply_patch", "invoke_agent", "chat", "execute_tool", "reject", "true", "-1", "1e5", "nan", "2026-01-01"]
) | _JSON.map(json.dumps)
_VALUES = st.builds(lambda each: {"stringValue": each}, _TEXTS | st.text(max_size=10)) | _JSON
_ATTRIBUTES = st.lists(st.fixed_dictionaries({"key": _KEYS, "value": _VALUES}), max_size=8)


@given(data=st.data(), path=st.sampled_from(["/v1/logs", "/v1/traces", "/v1/metrics"]))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_json_at_all_is_a_500(intake: Caller, data: st.DataObject, path: str) -> None:
    """Whatever stands where in a body, it is 200 or 400, and the server stays as it is."""
    event = {"key": "event.name", "value": {"stringValue": data.draw(_EVENTS)}}
    record = {"attributes": [event, *data.draw(_ATTRIBUTES)], **data.draw(st.dictionaries(_KEYS, _JSON, max_size=2))}
    point = {"attributes": data.draw(_ATTRIBUTES), "asInt": data.draw(_JSON)}
    resource = {"attributes": pairs({"service.name": data.draw(st.sampled_from(["claude-code", "vs-copilot", "x"]))})}
    metric = {"name": data.draw(_JSON), "sum": {"dataPoints": [point]}}
    bodies = [
        {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record]}]}]},
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [{**record, **data.draw(_MEMBERS)}]}]}]},
        {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": [metric]}]}]},
        {"resourceLogs": data.draw(_JSON), "resourceSpans": data.draw(_JSON), "resourceMetrics": data.draw(_JSON)},
        data.draw(_JSON),
    ]
    body = json.dumps(data.draw(st.sampled_from(bodies))).encode()
    assert (await intake.post(path, body)).status in (200, 400)


_MEMBERS = st.dictionaries(
    st.sampled_from(["traceId", "spanId", "parentSpanId", "status", "startTimeUnixNano", "endTimeUnixNano", "kind"]),
    st.sampled_from(["", "a" * 16, "b" * 32, "5", "99", 7, {"code": 2, "message": "x"}, None]),
    max_size=5,
)
