"""`svc review` with a program that stands in for an agent: what it is run with, and what may go wrong with it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from aggregates import REVIEW_MARK
from svc.cli import main
from svc.connect import review
from svc.connect.connections import stored
from svc.connect.doctor import examine
from svc.connect.review import RULES, Judge, Spent, codex_settings, strict
from svc.hook import machine
from tests.support.driver import until
from tests.support.listening import Handler, listening
from tests.support.process import environment
from tests.support.tables import beside, table

KEY = "svc_" + "k" * 43
SCHEMA = {"type": "object", "properties": {"complete": {"enum": ["yes"], "default": "yes"}}, "required": []}
SAYS = {"structured_output": {"complete": True}, "usage": {"input_tokens": 900, "cache_read_input_tokens": 90}}
FLAGS = " ".join(RULES.programs["claude-code"].needs)
PROGRAM = f"""#!{sys.executable}
import json, os, sys, time
home = os.environ["HOME"]
if "--help" in sys.argv:
    print(open(home + "/help").read())
    sys.exit()
told = {{"arguments": sys.argv[1:], "text": sys.stdin.read(), "cwd": os.getcwd(), "names": list(os.environ)}}
told["files"] = os.listdir()
with open(home + "/asked", "a") as file:
    file.write(json.dumps(told) + chr(10))
