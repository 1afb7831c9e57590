"""`svc connect` and `svc disconnect` in a home folder of their own, without a server."""

import errno
import json
import os
import stat
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner, Result

from svc.cli import main
from svc.connect.agents import AgentName, Target, plans
from svc.connect.changes import Append, apply, document_of
from svc.hook import machine
from svc.hook.machine import Letter, Outbox

pytestmark = pytest.mark.usefixtures("home")
KEY = "svc_" + "k" * 43
URL = "http://127.0.0.1:9"
CLAUDE = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": []\n  }\n}'
CODEX = '# mine\nmodel = "gpt"  # large\n'
HOOKS = '{"hooks": {"Stop": []}}\n'
GEMINI = '{\n\t"ui": {"theme": "dark"}\n}\n'
ENV = "GEMINI_API_KEY=abc"
TOOLS = '{"mcpServers": {"other": {"command": "x"}}}\n'
API = "http://127.0.0.1:8318"
BEFORE = {
    "claude-code": {".claude/settings.json": CLAUDE, ".claude.json": TOOLS},
    "codex": {".codex/config.toml": CODEX, ".codex/hooks.json": HOOKS},
    "gemini": {".gemini/settings.json": GEMINI, ".gemini/.env": ENV},
    "copilot": {".copilot/mcp-config.json": TOOLS},
    "opencode": {".config/opencode/opencode.json": '{"model": "a/b"}'},
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def connect(agent: str, *more: str, key: str = KEY) -> Result:
    result = run("connect", agent, "--url", URL, "--key", key, "--offline", *more)
    assert result.exit_code == 0, result.output
    return result


def disconnect(agent: str, *more: str) -> Result:
    result = run("disconnect", agent, *more)
    assert result.exit_code == 0, result.output
    return result


def lay_out(home: Path, agent: str, mode: int = 0o644) -> dict[Path, str]:
    files = {home / name: text for name, text in BEFORE[agent].items()}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
    return files


def settings(path: Path) -> Any:
    return json.loads(path.read_text())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("agent", BEFORE)
@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_files_come_back_byte_for_byte_with_their_rights(home: Path, agent: str, mode: int) -> None:
    """Whatever was in them, and however often it was connected: a second time nothing changes. Those that were not
    there go again. The tools are told of, and forgotten where it is connected without them."""
    tools = "--mcp", "--api", API
    assert "may ask svc about your own work" in connect(agent, *tools).output
    assert all((home / name).exists() for name in BEFORE[agent])
    disconnect(agent)
    assert not [name for name in BEFORE[agent] if (home / name).exists()]
    files = lay_out(home, agent, mode)
    connect(agent, *tools)
    once = {path: path.read_text() for path in files}
    assert all(once[path] != text for path, text in files.items())
    assert [text for text in once.values() if API in text]
    assert "nothing changes" in connect(agent, *tools).output
    assert {path: path.read_text() for path in files} == once
    connect(agent)
    assert not [path for path in files if API in path.read_text()]
    connect(agent, *tools)
    folder = home / ".local/state/svc" / agent / "backups"
    assert f"copies of the files lie in {folder}\n" in disconnect(agent).output
    assert {path: path.read_text() for path in files} == files
    assert {mode_of(path) for path in files} == {mode}


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("codex", "codex app-server daemon restart"),
        ("copilot", "set -a; . ~/.copilot/svc.env; set +a"),
        ("opencode", "set -a; . ~/.config/opencode/svc.env; set +a"),
    ],
)
def test_what_else_a_person_has_to_do_is_said(home: Path, agent: str, sentence: str) -> None:
    assert sentence in " ".join(connect(agent).output.split())
    disconnect(agent)
    assert not list(home.rglob("svc.env"))


def test_no_hooks_are_written_beside_a_plugin_that_captures(home: Path) -> None:
    """Both would tell of each prompt. One that is switched off, or does other things, is no reason."""
    plugin = home / ".claude/plugins/cache/theirs"
    (plugin / "scripts").mkdir(parents=True)
    script = plugin / "scripts/capture.js"
    script.write_text('post(url + "/v1/prompts", { headers: { authorization: `Bearer gck_…` } })')
    places = {"gateway@theirs": [{"scope": "user", "installPath": str(plugin)}]}
    (home / ".claude/plugins/installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": places}))
    path = home / ".claude/settings.json"

    def hooks(*, on: bool) -> object:
        path.write_text(json.dumps({"enabledPlugins": {"gateway@theirs": on}}))
        said = " ".join(connect("claude-code").output.split())
        assert ("the plugin gateway@theirs captures prompts" in said) == ("hooks" not in settings(path))
        found = settings(path).get("hooks")
        disconnect("claude-code")
        return found

    assert hooks(on=True) is None
    assert hooks(on=False) is not None
    script.write_text("post(elsewhere)")
    assert hooks(on=True) is not None


