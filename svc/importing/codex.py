"""Codex's rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` under its home.

A file only grows, so ids come from the session and the number of a line. What a fork repeats of its parent is left out.
A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from aggregates.reading.readings import own_words
from aggregates.records.record import OF_SUB_AGENT
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.agents import SPAWNS, call_arguments, called
from aggregates.telemetry.draft import Exchange, TypedPrompt, status_in
from svc.importing import codex_lines as rollout
from svc.importing.exchange import Format, Memory, Reader, ToolCall, by_beginning, note, request, text_in

_TOLD_TWICE_US = 2_000_000  # some versions tell a prompt as an event and as an item
_PAUSE_US = 1_000_000  # within a copy no line is further than this from the one before
_UUID_CHARACTERS = 36
HEAD_CHARACTERS_MAX = 500  # what a result says of itself stands in so many characters
_REJECTED = re.compile(r"\brejected by (?:the )?user\b")


@dataclass(slots=True)
class Heritage:
    """Tells the copy of its parent's lines that a fork begins with from its own; ask for every line, in order.

    Times in a copy are often those of the copying. Newer versions number the lines and say where their own begin. Else
    the copy ends at the first line that the parent does not have; without the parent's file, at the first pause.
    """

    own_from: int | None  # the first ordinal that is no copy, where the agent says so
    born_us: int
    last_us: int
    parent: Sequence[int] | None  # the marks of the parent's lines, None where its file was not seen
    over: bool
    next: int = 0

    def covers(self, line: rollout.Line, mark: int | None) -> bool:
        if self.own_from is not None and isinstance(line.ordinal, int):
            return line.ordinal < self.own_from
        if not self.over and line.at_us is not None:
            self.over = line.at_us >= self.born_us and not self._repeats(mark, line.at_us)
            return not self.over
        return False

    def _repeats(self, mark: int | None, at_us: int) -> bool:
        if self.parent is None:
            before, self.last_us = self.last_us, at_us
            return at_us - before <= _PAUSE_US
        try:
            self.next = self.next if mark is None else self.parent.index(mark, self.next) + 1
        except ValueError:
            return False
        return True


def mark_of(body: rollout.Body) -> int | None:
    """What a line is known again by, whenever it was copied; None for lines that tell nothing apart."""
    told = {
        **dict.fromkeys(("user_message", "agent_message"), body.message),
        **dict.fromkeys(("function_call", "custom_tool_call"), body.call_id),
        **dict.fromkeys(("task_started", "turn_started"), body.turn_id),
    }.get(body.type)
    if body.type == "token_count" and body.info is not None and body.info.total_token_usage is not None:
        told = msgspec.json.encode(body.info.total_token_usage).decode()
    if told is None:
        return None
    mark = f"{body.type}\x1f{told}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(mark, digest_size=8).digest(), "big", signed=True)


class RolloutReader(Reader):
    def __init__(self, file: Path, name: str, seen: Memory) -> None:
        super().__init__(file, name, seen)
        try:
            # The file's own name ends in the session's id.
            self._session, self._named = str(UUID(file.stem[-_UUID_CHARACTERS:])), True
        except ValueError:
            self._named = False
        self._marks: array[int] = array("q")
        self._heritage: Heritage | None = None
        self._called: set[str] = set()
        self._calls: dict[str, ToolCall] = {}
        self._total: rollout.Usage | None = None
        self._untold: Counter[tuple[bool, object]] = Counter()
        """What was told in one of two ways, and not yet in the other."""
        self._model: str | None = None
        self._cwd: str | None = None
        self._began_us: int | None = None
        self._of_sub_agent = False

    def read(self, raw_lines: Iterable[bytes]) -> Iterator[Exchange]:
        yield from super().read(raw_lines)
        self._seen.marks[self._session] = self._marks

    def _line(self, value: dict[str, Any], number: int) -> None:
        line = msgspec.convert(value, rollout.Line)
        body, at_us = rollout.body_of(line, value), line.at_us
        if body is None:
            return
        if at_us is None:
            if self._began_us is None or line.payload is not None:
                raise ValueError("no timestamp")
            # A line of the older kind has no time: it is put at the session's beginning, in its order.
            self._timed, at_us = False, self._began_us + number
        if isinstance(body, rollout.Meta):
            self._head(body, at_us, number)
            return
        mark = mark_of(body)
        if mark is not None:
            self._marks.append(mark)
        copied = self._heritage is not None and self._heritage.covers(line, mark)
        if body.type == "turn_context":
            self._model, self._cwd = body.model or self._model, body.cwd or self._cwd
        elif not copied:
            self._read_in(body, at_us, number)
        elif body.type == "token_count" and body.info is not None:
            self._total = body.info.total_token_usage

    def _head(self, meta: rollout.Meta, at_us: int, number: int) -> None:
        """The first head is the file's own; those of the sessions it was forked from follow."""
        if self._began_us is not None:
            return
        born_us = meta.born_us or at_us
        if number > 1 and self._named and self._session != meta.session:
            # The file's own head is torn: this is its parent's.
            meta, born_us = replace(meta, id=self._session, forked_from_id=meta.session), at_us
        self._began_us, self._cwd = at_us, meta.cwd
        self._session = meta.session or self._session
        self._of_sub_agent = meta.of_sub_agent
        parent = None if meta.parent is None else self._seen.marks.get(meta.parent)
        over = meta.parent is None and not meta.of_sub_agent
        based, own_from = meta.history_base, meta.subagent_history_start_ordinal
        own_from = based.end_ordinal_exclusive if own_from is None and based is not None else own_from
        self._heritage = Heritage(own_from, born_us, at_us, parent, over)
        source = OF_SUB_AGENT if self._of_sub_agent else None
        self._add(note("session_start", f"{self._session}:{number}", born_us, source=source))

    def _read_in(self, body: rollout.Body, at_us: int, number: int) -> None:
        name = f"{self._session}:{number}"
        match body.type:
            case "user_message":
                self._prompted(body, at_us, number)
            case "agent_message" | "task_complete" | "turn_complete":
                text = body.message if body.type == "agent_message" else body.last_agent_message or ""
                if text.strip() and not self._open.stopped:
                    self._said(text, at_us)
                self._open.stopped |= body.type != "agent_message"
            case "turn_aborted":
                if body.reason == "interrupted" and not self._of_sub_agent:
                    self._begin(note("interruption", name, at_us))
                self._open.stopped = True
            case "token_count" | "token_usage_record":
                self._usage(body, at_us, name)
            case "compacted" | "context_compacted":
                if not self._told_otherwise("compaction", way=body.type == "context_compacted"):
                    self._begin(note("compaction", name, at_us))
            case "error":
                told = {"status_code": status_in(body.message), **self._by}
                self._begin(note("error", name, at_us, body.message or None, **told))
            case _:
                self._tool(body, at_us, number)

    def _prompted(self, said: rollout.Body, at_us: int, number: int) -> None:
        if self._of_sub_agent or said.kind not in (None, "plain"):
            return
        text = own_words(said.message) or said.message
        text = text if text.strip() else "[Image]" if said.images else ""
        last = None if self._open.items or self._open.answer else self._open.prompt
        again = last is not None and last.text == text and at_us - last.at_us < _TOLD_TWICE_US
        if text and not again:
            self._ask(TypedPrompt(f"codex:{self._session}:{number}", text, at_us, cwd=self._cwd))

    def _usage(self, told: rollout.Body, at_us: int, name: str) -> None:
        """One request for each response, though newer versions tell of it in two lines, whichever comes first."""
        usage, info, before = told.usage, told.info, self._total
        if told.type == "token_count":
            # Where the total says that nothing came since, this tells of no response.
            if info is None or (info.total_token_usage is not None and info.total_token_usage == before):
                return
            self._total = info.total_token_usage
            usage = info.last_token_usage or _difference(info.total_token_usage, before)
        if usage is None or usage == rollout.Usage():
            return
        tokens = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
        if not self._told_otherwise(tokens, way=told.type == "token_usage_record"):
            more = {"cache_write_tokens": usage.cache_write_input_tokens, **self._by}
            self._begin(request(name, at_us, *tokens, **more))

    def _told_otherwise(self, what: object, *, way: bool) -> bool:
        """Whether a line of the other kind told this already."""
        told = self._untold[not way, what] > 0
        self._untold[(not way) if told else way, what] += -1 if told else 1
        return told

    def _tool(self, body: rollout.Body, at_us: int, number: int) -> None:
        call_id = body.call_id or ""
        match body.type:
            case "local_shell_call" | "function_call" | "custom_tool_call":
                name, told = f"{body.namespace or ''}{body.name or ''}", body.input
                arguments = call_arguments(body.arguments if told is None else told)
                if body.type == "local_shell_call":
                    name, arguments = "local_shell", body.action if isinstance(body.action, dict) else {}
                    call_id = call_id or body.id or str(number)
                if call_id and call_id not in self._called:
                    self._running[call_id] = self._new_call(call_id, name, arguments, at_us)
            case "function_call_output" | "custom_tool_call_output":
                if call_id in self._running:
                    self._output(self._running.pop(call_id), body, at_us)
            case _ if call_id in self._calls:
                _end(self._calls[call_id], body)
            # A call that only its event tells of was made by a script of the agent.
            case "exec_command_end" if call_id and call_id not in self._called:
                _end(self._new_call(call_id, "exec_command", {"command": body.command}, at_us), body)
            case "patch_apply_end" if call_id and call_id not in self._called:
                _end(self._new_call(call_id, "apply_patch", {}, at_us), body)

    def _new_call(self, call_id: str, name: str, arguments: dict[str, Any], at_us: int) -> ToolCall:
        name, arguments = called(name, arguments)
        call = ToolCall(call_id, name, arguments, at_us, self._of_sub_agent)
        if name in SPAWNS:
            call.spawn(at_us, arguments.get("agent_type"))
        self._begin(call)
        self._called.add(call_id)
        self._calls[call_id] = call
        return call

    def _output(self, call: ToolCall, output: rollout.Body, at_us: int) -> None:
        """The result as the model got it. Only what it says of itself is known of its success."""
        self._at(at_us)
        told = output.output.get("content") if isinstance(output.output, dict) else output.output
        if _REJECTED.search(text_in(told)[:HEAD_CHARACTERS_MAX]):
            call.reject()
            return
        call.ok = output.ok if call.ok is None else call.ok
        if call.duration_ms is None and self._timed:
            call.duration_ms = call.took_ms(at_us)

    @property
    def _by(self) -> dict[str, Any]:
        return {"model": self._model, "sidechain": self._of_sub_agent}

    def _cut(self, *, finished: bool = True) -> None:
        super()._cut(finished=finished)
        self._calls.clear()


