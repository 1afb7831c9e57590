"""A model on loopback that plays a script, in the four languages that agents speak, by the person's last words: `run
the check`, `delegate`, `hold` (keeps its answer back until it is let go), `throttle` (refuses the first time)."""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, NamedTuple

from aggregates import REVIEW_MARK
from tests.support.listening import Handler, listening

HOLD_SECONDS_MAX = 60.0
CHECK = "sh check.sh"  # what it runs; it prints `1 failed` and exits with 1
ANSWER = "Done: it is as you asked."
FAILED = "The check fails: 1 failed."
STUCK = "The test still fails; I could not find the reason."
HELPED = "The helper has looked."
LIMIT = {"code": 429, "type": "rate_limit_error", "status": "RESOURCE_EXHAUSTED", "message": "Too many requests."}
LIMITED = json.dumps({"type": "error", "error": LIMIT}).encode()
_HELPER = re.compile(r'"agent_id":\s*"([^"]+)"')
"""How Codex names a helper that it has sent out, and must be asked to wait for."""


class Step(NamedTuple):
    """What the model does next."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = MappingProxyType({})


class Answered(NamedTuple):
    """One answer as the model accounts for it."""

    path: str
    asked: str  # the person's last words, as the agent sent them
    step: Step
    input_tokens: int
    output_tokens: int
    model: str


class Asked(NamedTuple):
    """A request, as far as the script looks at it."""

    text: str
    results: int  # tool results after the last words
    tools: dict[str, dict[str, Any]]  # the names of what may be called, and the properties of their arguments
    model: str
    streams: bool
    schema: dict[str, Any] | None = None  # of an answer that must be JSON: a question of the agent's own
    latest: str = ""  # the last tool result, where the script looks at it


def next_step(asked: Asked) -> Step:
    text = asked.text
    if REVIEW_MARK in text:
        verdict = verdict_of(json.loads(text[text.rindex("\n\n{") :]))
        tool = "StructuredOutput"  # by which Claude Code has an answer in a shape
        return Step(tool=tool, arguments=verdict) if tool in asked.tools else Step(json.dumps(verdict))
    if asked.schema is not None:
        return Step(json.dumps(_shaped(asked.schema)))
    if not asked.tools:
        return Step("A title")
    if "run the check" in text and not asked.results:
        return _called(asked, ("Bash", "shell", "exec_command", "run_shell_command", "bash", "shell_command"), CHECK)
    if "run the check" in text:
        return Step(STUCK if "repair" in text else FAILED)
    if "delegate" in text and not asked.results:
        return _delegated(asked)
    if "delegate" in text and asked.results == 1 and (helper := _HELPER.search(asked.latest)):
        return Step(tool="multi_agent_v1.wait_agent", arguments={"targets": [helper[1]]})
    return Step(HELPED if "delegate" in text else ANSWER)


def verdict_of(data: dict[str, Any]) -> dict[str, Any]:
    """What a judge says that finds a feature everywhere, and nothing complete."""
    if "gaps" in data:
        asked = {each["turn"]: each["asked"][:20] for each in data["turns"]}
        gap = {"new_topic": True, "confidence": 0.7}
        return {"gaps": [{**gap, "turn": turn, "quote": asked[turn]} for turn in data["gaps"]]}
    if "prompt" not in data:
        return {"complete": False, "confidence": 0.7}
    quotes = [
        {"habit": "goal_explicit", "quote": "words of nobody" if "distrust" in str(data) else data["prompt"][:20]}
    ]
    habits = ["scope_bounded", "references_concrete", "context_sufficient", "plan_first", "verification_requested"]
    if "misshape" in str(data):
        return {"intent": "epic", "confidence": 0.8}
    said = {"intent": "feature", "confidence": 0.8, **dict.fromkeys(habits, False), "goal_explicit": True}
    return said | {"root_cause_oriented": None, "quotes": quotes}


def _shaped(schema: dict[str, Any]) -> Any:
    """A value that fits, as far as agents ask for any."""
    if "enum" in schema:
        return schema["enum"][0]
    match str(schema.get("type", "object")).lower():
        case "object":
            return {name: _shaped(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return []
        case "boolean":
            return False
        case "number" | "integer":
            return 1
        case _:
            return "flash"


def _called(asked: Asked, names: tuple[str, ...], command: str) -> Step:
    name = next((each for each in names if each in asked.tools), None)
    if name is None:
        return Step(f"There is no shell among {sorted(asked.tools)}.")
    properties = asked.tools[name]
    key = "cmd" if "cmd" in properties else "command"
    value: Any = ["sh", "-c", command] if properties.get(key, {}).get("type") == "array" else command
    more = {"description": "Run the check."} if "description" in properties else {}
    return Step(tool=name, arguments={key: value} | more)


def _delegated(asked: Asked) -> Step:
    words = {"prompt": "Look around.", "description": "Look around", "message": "Look around."}
    helpers = "Agent Task multi_agent_v1.spawn_agent task invoke_agent codebase_investigator generalist"
    for name in helpers.split():
        if (properties := asked.tools.get(name)) is None:
            continue
        kinds = {
            "subagent_type": "general" if name == "task" else "general-purpose",
            "agent_type": "explore",
            "agent_name": "generalist",
            "name": "looker",
        }
        kinds |= {"objective": "Look around.", "request": "Look around.", "task_name": "looker"}
        return Step(tool=name, arguments={key: text for key, text in (words | kinds).items() if key in properties})
    return Step(f"There is no helper among {sorted(asked.tools)}.")


# --- the four languages ---------------------------------------------------------------------------------------


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"] for part in content or () if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


_Heard = tuple[str, int, str]  # the person's last words, how many results came after them, and the last of these


def _heard(turns: Iterable[tuple[str | None, int, str]]) -> _Heard:
    """From turns: a person's words, if they are such, the results that they bring, and the last result."""
    text, results, latest = "", 0, ""
    for said, done, result in turns:
        text, results = (text, results) if said is None else (said, 0)
        results, latest = results + done, result or latest
    return text, results, latest


