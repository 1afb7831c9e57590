"""What `svc connect` refuses, in one sentence and with every file as it was."""

import os
from pathlib import Path

import pytest

from svc.connect.changes import Put, Refused, connected, write
from tests.svc.connect.test_connect import KEY, URL, lay_out, run

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("agent", "name", "text", "reason"),
    [
        ("claude-code", ".claude/settings.json", b'{"a": "\xff"}', "not UTF-8"),
        ("codex", ".codex/config.toml", b"a = = 1", "not TOML"),
        ("gemini", ".gemini/settings.json", "\ufeff{}".encode(), "byte order mark; save it as UTF-8"),
        ("codex", ".codex/hooks.json", b"{} {}", "not plain JSON"),
    ],
)
def test_a_file_that_cannot_be_read_surely_is_refused(
    home: Path, agent: str, name: str, text: bytes, reason: str
) -> None:
    (home / name).parent.mkdir()
    (home / name).write_bytes(text)
    result = run("connect", agent, "--key", KEY, "--offline")
    assert (result.exit_code, reason in result.output, "Traceback" in result.output) == (1, True, False)
    assert (home / name).read_bytes() == text
    assert [path.name for path in (home / name).parent.iterdir()] == [Path(name).name]


def test_what_is_no_file_or_the_one_file_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder where the file should be, and a link to itself; a coach that would have every prompt wait."""
    (home / ".claude/settings.json").mkdir(parents=True)
    assert "is no file" in run("connect", "claude-code", "--key", KEY, "--offline").output
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").symlink_to(home / ".gemini/settings.json")
    assert run("connect", "gemini", "--key", KEY, "--offline").exit_code == 1
    monkeypatch.setattr("sys.frozen", True, raising=False)
    coached = run("connect", "claude-code", "--key", KEY, "--offline", "--coach")
    assert "--coach needs svc as a package" in coached.output


def test_a_server_that_is_not_there_changes_nothing(home: Path) -> None:
    files = lay_out(home, "claude-code")
    result = run("connect", "claude-code", "--url", URL, "--key", KEY)
    assert (result.exit_code, "--offline" in result.output) == (1, True)
    assert {path: path.read_text() for path in files} == files
    assert not (home / ".config").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("connect", "claude-code"), "a key is needed"),
        (("connect", "claude-code", "--key", "two words"), "a key is needed"),
        (("connect", "claude-code", "--key", KEY, "--url", "localhost:4318"), "no address of an intake"),
        (("connect", "claude-code", "--key", KEY, "--url", "http://h:99999"), "no address of an intake"),
        (("connect", "claude-code", "--key", KEY, "--url", "http://me:pw@h"), "no address of an intake"),
        (("connect", "codex", "--key", KEY, "--offline", "--coach"), "--coach is for claude-code"),
        (("connect", "codex", "--key", KEY, "--offline", "--scope", "project"), "--scope user"),
        (("disconnect", "claude-code"), "not connected"),
        (("doctor",), "no agent is connected"),
    ],
)
def test_what_is_missing_is_said(arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, sentence in result.output) == (1, True), result.output


def test_a_file_that_another_program_writes_meanwhile_is_not_overwritten(home: Path) -> None:
    """What was read is looked at again right before it is written."""
    path = home / "settings.json"
    path.write_text("{}")
    rewrite = connected(path, [Put(("a",), 1)], None, KEY)
    path.write_text('{"b": 2}')
    with pytest.raises(Refused, match="just now"):
        write("claude-code", rewrite)
    assert path.read_text() == '{"b": 2}'


# --- what would send the key to somebody else ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "name", "text", "reason"),
    [
        ("claude-code", "settings.json", '{"env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "AWAY"}}', "env.OTEL_EXPORTER_"),
        ("claude-code", "settings.local.json", '{"env": {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "AWAY"}}', "_LOGS_"),
        ("claude-code", "settings.json", '{"otelHeadersHelper": "/bin/headers"}', "otelHeadersHelper"),
        ("gemini", "settings.json", '{"telemetry": {"otlpEndpoint": "AWAY"}}', "telemetry.otlpEndpoint"),
        ("gemini", ".env", "GEMINI_TELEMETRY_OTLP_ENDPOINT=AWAY", "GEMINI_TELEMETRY_OTLP_ENDPOINT"),
        ("gemini", "../.env", "OTEL_EXPORTER_OTLP_HEADERS=x=y", "OTEL_EXPORTER_OTLP_HEADERS"),
    ],
)
def test_a_project_that_sends_elsewhere_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, agent: str, name: str, text: str, reason: str
) -> None:
    """Its settings outrank a person's own; nothing is changed, and the file is named."""
    project = home / "project"
    path = Path(os.path.normpath(project / f".{agent.partition('-')[0]}" / name))
    path.parent.mkdir(parents=True)
    path.write_text(text.replace("AWAY", "http://127.0.0.1:9"))
    monkeypatch.chdir(project)
    result = run("connect", agent, "--key", KEY, "--offline")
    assert (result.exit_code, reason in result.output, KEY in result.output) == (1, True, False)
    assert str(path) in "".join(result.output.split("\n"))
    assert not [path for path in home.rglob("*") if path.is_file() and KEY in path.read_text()]


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("gemini", "GEMINI_TELEMETRY_OTLP_ENDPOINT"),
        ("gemini", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("copilot", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("copilot", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
    ],
)
def test_a_shell_that_sends_elsewhere_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, agent: str, name: str
) -> None:
    """These look there first; Claude Code and Codex take their settings' word."""
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    result = run("connect", agent, "--key", KEY, "--offline")
    assert (result.exit_code, f"{name} is set in the shell" in result.output) == (1, True)
    assert not (home / f".{agent}").exists()
    assert run("connect", "claude-code", "--key", KEY, "--offline").exit_code == 0
    assert run("connect", "codex", "--key", KEY, "--offline").exit_code == 0


def test_what_whoever_runs_the_machine_has_set_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("svc.connect.doctor.MANAGED", tmp_path)
    for agent, name, text in (
        ("claude-code", "claude-code/managed-settings.json", '{"env": {"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}}'),
        ("claude-code", "claude-code/managed-settings.d/10.json", '{"env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "x"}}'),
        ("codex", "codex/managed_config.toml", '[otel]\nexporter = "none"\n'),
        ("gemini", "gemini-cli/settings.json", '{"telemetry": {"otlpEndpoint": "http://o"}}'),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        result = run("connect", agent, "--key", KEY, "--offline")
        assert (result.exit_code, path.name in result.output) == (1, True), name
        path.unlink()


def test_at_home_ones_own_settings_are_no_projects(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"env": {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://127.0.0.1:9"}}')
    assert run("connect", "claude-code", "--key", KEY, "--offline").exit_code == 0
    assert "127.0.0.1:9" not in (home / ".claude/settings.json").read_text()
