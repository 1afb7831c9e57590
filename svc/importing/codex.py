"""Codex's rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` under its home.

A file only grows, also when its session is resumed, so ids come from the session and the number of a line. What a fork
repeats of its parent is left out. A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

import errno
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from aggregates.records.record import Record, RecordKind
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Draft, status_in
from svc.importing.codex_lines import (
    Body,
    Call,
    Compacted,
    CompactedEvent,
    Failed,
    Heritage,
    Line,
    McpEnd,
    Message,
    Meta,
    Output,
    PatchEnd,
    Prompt,
    Said,
    ShellCall,
    ShellEnd,
    TokenCount,
    TurnAborted,
    TurnComplete,
    TurnContext,
    Usage,
    UsageRecord,
    decode_line,
    duration_ms,
    mark_of,
)
from svc.importing.exchange import (
    Format,
    Reader,
    Seen,
    ToolCall,
    TypedPrompt,
    by_beginning,
    lines_of,
    microseconds,
    note,
    text_in,
)

_TOLD_TWICE_US = 2_000_000
"""Some versions tell a prompt as an event and as an item."""
_NOT_TYPED = (
    *("<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<hook_prompt"),
    *("<subagent_notification>", "<skill>", "# AGENTS.md instructions"),
)
_UUID_CHARACTERS = 36
_PACKED = ".jsonl.zst"
_REJECTED = re.compile(r"\brejected by (?:the )?user\b")
_SPAWNS = ("spawn_agent", "agents__spawn_agent")


class RolloutReader(Reader):
    """Reads one file. `seen` is shared by all files of one import."""

    def __init__(self, file: str, stem: str, seen: Seen) -> None:
        """`stem`, the file's own name, ends in the session's id."""
        named = _session_in(stem)
        super().__init__(file, named or stem, seen)
        self._named = named is not None
        self._marks: array[int] = array("q")
        self._heritage: Heritage | None = None
        self._called: set[str] = set()
        self._calls: dict[str, ToolCall] = {}
        """Those of the open exchange."""
        self._total: Usage | None = None
        self._untold: Counter[tuple[bool, object]] = Counter()
        """What was told in one of two ways, and not yet in the other."""
        self._model: str | None = None
        self._cwd: str | None = None
        self._began_us: int | None = None
        self._of_sub_agent = False

    def _line(self, raw: bytes, number: int) -> None:
        line = decode_line(raw)
        if line.body is None:
            return
        at_us = self._time_of(line, number)
        if isinstance(line.body, Meta):
            self._head(line.body, at_us, number)
            return
        mark = mark_of(line.body)
        if mark is not None:
            self._marks.append(mark)
        if self._heritage is not None and self._heritage.covers(line):
            self._remember(line.body)
        else:
            self._read_in(line, line.body, at_us, number)

    def _end(self) -> None:
        self._seen.marks[self._session] = self._marks
        super()._end()

    def _time_of(self, line: Line, number: int) -> int:
        """A line of the older kind has none: it is put at the session's beginning, in its order."""
        if line.at_us is not None:
            return line.at_us
        if self._began_us is None or not line.bare:
            raise ValueError("no timestamp")
        self._timed = False
        return self._began_us + number

    def _head(self, meta: Meta, at_us: int, number: int) -> None:
        """The first head is the file's own; those of the sessions it was forked from follow."""
        if self._began_us is not None:
            return
        born_us = at_us if meta.timestamp is None else _time_or(meta.timestamp, at_us)
        self._began_us, self._cwd = at_us, meta.cwd
        if number > 1 and self._named and self._session != meta.session:
            # The file's own head is torn: this is its parent's.
            born_us = at_us
            meta = msgspec.structs.replace(meta, id=self._session, forked_from_id=meta.session)
        self._session = meta.session or self._session
        self._of_sub_agent = meta.of_sub_agent
        parent = None if meta.parent is None else self._seen.marks.get(meta.parent)
        self._heritage = Heritage(meta, born_us, at_us, parent)
        if not self._of_sub_agent:
            self._add(note(self._record("session_start", number, born_us)))

    def _remember(self, body: Body) -> None:
        """What a copied line says of the lines that come after it."""
        if isinstance(body, TurnContext):
            self._model, self._cwd = body.model or self._model, body.cwd or self._cwd
        elif isinstance(body, TokenCount) and body.info is not None:
            self._total = body.info.total_token_usage

    def _read_in(self, line: Line, body: Body, at_us: int, number: int) -> None:
        match body:
            case TurnContext():
                self._remember(body)
            case Prompt():
                self._prompted(body, at_us, number)
            case Message() if line.bare:
                self._message(body, at_us, number)
            case Said():
                self._say(body.message, at_us)
            case TurnComplete() | TurnAborted():
                self._stop(body, at_us, number)
            case TokenCount() | UsageRecord():
                self._usage(body, at_us, number)
            case Compacted():
                if not self._told_otherwise("compaction", way=isinstance(body, CompactedEvent)):
                    self._begin(note(self._record("compaction", number, at_us)))
            case Failed(message=text):
                self._begin(note(self._record("error", number, at_us, status_code=status_in(text)), text or None))
            case _:
                self._tool(body, at_us, number)

    # --- prompts, answers, requests -------------------------------------------------------------------------

    def _prompted(self, said: Prompt, at_us: int, number: int) -> None:
        if self._of_sub_agent or said.kind not in (None, "plain") or said.message.lstrip().startswith(_NOT_TYPED):
            return
        text = said.message if said.message.strip() else "[Image]" if said.images else ""
        if text and not self._told_already(text, at_us):
            self._ask(TypedPrompt(f"codex:{self._session}:{number}", text, at_us, cwd=self._cwd))

    def _message(self, message: Message, at_us: int, number: int) -> None:
        """In older files messages are all there is."""
        if message.role == "user":
            self._prompted(Prompt(text_in(message.content)), at_us, number)
        elif message.role == "assistant":
            self._say(text_in(message.content), at_us)

    def _told_already(self, text: str, at_us: int) -> bool:
        prompt = self._open.prompt
        if prompt is None or self._open.items or self._open.answer:
            return False
        return prompt.text == text and at_us - prompt.at_us < _TOLD_TWICE_US

    def _say(self, text: str, at_us: int) -> None:
        if text.strip() and not self._open.stopped:
            self._open.answer, self._open.answered_us = text, at_us
            self._at(at_us)

    def _stop(self, body: TurnComplete | TurnAborted, at_us: int, number: int) -> None:
        if isinstance(body, TurnComplete):
            self._say(body.last_agent_message or "", at_us)
        elif body.reason == "interrupted" and not self._of_sub_agent:
            self._begin(note(self._record("interruption", number, at_us)))
        self._open.stopped = True

    def _usage(self, told: TokenCount | UsageRecord, at_us: int, number: int) -> None:
        """One request for each response, though newer versions tell of it in two lines, whichever comes first."""
        usage = told.usage if isinstance(told, UsageRecord) else self._counted(told)
        if usage is None or usage == Usage():
            return
        key = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
        if self._told_otherwise(key, way=isinstance(told, UsageRecord)):
            return
        record = self._record(
            "request",
            number,
            at_us,
            input_tokens=uncached(usage.input_tokens, usage.cached_input_tokens),
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            cache_write_tokens=usage.cache_write_input_tokens,
        )
        self._begin(note(record))

    def _told_otherwise(self, what: object, *, way: bool) -> bool:
        """Whether a line of the other kind told this already."""
        told = self._untold[not way, what] > 0
        self._untold[(not way) if told else way, what] += -1 if told else 1
        return told

    def _counted(self, count: TokenCount) -> Usage | None:
        """What the last response used; None where the total says that nothing came since."""
        info = count.info
        if info is None or (info.total_token_usage is not None and info.total_token_usage == self._total):
            return None
        before, self._total = self._total, info.total_token_usage
        return _difference(info.total_token_usage, before) if info.last_token_usage is None else info.last_token_usage

    # --- tool calls -----------------------------------------------------------------------------------------

    def _tool(self, body: Body, at_us: int, number: int) -> None:
        match body:
            case Call() | ShellCall():
                self._call(body, at_us, number)
            case Output():
                self._output(body, at_us)
            case ShellEnd() | PatchEnd() | McpEnd():
                self._ended(body, at_us)

    def _call(self, call: Call | ShellCall, at_us: int, number: int) -> None:
        if isinstance(call, ShellCall):
            call_id, name, arguments = call.call_id or call.id or str(number), "local_shell", dict(call.action)
        else:
            call_id, name = call.call_id, f"{call.namespace or ''}{call.name}"
            arguments = call.known_arguments
        if call_id not in self._called:
            self._running[call_id] = self._new_call(call_id, name, arguments, at_us)

    def _new_call(self, call_id: str, name: str, arguments: dict[str, Any], at_us: int) -> ToolCall:
        call = ToolCall(call_id, name, arguments, at_us, tool_input(name, arguments), self._of_sub_agent)
        if name in _SPAWNS:
            kind = arguments.get("agent_type")
            source = kind if isinstance(kind, str) else None
            record_id = f"subagent:{call_id}"
            call.spawned = Draft(
                Record(record_id=record_id, at_us=at_us, kind="subagent", source=source, call_id=call_id)
            )
        self._begin(call)
        self._called.add(call_id)
        self._calls[call_id] = call
        return call

    def _output(self, output: Output, at_us: int) -> None:
        """The result as the model got it. Only what it says of itself is known of its success."""
        call = self._running.pop(output.call_id, None)
        if call is None:
            return
        self._at(at_us)
        text, told = output.result
        if _REJECTED.search(text):
            _reject(call)
            return
        call.ok = told if call.ok is None else call.ok
        if call.duration_ms is None and self._timed and at_us >= call.at_us:
            call.duration_ms = (at_us - call.at_us + 500) // 1000

    def _ended(self, body: ShellEnd | PatchEnd | McpEnd, at_us: int) -> None:
        """An event of a call; a call that only its event tells of was made by a script of the agent."""
        call = self._calls.get(body.call_id)
        if call is None:
            if body.call_id in self._called or isinstance(body, McpEnd):
                return
            shell = {"command": body.command} if isinstance(body, ShellEnd) else None
            call = self._new_call(body.call_id, "apply_patch" if shell is None else "exec_command", shell or {}, at_us)
        match body:
            case ShellEnd():
                _shell_ended(call, body)
            case PatchEnd():
                _patch_ended(call, body)
            case McpEnd():
                _mcp_ended(call, body)

    # --- exchanges ------------------------------------------------------------------------------------------

    def _record(self, kind: RecordKind, number: int, at_us: int, **fields: Any) -> Record:
        """A request or an error if it has fields."""
        more = {"model": self._model, "sidechain": self._of_sub_agent, **fields} if fields else {}
        return Record(record_id=f"{kind}:{self._session}:{number}", at_us=at_us, kind=kind, **more)

    def _cut(self, *, finished: bool = True) -> None:
        """A turn's calls end with it."""
        super()._cut(finished=finished)
        self._running.clear()
        self._calls.clear()