exec(open(home + "/does").read())
"""


class Open(Handler):
    """A server with three questions; it believes what is complete, and refuses the rest."""

    questions: dict[str, bool]  # by id, whether it is open
    answers: list[dict[str, Any]]
    status = 200

    def do_GET(self) -> None:
        asks = "Say whether it is complete."
        shown = {"kind": "outcome", "instructions": asks, "text": f"{asks}\n\n{{}}", "version": 5, "schema": SCHEMA}
        found = [shown | {"question_id": name} for name, is_open in self.questions.items() if is_open]
        self.answer(self.status, json.dumps({"questions": found, "message": "no text leaves"}).encode())

    def do_POST(self) -> None:
        (told,) = json.loads(self.body())["answers"]
        self.answers.append(told)
        name, why = told["question_id"], None
        if not self.questions.get(name):
            why = {"why": "the question is not open", "is_open": False}
        elif told["answer"] != '{"complete": true}':
            why = {"why": "the answer is not one JSON document", "is_open": True}
        else:
            self.questions[name] = False
        refused = [] if why is None else [why | {"question_id": name}]
        self.answer(200, json.dumps({"taken": 1 - len(refused), "refused": refused}).encode())


class World:
    def __init__(self, home: Path, server: type[Open], url: str) -> None:
        self.home, self.server, self.url = home, server, url

    def does(self, code: str) -> None:
        (self.home / "does").write_text(code)

    def says(self, *more: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["review", "--api", self.url, *more])
        return done.exit_code, done.output

    def asked(self) -> list[dict[str, Any]]:
        file = self.home / "asked"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    program = home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (home / "help").write_text(FLAGS)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer secret")
    monkeypatch.setenv("ANOTHER", f"Bearer {KEY}")
    server = type("Asked", (Open,), {"questions": dict.fromkeys("abc", True), "answers": []})
    with listening(server) as url:
        options = ["--url", url, "--key", KEY, "--offline", "--judge", "--yes"]
        done = CliRunner().invoke(main, ["connect", "claude-code", *options])
        assert done.exit_code == 0, done.output
        assert "at most 200,000 tokens a day" in " ".join(done.output.split())
        found = World(home, server, url)
        found.does(f"print({json.dumps(SAYS)!r})")
        yield found


def test_each_question_is_asked_once_with_everything_off(world: World) -> None:
    code, told = world.says()
    assert code == 0, told
    assert "answered 3 questions; 2,970 tokens, 2,970 of 200,000 today" in told
    assert [each["question_id"] for each in world.server.answers] == list("abc")
    first = world.server.answers[0]
    assert (first["agent"], first["model"], first["input_tokens"]) == ("claude-code", "haiku", 990)
    for asked in world.asked():
        assert asked["text"] == f"{REVIEW_MARK}\n\n{{}}"
        assert Path(asked["cwd"]).name == REVIEW_MARK
        assert asked["files"] == []
        assert "Say whether it is complete." in asked["arguments"]
        assert not {"OTEL_EXPORTER_OTLP_HEADERS", "ANOTHER", "SVC_KEY"} & set(asked["names"])
    assert "answered 0 questions" in world.says()[1]
    assert len(world.asked()) == 3


@beside("code", "why", "questions", "tokens")
def test_what_goes_wrong_is_one_sentence_and_stores_nothing(
    code: str, why: str, questions: int, tokens: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "ANSWER_SECONDS", 1.0)
    world.does(code)
    _, told = world.says("--json")
    report = json.loads(told.splitlines()[0])
    assert (report["answered"], report["tokens"], len(world.asked())) == (0, tokens, questions), told
    assert why in told + (Spent.today().failure or "")
    assert all(world.server.questions.values())
    connection = stored("claude-code")
    assert connection is not None
    said = [each.text for each in examine(connection)]
    assert any(why in each for each in said)


@table(
    ("change", "why"),
    {
        "a program without a flag": (lambda world: (world.home / "help").write_text("-p"), "cannot be switched off"),
        "no program": (lambda world: (world.home / "bin" / "claude").unlink(), "claude is not installed"),
        "an older server": (lambda world: setattr(world.server, "status", 404), "it is an older svc"),
        "no text may leave": (lambda world: setattr(world.server, "status", 403), "no text leaves"),
        "no budget": (lambda world: machine.replace_file(*spent(200_000)), "200,000 tokens is used up"),
    },
)
def test_nothing_is_asked(change: Any, why: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(world.home / "bin"))
    machine.private_folder(machine.state_folder())
    change(world)
    code, told = world.says()
    assert code == 1
    assert why in told
    assert world.asked() == []


def spent(tokens: int) -> tuple[Path, bytes]:
    return machine.state_folder() / "review.json", msgspec.json.encode(Spent(time.strftime("%Y-%m-%d"), tokens))


def test_a_refused_question_rests_for_the_day(world: World) -> None:
    world.server.questions = {"a": True}
    world.does("print(json.dumps({'result': 'no'}))")
    for _ in range(5):
        world.says()
    assert len(world.asked()) == 3


def test_killed_half_way_it_goes_on_and_the_budget_remembers(world: World) -> None:
    hangs = "time.sleep(0 if len(open(home + '/asked').readlines()) < 2 else 60)"
    world.does(f"{hangs}; print({json.dumps(SAYS)!r})")
    running = subprocess.Popen(
        [sys.executable, "-m", "svc", "review", "--api", world.url], env=environment(), stdout=subprocess.DEVNULL
    )
    assert until(lambda: len(world.asked()) == 2, 30)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 1
    assert list(world.server.questions.values()) == [False, True, True]
    assert Spent.today().tokens == 990 + 8_015
    world.does(f"print({json.dumps(SAYS)!r})")
    assert "answered 2 questions" in world.says()[1]


def test_a_dry_run_asks_nobody_and_a_yes_is_needed(world: World) -> None:
    assert "3 questions are open for claude-code (haiku), at most 24,0" in world.says("--dry-run")[1]
    assert world.asked() == []
    options = ["--url", world.url, "--key", KEY, "--offline", "--judge"]
    assert "needs your yes" in CliRunner().invoke(main, ["connect", "claude-code", *options]).output
    assert CliRunner().invoke(main, ["disconnect", "claude-code", "--yes"]).exit_code == 0
    assert "a key is needed" in world.says()[1]


def test_a_shape_is_one_that_every_model_takes() -> None:
    assert strict(SCHEMA) == {
        "type": "object",
        "properties": {"complete": {"enum": ["yes"], "type": "string"}},
        "required": ["complete"],
    }


def test_codex_is_told_its_model_and_provider(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".codex").mkdir()
    told = (
        'model = "o9"\nmodel_provider = "own"\n[model_providers.own]\nbase_url = "http://m"\nhttp_headers = {a = "b"}\n'
    )
    (home / ".codex" / "config.toml").write_text(told)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert Judge("codex", None).model == "o9"
    own = {"model": "o9", "model_provider": "own", "model_providers.own.base_url": "http://m"}
    assert codex_settings() == own
