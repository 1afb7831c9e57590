"""The real AgentsView over the sample sessions: its archive tells the same of each as svc's own reader."""

import json
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
from tests.support.real_data import FOLDER, NEEDS_REAL_DATA, TRANSCRIPTS
from tests.support.rollouts import meta, turn, write

PROGRAM = shutil.which("agentsview", path=os.environ.get("SVC_AGENTS_BIN"))
pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(PROGRAM is None, reason="no agentsview in SVC_AGENTS_BIN, nor on the PATH: uv pip install it"),
]
INPUT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
TOKENS = (*INPUT, "output_tokens")
Told = dict[str, tuple[list[str], dict[str, int], set[str]]]


def told(found: Iterable[Found], tokens: Iterable[str] = TOKENS) -> Told:
    """By session its prompts, the tokens of its requests, and its calls."""
    told: Told = defaultdict(lambda: ([], {}, set()))
    seen = Memory()
    for opened in filter(None, (each.open(seen) for each in found)):
        for exchange in opened[1]:
            prompts, requests, calls = told[exchange.agent_session_id]
            prompts += [exchange.prompt.text] if exchange.prompt else []
            # AgentsView leaves out a sub-agent's lines that stand in its parent's file.
            for record in (draft.record for draft in exchange.drafts if not draft.record.sidechain):
                if record.kind == "request":
                    requests[record.record_id] = sum(getattr(record, name) or 0 for name in tokens)
                elif record.call_id is not None:
                    calls.add(record.call_id)
    return told


def archive_over(home: Path) -> Archive:
    """What the program makes of what it finds in a home folder."""
    means = {"HOME": str(home), "PATH": os.environ["PATH"], "AGENTSVIEW_NO_DAEMON": "1"}
    subprocess.run([str(PROGRAM), "sync"], env=means, check=True, capture_output=True, timeout=90)
    return Archive(home / ".agentsview" / "sessions.db")


@pytest.mark.parametrize("real", [None, *(pytest.param(each, marks=NEEDS_REAL_DATA) for each in TRANSCRIPTS)])
def test_the_archive_of_the_real_program_tells_what_the_own_reader_tells(tmp_path: Path, real: str | None) -> None:
    projects = tmp_path / ".claude" / "projects"
    if real is None:
        write_transcripts(projects, now_us=time.time_ns() // 1_000)
    else:
        shutil.copytree(FOLDER / real, projects / "-home-dev")
    archive = archive_over(tmp_path)
    sessions = archive.chosen("claude", None, every=True, quiet_before_us=0)["claude-code"]
    assert not archive.missing
    tokens = INPUT if real else TOKENS  # of an answer's output it keeps the last account, and svc the largest
    assert told(sessions, tokens) == told(FORMATS["claude-code"].found([projects]), tokens)


def test_of_codex_it_tells_responses_that_differ_in_size(tmp_path: Path) -> None:
    """One that is as large as the one before it takes for the same."""
    lines = json.loads(json.dumps([meta(), *turn(10)]))
    counts = [each["payload"]["info"] for each in lines if each["payload"].get("type") == "token_count"]
    for more, info in zip((0, 1, 2, 2), counts, strict=True):
        info["last_token_usage"]["output_tokens"] += more
    write(tmp_path / ".codex" / "sessions", lines)
    sessions = archive_over(tmp_path).chosen("codex", None, every=True, quiet_before_us=0)["codex"]
    (gathered,), (own,) = told(sessions).values(), told(FORMATS["codex"].found([tmp_path / ".codex"])).values()
    assert [gathered[0], sorted(gathered[1].values()), gathered[2]] == [own[0], sorted(own[1].values()), own[2]]
