"""A model on loopback that plays a script, in the four languages that agents speak, and keeps account of what it said.

It looks at the person's last words: `run the check` makes it call the shell, `delegate` start a sub-agent, `hold` keep
its answer back until it is let go. Whatever else is asked is answered in a sentence.
"""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from tests.support.listening import Handler, listening

HOLD_SECONDS_MAX = 60.0
CHECK = "sh check.sh"  # what it runs; it prints `1 failed` and exits with 1
ANSWER = "Done: it is as you asked."
FAILED = "The check fails: 1 failed."
HELPED = "The helper has looked."
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
    if asked.schema is not None:
        return Step(json.dumps(_shaped(asked.schema)))
    if not asked.tools:
        return Step("A title")
    if "run the check" in text and not asked.results:
        return _called(asked, ("Bash", "shell", "exec_command", "run_shell_command", "bash", "shell_command"), CHECK)
    if "run the check" in text:
        return Step(FAILED)
    if "delegate" in text and not asked.results:
        return _delegated(asked)
    if "delegate" in text and asked.results == 1 and (helper := _HELPER.search(asked.latest)):
        return Step(tool="multi_agent_v1.wait_agent", arguments={"targets": [helper[1]]})
    return Step(HELPED if "delegate" in text else ANSWER)


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
    for name in (
        "Agent",
        "Task",
        "multi_agent_v1.spawn_agent",
        "task",
        "invoke_agent",
        "codebase_investigator",
        "generalist",
    ):
        properties = asked.tools.get(name)
        if properties is None:
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


def _of_messages(body: dict[str, Any], _path: str) -> Asked:
    text, results = "", 0
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        done = sum(part.get("type") == "tool_result" for part in parts)
        if message["role"] == "user" and not done:
            text, results = _texts(parts), 0
        results += done
    tools = {tool["name"]: tool.get("input_schema", {}).get("properties", {}) for tool in body.get("tools", ())}
    return Asked(text, results, tools, body["model"], bool(body.get("stream")))


def _of_responses(body: dict[str, Any], _path: str) -> Asked:
    text, results, latest = "", 0, ""
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    for item in items:
        if item.get("role") == "user":
            text, results = _texts(item["content"]), 0
        if str(item.get("type", "")).endswith("call_output"):
            results, latest = results + 1, str(item["output"])
    tools = {}
    for tool in body.get("tools", ()):
        # A group of tools is named, and its members are called by both names.
        for each in tool.get("tools", [tool]):
            name = f"{tool['name']}.{each['name']}" if each is not tool else tool.get("name", tool["type"])
            tools[name] = each.get("parameters", {}).get("properties", {})
    return Asked(text, results, tools, body["model"], bool(body.get("stream")), latest=latest)


def _of_chat(body: dict[str, Any], _path: str) -> Asked:
    text, results = "", 0
    for message in body["messages"]:
        if message["role"] == "user":
            text, results = _texts(message["content"]), 0
        results += message["role"] == "tool"
    functions = [tool["function"] for tool in body.get("tools", ()) if "function" in tool]
    tools = {each["name"]: each.get("parameters", {}).get("properties", {}) for each in functions}
    return Asked(text, results, tools, body["model"], bool(body.get("stream")))


def _of_gemini(body: dict[str, Any], path: str) -> Asked:
    text, results = "", 0
    for content in body.get("contents", ()):
        done = sum("functionResponse" in part for part in content["parts"])
        if content.get("role") == "user" and not done:
            text, results = _texts(content["parts"]), 0
        results += done
    declared = [each for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    tools = {
        each["name"]: (each.get("parametersJsonSchema") or each.get("parameters") or {}).get("properties", {})
        for each in declared
    }
    model = path.partition("models/")[2].partition(":")[0]
    wanted = body.get("generationConfig", {})
    schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema")
    return Asked(text, results, tools, model, "stream" in path, schema)


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def _data(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _as_messages(number: int, said: Answered, streams: bool) -> bytes:
    step = said.step
    usage = {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens}
    block: dict[str, Any] = {"type": "text", "text": step.text}
    if step.tool:
        block = {"type": "tool_use", "id": f"toolu_{number:08d}", "name": step.tool, "input": dict(step.arguments)}
    reason = "tool_use" if step.tool else "end_turn"
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "stop_sequence": None,
    }
    if not streams:
        return json.dumps(message | {"content": [block], "stop_reason": reason, "usage": usage}).encode()
    begun: dict[str, Any] = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    empty = block | cast(dict[str, Any], {"input": {}} if step.tool else {"text": ""})
    delta = {"type": "text_delta", "text": step.text}
    if step.tool:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(dict(step.arguments))}
    return b"".join(
        (
            _event("message_start", message=begun),
            _event("content_block_start", index=0, content_block=empty),
            _event("content_block_delta", index=0, delta=delta),
            _event("content_block_stop", index=0),
            _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage),
            _event("message_stop"),
        )
    )


