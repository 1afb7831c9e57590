"""What an operator sees of a running server: metrics and logs, without a secret or a word of anybody's."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families

from aggregates.capture.events import CapturePrompt
from aggregates.event import Done, Reason, Refused
from svc.log.store import StoreUnavailable
from svc.logs import count_errors, set_up_logs
from svc.metrics import Metrics
from svc_http.listener import REQUEST_ID
from tests.support.basics import ACME, ANA, named
from tests.support.process import Server, init, serving

PLANTED = "the merger with Initech is secret"
PASSWORD = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
PROMPT = f"Fix the crash: {PLANTED}, token {PASSWORD}"


def captured(source: str = "claude-code") -> CapturePrompt:
    return CapturePrompt(
        organization_id=ACME, developer_id=ANA, prompt_id=named("p"), agent_session_id="s", source=source, text="x"
    )


def samples(text: str) -> dict[str, float]:
    """Every sample of an exposition by name and labels; fails where it is no exposition."""
    return {
        sample.name + "".join(f"|{name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_a_client_may_name_freely_makes_no_label() -> None:
    metrics = Metrics()
    for number in range(50):
        metrics.carried_out(captured(f"agent-{number}"), Done(True))
        metrics.observe("intake", f"METHOD{number}", "none", 404, 0.001)
    metrics.carried_out(captured(), Done(False))
    metrics.carried_out(captured(), Refused(Reason.INVALID, "no"))
    found = samples(metrics.text("")[0].decode())
    captures = {name: value for name, value in found.items() if name.startswith("svc_captures_total")}
    assert captures == {
        "svc_captures_total|signal=prompts|source=claude-code": 1,
        "svc_captures_total|signal=prompts|source=other": 50,
    }
    assert found["svc_http_requests_total|listener=intake|method=other|route=none|status=404"] == 50
    assert found["svc_judge_calls_total|judge=embedded|outcome=ok"] == 50


def trouble(server: Server) -> None:
    """Requests of every kind that has something to hide."""
    prompt = {"prompt_text": PROMPT, "tool_session_id": "s", "cwd": f"/home/{PLANTED}"}
    assert server.intake.post("/v1/prompts", json=prompt).status_code == 201
    server.intake.post("/v1/prompts", json=prompt | {"submitted_at": PLANTED})
    server.intake.post("/v1/prompts", content=f'{{"prompt_text": "{PROMPT}", torn'.encode())
    server.intake.post("/v1/prompts", json={"prompt_text": [PROMPT]})
    server.intake.post(f"/v1/{PLANTED}?key={PASSWORD}", json=prompt)
    server.intake.post("/v1/logs", content=PROMPT.encode(), headers={"Content-Type": f"text/{PASSWORD}"})
    server.intake.get("/health", headers={"X-Request-Id": PASSWORD.replace("_", " "), "X-API-Key": PASSWORD})
    server.api.get("/v1/score_v3/score", params={"window": PLANTED})
    server.api.get(f"/v1/score_v3/sub-sessions/{PLANTED}")
    server.api.get("/v1/admin/keys", headers={"X-Internal-Secret": PASSWORD, "Authorization": ""})


@pytest.mark.process
def test_neither_logs_nor_metrics_tell_what_somebody_wrote(tmp_path: Path) -> None:
    """With every log switched on: no prompt, no key, no secret, no path that a client made up."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"], "--log-level", "debug", "--access-log") as server:
        trouble(server)
        assert server.api.get("/v1/score_v3/realtime/sub-sessions").status_code == 200
        text = server.api.get("/metrics", headers={"Authorization": ""}).text
        assert server.stop() == 0
    log = (tmp_path / "var.log").read_text()
    secret = (var / "internal-secret").read_text().strip()
    for planted in (PLANTED, PASSWORD, made["key"], secret, "Initech"):
        assert planted not in log
        assert planted not in text
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(requests) >= 12
    assert all(line["request_id"] for line in requests)
    routes = {line["route"] for line in requests if line["status"] == 404}
    assert routes <= {"none", "/v1/score_v3/sub-sessions/<sub_session_id>"}
    found = samples(text)
    assert found["svc_captures_total|signal=prompts|source=claude-code"] == 1
    assert found["svc_http_requests_total|listener=intake|method=POST|route=/v1/prompts|status=201"] == 1
    assert found["svc_commit_seconds_count"] == found["svc_commits_total"] >= 1
    assert found["svc_read_seconds_count|route=/v1/score_v3/realtime/sub-sessions"] == 1
    assert found["svc_projection_lag_events"] == 0
    assert found["svc_log_position"] == found["svc_projection_position"] > 0
    assert {"svc_mailbox_commands", "process_resident_memory_bytes", "svc_store_writable"} <= set(found)
    assert re.search(r"[0-9a-f]{8}-[0-9a-f]{4}", text) is None, "no id is a label"


WORDS = "the merger with Initech"


def logger() -> Any:
    """The log of a process that serves; to be asked for within a test, for it writes to the standard error of then."""
    set_up_logs("debug")
    return structlog.get_logger()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_carries_the_request_it_belongs_to(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever logs it; outside of requests there is none."""
    log = logger()
    log.info("before")
    token = REQUEST_ID.set("r-1")
    log.warning("within")
    REQUEST_ID.reset(token)
    assert [line.get("request_id") for line in lines(capsys)] == [None, "r-1"]


def test_a_line_that_cannot_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk that takes the log is full; what is counted of it is counted all the same."""
    errors: list[str] = []
    count_errors(errors.append)
    with suppress(OSError), open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        logger().error("the store cannot be written")
        logger().exception("nor can it be read")
    assert len(errors) == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError(f"invalid literal: {WORDS}"), "builtins.ValueError"),
        (KeyError(WORDS), "builtins.KeyError"),
        (StoreUnavailable("disk is full"), "svc.log.store.StoreUnavailable: disk is full"),
        (FileNotFoundError(2, "No such file", "/var/x"), "FileNotFoundError: [Errno 2] No such file: '/var/x'"),
        (ExceptionGroup("some", [ValueError(WORDS), OSError("gone")]), "builtins.OSError: gone"),
    ],
)
def test_an_exception_tells_its_place_and_not_what_it_quotes(
    capsys: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    """Of exceptions that may quote what was sent only the type is told; its cause too."""
    log = logger()
    try:
        try:
            raise RuntimeError(WORDS)
        except RuntimeError as cause:
            raise error from cause
    except Exception:
        log.exception("it broke")
    (line,) = lines(capsys)
    assert told in line["exception"]
    assert "builtins.RuntimeError" in line["exception"]
    assert "test_seeing_inside.py" in line["exception"]
    assert WORDS not in json.dumps(line)


def test_errors_are_counted_by_their_message(capsys: pytest.CaptureFixture[str]) -> None:
    log = logger()
    errors: list[str] = []
    count_errors(errors.append)
    for number in range(3):
        log.error("it broke", number=number)
    log.warning("it nearly broke")
    assert errors == ["it broke"] * 3
