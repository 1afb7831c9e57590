"""Large exports on the real program: real sockets, real SQLite, and prompts that go on beside them."""

import gzip
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from uuid import UUID

import httpx
import msgspec
import pytest

from tests.support.otlp import claude, logs
from tests.support.process import Server, init, serving

pytestmark = pytest.mark.process

GZIP = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
RECORDS = 7_000
WAIT_SECONDS_MAX = 2.0
"""Measured are some 50 ms; a busy machine may take longer, but not as long as the export."""
PEAK_MIB_MAX = 500


def export() -> bytes:
    """Some 14 MiB of one session."""
    records = [claude("api_request", {"filler": "x" * 1_500, "input_tokens": 1, "n": n}) for n in range(RECORDS)]
    return msgspec.json.encode(logs(*records))


def prompts(server: Server, key: str, until: Event) -> list[float]:
    """One prompt after the other; how long each took."""
    took: list[float] = []
    with httpx.Client(base_url=server.intake_url, headers={"Authorization": f"Bearer {key}"}) as client:
        while not until.is_set():
            event = {"prompt_text": "Fix it", "tool_session_id": "s2", "client_event_id": str(UUID(int=len(took)))}
            started = time.perf_counter()
            assert client.post("/v1/prompts", json=event).status_code == 201
            took.append(time.perf_counter() - started)
    return took


def test_a_large_export_is_taken_while_prompts_go_on(tmp_path: Path) -> None:
    """Every record is counted once, whether it was sent once or twice, and memory stays within bounds."""
    made, done = init(tmp_path / "var"), Event()
    with serving(tmp_path / "var", made["key"]) as server, ThreadPoolExecutor() as pool:
        beside = pool.submit(prompts, server, made["key"], done)
        try:
            answers = [server.intake.post("/v1/logs", content=gzip.compress(export(), 1), headers=GZIP) for _ in "ab"]
        finally:
            done.set()
        assert [(answer.status_code, answer.text) for answer in answers] == [(200, "{}"), (200, "{}")]
        took = beside.result()
        bomb = gzip.compress(bytes(256 * 1024 * 1024), 1)
        assert server.intake.post("/v1/logs", content=bomb, headers=GZIP).status_code == 413
        if Path("/proc/self/status").exists():
            assert server.mib("VmHWM") < PEAK_MIB_MAX
    assert took
    assert max(took) < WAIT_SECONDS_MAX
