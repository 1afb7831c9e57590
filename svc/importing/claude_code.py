"""Claude Code's transcripts: one file a session, sub-agents' beside it.

Forked and resumed sessions repeat lines of an earlier session, in another file and under another session id: what was
seen once is not taken again. Ids come from the lines' own ids: the same transcript gives the same ids whenever, and
however far, it is read.
"""

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from aggregates.records.record import Record, RecordKind
from aggregates.records.tools import ToolInput, bounded_command, changed_lines, input_key, tool_effect
from aggregates.telemetry.draft import RecordDraft
from svc.importing import claude_lines as transcript
from svc.importing.exchange import (
    Format,
    Item,
    Memory,
    Note,
    Reader,
    ToolCall,
    TypedPrompt,
    by_beginning,
    lines_of,
    note,
    text_in,
)

_END_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal", "model_context_window_exceeded"})
_END_NOTES = frozenset({"turn_duration", "stop_hook_summary"})
_SYNTHETIC_MODEL = "<synthetic>"
"""The agent's own messages carry this model: they were never asked of one."""
_START_REPEATS_US = 10_000_000
"""Each of several hooks reports the same session start; within this time they are one."""
_STATUS = re.compile(r"\b([45]\d\d)\b")
_STATUS_OF_ERROR = {"rate_limit": 429, "overloaded": 529, "authentication_failed": 401}
RequestKey = tuple[str, str | None]


