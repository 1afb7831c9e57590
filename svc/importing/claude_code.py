"""Claude Code's transcripts: one file a session, sub-agents' beside it.

Forked and resumed sessions repeat lines of an earlier session, in another file and under another session id: what was
seen once is not taken again.
"""

from pathlib import Path
from typing import Any

from aggregates.reading.readings import maker_of
from aggregates.records.record import USD_MAX
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.agents import STATUSES, SYNTHETIC_MODEL
from aggregates.telemetry.draft import TypedPrompt, beside, status_in
from aggregates.telemetry.otlp import json_object, rounded, text
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.claude_lines import SPOKEN, Block, Fork, Line, line_of
from svc.importing.exchange import Format, Memory, Note, Reader, Told, ToolCall, by_beginning, note, text_in

REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
)
_END_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal", "model_context_window_exceeded"})
_END_NOTES = frozenset({"turn_duration", "stop_hook_summary"})
_START_REPEATS_US = 10_000_000  # each of several hooks reports the same session start; within this time they are one


class TranscriptReader(Reader):
    def __init__(self, file: Path, name: str, seen: Memory) -> None:
        super().__init__(file, name, seen)
        self._stem = file.stem
        self._requests: dict[tuple[str, str | None], Note] = {}  # of the open exchange, by message and request
        self._account: tuple[object, list[dict[str, Any]]] = None, []  # what was read last, as requests
        self._started: tuple[str, int] | None = None
        self._spawning_prompt: str | None = None
        self._speaking: Note | None = None  # the request whose answer, in words alone, has no end yet

    def _line(self, value: dict[str, Any], number: int) -> None:
        line = line_of(value, self.pass_over)
        if line is None:
            return
        if line.at_us is None:
            self.pass_over(line.kind)
            return
        original = line.forked_from or Fork()  # A copied line goes by the id that it had where it was written first
        session = original.session_id or line.session_id or self._stem
        line.uuid = original.message_uuid or line.uuid or f"{session}:{number}"
        if not self._seen.add("line", line.uuid):
            self.pass_over("line seen before")
            return
        if session != self._session:
            self._cut(next_session=session)
        self._told(line, line.at_us)
        first = line.type in SPOKEN and not line.is_sidechain and self._seen.add("session", self._session)
        if first and self._started is None:
            self._add(note("session_start", self._session, line.at_us))

    def _told(self, line: Line, at_us: int) -> None:
        typed = None if line.is_sidechain else line.typed
        match line.type:
            case "user":
                self._user(line, at_us)
            case "assistant":
                self._assistant(line, at_us)
            case "system" if line.subtype in _END_NOTES and not line.is_sidechain:
                self._open.stopped = True
            case "system" if line.subtype == "compact_boundary":
                self._compaction(line, at_us)
            case "attachment" | "progress" if (hook := line.attachment or line.data).get("hookEvent") == "SessionStart":
                if not line.is_sidechain:
                    self._session_start(str(hook.get("hookName")).partition(":")[2], line.uuid or "", at_us)
            case _ if typed is None:
                self.pass_over(line.kind)
        if typed is not None:
            self._prompted(typed, line, at_us)

    def _session_start(self, source: str, name: str, at_us: int) -> None:
        """What began it, by each hook that ran then, or by `/clear`; it changes no exchange that was finished."""
        before, self._started = self._started, (source, at_us)
        if before is not None and before[0] == source and at_us - before[1] < _START_REPEATS_US:
            return
        if self._open.stopped and not self._running:
            self._cut()
        super()._session_start(source, name, at_us)

    def _user(self, line: Line, at_us: int) -> None:
        if line.is_sidechain and line.prompt_id is not None:
            known = (self._session, line.prompt_id) in self._seen.keys["host prompt"]
            self._spawning_prompt = line.prompt_id if known else None
        for block in line.message.blocks:
            call = self._running.pop(block.tool_use_id or "", None) if block.type == "tool_result" else None
            if call is not None:
                _finish(call, block, line.tool_use_result, at_us)
                self._at(at_us)
                self._open.stopped = False
        if line.is_sidechain:
            return
        match line.means:
            case "interruption":
                self._add(note("interruption", line.uuid or "", at_us))
                self._running.clear()
                if self._speaking in self._open.items:
                    # An answer that was stopped amid its words is none: so the agent's own log and its hooks have it.
                    self._open.items = [item for item in self._open.items if item is not self._speaking]
                    self._open.answer = ""
                self._speaking = None
                self._open.stopped = True
            case "compaction":
                self._compaction(line, at_us)
            case "local output" | "shell mode" as said:
                self.pass_over(said)
                self._open.stopped = True
            case _ if line.is_meta:
                self.pass_over("user meta")

    def _prompted(self, text: str, line: Line, at_us: int) -> None:
        if self._commanded(text, line.uuid or "", at_us):
            return
        made = maker_of(text) is not None
        if not self._seen.add("prompt", (at_us, text)):
            if not made:
                self._cut()
                self._open.last_us = at_us
            return
        # A second prompt under one id of the agent (typed while it worked) goes without.
        claimed = not made and line.prompt_id and self._seen.add("host prompt", (self._session, line.prompt_id))
        if line.type == "attachment":
            at_us = max(at_us, self._open.last_us)  # typed while the agent worked, it was heard only now
        # A copy in another session is told under an id of its own, and known as one by its requests.
        told = text, at_us, line.prompt_id if claimed else None, line.cwd
        self._ask(TypedPrompt(f"{self._session}:{line.uuid}", *told, former_id=line.uuid))

    def _begin(self, item: Note | ToolCall) -> None:
        """What comes after it is the last thing that its exchange led to."""
        self._add(item)

    def _compaction(self, line: Line, at_us: int) -> None:
        last = self._open.items[-1] if self._open.items else None
        if not isinstance(last, Note) or last.drafts[0].record.kind != "compaction":
            trigger = text(json_object(line.compact_metadata), "trigger")
            self._add(note("compaction", line.uuid or "", at_us, source=trigger))

    def _assistant(self, line: Line, at_us: int) -> None:
        message, sidechain = line.message, bool(line.is_sidechain)
        if line.is_api_error_message:
            # A request that failed for good, as the agent told the user.
            text = "\n".join(block.text for block in message.blocks if block.text is not None) or None
            named = STATUSES.get(line.error) if isinstance(line.error, str) else None
            status = next((each for each in (line.api_error_status, named, status_in(text)) if each is not None), None)
            told = {"request_id": line.request_id, "status_code": status, "sidechain": sidechain}
            self._add(note("error", line.uuid or "", at_us, text, prompt_id=self._prompt_of(line), **told))
            self._open.stopped = not sidechain
            return
        if message.model == SYNTHETIC_MODEL:
            return
        self._request(line, at_us)
        for index, block in enumerate(message.blocks):
            if block.type == "tool_use" and block.id and not block.id.isspace() and self._seen.add("call", block.id):
                arguments = block.input if isinstance(block.input, dict) else {}
                # A request comes before the calls it asks for, and these in their order.
                call = ToolCall(block.id, block.name or "", arguments, at_us + 1 + index, sidechain, whole=True)
                call.prompt_id = self._prompt_of(line)
                self._running[block.id] = call
                self._add(call)
        if not sidechain:
            # Words, or thoughts, of which no end is told. Older versions tell none of any message.
            words = all(block.type in ("text", "thinking", "redacted_thinking") for block in message.blocks)
            self._speaking = self._requests.get(line.request_key) if words and message.stop_reason is None else None
            # A model that takes over amid a message answers anew.
            texts, message_id = message.texts, f"{message.id or line.uuid} {message.model}"
            self._open.answered_us = at_us
            if "".join(texts).strip():
                before = [self._open.answer] if message_id == self._open.answer_id else []
                self._open.answer_id, self._open.answer = message_id, "\n\n".join(before + texts)
        self._open.stopped = message.stop_reason in _END_REASONS

    def _request(self, line: Line, at_us: int) -> None:
        """Each line of a message repeats its account; the largest is right, wherever it was told before."""
        key = line.request_key
        known = self._requests.get(key)
        cost, message = line.cost_usd, line.message
        if (message.usage, message.model) != self._account[0]:  # mostly the lines of a message repeat it
            self._account = (message.usage, message.model), beside(message.usage or {}, message.model)
        first, *passes = self._account[1]
        prompt_id = self._prompt_of(line) if known is None else known.drafts[0].record.prompt_id
        same: dict[str, Any] = {"prompt_id": prompt_id, "request_id": line.request_id}
        same["sidechain"] = bool(line.is_sidechain)
        name, refused = f"{key[0]}:{key[1] or ''}", message.stop_reason == "refusal" and not first["output_tokens"]
        if refused:
            # Refused before a word was said, it is not billed.
            same |= {"model": message.model, "former_id": f"request:{name}"}
            request = note("error", name, at_us, "\n".join(message.texts) or None, **same)
        else:
            cost_usd_nano = round(cost * 1_000_000_000) if cost is not None and 0 <= cost <= USD_MAX else None
            request = note("request", name, at_us, cost_usd_nano=cost_usd_nano, **same, **first)
        for number, each in enumerate(passes, 1):
            request.drafts += note("request", f"{name}#{number}", at_us, **same, **each).drafts
        told, tokens = self._seen.told.get(key), request.tokens
        if told is None:
            if not line.is_sidechain:
                # The agent asks on only with every result of its calls: what has none by now never gets one.
                self._running = {call_id: call for call_id, call in self._running.items() if call.sidechain}
            known = self._requests[key] = request
            self._add(request)
        elif told.session != self._session and self._open.prompt and self._seen.add("copied", (self._session, key)):
            self._add(request)  # a copied prompt is known as one by its requests
        if known is not None and (refused or told is None or tokens >= told.tokens):
            known.drafts = request.drafts
            self._seen.told[key] = Told(tokens, self._session, at_us, request.drafts[0].record.prompt_id)
        else:
            self._grown(key, request)
        self._at(at_us)

    def _prompt_of(self, line: Line) -> str | None:
        """The agent's id of a line's prompt; a sub-agent's line belongs to the prompt that spawned it."""
        own = self._open.prompt.host_prompt_id if self._open.prompt else None
        return own or (self._spawning_prompt if line.is_sidechain else None)

    def _cut(self, *, finished: bool = True, next_session: str | None = None) -> None:
        """A call that still runs goes on into the next exchange of its session."""
        items, still_running = self._open.items, self._running
        going_on = still_running if finished and next_session is None else {}
        running = [item for item in items if isinstance(item, ToolCall) and item.call_id in going_on]
        self._open.items = [item for item in items if item not in running]
        super()._cut(finished=finished)
        self._running = still_running
        self._open.items += running
        self._requests, self._speaking = {}, None
        self._session = next_session or self._session


