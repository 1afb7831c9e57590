"""Real agents, a model of our own: what svc shows is what was said, by whichever road, and nothing is left behind.
`make agents` runs it. Each story is told once for an agent; the tests look at it afterwards."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from svc.connect.agents import AgentName
from tests.agents.clis import CLIS, Person, found
from tests.agents.screen import ESCAPE, screen, wait_until
from tests.agents.stub import ANSWER, CHECK, FAILED, HELPED, STUCK, Stub, stub_model
from tests.support.listening import Handler, listening
from tests.support.process import Server, environment, init, serving

AGENTS = [agent for agent in get_args(AgentName) if agent in CLIS]
SVC = Path(__file__).parent.parent.parent / ".venv" / "bin" / "svc"
FIRST, SECOND = "Please run the check and tell me.", "Now delegate looking around."
HELD, LATER = "please hold on", "thank you"
LIMITED = "Please throttle it and say hello."
REPAIR = "Please repair the parser in src/parser.py and run the check until it passes."
ANOTHER = "New task: write docs/harbour.md, a page about ships and tides for visitors of the town."
IMPORTED = {"claude-code", "codex", "gemini", "copilot"}
pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif("SVC_AGENTS_BIN" not in os.environ, reason="SVC_AGENTS_BIN names no folder of agents' programs"),
]


class House(NamedTuple):
    """A server, a model, and somebody with an agent."""

    server: Server
    var: Path
    key: str
    stub: Stub
    person: Person
    before: dict[str, bytes]  # the settings as they were without svc

    def svc(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command, as this person types it."""
        means = self.person.environment | {"PYTHONPATH": environment()["PYTHONPATH"]}
        done = subprocess.run(
            [SVC, *arguments], cwd=self.person.work, env=means, capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def connect(self, agent: str, *more: str) -> None:
        self.svc("connect", agent, "--url", self.server.intake_url, "--key", self.key, "--yes", *more)
        for folder in (".copilot", ".config/opencode"):
            self.person.reads(self.person.home / folder / "svc.env")

    def get(self, path: str) -> Any:
        answer = self.server.api.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def turns(self) -> list[dict[str, Any]]:
        """Every prompt that counts, oldest first, with the row of its sub-session."""
        rows = sorted(self.get("/v1/score_v3/realtime/sub-sessions"), key=lambda row: str(row["started_at"]))
        return [
            each | {"goal": row}
            for row in rows
            for each in self.get(f"/v1/score_v3/sub-sessions/{row['sub_session_id']}/prompts")
        ]

    def words(self) -> list[str]:
        return [turn["prompt_text"] for turn in self.turns()]

    def models(self) -> list[dict[str, Any]]:
        """What was asked of each model, of a helper and for a title too."""
        found: list[dict[str, Any]] = self.get("/v1/telemetry/analytics")["models"]
        return found

    def figures(self) -> tuple[Any, ...]:
        """Without hooks a transcript alone times answers, and gives a prompt its id: that is left out."""
        left_out = set() if self.person.hooks else {"elapsed_ms", "prompt_id"}
        turns = [{name: value for name, value in turn.items() if name not in left_out} for turn in self.turns()]
        tokens = self.get("/v1/score_v3/tokens")
        if left_out:
            del tokens["newest_at"]
        return turns, tokens, self.get("/v1/telemetry/analytics")

    def requests(self) -> int:
        return sum(each["requests"] for each in self.models())


def house_of(agent: str, more: ExitStack) -> House:
    if found(agent) is None:
        pytest.skip(f"{CLIS[agent].program} is not in SVC_AGENTS_BIN")
    folder = Path(tempfile.mkdtemp(prefix="svc-agents-"))
    more.callback(shutil.rmtree, folder, ignore_errors=True)
    made = init(folder / "var")
    server = more.enter_context(serving(folder / "var", made["key"]))
    stub = more.enter_context(stub_model())
    person = Person(agent, folder / "home", stub.url)
    return House(server, folder / "var", made["key"], stub, person, person.settings())


@pytest.fixture(scope="module", params=AGENTS)
def told(request: pytest.FixtureRequest) -> Iterator[House]:
    """A check that fails, then, in the session resumed, a helper that is sent out."""
    with ExitStack() as more:
        house = house_of(request.param, more)
        house.connect(request.param)
        house.person.asks(FIRST)
        house.person.goes_on(SECOND)
        wait_until(lambda: house.requests() >= len(house.stub.answered), "every request of the model's account")
        yield house


@pytest.fixture(params=AGENTS)
def fresh(request: pytest.FixtureRequest) -> Iterator[tuple[str, House]]:
    with ExitStack() as more:
        yield request.param, house_of(request.param, more)


def test_figures_are_the_models_own(told: House) -> None:
    account = {said.model for said in told.stub.answered}
    for each in told.models():
        said = [answer for answer in told.stub.answered if answer.model == each["model"]]
        assert each["requests"] == len(said)
        assert each["inputTokens"] + each["cacheReadTokens"] == sum(answer.input_tokens for answer in said)
        assert each["outputTokens"] == sum(answer.output_tokens for answer in said)
        account.remove(each["model"])
    assert not account


def test_a_persons_words_are_the_only_prompts(told: House) -> None:
    """Not the helper's, not a title's, not a notification's; each with its own answer."""
    assert told.words() == [FIRST, SECOND]
    first, second = told.turns()
    assert first["response_text"] == FAILED
    assert second["response_text"] in (HELPED, f"{HELPED}\n\n{ANSWER}", ANSWER), (
        "what was said once the helper was back"
    )


def test_a_check_that_fails_has_failed(told: House) -> None:
    tools = told.get("/v1/telemetry/analytics")["tools"]
    assert sum(tool["errors"] for tool in tools) == 1, tools
    found = told.get(f"/v1/score_v3/sub-sessions/{told.turns()[0]['goal']['sub_session_id']}/explain")["outcome"]
    assert "the last check failed" in [each["what"] for each in found["evidence_against"]]
    assert not [each for each in found["evidence_for"] if "check" in each["what"]]


def test_a_goal_that_failed_is_not_complete(fresh: tuple[str, House]) -> None:
    """Told with the check that failed and the words that say so."""
    agent, house = fresh
    house.connect(agent)
    house.person.asks(REPAIR)
    house.person.goes_on(ANOTHER)
    wait_until(lambda: house.words() == [REPAIR, ANOTHER], "both prompts")
    wait_until(lambda: house.turns()[1]["response_text"], "the answer to the second")
    goal = house.turns()[0]["goal"]["sub_session_id"]
    found = house.get(f"/v1/score_v3/sub-sessions/{goal}/explain")["outcome"]
    assert found["goal_complete"] is False, found
    quotes = {each["what"]: each["quote"] for each in found["evidence_against"]}
    assert quotes["the last answer tells of a failure"] in STUCK
    assert CHECK in quotes["the last check failed"]


def test_importing_the_same_sessions_changes_nothing(told: House) -> None:
    agent = next(name for name, cli in CLIS.items() if cli is told.person.cli)
    if agent not in IMPORTED:
        pytest.skip(f"svc imports nothing of {agent}")
    before = told.figures()
    told.svc("import", agent, "--var", str(told.var))
    assert told.figures() == before


def test_disconnecting_leaves_the_files_as_they_were(told: House) -> None:
    agent = next(name for name, cli in CLIS.items() if cli is told.person.cli)
    told.svc("disconnect", agent, "--yes")
    assert told.person.settings() == told.before
    told.connect(agent)


def test_an_interruption_is_no_answer_and_no_error(fresh: tuple[str, House]) -> None:
    agent, house = fresh
    if agent == "copilot":
        pytest.skip("Esc does not stop Copilot in this terminal")
    house.connect(agent)
    with screen(house.person) as shown:
        shown.settle()
        shown.says(HELD, house.stub.holding.is_set)
        shown.types(ESCAPE)
        shown.settle()
        house.stub.let_go.set()
        shown.says(LATER, lambda: any(LATER in said.asked for said in house.stub.answered))
        shown.settle()
    wait_until(lambda: house.words()[-1:] == [LATER], "the second prompt")
    assert house.words() == [HELD, LATER]
    assert house.get("/v1/telemetry/analytics")["errors"] == []
    assert all("no response text" not in str(turn["response_text"]) for turn in house.turns())
    if agent in IMPORTED:
        before = house.figures()
        house.svc("import", agent, "--var", str(house.var))
        assert house.figures() == before


def test_a_prompt_whose_request_was_refused_is_one_prompt(fresh: tuple[str, House]) -> None:
    """However often it is asked again; where the agent tells why, that is a limit."""
    agent, house = fresh
    house.connect(agent)
    house.person.asks(LIMITED)
    wait_until(lambda: house.words() == [LIMITED], "the prompt, once")
    assert house.stub.limited
    events = house.get("/v1/intelligence/throttle")["events"]
    told = [] if agent in ("claude-code", "copilot") else ["rate_limit"]
    assert [each["detector"] for each in events] == told


def test_what_is_typed_while_the_agent_works_counts_once(fresh: tuple[str, House]) -> None:
    agent, house = fresh
    house.connect(agent)
    with screen(house.person) as shown:
        shown.settle()
        shown.says(HELD, house.stub.holding.is_set)
        shown.types(LATER)
        shown.settle()
        shown.types("\r")
        shown.settle()
        house.stub.let_go.set()
        wait_until(lambda: any(LATER in said.asked for said in house.stub.answered), "an answer to what was queued")
        shown.settle()
    wait_until(lambda: LATER in house.words(), "the queued prompt")
    assert house.words() == [HELD, LATER]
    first, second = house.turns()
    assert second["response_text"]
    assert first["response_text"] or house.stub.cut, "unless the agent broke off the first answer for what was typed"


class Decoy(Handler):
    """A host that telemetry went to before."""

    heard: list[str]

    def do_POST(self) -> None:
        self.heard.append(f"{self.path} {self.headers}")
        self.answer(200)

    do_GET = do_PUT = do_POST


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("where", ["settings", "shell"])
def test_another_host_gets_nothing_once_connected(agent: str, where: str) -> None:
    """Whatever named its address before, for each signal or for all. What outranks every file makes connect refuse."""
    with ExitStack() as more:
        house, heard = house_of(agent, more), list[str]()
        url = more.enter_context(listening(type("Heard", (Decoy,), {"heard": heard})))
        theirs = {f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT": f"{url}/{name}" for name in ("LOGS", "METRICS", "TRACES")}
        theirs |= {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "GEMINI_TELEMETRY_OTLP_ENDPOINT": url}
        if where == "settings":
            _put(house.person.home, agent, url, theirs)
        else:
            house.person.environment.update(theirs)
        if where == "shell" and agent in ("gemini", "copilot", "opencode"):
            with pytest.raises(AssertionError, match="_ENDPOINT is set in the shell"):
                house.connect(agent)
            return
        house.connect(agent)
        house.person.asks(FIRST)
        wait_until(lambda: house.requests() == len(house.stub.answered), "telemetry at svc")
        assert heard == []


def _put(home: Path, agent: str, url: str, theirs: dict[str, str]) -> None:
    """Settings of somebody whose telemetry went to this address."""
    match agent:
        case "claude-code":
            settings = home / ".claude" / "settings.json"
            settings.write_text(json.dumps(json.loads(settings.read_text()) | {"env": theirs}))
        case "codex":
            exporter = f'{{ otlp-http = {{ endpoint = "{url}/v1/logs", protocol = "json" }} }}'
            with (home / ".codex" / "config.toml").open("a") as file:
                file.write(f"\n[otel]\nexporter = {exporter}\ntrace_exporter = {exporter}\n")
        case _:
            files = {"gemini": ".gemini/.env", "copilot": ".copilot/svc.env", "opencode": ".config/opencode/svc.env"}
            (home / files[agent]).write_text("".join(f"{name}={value}\n" for name, value in theirs.items()))