class TranscriptReader(Reader):
    """Reads one file. `seen` is shared by all files of one import."""

    def __init__(self, file: str, session: str, seen: Memory) -> None:
        super().__init__(file, session, seen)
        self._stem = session
        self._requests: dict[RequestKey, Note] = {}
        self._started: tuple[str, int] | None = None
        self._spawning_prompt: str | None = None

    def _line(self, raw: bytes, number: int) -> None:
        line = transcript.decode_line(raw)
        at_us = line.at_us
        if at_us is None and isinstance(line, transcript.UserLine | transcript.AssistantLine):
            raise ValueError("no timestamp")
        if at_us is None or type(line) is transcript.Line:
            return
        line = self._identified(line, number)
        if not self._seen.add("line", line.uuid):
            return
        session = self._session_of(line)
        if session != self._session:
            self._cut(next_session=session)
        self._read_in(line, at_us)
        self._first_of_session(line, at_us)

    def _read_in(self, line: transcript.Line, at_us: int) -> None:
        match line:
            case transcript.UserLine():
                self._user(line, at_us)
            case transcript.AssistantLine():
                self._assistant(line, at_us)
            case transcript.SystemLine():
                self._system(line, at_us)
            case transcript.AttachmentLine():
                self._session_start(line.attachment, line, at_us)
                self._prompted(transcript.queued_in(line), line, at_us)
            case transcript.ProgressLine():
                self._session_start(line.data, line, at_us)

    def _identified(self, line: transcript.Line, number: int) -> transcript.Line:
        """The line under the id that it had where it was written first."""
        original = line.forked_from.message_uuid if line.forked_from else None
        uuid = original or line.uuid or f"{self._session_of(line)}:{number}"
        return line if uuid == line.uuid else msgspec.structs.replace(line, uuid=uuid)

    def _session_of(self, line: transcript.Line) -> str:
        original = line.forked_from.session_id if line.forked_from else None
        return original or line.session_id or self._stem

    def _first_of_session(self, line: transcript.Line, at_us: int) -> None:
        spoken = isinstance(line, transcript.UserLine | transcript.AssistantLine) and not line.is_sidechain
        if spoken and self._seen.add("session", self._session) and self._started is None:
            self._start(at_us)

    def _session_start(self, data: dict[str, Any], line: transcript.Line, at_us: int) -> None:
        """A hook that ran at a session's start tells what it was started by.

        After a finished exchange it stands apart, so that what was finished stays as it was.
        """
        if data.get("hookEvent") != "SessionStart" or line.is_sidechain:
            return
        source = str(data.get("hookName")).partition(":")[2]
        before, self._started = self._started, (source, at_us)
        if before is not None and before[0] == source and at_us - before[1] < _START_REPEATS_US:
            return
        if self._open.stopped and not self._running:
            self._cut()
        self._note("session_start", line, at_us, source=source or None)

    # --- user lines -----------------------------------------------------------------------------------------

    def _user(self, line: transcript.UserLine, at_us: int) -> None:
        if line.is_sidechain and line.prompt_id is not None:
            known = ("host prompt", (self._session, line.prompt_id)) in self._seen
            self._spawning_prompt = line.prompt_id if known else None
        for block in line.message.blocks:
            call = self._running.pop(block.tool_use_id or "", None) if block.type == "tool_result" else None
            if call is not None:
                _finish(call, block, line, at_us)
                self._at(at_us)
                self._open.stopped = False
        if line.is_sidechain:
            return
        if transcript.is_interruption(line):
            self._note("interruption", line, at_us)
            self._running.clear()
            self._open.stopped = True
        elif transcript.is_compaction(line):
            self._compaction(line, at_us, None)
        elif transcript.is_local_output(line):
            self._open.stopped = True
        self._prompted(transcript.typed_in(line), line, at_us)

    def _prompted(self, text: str | None, line: transcript.Line, at_us: int) -> None:
        if text is None or line.is_sidechain:
            return
        if not self._seen.add("prompt", (at_us, text)):
            self._cut()
            self._open.last_us = at_us
            return
        # A second prompt under one id of the agent (typed while it worked) goes without.
        claimed = line.prompt_id is not None and self._seen.add("host prompt", (self._session, line.prompt_id))
        self._ask(TypedPrompt(line.uuid or "", text, at_us, line.prompt_id if claimed else None, line.cwd))
        if text in ("/exit", "/quit"):
            # An end follows the command that asked for it.
            self._note("session_end", line, at_us + 1, source="prompt_input_exit")
            self._open.stopped = True

    def _compaction(self, line: transcript.Line, at_us: int, trigger: str | None) -> None:
        last = self._open.items[-1] if self._open.items else None
        if not isinstance(last, Note) or last.told[0].record.kind != "compaction":
            self._note("compaction", line, at_us, source=trigger)

    def _system(self, line: transcript.SystemLine, at_us: int) -> None:
        if line.subtype in _END_NOTES and not line.is_sidechain:
            self._open.stopped = True
        elif line.subtype == "compact_boundary":
            data = line.compact_metadata
            trigger = data.get("trigger") if isinstance(data, dict) else None
            self._compaction(line, at_us, trigger if isinstance(trigger, str) else None)
        self._prompted(transcript.command_in(line), line, at_us)

    def _note(self, kind: RecordKind, line: transcript.Line, at_us: int, *, source: str | None = None) -> None:
        self._add(note(Record(record_id=f"{kind}:{line.uuid}", at_us=at_us, kind=kind, source=source)))

    # --- the agent's lines ----------------------------------------------------------------------------------

    def _assistant(self, line: transcript.AssistantLine, at_us: int) -> None:
        if line.is_api_error_message:
            self._add(_api_error(line, at_us, self._prompt_of(line)))
            self._open.stopped = not line.is_sidechain
            return
        if line.message.model == _SYNTHETIC_MODEL:
            return
        self._request(line, at_us)
        for index, block in enumerate(line.message.blocks):
            if block.type == "tool_use" and block.id is not None:
                # A request comes before the calls it asks for, and these in their order.
                self._call(block.id, block, line, at_us + 1 + index)
        if not line.is_sidechain:
            self._say(line, at_us)
        self._open.stopped = line.message.stop_reason in _END_REASONS

    def _request(self, line: transcript.AssistantLine, at_us: int) -> None:
        """Each line of a message repeats the usage, and the last one is right."""
        key = (line.message.id or line.uuid or "", line.request_id)
        known = self._requests.get(key)
        if known is not None:
            known.told = [_request(known.told[0].record, line, at_us)]
        elif self._seen.add("request", key):
            if not line.is_sidechain:
                # The agent asks on only with every result of its calls: what has none by now never gets one.
                self._running = {call_id: call for call_id, call in self._running.items() if call.sidechain}
            record_id, prompt_id = f"request:{key[0]}:{key[1] or ''}", self._prompt_of(line)
            empty = Record(record_id=record_id, at_us=at_us, kind="request", prompt_id=prompt_id)
            self._requests[key] = Note(at_us, [_request(empty, line, at_us)])
            self._add(self._requests[key])
        self._at(at_us)

    def _call(self, call_id: str, block: transcript.Block, line: transcript.Line, at_us: int) -> None:
        if self._seen.add("call", call_id):
            name, arguments = block.name or "", block.input if isinstance(block.input, dict) else {}
            known, sidechain = _input(name, arguments), bool(line.is_sidechain)
            call = ToolCall(call_id, name, arguments, at_us, known, sidechain, self._prompt_of(line))
            self._running[call_id] = call
            self._add(call)

    def _say(self, line: transcript.AssistantLine, at_us: int) -> None:
        """Keep the last message that has a text."""
        texts = [block.text for block in line.message.blocks if block.type == "text" and block.text]
        self._open.answered_us = at_us
        if not "".join(texts).strip():
            return
        message_id = line.message.id or line.uuid
        if message_id == self._open.answer_id:
            texts.insert(0, self._open.answer)
        self._open.answer_id, self._open.answer = message_id, "\n\n".join(texts)

    def _prompt_of(self, line: transcript.Line) -> str | None:
        """The agent's id of a line's prompt; a sub-agent's line belongs to the prompt that spawned it."""
        own = self._open.prompt.host_prompt_id if self._open.prompt else None
        return own or (self._spawning_prompt if line.is_sidechain else None)

    def _cut(self, *, finished: bool = True, next_session: str | None = None) -> None:
        """A call that still runs goes on into the next exchange of its session."""
        running: list[Item] = []
        if finished and next_session is None:
            running = [item for item in self._open.items if self._is_running(item)]
            self._open.items = [item for item in self._open.items if not self._is_running(item)]
        super()._cut(finished=finished)
        self._open.items = running
        self._requests = {}
        self._session = next_session or self._session

    def _is_running(self, item: Item) -> bool:
        return isinstance(item, ToolCall) and item.call_id in self._running