def _properties(tool: dict[str, Any], *keys: str) -> dict[str, Any]:
    found: dict[str, Any] = next((tool[key] for key in keys if tool.get(key)), {})
    return dict(found.get("properties", {}))


def _of_messages(body: dict[str, Any], _path: str) -> Asked:
    def turn(message: dict[str, Any]) -> tuple[str | None, int, str]:
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        done = sum(part.get("type") == "tool_result" for part in parts)
        return _texts(parts) if message["role"] == "user" and not done else None, done, ""

    text, results, _ = _heard(map(turn, body["messages"]))
    tools = {tool["name"]: _properties(tool, "input_schema") for tool in body.get("tools", ())}
    return Asked(text, results, tools, body["model"], bool(body.get("stream")))


def _of_responses(body: dict[str, Any], _path: str) -> Asked:
    def turn(item: dict[str, Any]) -> tuple[str | None, int, str]:
        if str(item.get("type", "")).endswith("call_output"):
            return None, 1, str(item["output"])
        return _texts(item["content"]) if item.get("role") == "user" else None, 0, ""

    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    text, results, latest = _heard(map(turn, items))
    tools = {}
    for tool in body.get("tools", ()):
        # A group of tools is named, and its members are called by both names.
        for each in tool.get("tools", [tool]):
            name = f"{tool['name']}.{each['name']}" if each is not tool else tool.get("name", tool["type"])
            tools[name] = _properties(each, "parameters")
    return Asked(text, results, tools, body["model"], bool(body.get("stream")), latest=latest)


def _of_chat(body: dict[str, Any], _path: str) -> Asked:
    def turn(message: dict[str, Any]) -> tuple[str | None, int, str]:
        return _texts(message["content"]) if message["role"] == "user" else None, message["role"] == "tool", ""

    text, results, _ = _heard(map(turn, body["messages"]))
    functions = [tool["function"] for tool in body.get("tools", ()) if "function" in tool]
    tools = {each["name"]: _properties(each, "parameters") for each in functions}
    return Asked(text, results, tools, body["model"], bool(body.get("stream")))


