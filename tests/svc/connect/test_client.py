"""The client's one file, run by a Python that finds no library and no source tree."""

import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from svc import __version__
from svc.cli.sample import write_transcripts
from svc.connect.client import COMMANDS, archive
from svc.importing.exchange import Memory, files_under, lines_of
from svc.importing.importer import FORMATS
from tests.support import chats, rollouts
from tests.support.process import Server, init, serving, svc

NOW_US = 1_760_000_000_000_000
MANGLED = 150
READS = """
import sys
from pathlib import Path
import msgspec
from svc.importing.exchange import Memory, files_under, lines_of
from svc.importing.importer import FORMATS
transcripts, seen = FORMATS[sys.argv[1]], Memory()
for file in files_under(Path(sys.argv[2]), transcripts):
    reader = transcripts.reader(file, file.name, seen)
    for exchange in reader.read(lines_of(file, whole=file.suffix == transcripts.document)):
        print(msgspec.json.encode(exchange).decode())
    print([(torn.file, torn.line) for torn in reader.torn])
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, as somebody has downloaded it."""
    path = tmp_path_factory.mktemp("client") / "svc-client.pyz"
    path.write_bytes(archive().data)
    return path


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], **more}


def client(
    program: Path, home: Path, *arguments: str | Path, code: int = 0, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of it: without `site`, so without any library that is installed."""
    command = [sys.executable, "-I", "-S", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(home, **more), cwd=home)
    assert done.returncode == code, done.stderr
    return done


def test_it_holds_plain_python_and_the_licences_of_what_it_holds() -> None:
    """The same bytes each time, so that its digest can be compared."""
    names = zipfile.ZipFile(BytesIO(archive().data)).namelist()
    assert {name.rpartition(".")[2] for name in names if not name.startswith("licences/")} <= {
        "py",
        "toml",
        "json",
        "txt",
    }
    assert {name.split("/")[1] for name in names if name.startswith("licences/")} >= {
        "click",
        "rich",
        "tomlkit",
        "trio",
    }
    assert not [name for name in names if name.startswith(("svc/log/store", "svc/service", "projections/"))]
    first = archive()
    archive.cache_clear()
    assert archive() == first


def test_its_help_names_what_it_can_do(program: Path, tmp_path: Path) -> None:
    shown = client(program, tmp_path, "--help").stdout
    assert all(f"  {command} " in shown for command in COMMANDS)
    assert "  serve " not in shown
    assert __version__ in client(program, tmp_path, "--version").stdout
    assert "No such command 'serve'" in client(program, tmp_path, "serve", code=2).stderr


def test_what_needs_a_server_here_is_refused_with_what_to_do(program: Path, tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    assert "--url URL --key KEY" in client(program, tmp_path, "import", "codex", "sessions", code=2).stderr
    key: dict[str, Any] = {"SVC_KEY": "svc_" + "k" * 43}
    assert "--mcp" in client(program, tmp_path, "connect", "codex", "--offline", "--mcp", code=1, **key).stderr


# --- with a real server -----------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Server, str]]:
    made = init(tmp_path / "var")
    with serving(tmp_path / "var", made["key"]) as server:
        yield server, made["key"]


@pytest.mark.process
def test_from_connect_to_a_score_and_back(program: Path, tmp_path: Path, running: tuple[Server, str]) -> None:
    """Connect, a hook as the agent runs it, import, doctor, score, disconnect: each on a machine without svc."""
    (server, key), home = running, tmp_path / "home"
    home.mkdir()
    own: dict[str, Any] = {"SVC_KEY": key}
    client(program, home, "connect", "claude-code", "--url", server.intake_url, "--coach", **own)
    settings = home / ".claude/settings.json"
    capturing, coaching = (
        each["hooks"][0]["command"] for each in json.loads(settings.read_text())["hooks"]["UserPromptSubmit"]
    )
    told = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt_id": "p1", "prompt": "Fix src/app.py"}
    ended = {"session_id": "s1", "hook_event_name": "SessionEnd"}
    assert [hooked(capturing, home, each) for each in (told, ended)] == ["", ""]
    assert hooked(coaching, home, told) == "" or "svc: " in hooked(coaching, home, told | {"session_id": "s2"})
    write_transcripts(home / ".claude/projects", now_us=time.time_ns() // 1_000)
    report = json.loads(client(program, home, "import", "claude-code", "--url", server.intake_url, "--json").stdout)
    assert report["created"] > 0
    assert report["refused"] == report["torn"] == []
    found = json.loads(client(program, home, "doctor", "--json").stdout)
    assert {each["level"] for each in found[0]["findings"]} <= {"ok", "warning"}
    assert "captured and read back" in str(found)
    score = json.loads(client(program, home, "score", "--days", "366", "--json", "--api", server.api_url).stdout)
    assert score["score"]["total_count"] > 0
    assert "goals" in client(program, home, "score", "--days", "366", "--api", server.api_url).stdout
    client(program, home, "disconnect", "claude-code")
    assert not settings.exists()


def hooked(command: str, home: Path, told: dict[str, Any]) -> str:
    """What a hook prints; it ends with 0, and no word on standard error."""
    done = subprocess.run(
        command, shell=True, input=json.dumps(told), text=True, capture_output=True, env=environment(home)
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.process
@pytest.mark.one_folder("its two folders are copies of one set-up")
def test_it_imports_what_svc_imports(program: Path, tmp_path: Path) -> None:
    """The same report."""
    reports = []
    for name in ("by-client", "by-svc"):
        made, sessions = init(tmp_path / name), tmp_path / "sessions"
        write_transcripts(sessions, now_us=NOW_US)
        with serving(tmp_path / name, made["key"]) as server:
            given = ("import", "claude-code", str(sessions), "--url", server.intake_url, "--key", made["key"], "--json")
            done = client(program, tmp_path, *given) if name == "by-client" else svc(*given)
            reports.append(json.loads(done.stdout))
    assert reports[0] == reports[1]
    assert reports[0]["prompts"] > 50


# --- what it reads of session files -----------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_it_reads_session_files_as_svc_does(program: Path, tmp_path: Path, agent: str) -> None:
    """Byte for byte, whole files and those with any values in them."""
    _written(agent, tmp_path / "sessions")
    done = subprocess.run(
        [sys.executable, "-S", "-c", READS, agent, tmp_path / "sessions"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path, PYTHONPATH=str(program)),
    )
    assert done.stdout.splitlines() == list(_read(agent, tmp_path / "sessions"))
    assert done.stdout.count("\n") > (50 if agent == "claude-code" else MANGLED)


def _read(agent: str, folder: Path) -> Iterator[str]:
    transcripts, seen = FORMATS[agent], Memory()
    for file in files_under(folder, transcripts):
        reader = transcripts.reader(file, file.name, seen)
        for exchange in reader.read(lines_of(file, whole=file.suffix == transcripts.document)):
            yield msgspec.json.encode(exchange).decode()
        yield str([(torn.file, torn.line) for torn in reader.torn])


def _written(agent: str, folder: Path) -> None:
    folder.mkdir()
    if agent == "claude-code":
        write_transcripts(folder, now_us=NOW_US)
        return
    chance = random.Random(20)
    lines = [rollouts.meta(0), *rollouts.turn(10)] if agent == "codex" else [chats.head(), *chats.exchange(10)]
    for number in range(MANGLED):
        name = f"rollout-{number}.jsonl" if agent == "codex" else f"chats/session-{number}.jsonl"
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(rollouts.raw(_mangled(lines, chance) if number else lines))


def _mangled(lines: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Lines in which some values, however deep, are others."""
    copies: list[dict[str, Any]] = json.loads(json.dumps(lines))
    for _ in range(chance.randint(1, 4)):
        holder, key = chance.choice(list(_spots(copies)))
        holder[key] = chance.choice([None, True, -1, 2**70, 1.5, "", "x\u0001é", [], {}, [1], {"a": [{"b": None}]}])
    return copies


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _spots(value[key])