# --- records ----------------------------------------------------------------------------------------------


def _request(known: Record, line: transcript.AssistantLine, at_us: int) -> RecordDraft:
    message, cost, usage = line.message, line.cost_usd, line.message.usage or transcript.Usage()
    writes = usage.cache_creation or transcript.CacheWrites()
    record = Record(
        record_id=known.record_id,
        at_us=at_us,
        kind="request",
        prompt_id=known.prompt_id,
        model=message.model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
        cache_write_1h_tokens=writes.ephemeral_1h_input_tokens,
        cost_usd_nano=round(cost * 1_000_000_000) if cost is not None and cost >= 0 else None,
        request_id=line.request_id,
        sidechain=bool(line.is_sidechain),
    )
    return RecordDraft(record)


def _input(name: str, arguments: dict[str, Any]) -> ToolInput:
    path = next((arguments[key] for key in ("file_path", "notebook_path") if key in arguments), None)
    command = arguments.get("command") if tool_effect(name) == "shell" else None
    return ToolInput(
        path=path if isinstance(path, str) and path else None,
        command=bounded_command(command) if isinstance(command, str) else None,
        key=input_key(name, arguments),
    )


def _finish(call: ToolCall, block: transcript.Block, line: transcript.UserLine, at_us: int) -> None:
    """Take the result that a later line brings."""
    result = line.tool_use_result
    if block.is_error and transcript.is_rejection(block.content):
        call.kind = "rejection"
        return
    effect = tool_effect(call.name)
    told = result if isinstance(result, dict) else {}
    background = told.get("backgroundTaskId") is not None or call.arguments.get("run_in_background") is True
    # A command in the background has only begun: how it ends is not in this result.
    call.ok = None if not block.is_error and effect == "shell" and background else not block.is_error
    call.duration_ms = _duration_ms(told, at_us - call.at_us)
    if call.ok and effect in ("edit", "write"):
        lines = changed_lines(call.name, call.arguments, result)
        call.known = msgspec.structs.replace(call.known, lines=lines)
    if call.name in ("Task", "Agent"):
        call.spawn(at_us, call.arguments.get("subagent_type"))


def _duration_ms(told: dict[str, Any], elapsed_us: int) -> int | None:
    """As the tool measured it; else from call to result, which includes the wait for a permission."""
    measured = told.get("durationMs", told.get("totalDurationMs"))
    if isinstance(measured, int | float) and not isinstance(measured, bool) and 0 <= measured < 2**53:
        return round(measured)
    return (elapsed_us + 500) // 1000 if elapsed_us >= 0 else None


def _api_error(line: transcript.AssistantLine, at_us: int, prompt_id: str | None) -> Note:
    """A request that failed for good, as the agent told the user."""
    text = text_in([{"text": block.text} for block in line.message.blocks]) or None
    record = Record(
        record_id=f"error:{line.uuid}",
        at_us=at_us,
        kind="error",
        prompt_id=prompt_id,
        request_id=line.request_id,
        status_code=_status_code(line, text or ""),
        sidechain=bool(line.is_sidechain),
    )
    return note(record, text)


def _status_code(line: transcript.AssistantLine, text: str) -> int | None:
    if line.api_error_status is not None:
        return line.api_error_status
    if isinstance(line.error, str) and line.error in _STATUS_OF_ERROR:
        return _STATUS_OF_ERROR[line.error]
    match = _STATUS.search(text[:200]) if text.startswith("API Error") else None
    return int(match.group(1)) if match else None


# --- files ------------------------------------------------------------------------------------------------


def _order(file: Path) -> tuple[bool, int, int]:
    """Sub-agents' files last, so that the prompts which spawned them are known; an original before its forks."""
    of_sub_agent = file.name.startswith("agent-") or "subagents" in file.parts
    return of_sub_agent, *by_beginning(file, lines_of(file), lambda raw: transcript.decode_line(raw).at_us)


CLAUDE_CODE = Format(
    source="claude-code",
    folder=lambda: str(Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude") / "projects"),
    is_transcript=lambda file: file.suffix == ".jsonl",
    order=_order,
    lines=lines_of,
    reader=lambda file, name, seen: TranscriptReader(name, file.stem, seen),
)
