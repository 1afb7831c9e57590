"""Reports on the real program: killed in the middle of one, and started again."""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.process import Program, Server, init, serving

pytestmark = pytest.mark.process

REPORT = "/v1/score_v3/report"
SECONDS_MAX = 30
STUCK = (
    "import sys, time\n"
    "from projections.reports import SECTIONS\n"
    "SECTIONS['speed'] = lambda look: time.sleep(3600)\n"
    "from svc.__main__ import main\n"
    "main()\n"
)
"""The program, with a section that never ends."""


@contextmanager
def stuck(var: Path, key: str) -> Iterator[Server]:
    """A server whose reports stay running."""
    with Program((sys.executable, "-c", STUCK)).serving(var, key=key) as server:
        yield server


def asks(server: Server, **wanted: str) -> str:
    """The id of a report that was asked for; asked again while the views are behind, as any client would."""
    deadline = time.monotonic() + SECONDS_MAX
    while (answer := server.api.post(f"{REPORT}/generate", json=wanted)).status_code == 503:
        assert time.monotonic() < deadline, answer.text
    assert answer.status_code == 202, answer.text
    report_id: str = answer.json()["report_id"]
    return report_id


def comes_to(server: Server, report_id: str, state: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while (found := server.api.get(f"{REPORT}/status/{report_id}").json()).get("status") != state:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def steps(var: Path) -> list[str]:
    with closing(sqlite3.connect(var / "events.db")) as log:
        return [row[0] for row in log.execute("SELECT topic FROM stored_events WHERE topic LIKE 'report%' ORDER BY 1")]


@pytest.mark.one_folder("looks into events.db; the storm counts reports")
def test_a_report_that_is_running_outlives_a_kill_and_is_completed_once(tmp_path: Path) -> None:
    """kill -9 in the middle of it; the next start finds it, and a replay gives the same rows."""
    var = tmp_path / "var"
    key = init(var)["key"]
    with stuck(var, key) as server:
        assert server.capture(1).status_code == 201
        report_id = asks(server)
        comes_to(server, report_id, "running")
        assert server.api.post(f"{REPORT}/generate", json={}).json() == {"report_id": report_id, "status": "running"}
        server.kill()
    with serving(var, key) as server:
        comes_to(server, report_id, "completed")
        assert server.api.get(REPORT).json()["report_id"] == report_id
        assert len(server.api.get(f"{REPORT}/history").json()) == 1
        server.kill()
    with serving(var, key) as server:
        assert server.api.get(f"{REPORT}/pending").json() == {"report_id": None}
        assert server.stop() == 0
    assert steps(var).count("report.started") == 2
    assert steps(var).count("report.completed") == 1
