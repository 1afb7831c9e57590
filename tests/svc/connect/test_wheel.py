"""What other machines get: the wheel that a server makes of itself, and the plugin for Claude Code."""

import json
import os
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from svc import NEXT
from svc.cli.demo import write_transcripts
from svc.connect.agents import Target, made_here, plans, to_paste
from svc.connect.changes import Append
from tests.support.process import ROOT, init, serving


def test_it_holds_every_module_and_the_licence_and_is_the_same_each_time() -> None:
    made = made_here()
    assert made is not None
    names = set(zipfile.ZipFile(BytesIO(made.data)).namelist())
    assert {"svc/hook/start.py", "svc_http/app.py", "projections/schema.toml", "aggregates/event.py"} <= names
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name or name.startswith("tests") for name in names)
    assert made_here() == made


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed by pip into an environment that finds the libraries which run here, and no source tree."""
    folder, made = tmp_path_factory.mktemp("wheel"), made_here()
    assert made is not None
    (folder / made.name).write_bytes(made.data)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    options = "--quiet", "--no-index", "--no-deps", "--no-compile"
    pip: list[Any] = [sys.executable, "-m", "pip", "--python", folder / "env", "install", *options, folder / made.name]
    subprocess.run(pip, check=True, env=environment(folder))
    (place,) = folder.glob("env/lib/python*/site-packages")
    (place / "libraries.pth").write_text(str(Path(str(msgspec.__file__)).parents[1]))
    return folder / "env/bin/svc"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], **more}


def typed(program: Path, home: Path, *arguments: str, **more: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=environment(home, **more))
    assert done.returncode == 0, done.stderr
    return done.stdout


def hooked(command: str, home: Path, told: dict[str, Any]) -> str:
    how: dict[str, Any] = {"shell": True, "text": True, "capture_output": True, "env": environment(home)}
    done = subprocess.run(command, input=json.dumps(told), **how)
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


@pytest.mark.process
def test_from_connect_to_a_score_and_back(program: Path, tmp_path: Path) -> None:
    """Connect, a hook as the agent runs it, import, doctor, score, disconnect; what each does has tests of its own."""
    made, home = init(tmp_path / "var"), tmp_path / "home"
    home.mkdir()
    with serving(tmp_path / "var", made["key"]) as server:
        typed(program, home, "connect", "claude-code", "--url", server.intake_url, "--coach", SVC_KEY=made["key"])
        settings = home / ".claude/settings.json"
        hooks = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"]
        capturing, coaching = (each["hooks"][0]["command"] for each in hooks)
        assert str(program.parents[1]) in capturing
        told = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt_id": "p1", "prompt": "Fix it"}
        ended = {"session_id": "s1", "hook_event_name": "SessionEnd"}
        assert [hooked(capturing, home, each) for each in (told, ended)] == ["", ""]
        assert hooked(coaching, home, told) == "" or "svc: " in hooked(coaching, home, told | {"session_id": "s2"})
        written = write_transcripts(home / "demo", now_us=time.time_ns() // 1_000)
        session = next(written["Ben"].rglob("*.jsonl"))
        report = json.loads(
            typed(program, home, "import", "claude-code", str(session), "--url", server.intake_url, "--json")
        )
        assert report["created"] > 0
        assert report["refused"] == report["torn"] == []
        (found,) = json.loads(typed(program, home, "doctor", "--json"))
        assert {each["level"] for each in found["findings"]} <= {"ok", "warning"}
        assert "captured and read back" in str(found)
        score = json.loads(typed(program, home, "score", "--days", "366", "--json", "--api", server.api_url))
        assert score["score"]["total_count"] > 0
        typed(program, home, "disconnect", "claude-code")
        assert not settings.exists()


def test_what_a_person_pastes_is_what_connect_writes() -> None:
    pasted = {path: text for _, path, text in to_paste("https://svc.example")}
    assert pasted["~/.gemini/.env"].splitlines()[1:-1] == [
        "GEMINI_TELEMETRY_OTLP_ENDPOINT=https://svc.example",
        "OTEL_EXPORTER_OTLP_HEADERS=X-API-Key=YOUR_KEY",
    ]
    variables = json.loads(pasted["~/.claude/settings.json"])["env"]
    assert variables["OTEL_EXPORTER_OTLP_HEADERS"] == "Authorization=Bearer YOUR_KEY"
    assert {"~/.codex/config.toml", "~/.copilot/svc.env", "~/.config/opencode/svc.env"} <= pasted.keys()


# --- the plugin for Claude Code: the same hooks that `svc connect` writes, and a script that disturbs nobody --------

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
    """With the hook's input on its standard input. Without a program it says so at a session's start, in the form that
    the agent shows its user; at every other event it stays silent."""
    assert os.access(PLUGIN / "scripts/hook.sh", os.X_OK)
    said = json.loads(run_script(tmp_path, '{"hook_event_name":"SessionStart"}').stdout)
    assert "svc is not installed here" in said["systemMessage"]
    assert run_script(tmp_path, '{"hook_event_name":"Stop"}').stdout == ""
    program = tmp_path / "svc with a blank"
    program.write_text('#!/bin/sh\necho "$@" $(cat)\n')
    (tmp_path / ".config/svc").mkdir(parents=True)
    (tmp_path / ".config/svc/program").write_text(f"{program}\n")
    assert run_script(tmp_path).stdout == ""
    program.chmod(0o755)
    assert run_script(tmp_path).stdout == "hook claude-code {}\n"
