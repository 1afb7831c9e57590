"""Importing into another machine's server: the same figures as beside the log, also after a kill."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest

from svc.cli.demo import write_transcripts
from tests.support.process import Server, environment, init, serving, svc

SESSIONS = 50
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_ID = re.compile(r"\b(msg_|req_|toolu_)")
FIGURES = (
    "/v1/score_v3/score?from={from_}&to={to}",
    "/v1/score_v3/speed?from={from_}&to={to}",
    "/v1/score_v3/tokens?from={from_}&to={to}",
    "/v1/score_v3/skill?from={from_}&to={to}",
    "/v1/score_v3/insight/sessions?from={from_}&to={to}&limit=200",
    "/v1/score_v3/prompts/top?from_date={from_date}&to_date={to_date}",
    "/v1/telemetry/stats?from={from_}&to={to}",
)
DIES = """
import os, signal, sys
import svc.importing.importer as elsewhere
from svc.connect.connections import Server
elsewhere.BODY_BYTES_MAX = 8_192
left, post = [int(sys.argv.pop(1))], Server.asked
def counted(*arguments, **more):
    answer = post(*arguments, **more)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
Server.asked = counted
sys.argv[0] = "svc"
from svc.__main__ import main
main()
"""
"""The real command, that is killed once the server has its n-th request, before it knows so."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Fifty sessions of one developer: the sample's, and the same under other ids five weeks before."""
    folder, now_us = tmp_path / "sessions", time.time_ns() // 1_000
    write_transcripts(folder / "now", now_us=now_us)
    write_transcripts(folder / "before", now_us=now_us - 35 * 86_400_000_000)
    for file in (folder / "before").rglob("*.jsonl"):
        text = _UUID.sub(lambda found: str(uuid5(NAMESPACE_OID, found[0])), file.read_text())
        file.write_text(_OTHER_ID.sub(r"\1x", text))
    files = sorted(folder.rglob("*.jsonl"))
    for file in files[SESSIONS:]:
        file.unlink()
    assert len(files) >= SESSIONS
    return folder


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Path, Server, dict[str, Any]]]:
    """A folder, and a server over another one with the same developer and key."""
    made = init(tmp_path / "here")
    init(tmp_path / "there")
    with serving(tmp_path / "there", made["key"]) as server:
        yield tmp_path / "here", server, made


def figures(server: Server) -> list[Any]:
    now = time.time()
    days = [time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (now - 60 * 86_400, now + 86_400)]
    words = {"from_": f"{days[0]}T00:00:00Z", "to": f"{days[1]}T00:00:00Z", "from_date": days[0], "to_date": days[1]}
    answers = [server.api.get(each.format(**words)) for each in FIGURES]
    assert [each.status_code for each in answers] == [200] * len(FIGURES)
    return [each.json() for each in answers]


def imported(server: Server, sessions: Path, key: str) -> dict[str, Any]:
    done = svc("import", "claude-code", sessions, "--url", server.intake_url, "--json", told={"SVC_KEY": key})
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.process
def test_killed_half_way_and_begun_again_it_gives_the_figures_of_a_local_import(
    sessions: Path, two: tuple[Path, Server, dict[str, Any]]
) -> None:
    here, server, made = two
    command = ["import", "claude-code", str(sessions), "--url", server.intake_url, "--key", made["key"]]
    killed = subprocess.run(
        [sys.executable, "-c", DIES, "12", *command], env=environment(), capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    report = imported(server, sessions, made["key"])
    local = json.loads(svc("import", "claude-code", sessions, "--var", here, "--json").stdout)
    assert report["known"] > 0
    assert report["created"] > 0
    assert report["created"] + report["known"] == local["created"]
    counts = ("created", "known")
    assert {each: report[each] for each in report if each not in counts} == {
        each: local[each] for each in local if each not in counts
    }
    assert report["files"] == SESSIONS
    with serving(here, made["key"]) as own:
        assert figures(server) == figures(own)
    assert imported(server, sessions, made["key"])["created"] == 0


@pytest.mark.process
def test_what_cannot_be_done_is_said_with_what_to_do(
    sessions: Path, two: tuple[Path, Server, dict[str, Any]], tmp_path: Path
) -> None:
    """Neither a folder nor a server; both; no key; a wrong one; the API instead of the intake."""
    _, server, made = two

    def refused(*arguments: str | Path) -> str:
        done = svc("import", "claude-code", sessions, *arguments, check=False)
        assert done.returncode != 0
        return done.stderr

    nothing = refused("--var", tmp_path / "nothing")
    assert "--var DIR" in nothing
    assert "--url http://HOST:4318 --key KEY" in nothing
    url = ("--url", server.intake_url)
    assert "leave out --var" in refused(*url, "--var", tmp_path / "here")
    assert "SVC_KEY or --key" in refused(*url)
    assert "unknown key" in refused(*url, "--key", "svc_" + "x" * 43)
    assert "not the intake" in refused("--url", server.api_url, "--key", made["key"])
    assert "cannot be reached" in refused("--url", "http://127.0.0.1:9", "--key", made["key"])
