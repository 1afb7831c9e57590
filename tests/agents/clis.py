"""The agents' own programs as a person runs them: at home in a temporary folder, with no way out but loopback.

Nothing is installed here: `SVC_AGENTS_BIN` names the folder where `claude`, `codex`, `gemini`, `copilot` and
`opencode` lie.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

RUN_SECONDS_MAX = 90
NOWHERE = "http://127.0.0.1:9"  # A proxy that is none: what would leave the machine fails at once


class Cli(NamedTuple):
    """How an agent is told where its model is, and what it is to do."""

    program: str
    variables: Callable[[str], Mapping[str, str]]  # of the model's address
    settle: Callable[[Path, str], None]  # writes the settings of a person who has used it before: home folder, address
    ask: Sequence[str]  # one prompt without a screen; the words follow
    again: Sequence[str]  # the same in the newest session
    screen: Sequence[str]  # with a screen


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _settle_claude(home: Path, _url: str) -> None:
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    approved = {"approved": ["sk-ant-no-key-of-anybody"[-20:]], "rejected": []}
    known = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": approved}
    known |= {"projects": {str(home / "work"): trusted}, "bypassPermissionsModeAccepted": True}
    _written(home / ".claude.json", json.dumps(known))
    _written(home / ".claude" / "settings.json", '{\n  "skipDangerousModePermissionPrompt": true\n}\n')


def _settle_codex(home: Path, url: str) -> None:
    settings = f"""\
model = "gpt-5.1-codex"
model_provider = "stub"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"

[projects."{home / "work"}"]
trust_level = "trusted"
"""
    _written(home / ".codex" / "config.toml", settings)


def _settle_gemini(home: Path, _url: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _written(home / ".gemini" / "settings.json", json.dumps(settings, indent=2))


def _settle_copilot(home: Path, _url: str) -> None:
    _written(home / ".copilot" / "config.json", json.dumps({"trusted_folders": [str(home / "work")]}))


def _settle_opencode(home: Path, url: str) -> None:
    models = {name: {"name": name} for name in ("gpt-5.1", "gpt-5.1-mini")}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "stub", "models": models}
    settings = {
        "$schema": "https://opencode.ai/config.json",  # which it adds itself where it is missing
        "model": "stub/gpt-5.1",
        "small_model": "stub/gpt-5.1-mini",
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {"stub": provider | {"options": {"baseURL": f"{url}/v1", "apiKey": "none"}}},
    }
    _written(home / ".config" / "opencode" / "opencode.json", json.dumps(settings, indent=2))


_CODEX_TRUSTS = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
CLIS: dict[str, Cli] = {
    "claude-code": Cli(
        "claude",
        lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-no-key-of-anybody",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        },
        _settle_claude,
        ("-p", "--dangerously-skip-permissions"),
        ("-p", "--dangerously-skip-permissions", "--continue"),
        ("--dangerously-skip-permissions",),
    ),
    "codex": Cli(
        "codex",
        lambda _url: {},
        _settle_codex,
        ("exec", "--skip-git-repo-check", *_CODEX_TRUSTS),
        ("exec", "resume", "--last", "--skip-git-repo-check", *_CODEX_TRUSTS),
        _CODEX_TRUSTS,
    ),
    "gemini": Cli(
        "gemini",
        lambda url: {"GEMINI_API_KEY": "no-key", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        _settle_gemini,
        ("--yolo", "-p"),
        ("--yolo", "--resume", "latest", "-p"),
        ("--yolo",),
    ),
    "copilot": Cli(
        "copilot",
        lambda url: {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_MODEL": "gpt-5.1",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
        _settle_copilot,
        ("--allow-all-tools", "-p"),
        ("--allow-all-tools", "--continue", "-p"),
        ("--allow-all-tools",),
    ),
    "opencode": Cli(
        "opencode",
        lambda _url: {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        _settle_opencode,
        ("run",),
        ("run", "--continue"),
        (),
    ),
}


def found(agent: str) -> Path | None:
    """The agent's program; None where it is not installed."""
    program = shutil.which(CLIS[agent].program, path=os.environ.get("SVC_AGENTS_BIN", ""))
    return None if program is None else Path(program)


class Person:
    """Somebody with one agent, a home folder, and work in it."""

    def __init__(self, agent: str, home: Path, model_url: str) -> None:
        self.cli, self.home, self.work = CLIS[agent], home, home / "work"
        self.hooks = agent not in ("copilot", "opencode")
        program = found(agent)
        assert program is not None, f"{agent} is not installed"
        self.program = program
        self.work.mkdir(parents=True)
        (self.work / "check.sh").write_text("echo '1 failed'\nexit 1\n")
        self.cli.settle(home, model_url)
        self.environment = {
            "PATH": f"{self.program.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
            **self.cli.variables(model_url),
        }
        subprocess.run(["git", "init", "-q"], cwd=self.work, env=self.environment, check=True)

    def asks(self, words: str, **variables: str) -> str:
        """One prompt in a new session; what the agent printed."""
        return self._run([*self.cli.ask, *self._spoken(words)], variables)

    def goes_on(self, words: str) -> str:
        return self._run([*self.cli.again, *self._spoken(words)], {})

    def _spoken(self, words: str) -> list[str]:
        """opencode puts what is one argument between quotes, and sends them."""
        return words.split() if self.cli.program == "opencode" else [words]

    def _run(self, arguments: list[str], variables: Mapping[str, str]) -> str:
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.work,
            env=self.environment | dict(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return done.stdout

    def reads(self, path: Path) -> None:
        """The variables of a file, if it is there, as a shell takes them."""
        lines = path.read_text().splitlines() if path.exists() else []
        self.environment |= dict(line.split("=", 1) for line in lines)

    def settings(self) -> dict[str, bytes]:
        """Every file that the agent or svc keeps settings in, by its path; not what an agent notes while it runs."""
        names = ("settings.json", "config.toml", "hooks.json", ".env", "svc.env", "mcp-config.json", "opencode.json")
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in self.home.rglob("*")
            if path.name in names and ".cache" not in path.parts
        }
