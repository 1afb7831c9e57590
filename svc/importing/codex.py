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
from aggregates.records.tools import Changed, tool_effect, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import status_in
from svc.importing import codex_lines as rollout
from svc.importing.exchange import (
    Format,
    Memory,
    Reader,
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

    def __init__(self, file: str, stem: str, seen: Memory) -> None:
        """`stem`, the file's own name, ends in the session's id."""
        named = _session_in(stem)
        super().__init__(file, named or stem, seen)
        self._named = named is not None
        self._marks: array[int] = array("q")
        self._heritage: rollout.Heritage | None = None
        self._called: set[str] = set()
        self._calls: dict[str, ToolCall] = {}
        """Those of the open exchange."""
        self._total: rollout.Usage | None = None
        self._untold: Counter[tuple[bool, object]] = Counter()
        """What was told in one of two ways, and not yet in the other."""
        self._model: str | None = None
        self._cwd: str | None = None
        self._began_us: int | None = None
        self._of_sub_agent = False

    def _line(self, raw: bytes, number: int) -> None:
        line = rollout.decode_line(raw)
        if line.body is None:
            return
        at_us = self._time_of(line, number)
        if isinstance(line.body, rollout.Meta):
            self._head(line.body, at_us, number)
            return
        mark = rollout.mark_of(line.body)
        if mark is not None:
            self._marks.append(mark)
        if self._heritage is not None and self._heritage.covers(line):
            self._remember(line.body)
        else:
            self._read_in(line, line.body, at_us, number)

    def _end(self) -> None:
        self._seen.marks[self._session] = self._marks
        super()._end()

    def _time_of(self, line: rollout.Line, number: int) -> int:
        """A line of the older kind has none: it is put at the session's beginning, in its order."""
        if line.at_us is not None:
            return line.at_us
        if self._began_us is None or not line.bare:
            raise ValueError("no timestamp")
        self._timed = False
        return self._began_us + number

    def _head(self, meta: rollout.Meta, at_us: int, number: int) -> None:
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
        self._heritage = rollout.Heritage(meta, born_us, at_us, parent)
        if not self._of_sub_agent:
            self._add(note(self._record("session_start", number, born_us)))

    def _remember(self, body: rollout.Body) -> None:
        """What a copied line says of the lines that come after it."""
        if isinstance(body, rollout.TurnContext):
            self._model, self._cwd = body.model or self._model, body.cwd or self._cwd
        elif isinstance(body, rollout.TokenCount) and body.info is not None:
            self._total = body.info.total_token_usage

    def _read_in(self, line: rollout.Line, body: rollout.Body, at_us: int, number: int) -> None:
        match body:
            case rollout.TurnContext():
                self._remember(body)
            case rollout.Prompt():
                self._prompted(body, at_us, number)
            case rollout.Message() if line.bare:
                self._message(body, at_us, number)
            case rollout.AgentMessage():
                self._say(body.message, at_us)
            case rollout.TurnComplete() | rollout.TurnAborted():
                self._stop(body, at_us, number)
            case rollout.TokenCount() | rollout.UsageRecord():
                self._usage(body, at_us, number)
            case rollout.Compaction():
                if not self._told_otherwise("compaction", way=isinstance(body, rollout.CompactionEvent)):
                    self._begin(note(self._record("compaction", number, at_us)))
            case rollout.Failure(message=text):
                self._begin(note(self._record("error", number, at_us, status_code=status_in(text)), text or None))
            case _:
                self._tool(body, at_us, number)

    # --- prompts, answers, requests -------------------------------------------------------------------------

    def _prompted(self, said: rollout.Prompt, at_us: int, number: int) -> None:
        if self._of_sub_agent or said.kind not in (None, "plain") or said.message.lstrip().startswith(_NOT_TYPED):
            return
        text = said.message if said.message.strip() else "[Image]" if said.images else ""
        if text and not self._told_already(text, at_us):
            self._ask(TypedPrompt(f"codex:{self._session}:{number}", text, at_us, cwd=self._cwd))

    def _message(self, message: rollout.Message, at_us: int, number: int) -> None:
        """In older files messages are all there is."""
        if message.role == "user":
            self._prompted(rollout.Prompt(text_in(message.content)), at_us, number)
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

    def _stop(self, body: rollout.TurnComplete | rollout.TurnAborted, at_us: int, number: int) -> None:
        if isinstance(body, rollout.TurnComplete):
            self._say(body.last_agent_message or "", at_us)
        elif body.reason == "interrupted" and not self._of_sub_agent:
            self._begin(note(self._record("interruption", number, at_us)))
        self._open.stopped = True

    def _usage(self, told: rollout.TokenCount | rollout.UsageRecord, at_us: int, number: int) -> None:
        """One request for each response, though newer versions tell of it in two lines, whichever comes first."""
        usage = told.usage if isinstance(told, rollout.UsageRecord) else self._counted(told)
        if usage is None or usage == rollout.Usage():
            return
        key = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
        if self._told_otherwise(key, way=isinstance(told, rollout.UsageRecord)):
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

    def _counted(self, count: rollout.TokenCount) -> rollout.Usage | None:
        """What the last response used; None where the total says that nothing came since."""
        info = count.info
        if info is None or (info.total_token_usage is not None and info.total_token_usage == self._total):
            return None
        before, self._total = self._total, info.total_token_usage
        return _difference(info.total_token_usage, before) if info.last_token_usage is None else info.last_token_usage

    # --- tool calls -----------------------------------------------------------------------------------------

    def _tool(self, body: rollout.Body, at_us: int, number: int) -> None:
        match body:
            case rollout.Call() | rollout.ShellCall():
                self._call(body, at_us, number)
            case rollout.Output():
                self._output(body, at_us)
            case rollout.CallEnd():
                self._ended(body, at_us)

    def _call(self, call: rollout.Call | rollout.ShellCall, at_us: int, number: int) -> None:
        if isinstance(call, rollout.ShellCall):
            call_id, name, arguments = call.call_id or call.id or str(number), "local_shell", dict(call.action)
        else:
            call_id, name = call.call_id, f"{call.namespace or ''}{call.name}"
            arguments = call.known_arguments
        if call_id not in self._called:
            self._running[call_id] = self._new_call(call_id, name, arguments, at_us)

    def _new_call(self, call_id: str, name: str, arguments: dict[str, Any], at_us: int) -> ToolCall:
        call = ToolCall(call_id, name, arguments, at_us, tool_input(name, arguments), self._of_sub_agent)
        if name in _SPAWNS:
            call.spawn(at_us, arguments.get("agent_type"))
        self._begin(call)
        self._called.add(call_id)
        self._calls[call_id] = call
        return call

    def _output(self, output: rollout.Output, at_us: int) -> None:
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

    def _ended(self, body: rollout.CallEnd, at_us: int) -> None:
        """An event of a call; a call that only its event tells of was made by a script of the agent."""
        call = self._calls.get(body.call_id)
        if call is None:
            if body.call_id in self._called or isinstance(body, rollout.McpEnd):
                return
            shell = {"command": body.command} if isinstance(body, rollout.ShellEnd) else None
            call = self._new_call(body.call_id, "apply_patch" if shell is None else "exec_command", shell or {}, at_us)
        _end(call, body)

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


# --- helpers ----------------------------------------------------------------------------------------------


def _reject(call: ToolCall) -> None:
    call.kind, call.spawned = "rejection", None


def _end(call: ToolCall, end: rollout.CallEnd) -> None:
    """What the agent's event says of it; where it tells changed files, they were changed by whatever was called."""
    took_ms = end.duration_ms
    call.duration_ms = call.duration_ms if took_ms is None else took_ms
    if end.status == "declined":
        _reject(call)
        return
    call.ok = call.ok if end.ok is None else end.ok
    if isinstance(end, rollout.PatchEnd):
        if end.changes and tool_effect(call.name) != "edit":
            call.name, call.spawned = "apply_patch", None
        call.known = tool_input(call.name, call.arguments)
        if end.changes:
            call.known = msgspec.structs.replace(call.known, path=next(iter(end.changes)), lines=_changed_lines(end))


def _changed_lines(patch: rollout.PatchEnd) -> Changed:
    """Of all files; none where one of them does not say."""
    counts = [_lines_of(change) for change in patch.changes.values()]
    known = [each for each in counts if each is not None]
    if len(known) < len(counts):
        return None, None
    return sum(added for added, _ in known), sum(removed for _, removed in known)


def _lines_of(change: object) -> tuple[int, int] | None:
    match change:
        case {"type": "add", "content": str(content)} | {"add": {"content": str(content)}}:
            return len(content.splitlines()), 0
        case {"type": "delete", "content": str(content)} | {"delete": {"content": str(content)}}:
            return 0, len(content.splitlines())
        case {"unified_diff": str(diff)} | {"update": {"unified_diff": str(diff)}}:
            lines = [line for line in diff.splitlines() if not line.startswith(("+++ ", "--- "))]
            return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
        case _:
            return None


def _difference(total: rollout.Usage | None, before: rollout.Usage | None) -> rollout.Usage | None:
    """Of two running totals; a total that fell began anew."""
    if total is None or before is None:
        return total
    pairs = [(getattr(total, name), getattr(before, name) or 0) for name in rollout.Usage.__struct_fields__]
    if any(now is not None and now < then for now, then in pairs):
        return total
    return rollout.Usage(*(None if now is None else now - then for now, then in pairs))


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
    order=lambda file: by_beginning(file, _lines(file), lambda raw: rollout.decode_line(raw).at_us),
    lines=_lines,
    reader=lambda file, name, seen: RolloutReader(name, file.stem, seen),
)
