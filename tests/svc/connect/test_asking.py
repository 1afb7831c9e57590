"""`svc connect … --mcp`: the agent's settings of MCP, and back."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from svc.cli import main

KEY = "svc_" + "k" * 43
FILES = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/mcp-config.json",
    "opencode": ".config/opencode/opencode.json",
}


def typed(home: Path, *arguments: str) -> str:
    """Run a command that must succeed, in a home folder of its own."""
    none = {"CLAUDE_CONFIG_DIR": None, "CODEX_HOME": None, "COPILOT_HOME": None, "XDG_STATE_HOME": None}
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **none}
    result = CliRunner().invoke(main, arguments, env=environment)
    assert result.exit_code == 0, result.output
    return result.output


def known(path: Path) -> dict[str, object]:
    if path.suffix == ".toml":
        return dict(tomllib.loads(path.read_text())["mcp_servers"]["svc"])
    settings = json.loads(path.read_text())
    return dict(settings.get("mcp", settings.get("mcpServers"))["svc"])


@pytest.mark.parametrize("agent", FILES)
def test_an_agent_is_told_of_the_tools_and_forgets_them_again(tmp_path: Path, agent: str) -> None:
    """No key stands there; what was in the file before stays, byte for byte."""
    path = tmp_path / FILES[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    table = "mcp" if agent == "opencode" else "mcpServers"
    before = 'model = "gpt-5"\n' if path.suffix == ".toml" else f'{{"{table}": {{"other": {{"command": "x"}}}}}}\n'
    path.write_text(before)
    shown = typed(tmp_path, "connect", agent, "--key", KEY, "--offline", "--mcp", "--api", "http://127.0.0.1:8318")
    assert "may ask svc about your own work" in shown
    server = known(path)
    typed_there = server["command"] if agent == "opencode" else server["args"]
    assert typed_there[-3:] == ["mcp", "--api", "http://127.0.0.1:8318"]  # type: ignore[index]
    assert KEY not in json.dumps(server)
    typed(tmp_path, "disconnect", agent)
    assert path.read_text() == before


def test_connecting_without_it_takes_it_out(tmp_path: Path) -> None:
    """The settings are what was asked for last."""
    typed(tmp_path, "connect", "claude-code", "--key", KEY, "--offline", "--mcp")
    assert known(tmp_path / ".claude.json")["args"] == ["mcp"]
    typed(tmp_path, "connect", "claude-code", "--key", KEY, "--offline")
    assert not (tmp_path / ".claude.json").exists()
