"""Playing a hand-written session script as Claude Code would have written it down.

A script says what was typed, what the agent did and what it answered; times, ids, token counts and the many
fields of the format are made here, always the same ones for the same script and start.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID, uuid5
from zlib import crc32

import msgspec

VERSION = "2.1.37"
_NAMESPACE = UUID("7a3c9a52-2f0c-5d3f-8a55-4f6f0a0e5b1d")
_SYSTEM_PROMPT_TOKENS = 14_000
_CHARACTERS_PER_TOKEN = 4
_REFUSAL = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to "
    "tell you how to proceed."
)

Step = tuple[str, ...]
"""What the agent does: a verb and its words.

`read PATH`, `grep PATTERN`, `edit PATH OLD NEW`, `write PATH TEXT`, `run COMMAND OUTPUT`,
`fail COMMAND OUTPUT`, `agent KIND TASK FINDINGS`, `refuse COMMAND` (by the user), `interrupt`,
`error STATUS MESSAGE`, `say TEXT` (before the next call).
"""


class ScriptTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt, and what came of it."""

    say: str
    """A prompt; `/name` is a command, `! command` shell pass-through."""
    do: list[Step] = []
    answer: str | None = None
    pause: float = 2
    """Minutes since the agent's last line."""


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session."""

    week: int
    """0 is the current one, -1 the last."""
    day: int
    """0 is Monday."""
    time: str
    """HH:MM, UTC."""
    project: str
    turn: list[ScriptTurn]
    model: str = "claude-opus-4-6"
    branch: str = "main"
    source: str = "startup"
    """How the session began: startup or clear."""


Fields = dict[str, Any]
Lines = list[Fields]


class Transcript:
    """The lines of one session, and of each sub-agent it used."""

    def __init__(self, developer: str, name: str, script: Script, start: datetime, pace: float = 1) -> None:
        """`name` makes the ids; `pace` below 1 makes everything take less time."""
        self._name = name
        self._script = script
        self._now = start
        self._pace = pace
        self._cwd = f"/home/{developer}/code/{script.project}"
        self._parent: str | None = None
        self._prompt_id: str | None = None
        self._context_tokens = _SYSTEM_PROMPT_TOKENS
        self._cached_tokens = 0
        self._ids = 0
        self.session_id = str(uuid5(_NAMESPACE, name))
        self.lines: Lines = []
        self.sub_agents: dict[str, Lines] = {}
        self._session_start()
        for turn in script.turn:
            self._turn(turn)

    @property
    def end(self) -> datetime:
        """When the last line was written."""
        return self._now

    # --- turns ----------------------------------------------------------------------------------------------

    def _session_start(self) -> None:
        hook = {"type": "hook_progress", "hookEvent": "SessionStart", "command": "callback"}
        self._line("progress", data={**hook, "hookName": f"SessionStart:{self._script.source}"})

    def _turn(self, turn: ScriptTurn) -> None:
        if self._prompt_id is not None:
            self._pass(turn.pause * 60)
        self._prompt_id = str(uuid5(_NAMESPACE, self._next_id()))
        began = self._now
        if turn.say.startswith(("/", "! ")):
            self._typed_command(turn.say)
        else:
            self._user(turn.say, permissionMode="default")
            self._context_tokens += len(turn.say) // _CHARACTERS_PER_TOKEN
        self._snapshot()
        text: str | None = None
        for step in turn.do:
            text = self._step(step, text)
        if turn.answer is not None:
            self._pass(3 + len(turn.answer) / 60)
            self._message([{"type": "text", "text": turn.answer}], "end_turn")
        if turn.answer is not None or turn.do:
            spent_ms = round((self._now - began) / timedelta(milliseconds=1))
            self._line("system", subtype="turn_duration", durationMs=spent_ms, isMeta=False)

    def _typed_command(self, typed: str) -> None:
        if typed.startswith("! "):
            self._user(f"<bash-input>{typed[2:]}</bash-input>")
            self._pass(0.4)
            self._user("<bash-stdout></bash-stdout><bash-stderr></bash-stderr>")
            return
        name, _, arguments = typed.partition(" ")
        tags = f"<command-name>{name}</command-name>\n            <command-message>{name[1:]}</command-message>"
        self._user(f"{tags}\n            <command-args>{arguments}</command-args>")
        self._user("<local-command-stdout></local-command-stdout>")

    def _snapshot(self) -> None:
        snapshot: Fields = {"messageId": self._parent, "trackedFileBackups": {}, "timestamp": _iso(self._now)}
        kept = {"messageId": self._parent, "snapshot": snapshot, "isSnapshotUpdate": False}
        self.lines.append({"type": "file-history-snapshot", **kept})

    # --- steps ----------------------------------------------------------------------------------------------

    def _step(self, step: Step, text: str | None) -> str | None:
        """Play one step; returns the words that go before the next call."""
        verb, *words = step
        match verb, words:
            case "say", [said]:
                return said
            case "interrupt", []:
                self._pass(4)
                self._user([{"type": "text", "text": "[Request interrupted by user]"}])
            case "error", [status, message]:
                self._api_error(int(status), message)
            case "refuse", [command]:
                self._refused({"command": command, "description": "Run a command"}, text)
            case "agent", [kind, task, findings]:
                self._sub_agent(kind, task, findings, text)
            case _:
                self._tool(verb, words, text)
        return None

    def _tool(self, verb: str, words: Sequence[str], text: str | None) -> None:
        name, arguments, output, extra = _tool_call(verb, words, self._cwd)
        call_id = self._call(name, arguments, text)
        seconds = {"run": 6, "fail": 5, "edit": 2}.get(verb, 0.3)
        self._pass(seconds * (1 + crc32(output.encode()) % 5))
        self._result(call_id, output, verb == "fail", extra)

    def _call(self, name: str, arguments: Fields, text: str | None) -> str:
        self._pass(3 + crc32(str(arguments).encode()) % 6)
        call_id = "toolu_" + self._hex(24)
        said: Lines = [] if text is None else [{"type": "text", "text": text}]
        call: Fields = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        self._message([*said, call], "tool_use")
        return call_id

    def _result(self, call_id: str, output: str, failed: bool, extra: object) -> None:
        block: Fields = {"tool_use_id": call_id, "type": "tool_result", "content": output}
        if failed:
            block["is_error"] = True
        self._context_tokens += len(output) // _CHARACTERS_PER_TOKEN + 40
        self._user([block], toolUseResult=f"Error: {output}" if failed else extra)

    def _refused(self, arguments: Fields, text: str | None) -> None:
        call_id = self._call("Bash", arguments, text)
        self._pass(8)
        self._result(call_id, _REFUSAL, True, None)
        self._user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])

    def _api_error(self, status: int, message: str) -> None:
        self._pass(95)
        content = [{"type": "text", "text": f"API Error: {status} {message}"}]
        usage = {"input_tokens": 0, "output_tokens": 0}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        body: Fields = {"id": self._hex(32), "model": "<synthetic>", "role": "assistant", "type": "message"}
        body |= {"stop_reason": "stop_sequence", "content": content, "usage": usage}
        self._line("assistant", message=body, isApiErrorMessage=True, apiErrorStatus=status)

    def _sub_agent(self, kind: str, task: str, findings: str, text: str | None) -> None:
        """A sub-agent writes a file of its own beside the session's."""
        call_id = self._call("Task", {"subagent_type": kind, "prompt": task, "description": task[:40]}, text)
        agent_id, began, main, parent = self._hex(8), self._now, self.lines, self._parent
        tokens = (self._context_tokens, self._cached_tokens)
        self.lines, self._parent = [], None
        self._context_tokens, self._cached_tokens = 6_000, 0
        side = {"isSidechain": True, "agentId": agent_id}
        self._user(task, **side)
        for answer in ("I'll look through the code first.", findings):
            self._pass(14)
            self._message([{"type": "text", "text": answer}], "end_turn", **side)
        self.sub_agents[agent_id] = self.lines
        self.lines, self._parent = main, parent
        self._context_tokens, self._cached_tokens = tokens
        spent_ms = round((self._now - began) / timedelta(milliseconds=1))
        extra = {"status": "completed", "agentId": agent_id, "totalDurationMs": spent_ms}
        self._result(call_id, findings, False, extra)

    # --- lines ----------------------------------------------------------------------------------------------

    def _message(self, blocks: list[Fields], stop_reason: str, **fields: Any) -> None:
        """One line a block, as the agent writes them; only the last one knows how long the answer became."""
        spoken = sum(len(str(block.get("text") or block.get("input"))) for block in blocks)
        output = spoken // _CHARACTERS_PER_TOKEN + 30
        written = self._context_tokens - self._cached_tokens
        usage = self._usage(written)
        message_id, request_id = "msg_01" + self._hex(22), "req_011" + self._hex(20)
        for block in blocks:
            last = block is blocks[-1]
            body: Fields = {"model": self._script.model, "id": message_id, "type": "message"}
            body |= {"role": "assistant", "content": [block]}
            body |= {"stop_reason": stop_reason if last else None, "stop_sequence": None}
            usage |= {"output_tokens": output if last else 2}
            self._line("assistant", message={**body, "usage": dict(usage)}, requestId=request_id, **fields)
            self._pass(0.6)
        self._cached_tokens = self._context_tokens
        self._context_tokens += output

    def _usage(self, written: int) -> Fields:
        usage: Fields = {"input_tokens": 3 + self._ids % 7}
        usage |= {"cache_creation_input_tokens": written, "cache_read_input_tokens": self._cached_tokens}
        lasting = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
        return usage | {"cache_creation": lasting, "service_tier": "standard"}

    def _user(self, content: Any, **fields: Any) -> None:
        known = {key: value for key, value in fields.items() if value is not None}
        self._line("user", message={"role": "user", "content": content}, promptId=self._prompt_id, **known)

    def _line(self, kind: str, **fields: Any) -> None:
        uuid = str(uuid5(_NAMESPACE, self._next_id()))
        common = {"parentUuid": self._parent, "isSidechain": False, "userType": "external", "cwd": self._cwd}
        common |= {"sessionId": self.session_id, "version": VERSION, "gitBranch": self._script.branch}
        self.lines.append({**common, "type": kind, "uuid": uuid, "timestamp": _iso(self._now), **fields})
        self._parent = uuid
        self._pass(0.05)

    def _pass(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds * self._pace)

    def _next_id(self) -> str:
        self._ids += 1
        return f"{self._name}/{self._ids}"

    def _hex(self, length: int) -> str:
        return uuid5(_NAMESPACE, self._next_id()).hex[:length].ljust(length, "0")