# --- what becomes of a call -------------------------------------------------------------------------------


def _reject(call: ToolCall) -> None:
    call.kind, call.spawned = "rejection", None


def _shell_ended(call: ToolCall, end: ShellEnd) -> None:
    if end.status == "declined":
        _reject(call)
    elif end.exit_code is not None:
        call.ok = end.exit_code == 0
    took_ms = duration_ms(end.duration)
    call.duration_ms = call.duration_ms if took_ms is None else took_ms


def _patch_ended(call: ToolCall, end: PatchEnd) -> None:
    """Whatever applied it, files were changed."""
    if end.status == "declined":
        _reject(call)
        return
    call.ok = call.ok if end.success is None else end.success
    if end.changes and tool_effect(call.name) != "edit":
        call.name, call.spawned = "apply_patch", None
    call.known = tool_input(call.name, call.arguments)
    if end.changes:
        call.known = msgspec.structs.replace(call.known, path=next(iter(end.changes)), lines=end.changed_lines)


def _mcp_ended(call: ToolCall, end: McpEnd) -> None:
    match end.result:
        case {"Ok": {"isError": bool(failed)} | {"is_error": bool(failed)}}:
            call.ok = not failed
        case {"Ok": _}:
            call.ok = True
        case {"Err": _}:
            call.ok = False
    took_ms = duration_ms(end.duration)
    call.duration_ms = call.duration_ms if took_ms is None else took_ms


