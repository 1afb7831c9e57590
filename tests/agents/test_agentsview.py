"""The real AgentsView over the sample sessions: its archive tells the same of each as svc's own reader."""

import os
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from svc.cli.demo import write_transcripts
from svc.importing.agentsview import Archive
from svc.importing.exchange import Found, Memory
from svc.importing.importer import FORMATS

PROGRAM = shutil.which("agentsview", path=os.environ.get("SVC_AGENTS_BIN"))
pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(PROGRAM is None, reason="no agentsview in SVC_AGENTS_BIN, nor on the PATH: uv pip install it"),
]
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def told(found: Iterable[Found]) -> dict[str, tuple[list[str], dict[str, int], set[str]]]:
    """By session its prompts, the tokens of its requests, and its calls."""
    told: dict[str, tuple[list[str], dict[str, int], set[str]]] = defaultdict(lambda: ([], {}, set()))
    seen = Memory()
    for opened in filter(None, (each.open(seen) for each in found)):
        for exchange in opened[1]:
            prompts, requests, calls = told[exchange.agent_session_id]
            prompts += [exchange.prompt.text] if exchange.prompt else []
            # AgentsView leaves out a sub-agent's lines that stand in its parent's file.
            for record in (draft.record for draft in exchange.drafts if not draft.record.sidechain):
                if record.kind == "request":
                    requests[record.record_id] = sum(getattr(record, name) or 0 for name in TOKENS)
                elif record.call_id is not None:
                    calls.add(record.call_id)
    return told


def test_the_archive_of_the_real_program_tells_what_the_own_reader_tells(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    write_transcripts(projects, now_us=time.time_ns() // 1_000)
    means = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "AGENTSVIEW_NO_DAEMON": "1"}
    subprocess.run([str(PROGRAM), "sync"], env=means, check=True, capture_output=True, timeout=90)
    archive = Archive(tmp_path / ".agentsview" / "sessions.db")
    sessions = archive.chosen("claude", None, every=True, quiet_before_us=0)["claude-code"]
    assert archive.missing == []
    assert told(sessions) == told(FORMATS["claude-code"].found([projects]))