def _tool_call(verb: str, words: Sequence[str], cwd: str) -> tuple[str, Fields, str, object]:
    """Name, input, output and structured result of a call. Raises `ValueError` for a step nobody knows."""
    match verb, words:
        case "read", [path]:
            return "Read", {"file_path": f"{cwd}/{path}"}, f"     1→… {path} …", {"type": "text"}
        case "grep", [pattern]:
            arguments = {"pattern": pattern, "output_mode": "content"}
            return "Grep", arguments, "Found 4 matches", {"mode": "content", "numFiles": 2}
        case "edit", [path, old, new]:
            arguments = {"file_path": f"{cwd}/{path}", "old_string": old, "new_string": new}
            patch = {"filePath": f"{cwd}/{path}", "structuredPatch": [_hunk(old, new)]}
            return "Edit", arguments, f"The file {path} has been updated.", patch
        case "write", [path, text]:
            arguments = {"file_path": f"{cwd}/{path}", "content": text}
            result = {"type": "create", "filePath": f"{cwd}/{path}", "structuredPatch": []}
            return "Write", arguments, f"File created successfully at: {path}", {**result, "content": text}
        case (("run" | "fail"), [command, output]):
            arguments = {"command": command, "description": "Run a command"}
            text = f"Exit code 1\n{output}" if verb == "fail" else output
            return "Bash", arguments, text, {"stdout": output, "stderr": "", "interrupted": False}
        case _:
            raise ValueError(f"no such step: {verb} with {len(words)} words")


def _hunk(old: str, new: str) -> Fields:
    """The hunk of a patch that turns one text into the other."""
    before, after = old.splitlines(), new.splitlines()
    lines: list[str] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in before[start:end]]
        else:
            lines += [f"-{line}" for line in before[start:end]]
            lines += [f"+{line}" for line in after[new_start:new_end]]
    return {"oldStart": 1, "oldLines": len(before), "newStart": 1, "newLines": len(after), "lines": lines}


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