def _finish(call: ToolCall, block: Block, result: object, at_us: int) -> None:
    if block.is_error and text_in(block.content).lstrip().startswith(REJECTED):
        call.reject()
        return
    effect = tool_effect(call.name)
    told: dict[str, Any] = result if isinstance(result, dict) else {}
    background = told.get("backgroundTaskId") is not None or call.arguments.get("run_in_background") is True
    said = {"interrupted": told.get("interrupted"), "content": block.content}
    outcome = tool_outcome("claude-code", said, not block.is_error)
    # A command in the background has only begun: how it ends is not in this result.
    call.ok = None if outcome.ok and effect == "shell" and background else outcome.ok
    measured_ms = rounded(told, "durationMs", "totalDurationMs")
    call.duration_ms = call.took_ms(at_us) if measured_ms is None else measured_ms
    if call.ok and effect in ("edit", "write"):
        call.known = tool_input(call.name, call.arguments, whole=True, result=result)
    if call.name in ("Task", "Agent"):
        call.spawn(at_us, call.arguments.get("subagent_type"))


CLAUDE_CODE = Format(
    *("claude-code", "Claude Code transcripts", ("~/.claude", "~/.config/claude"), "CLAUDE_CONFIG_DIR", ("projects",)),
    is_transcript=lambda file: file.suffix == ".jsonl",
    # Sub-agents' files last, so that the prompts which spawned them are known; an original before its forks.
    order=lambda file: (file.name.startswith("agent-") or "subagents" in file.parts, *by_beginning(file)),
    reader=TranscriptReader,
)
