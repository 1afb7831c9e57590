"""The plugin folder for Claude Code: the same hooks that `svc connect` writes, and a script that disturbs nobody."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from svc import NEXT
from svc.connect.agents import Target, plans
from svc.connect.changes import Append
from tests.support.process import ROOT

PLUGIN = ROOT / "plugins" / "claude-code"


def test_its_hooks_are_those_that_connect_writes() -> None:
    (changes,) = plans(Target("claude-code", "http://h", "k", ("COMMAND",)), "user", Path("/")).values()
    written = {change.path[1]: [change.value] for change in changes if isinstance(change, Append)}
    brought: dict[str, Any] = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    for groups in brought.values():
        groups[0]["hooks"][0]["command"] = "COMMAND || true"
    assert brought == written


def test_it_is_described_as_claude_code_expects_it() -> None:
    """Its version is that of the next release; the key is asked for as a secret, by names that a hook looks for."""
    known = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert (known["name"], known["version"]) == ("svc", NEXT)
    assert set(known["userConfig"]) == {"url", "key"}
    assert known["userConfig"]["key"]["sensitive"] is True
    market = json.loads((PLUGIN.parent / ".claude-plugin/marketplace.json").read_text())
    assert [(PLUGIN.parent / each["source"]).resolve() for each in market["plugins"]] == [PLUGIN]


def run_script(home: Path, told: str = "{}") -> subprocess.CompletedProcess[str]:
    """As the agent runs it, in a home folder of its own."""
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    script = str(PLUGIN / "scripts/hook.sh")
    return subprocess.run([script], input=told, text=True, capture_output=True, env=environment, check=True)


def test_its_script_runs_the_program_that_was_noted(tmp_path: Path) -> None:
    """With the hook's input on its standard input; without a program nothing happens."""
    assert os.access(PLUGIN / "scripts/hook.sh", os.X_OK)
    assert run_script(tmp_path).stdout == ""
    program = tmp_path / "svc with a blank"
    program.write_text('#!/bin/sh\necho "$@" $(cat)\n')
    (tmp_path / ".config/svc").mkdir(parents=True)
    (tmp_path / ".config/svc/program").write_text(f"{program}\n")
    assert run_script(tmp_path).stdout == ""
    program.chmod(0o755)
    assert run_script(tmp_path).stdout == "hook claude-code {}\n"


def test_its_script_says_at_a_sessions_start_that_svc_is_missing(tmp_path: Path) -> None:
    """In the form that the agent shows its user; at every other event it stays silent."""
    said = json.loads(run_script(tmp_path, '{"hook_event_name":"SessionStart"}').stdout)
    assert "svc is not installed here" in said["systemMessage"]
    assert run_script(tmp_path, '{"hook_event_name":"Stop"}').stdout == ""