def _difference(total: Usage | None, before: Usage | None) -> Usage | None:
    """Of two running totals; a total that fell began anew."""
    if total is None or before is None:
        return total
    pairs = [(getattr(total, name), getattr(before, name) or 0) for name in Usage.__struct_fields__]
    if any(now is not None and now < then for now, then in pairs):
        return total
    return Usage(*(None if now is None else now - then for now, then in pairs))


# --- files ------------------------------------------------------------------------------------------------


def _session_in(stem: str) -> str | None:
    """The session that a file's name ends in; None where it does not."""
    try:
        return str(UUID(stem[-_UUID_CHARACTERS:]))
    except ValueError:
        return None


def _time_or(timestamp: str, otherwise_us: int) -> int:
    try:
        return microseconds(timestamp)
    except ValueError:
        return otherwise_us


def _lines(file: Path) -> Iterator[bytes]:
    if file.name.endswith(_PACKED):
        raise OSError(errno.EINVAL, "packed: unpack it with `zstd -d`")
    yield from lines_of(file)


CODEX = Format(
    source="codex",
    folder=lambda: f"{os.environ.get('CODEX_HOME') or '~/.codex'}/sessions",
    is_transcript=lambda file: file.name.startswith("rollout-") and file.name.endswith((".jsonl", _PACKED)),
    # A parent before its forks: its file begins earlier.
    order=lambda file: by_beginning(file, _lines(file), lambda raw: decode_line(raw).at_us),
    lines=_lines,
    reader=lambda file, name, seen: RolloutReader(name, file.stem, seen),
)