def _end(call: ToolCall, end: rollout.Body) -> None:
    """What the agent's event says of it; where it tells changed files, they were changed by whatever was called."""
    took_ms = end.duration_ms
    call.duration_ms = call.duration_ms if took_ms is None else took_ms
    if end.status == "declined":
        call.reject()
        return
    call.ok = call.ok if end.ok is None else end.ok
    if end.type == "patch_apply_end":
        if end.changes and tool_effect(call.name) != "edit":
            call.name, call.spawned = "apply_patch", ()
        call.known = tool_input(call.name, call.arguments)
        call.known = end.patched(call.known) if end.changes else call.known


def _difference(total: rollout.Usage | None, before: rollout.Usage | None) -> rollout.Usage | None:
    """Of two running totals; a total that fell began anew."""
    if total is None or before is None:
        return total
    pairs = [(getattr(total, name), getattr(before, name) or 0) for name in rollout.Usage.__struct_fields__]
    if any(now is not None and now < then for now, then in pairs):
        return total
    return rollout.Usage(*(None if now is None else now - then for now, then in pairs))


CODEX = Format(
    *("codex", "Codex session files (rollouts)", "~/.codex", "CODEX_HOME", "sessions"),
    is_transcript=lambda file: file.name.startswith("rollout-") and file.name.endswith((".jsonl", ".jsonl.zst")),
    # A parent before its forks: its file begins earlier.
    order=by_beginning,
    reader=RolloutReader,
)
