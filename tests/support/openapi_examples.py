"""Writes `http/svc_http/openapi/examples.json`: `python -m tests.support.openapi_examples`.

The examples are what the service really answers about the demo's month of work, with long lists cut short. Write them
anew when an answer has got another shape; the tests say which examples are missing or do not fit.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import trio

from aggregates.ids import membership_stream
from aggregates.prices.catalog import Served
from svc_http.app import build_api, build_intake
from tests.support.catalogs import snapshot
from tests.support.described import path_of, tables
from tests.support.people import ACME, ANA, BEN
from tests.svc_http.house import Caller, House, bearer, internal
from tests.svc_http.openapi.test_shapes import a_month_of_work

FILE = Path(__file__).parents[2] / "http" / "svc_http" / "openapi" / "examples.json"
ITEMS_MAX = 2
NAMED = "00000000-0000-4000-8000-000000000001"
MONTH = "from=2026-07-01&to=2026-08-31"
DAYS = "from_date=2026-07-01&to_date=2026-08-31"
LOG = {
    "timeUnixNano": "1785402000000000000",
    "body": {"stringValue": "claude_code.user_prompt"},
    "attributes": [
        {"key": "session.id", "value": {"stringValue": "session-1"}},
        {"key": "prompt", "value": {"stringValue": "Fix the crash in src/parser.py when the file is empty."}},
    ],
}
EXCHANGE = {
    "agent_session_id": "session-2",
    "prompt": {"line_id": "line-1", "text": "Fix the login.", "at_us": 1785402000000000},
    "answer": {"text": "Fixed.", "at_us": 1785402060000000, "elapsed_ms": 60000},
    "drafts": [
        {"record": {"record_id": "tool:1", "at_us": 1785402030000000, "kind": "tool", "tool": "Edit", "ok": True}}
    ],
}
POINT = {"timeUnixNano": "1785402000000000000", "asDouble": 12.0}
SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "name": "chat",
    "startTimeUnixNano": "1785402000000000000",
    "endTimeUnixNano": "1785402001000000000",
}
QUERIES = {
    "insight/rubric": MONTH,
    "trivia/trend": f"{MONTH}&period=month",
    "integrity/trend": f"{MONTH}&period=month",
    "peer-comparison": MONTH,
    "integrity/recent": "from=2026-07-01",
    "files": DAYS,
    "prompts/top": DAYS,
    "task-time": DAYS,
    "model-task": DAYS,
    "today-summary": "date=2026-07-28",
    "telemetry/analytics": MONTH,
    "telemetry/logs": MONTH,
    "telemetry/metrics": MONTH,
    "telemetry/traces": MONTH,
    "telemetry/stats": MONTH,
    "intelligence/throttle": MONTH,
    "throttle/team": MONTH,
    "rightsizing": MONTH,
    "insights/report": MONTH,
}
"""End of a path → a query by which there is something to show."""


async def examples(folder: Path) -> dict[str, dict[str, Any]]:
    house = House()
    house.prices = Served(snapshot(), house.clock_us, False)
    intake = Caller(build_intake(house), bearer())
    api, admin = Caller(build_api(house), bearer()), Caller(build_api(house), internal())
    await a_month_of_work(house, intake, folder)
    shown: dict[str, dict[str, Any]] = {}
    ids = await _ids(api, admin)
    for method, path, body, caller in _posts(intake, api, admin, ids):
        answer = await caller.call(method, path, body)
        assert answer.status < 300, (method, path, answer.body)
        said = path.partition("?")[0] if body is None else path
        sent = {} if body is None else {"body": body}
        got = {"answer": _short(answer.json)} if answer.body else {}
        shown[f"{method} {_template(said)}"] = sent | got
        ids |= {"<report_id>": answer.json["report_id"]} if path.endswith("/score_v3/report/generate") else {}
    for listener, caller in (("intake", intake), ("api", api)):
        for route in tables()[listener]:
            if route.method == "GET" and route.path not in (
                "/openapi.json",
                "/docs",
                "/metrics",
                "/v1/score_v3/events",
            ):
                path = _filled(route.path, ids)
                for asking in (caller, admin):
                    answer = await asking.get(path)
                    if answer.status == 200 and answer.headers["Content-Type"] == "application/json":
                        shown.setdefault(f"GET {route.path}", {})["answer"] = _short(answer.json)
    shown["GET /v1/score_v3/report"] = shown["GET /v1/score_v3/report/<report_id>"]
    return dict(sorted(shown.items()))


async def _ids(api: Caller, admin: Caller) -> dict[str, str]:
    rows = (await api.get("/v1/score_v3/speed/sessions?window=monthly")).json
    team = (await admin.post("/v1/admin/teams", {"organization_id": str(ACME), "name": "Core"})).json["id"]
    await admin.post("/v1/admin/team-memberships", {"team_id": team, "developer_id": str(ANA)})
    return {"<sub_session_id>": rows[0]["score_v3_sub_session_id"], "<team_id>": team}


def _filled(path: str, ids: dict[str, str]) -> str:
    for name, value in ids.items():
        path = path.replace(name, value)
    query = next((query for end, query in QUERIES.items() if path.endswith(end)), "window=monthly")
    return f"{path}?{query}&limit=2&team_id={ids['<team_id>']}"


def _template(path: str) -> str:
    described = path_of(path)
    assert described is not None, path
    return re.sub(r"\{([^}]+)\}", r"<\1>", described)


def _posts(intake: Caller, api: Caller, admin: Caller, ids: dict[str, str]) -> list[tuple[str, str, Any, Caller]]:
    """Method, path, body and who sends it, in an order in which all of them are taken."""
    a, control = "/v1/admin", "/v1/admin/control"
    sub_session = ids["<sub_session_id>"]
    prompt = {
        "prompt_text": "Fix the crash in src/parser.py when the file is empty; run pytest before you stop.",
        "tool_session_id": "session-1",
        "client_event_id": NAMED,
        "submitted_at": "2026-07-30T09:00:00Z",
    }
    response = {
        "client_event_id": NAMED,
        "response_operation_id": "op-1",
        "response_text": "Done.",
        "output_tokens": 12,
    }
    document = {"exact_lookups": msgspec.to_builtins(snapshot().exact_lookups)[:1]}
    range_ = {"from": "2026-07-01T00:00:00Z", "to": "2026-08-01T00:00:00Z"}
    return [
        ("POST", "/v1/prompts", prompt, intake),
        ("POST", "/v1/prompts/response", response, intake),
        ("POST", "/v1/import", {"source": "claude-code", "exchanges": [EXCHANGE]}, intake),
        ("POST", "/v1/setup-complete", {"plugin_version": "0.6.0", "key_prefix": "svc_AbCdEfGh"}, intake),
        ("POST", "/v1/logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [LOG]}]}]}, intake),
        ("POST", "/v1/metrics", _metrics(), intake),
        ("POST", "/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}, intake),
        ("POST", "/v1/telemetry/per-turn", {"session_id": "session-1", "prompt_ids": ["p1"]}, api),
        ("PATCH", f"/v1/score_v3/sub-sessions/{sub_session}", {"title": "Crash on empty files"}, api),
        ("POST", f"/v1/sub-sessions/{sub_session}/override", _override(), api),
        ("POST", "/v1/score_v3/report/generate", {"period": "weekly"}, api),
        ("POST", f"{a}/organizations", {"name": "Acme"}, admin),
        ("PATCH", f"{a}/organizations/{ACME}", {"text_leaves": False, "retention_days_text": 90}, admin),
        ("POST", f"{a}/developers", {"display_name": "Kim", "timezone": "Asia/Seoul"}, admin),
        ("PATCH", f"{a}/developers/{ANA}", {"report_schedules": ["daily", "weekly"]}, admin),
        ("PATCH", f"{a}/memberships/{membership_stream(ACME, BEN)}", {"role": "owner"}, admin),
        ("DELETE", f"{a}/memberships/{membership_stream(ACME, BEN)}", None, admin),
        ("POST", f"{a}/memberships", {"organization_id": str(ACME), "developer_id": str(BEN)}, admin),
        ("POST", f"{a}/teams", {"organization_id": str(ACME), "name": "Web"}, admin),
        ("POST", f"{a}/team-memberships", {"team_id": ids["<team_id>"], "developer_id": str(BEN)}, admin),
        ("POST", f"{a}/keys", {"developer_id": str(BEN), "name": "laptop", "prefix": "gck"}, admin),
        ("POST", f"{control}/replay", {"rules": 2}, admin),
        ("POST", "/v1/insights/report/generate", {"from": "2026-07-01", "to": "2026-08-31"}, api),
        ("POST", "/v1/insights/report/quick?from=2026-07-01&to=2026-08-31", None, api),
        ("POST", "/v1/score_v3/admin/backfill", range_, api),
        ("POST", f"{control}/backfill", {"organization_id": str(ACME)} | range_, admin),
        ("POST", f"{control}/catalog", {"document": document, "source": "upload"}, admin),
        ("POST", f"{control}/catalog/reprice", {"organization_id": str(ACME)} | range_, admin),
    ]


def _metrics() -> dict[str, Any]:
    metric = {"name": "claude_code.lines_of_code.count", "unit": "1", "sum": {"dataPoints": [POINT]}}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


def _override() -> dict[str, Any]:
    return {"field": "label", "action": "rename", "payload": {"new_label": "Crash on empty files"}}


def _short(value: Any) -> Any:
    match value:
        case list():
            return [_short(each) for each in (value[:ITEMS_MAX] if value and isinstance(value[0], dict) else value[:8])]
        case dict():
            return {name: _short(each) for name, each in value.items()}
        case _:
            return value


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder:
        found = trio.run(examples, Path(folder))
    found["POST /v1/score_v3/report/cancel/<report_id>"] = {"answer": {"report_id": NAMED, "status": "cancelled"}}
    found["POST /v1/admin/control/catalog/refresh"] = {"answer": found["POST /v1/admin/control/catalog"]["answer"]}
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


if __name__ == "__main__":
    main()