def _of_gemini(body: dict[str, Any], path: str) -> Asked:
    def turn(content: dict[str, Any]) -> tuple[str | None, int, str]:
        done = sum("functionResponse" in part for part in content["parts"])
        return _texts(content["parts"]) if content.get("role") == "user" and not done else None, done, ""

    text, results, _ = _heard(map(turn, body.get("contents", ())))
    declared = [each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    tools = {each["name"]: _properties(each, "parametersJsonSchema", "parameters") for each in declared}
    wanted = body.get("generationConfig", {})
    schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema")
    model = path.partition("models/")[2].partition(":")[0]
    return Asked(text, results, tools, model, "stream" in path, schema)


_LANGUAGES = {"/v1beta": _of_gemini, "/messages": _of_messages, "/responses": _of_responses, "/chat": _of_chat}
_BLOCKS = re.split(r"^\[(.+)\]\n", Path(__file__).with_name("answers.txt").read_text(encoding="utf-8"), flags=re.M)
_ANSWERS = dict(zip(_BLOCKS[1::2], _BLOCKS[2::2], strict=True))
"""By language, what is said, and how."""


def _put(language: str, number: int, said: Answered, *, streams: bool) -> bytes:
    """The answer on its way."""
    kind = f"{language} {'tool' if said.step.tool else 'text'} {'stream' if streams else 'whole'}"
    group, _, name = said.step.tool.rpartition(".")
    arguments = json.dumps(dict(said.step.arguments))
    told = {
        "TEXT": json.dumps(said.step.text),
        "NAMESPACE": f'"namespace": {json.dumps(group)}, ' if group else "",
        "NAME": json.dumps(name),
        "ARGS": arguments,
        "ARGS_TEXT": json.dumps(arguments),
        "MODEL": json.dumps(said.model),
        "ID": f"{number:08d}",
        "IN": said.input_tokens,
        "OUT": said.output_tokens,
        "TOTAL": said.input_tokens + said.output_tokens,
        "NOW": int(time.time()),
    }
    return (Template(_ANSWERS[kind]).substitute(told).rstrip() + ("\n\n" if streams else "")).encode()


# --- the server -----------------------------------------------------------------------------------------------


class Stub:
    """The model as it runs."""

    def __init__(self) -> None:
        self.answered: list[Answered] = []
        self.cut: list[Answered] = []  # of which the agent heard only the beginning: it was interrupted
        self.limited: list[str] = []  # words that were refused once
        self.unknown: list[str] = []  # paths that the script knows nothing of
        self.holding = threading.Event()  # set while it keeps an answer back
        self.let_go = threading.Event()
        self.url = ""
        self._numbers = count(1)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[Answered, list[bytes], bool] | None:
        """What it says, in the pieces in which it says it, and whether as a stream of events. None: a refusal."""
        language = next((part for part in _LANGUAGES if part in path), "/chat")
        asked = _LANGUAGES[language](body, path)
        if "throttle" in asked.text and asked.tools and asked.text not in self.limited:
            self.limited.append(asked.text)
            return None
        number = next(self._numbers)
        said = Answered(path, asked.text, next_step(asked), 1_000 + number, 10 + number, asked.model)
        whole = _put(language, number, said, streams=asked.streams)
        if "hold" not in asked.text or REVIEW_MARK in asked.text or not asked.streams or self.let_go.is_set():
            return said, [whole], asked.streams
        events = [event + b"\n\n" for event in whole.split(b"\n\n")[:-1]]
        heard = next((at for at, event in enumerate(events) if said.step.text.encode() in event), 0) + 1
        return said, [b"".join(events[:heard]), b"".join(events[heard:])], True


def _has_left(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)


class _Handler(Handler):
    stub: Stub

    def do_POST(self) -> None:
        body = json.loads(self.body() or b"{}")
        if "count_tokens" in self.path or "countTokens" in self.path:
            self._reply([json.dumps({"input_tokens": 10, "totalTokens": 10}).encode()], "application/json")
        elif any(name in self.path for name in ("/messages", "/responses", "/chat/completions", "enerateContent")):
            answer = self.stub.answer(self.path, body)
            if answer is None:
                return self.answer(429, LIMITED, Content_Type="application/json", Retry_After="1")
            said, pieces, streams = answer
            heard = self._reply(pieces, "text/event-stream" if streams else "application/json")
            (self.stub.answered if heard else self.stub.cut).append(said)
        else:
            self.do_GET()

    def do_GET(self) -> None:
        self.stub.unknown.append(f"{self.command} {self.path}")
        self._reply([b'{"error":{"message":"unknown","type":"not_found_error"}}'], "application/json", 404)

    def _reply(self, pieces: list[bytes], media: str, status: int = 200) -> bool:
        """Whether the agent was there to the end."""
        try:
            self.answer(status, pieces[0], Content_Type=media, Content_Length=str(sum(map(len, pieces))))
            for piece in pieces[1:]:
                self.stub.holding.set()
                self.stub.let_go.wait(HOLD_SECONDS_MAX)
                if _has_left(self.connection):
                    raise ConnectionResetError
                self.wfile.write(piece)
        except OSError:
            self.close_connection = True
            return False
        return True


@contextmanager
def stub_model() -> Iterator[Stub]:
    stub = Stub()
    with listening(type("Speaking", (_Handler,), {"stub": stub})) as stub.url:
        try:
            yield stub
        finally:
            stub.let_go.set()