def test_a_reader_that_is_gone_is_no_error_of_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind `| head -1`: nothing is said."""

    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("svc.cli.connecting.plans", gone)
    result = run("connect", "codex", "--key", KEY, "--offline", "--dry-run")
    assert (result.exit_code, result.output) == (1, "")


def test_what_was_edited_since_keeps_the_edit(home: Path) -> None:
    """As Claude Code writes its settings anew: only what is ours goes."""
    lay_out(home, "claude-code")
    connect("claude-code")
    path = home / ".claude/settings.json"
    known = settings(path)
    known["model"] = "sonnet"
    known["env"]["OTEL_LOG_TOOL_DETAILS"] = "0"
    path.write_text(json.dumps(known))
    assert "env.OTEL_LOG_TOOL_DETAILS was changed since" in disconnect("claude-code").output
    assert settings(path) == {"model": "sonnet", "hooks": {"Stop": []}, "env": {"OTEL_LOG_TOOL_DETAILS": "0"}}


def test_another_key_takes_the_place_of_the_first_and_a_plugin_that_of_the_hooks(home: Path) -> None:
    files = lay_out(home, "claude-code") | lay_out(home, "codex")
    connect("claude-code")
    connect("claude-code", key="gck_" + "n" * 43)
    text = (home / ".claude/settings.json").read_text()
    assert KEY not in text
    assert text.count("hook claude-code") == 7
    connect("codex")
    connect("codex", "--no-hooks")
    assert (home / ".codex/hooks.json").read_text() == HOOKS
    disconnect("claude-code")
    disconnect("codex")
    assert {path: path.read_text() for path in files} == files


def test_only_the_owner_reads_a_file_with_a_key(home: Path) -> None:
    files = lay_out(home, "gemini")
    connect("gemini")
    assert {path.name: oct(mode_of(path)) for path in files} == {"settings.json": "0o644", ".env": "0o600"}
    own = [path for folder in (".config/svc", ".local/state/svc") for path in (home / folder).rglob("*")]
    assert {mode_of(path) for path in own if path.is_file()} == {0o600}
    assert {mode_of(path) for path in own if path.is_dir()} == {0o700}


def test_a_link_stays_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text(CLAUDE)
    (home / ".claude").mkdir()
    link = home / ".claude/settings.json"
    link.symlink_to(real)
    connect("claude-code")
    assert link.is_symlink()
    assert KEY in real.read_text()
    disconnect("claude-code")
    assert (link.is_symlink(), real.read_text()) == (True, CLAUDE)


def test_a_dry_run_changes_nothing(home: Path) -> None:
    """It shows the change, and never a key."""
    files = lay_out(home, "claude-code")
    shown = connect("claude-code", "--dry-run").output
    assert '+    "OTEL_LOG_USER_PROMPTS": "1"' in shown
    assert "text of your prompts" in shown
    assert KEY not in shown
    assert {path: path.read_text() for path in files} == files
    assert not (home / ".config").exists()


def test_the_folders_that_agents_know_are_respected(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for agent, name, file in (
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "config.toml"),
    ):
        monkeypatch.setenv(name, str(tmp_path / agent))
        connect(agent)
        assert (tmp_path / agent / file).exists()
    assert [path.name for path in home.iterdir() if path.name in (".claude", ".codex")] == []


def test_a_project_has_a_connection_of_its_own(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file that is not shared with others, beside that of the user."""
    project = tmp_path / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    connect("claude-code", "--scope", "project")
    connect("claude-code")
    command = settings(project / ".claude/settings.local.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert "--connection claude-code-" in command
    disconnect("claude-code", "--scope", "project")
    assert not (project / ".claude/settings.local.json").exists()
    assert (home / ".claude/settings.json").exists()


def test_doctor_says_what_to_do_for_each_finding(home: Path) -> None:
    """Settings that were lost, a hook command that is gone, a file that others may read, a server that is down."""
    connect("claude-code")
    path = home / ".claude/settings.json"
    known = settings(path)
    del known["env"]["OTEL_LOG_USER_PROMPTS"]
    known["disableAllHooks"] = True
    path.write_text(json.dumps(known))
    path.chmod(0o644)
    result = run("doctor", "--json")
    assert result.exit_code == 1
    findings = [each for each in json.loads(result.output)[0]["findings"] if each["level"] != "ok"]
    assert all(each["to_do"] for each in findings)
    texts = " / ".join(each["text"] for each in findings)
    for part in ("lost or changed: env.OTEL_LOG_USER_PROMPTS", "others may read", "switched off", "cannot be reached"):
        assert part in texts
    assert KEY not in result.output


def test_a_folder_that_takes_no_new_file_still_has_its_file_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A settings file that is mounted by itself cannot be replaced, only overwritten."""
    lay_out(home, "claude-code")

    real = machine.draft_file

    def busy(folder: Path, data: bytes) -> AbstractContextManager[Path]:
        if folder.name == ".claude":
            raise OSError(16, os.strerror(16))
        return real(folder, data)

    monkeypatch.setattr(machine, "draft_file", busy)
    connect("claude-code")
    assert KEY in (home / ".claude/settings.json").read_text()
    disconnect("claude-code")
    assert (home / ".claude/settings.json").read_text() == CLAUDE


def test_what_waits_for_one_server_goes_to_another_only_with_a_word(home: Path) -> None:
    """It is somebody's text; nor does it lie around unsaid."""
    connect("claude-code")
    Outbox(machine.connection_folder("claude-code")).accept(Letter("/v1/prompts", {}))
    assert "captures wait" not in connect("claude-code").output
    other = run("connect", "claude-code", "--url", "http://127.0.0.1:10", "--key", KEY, "--offline")
    assert "1 captures wait" in other.output
    assert "will be sent to http://127.0.0.1:10" in other.output
    assert "1 captures wait" in disconnect("claude-code").output


def test_a_hook_whose_program_is_gone_disturbs_nobody(home: Path, tmp_path: Path) -> None:
    (changes,) = plans(Target("claude-code", URL, KEY, (str(tmp_path / "gone"), "hook")), "user", home).values()
    lines = {each.value["hooks"][0]["command"] for each in changes if isinstance(each, Append)}
    assert [subprocess.run(line, shell=True, capture_output=True).returncode for line in lines] == [0]


def test_the_coach_comes_by_request_and_goes_by_disconnect(home: Path) -> None:
    """One hook more beside the one that captures; connecting again without it takes it out."""
    lay_out(home, "claude-code")
    path = home / ".claude/settings.json"
    assert "each prompt is graded" in connect("claude-code", "--coach").output
    groups = settings(path)["hooks"]["UserPromptSubmit"]
    lines = [each["command"] for group in groups for each in group["hooks"]]
    assert [line.split("start.py ")[1] for line in lines] == ["hook claude-code || true", "coach claude-code || true"]
    connect("claude-code")
    assert len(settings(path)["hooks"]["UserPromptSubmit"]) == 1
    connect("claude-code", "--coach")
    disconnect("claude-code")
    assert path.read_text() == CLAUDE


def test_the_one_file_binary_lays_down_a_small_program_for_hooks(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacking all of itself takes longer than a hook may."""
    (tmp_path / "svc-hook").write_text("#!/bin/sh\n")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    connect("claude-code")
    laid_down = home / ".local/state/svc/bin/svc-hook"
    assert mode_of(laid_down) == 0o700
    command = settings(home / ".claude/settings.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command == f"{laid_down} hook claude-code || true"
    assert (home / ".config/svc/program").read_text() == f"{laid_down}\n"


@pytest.mark.parametrize("agent", get_args(AgentName))
def test_an_agent_gets_these_settings(agent: AgentName) -> None:
    """Telemetry, hooks, tools: they stand in `settings.json` beside this file, as an agent reads them."""
    coach = ("svc", "coach", agent) if agent == "claude-code" else None
    target = Target(agent, URL, "svc_KEY", ("svc", "hook", agent), asks=("svc", "mcp"), coach=coach)
    written = {}
    for path, changes in plans(target, "user", Path("~/agent")).items():
        document = document_of(path.name, "")
        apply(document, changes)
        written[str(path)] = document_of(path.name, document.render()).get(())
    assert written == settings(Path(__file__).with_name("settings.json"))[agent]