def _as_responses(number: int, said: Answered, streams: bool) -> bytes:
    step = said.step
    item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"item_{number}", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": step.text, "annotations": []}]
    if step.tool:
        group, _, name = step.tool.rpartition(".")
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        item |= {"namespace": group} if group else {}
        item |= {"arguments": json.dumps(dict(step.arguments)), "status": "completed"}
    tokens = {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens}
    usage = tokens | {
        "total_tokens": said.input_tokens + said.output_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    response: dict[str, Any] = {
        "id": f"resp_{number}",
        "object": "response",
        "model": said.model,
        "status": "completed",
    }
    response |= {"output": [item], "usage": usage, "created_at": int(time.time())}
    if not streams:
        return json.dumps(response).encode()
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    return b"".join(
        (
            _event("response.created", response=begun, sequence_number=0),
            _event(
                "response.output_item.added", output_index=0, item=item | {"status": "in_progress"}, sequence_number=1
            ),
            _event("response.output_item.done", output_index=0, item=item, sequence_number=2),
            _event("response.completed", response=response, sequence_number=3),
        )
    )


def _as_chat(number: int, said: Answered, streams: bool) -> bytes:
    step = said.step
    usage = {"prompt_tokens": said.input_tokens, "completion_tokens": said.output_tokens}
    usage["total_tokens"] = said.input_tokens + said.output_tokens
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if step.tool:
        function = {"name": step.tool, "arguments": json.dumps(dict(step.arguments))}
        message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
    whole = {"id": f"chat_{number}", "created": int(time.time()), "model": said.model}
    reason = "tool_calls" if step.tool else "stop"
    if not streams:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return json.dumps(whole | {"object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    piece = whole | {"object": "chat.completion.chunk"}
    return b"".join(
        (
            _data(piece | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
            _data(piece | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
            _data(piece | {"choices": [], "usage": usage}),
            b"data: [DONE]\n\n",
        )
    )


def _as_gemini(number: int, said: Answered, streams: bool) -> bytes:
    step = said.step
    part: dict[str, Any] = {"text": step.text}
    if step.tool:
        part = {"functionCall": {"id": f"call_{number}", "name": step.tool, "args": dict(step.arguments)}}
    usage = {"promptTokenCount": said.input_tokens, "candidatesTokenCount": said.output_tokens}
    usage["totalTokenCount"] = said.input_tokens + said.output_tokens
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    value = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": said.model, "responseId": f"r{number}"}
    return _data(value) if streams else json.dumps(value).encode()


_LANGUAGES = {
    "/v1beta": (_of_gemini, _as_gemini),
    "/messages": (_of_messages, _as_messages),
    "/responses": (_of_responses, _as_responses),
}


def _language(path: str) -> tuple[Callable[[dict[str, Any], str], Asked], Callable[[int, Answered, bool], bytes]]:
    return next((pair for part, pair in _LANGUAGES.items() if part in path), (_of_chat, _as_chat))


# --- the server -----------------------------------------------------------------------------------------------


class Stub:
    """The model as it runs."""

    def __init__(self) -> None:
        self.answered: list[Answered] = []
        self.cut: list[Answered] = []  # of which the agent heard only the beginning: it was interrupted
        self.unknown: list[str] = []  # paths that the script knows nothing of
        self.holding = threading.Event()  # set while it keeps an answer back
        self.let_go = threading.Event()
        self.url = ""
        self._numbers = count(1)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[Answered, list[bytes], bool]:
        """What it says, in the pieces in which it says it, and whether as a stream of events."""
        asked = _language(path)[0](body, path)
        number = next(self._numbers)
        said = Answered(path, asked.text, next_step(asked), 1_000 + number, 10 + number, asked.model)
        whole = _language(path)[1](number, said, asked.streams)
        if "hold" not in asked.text or not asked.streams or self.let_go.is_set():
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
            said, pieces, streams = self.stub.answer(self.path, body)
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
