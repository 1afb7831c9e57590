"""The agents' own programs as a person runs them: at home in a temporary folder, with no way out but loopback. Nothing
is installed here: `SVC_AGENTS_BIN` names the folder where `claude`, `codex`, `gemini`, `copilot` and `opencode` lie."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from string import Template

import msgspec

RUN_SECONDS_MAX = 90
NOWHERE = "http://127.0.0.1:9"  # A proxy that is none: what would leave the machine fails at once


class Cli(msgspec.Struct):
    """How an agent is run."""

    program: str
    ask: list[str]  # one prompt without a screen; the words follow
    again: list[str]  # the same in the newest session
    screen: list[str]  # with a screen
    files: dict[str, str]  # settings, by their paths below the home folder
    variables: dict[str, str] = {}


CLIS = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, Cli])


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
        put = {"URL": model_url, "WORK": str(self.work)}
        for name, text in self.cli.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(Template(text).safe_substitute(put), encoding="utf-8")
        variables = {name: Template(value).safe_substitute(put) for name, value in self.cli.variables.items()}
        self.environment = {
            "PATH": f"{self.program.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
            **variables,
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
        self.environment |= dict(line.split("=", 1) for line in lines if not line.startswith("#"))

    def settings(self) -> dict[str, bytes]:
        """Every file that the agent or svc keeps settings in, by its path; not what an agent notes while it runs."""
        names = ("settings.json", "config.toml", "hooks.json", ".env", "svc.env", "mcp-config.json", "opencode.json")
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in self.home.rglob("*")
            if path.name in names and ".cache" not in path.parts
        }
