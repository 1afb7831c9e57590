"""Codex's rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` under its home, and what it archived.

A session that is resumed goes on in files of its own, so a line is known by what it says, not by its place. What a fork
repeats of its parent is left out. A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from aggregates.reading.readings import maker_of, own_words
from aggregates.records.record import OF_SUB_AGENT, RecordKind
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.agents import SPAWNS, call_arguments, called
from aggregates.telemetry.draft import TypedPrompt, inside, status_in, terms
from aggregates.telemetry.otlp import text
from svc.importing import codex_lines as rollout
from svc.importing.exchange import Format, Memory, Note, Reader, ToolCall, by_beginning, note, text_in

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IDS = re.compile(rf"({_UUID})(?:_({_UUID}))?$", re.IGNORECASE)
_ENCODE = msgspec.json.Encoder(order="sorted").encode
_Ways = defaultdict[object, Counter[str]]  # how often something was told, by the ways in which it is told
HEAD_CHARACTERS_MAX = 500  # what a result says of itself stands in so many characters
_REJECTED = re.compile(r"\brejected by (?:the )?user\b")


@dataclass(slots=True)
class _Turn:
    """What was told of a turn so far: versions tell prompts and answers in up to three ways."""

    told: _Ways = field(default_factory=lambda: defaultdict(Counter))
    items: set[str | None] = field(default_factory=set)  # the ids of its prompts
    asked: bool = False  # whether a prompt, or an answer, was told otherwise than as it is written for the model
    answered: bool = False
    held: list[TypedPrompt] = field(default_factory=list)
    """As they are written for the model: they count where the agent goes to work and nothing else told a prompt."""


class RolloutReader(Reader):
    def __init__(self, file: Path, name: str, seen: Memory) -> None:
        super().__init__(file, name, seen)
        # The name of a session's first file ends in its id, that of another in this and one of its own.
        ids = _IDS.search(file.stem)
        self._threads: set[str | None] = set(ids.groups() if ids else ())  # the session's own
        self._session = file.stem if ids is None else ids[1]
        self._marks = seen.marks[self._session if ids is None else ids[2] or ids[1]] = array("q")
        self._marks_before: Sequence[int] = ()  # those of the file that it goes on from
        self._line_id = self._former_id = ""
        self._heritage: rollout.Heritage | None = None
        self._called: set[str] = set()
        self._calls: dict[str, ToolCall] = {}
        self._total: rollout.Usage | None = None
        self._told: _Ways = defaultdict(Counter)
        self._turn = _Turn()
        self._works = False  # whether the agent does, since the file's beginning
        self._model: str | None = None
        self._service_tier: str | None = None
        self._cwd: str | None = None
        self._began_us: int | None = None
        self._of_sub_agent = self._aside = False  # aside: a line of a sub-agent's thread, in whichever file

    def _line(self, value: dict[str, Any], number: int) -> None:
        line = msgspec.convert(value, rollout.Line)
        body, at_us = rollout.body_of(line, value, self.pass_over), line.at_us
        if body is None:
            self.pass_over(rollout.kind_of(line))
            return
        if at_us is None:
            if self._began_us is None or line.payload is not None:
                raise ValueError("no timestamp")
            # A line of the older kind has no time: it is put at the session's beginning, in its order.
            self._timed, at_us = False, self._began_us + number
        if isinstance(body, rollout.Meta):
            self._head(body, at_us, number)
            return
        mark = rollout.mark_of(body)
        if mark is not None:
            self._marks.append(mark)
        copied = self._heritage is not None and self._heritage.covers(line, mark)
        if body.type in ("turn_context", "thread_settings_applied"):
            self._model, self._cwd = body.model or self._model, body.cwd or self._cwd
            settings = body.thread_settings if isinstance(body.thread_settings, dict) else {}
            tier = settings.get("service_tier", body.service_tier or self._service_tier)
            self._service_tier = tier if isinstance(tier, str) else None
        elif not copied:
            self._name_line(line, body, number)
            self._aside = self._of_sub_agent or body.thread_id not in {None, *(self._threads or {body.thread_id})}
            if self._seen.add("line", hash(self._line_id)):  # a number takes less memory
                self._read_in(body, at_us, mark)
            else:
                self.pass_over("line seen before")
        else:
            self.pass_over("line of the session that it was forked from")
            self._total = body.info.total_token_usage if body.info is not None else self._total

    def _name_line(self, line: rollout.Line, body: rollout.Body, number: int) -> None:
        """By what it says: a thread may be many files, and a line stand in several of them."""
        self._line_id = self._former_id = f"{self._session}:{number}"
        if body.call_id and line.timestamp is not None:
            ended = f"{body.status} {body.exit_code} {body.success}"  # what else a result says may be long
            self._line_id = f"{self._session}:{line.timestamp}:{body.type}:{body.call_id}:{ended}"
        elif line.timestamp is not None:
            told = _ENCODE((line.at_us, line.type, line.payload))
            self._line_id = f"{self._session}:{blake2b(told, digest_size=12).hexdigest()}"

    def _head(self, meta: rollout.Meta, at_us: int, number: int) -> None:
        """The first head is the file's own; those of the sessions it was forked from follow."""
        if self._began_us is not None:
            return
        born_us = meta.born_us or at_us
        if number > 1 and self._session in self._threads and self._session != meta.session:
            # The file's own head is torn: this is its parent's.
            meta, born_us = msgspec.structs.replace(meta, id=self._session, forked_from_id=meta.session), at_us
        self._began_us, self._cwd = at_us, meta.cwd
        self._session = meta.session or self._session
        self._threads |= {meta.id, meta.session_id}
        self._seen.marks.setdefault(self._session, self._marks)
        self._of_sub_agent = meta.of_sub_agent
        parent, based = self._seen.marks.get(meta.parent or ""), meta.history_base
        if based is not None:
            # It repeats nothing of the other file but the last count of tokens.
            self._marks_before = self._seen.marks.get(text(based, "thread_id") or "", ())
        over = based is not None or (meta.parent is None and not meta.of_sub_agent)
        self._heritage = rollout.Heritage(meta.subagent_history_start_ordinal, born_us, at_us, parent, over)
        name = f"{self._session}:{1 if based is None else born_us}"
        self._add(note("session_start", name, born_us, source=OF_SUB_AGENT if self._of_sub_agent else None))

    def _read_in(self, body: rollout.Body, at_us: int, mark: int | None) -> None:
        match body.type:
            case "user_message":
                self._prompted(body, at_us)
            case "agent_message" | "task_complete" | "turn_complete":
                self._answered(body, at_us)
            case "task_started" | "turn_started":
                self._turn = _Turn(held=self._turn.held)
            case "turn_aborted":
                self._release()
                if body.reason == "interrupted" and not self._of_sub_agent:
                    self._begin(self._note("interruption", at_us))
                self._open.stopped = True
            case "token_count" | "token_usage_record":
                self._usage(body, at_us, mark)
            case "compacted" | "context_compacted":
                if _is_new(self._told, "compaction", body.type):
                    self._begin(self._note("compaction", at_us))
            case "error":
                told = {"status_code": status_in(body.message), **self._by}
                self._begin(self._note("error", at_us, body.message or None, **told))
            case _:
                self._tool(body, at_us)

    def _note(self, kind: RecordKind, at_us: int, text: str | None = None, **fields: Any) -> Note:
        return note(kind, self._line_id, at_us, text, former_id=f"{kind}:{self._former_id}", **fields)

    def _prompted(self, said: rollout.Body, at_us: int) -> None:
        text, turn = own_words(said.message) or said.message, self._turn
        text = text if text.strip() else "[Image]" if said.images else ""
        if not text or self._aside or said.kind not in (None, "plain") or said.id in turn.items:
            return
        names = {"line_id": f"codex:{self._line_id}", "former_id": f"codex:{self._former_id}"}
        prompt = TypedPrompt(text=text, at_us=at_us, cwd=self._cwd, **names)
        if said.way == "message" and self._timed:
            if not turn.asked and maker_of(text) is None:
                turn.held.append(prompt)
            return
        turn.asked, turn.held = True, []
        turn.items |= {said.id} - {None}
        if _is_new(turn.told, text, said.way):
            self._take(prompt)

    def _take(self, prompt: TypedPrompt) -> None:
        """Commands of the program's own and its shell mode are nobody's prompt."""
        if not self._commanded(prompt.text.strip(), prompt.line_id, prompt.at_us):
            self._ask(prompt)

    def _release(self) -> None:
        """The agent goes to work: what was written for the model was a prompt, unless it is the one told last."""
        held, self._turn.held = self._turn.held, []
        self._turn.told.clear()
        if not self._works and self._open.prompt is None:
            # Its prompt stands at the end of another file.
            self._open.prompt = self._seen.open.pop(self._session, None)
        self._works = True
        for prompt in held:
            last = None if self._open.items or self._open.answer else self._open.prompt
            if last is None or last.text != prompt.text:
                self._take(prompt)

    def _answered(self, said: rollout.Body, at_us: int) -> None:
        ends, written = said.type != "agent_message", said.way == "message"
        if (written and self._turn.answered) or (self._aside and not self._of_sub_agent):
            return
        self._release()
        self._turn.answered |= not (ends or written)
        text = said.last_agent_message or "" if ends else said.message
        if text.strip() and not self._open.stopped:
            self._said(text, at_us)
        self._open.stopped |= ends

    def _begin(self, item: Note | ToolCall) -> None:
        self._release()
        super()._begin(item)

    def _usage(self, told: rollout.Body, at_us: int, mark: int | None) -> None:
        """One request for each response, though newer versions tell of it in two lines, whichever comes first."""
        usage, info, before = told.usage, told.info, self._total
        if told.type == "token_count":
            # Where the total says that nothing came since, this tells of no response.
            if info is None or (info.total_token_usage is not None and info.total_token_usage == before):
                return
            self._total = info.total_token_usage
            if not self._works and mark in self._marks_before:
                return
            usage = info.last_token_usage or _difference(info.total_token_usage, before)
        elif told.response_id is not None and not self._seen.add("response", (self._session, told.response_id)):
            return
        if usage is None or usage == rollout.Usage():
            return
        tokens = (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_input_tokens, usage.output_tokens)
        if _is_new(self._told, tuple(each or 0 for each in tokens), told.type):
            tier, former = {"service_tier": told.service_tier or self._service_tier}, f"request:{self._former_id}"
            about = {"former_id": former, "terms": terms(tier), **inside(*tokens), **self._by}
            self._begin(note("request", self._line_id, at_us, **about))

    def _tool(self, body: rollout.Body, at_us: int) -> None:
        call_id = body.call_id or ""
        match body.type:
            case "local_shell_call" | "function_call" | "custom_tool_call":
                name, told = f"{body.namespace or ''}{body.name or ''}", body.input
                arguments = call_arguments(body.arguments if told is None else told)
                if body.type == "local_shell_call":
                    name, arguments = "local_shell", body.action if isinstance(body.action, dict) else {}
                call_id = call_id or body.id or self._line_id
                if call_id not in self._called:
                    self._running[call_id] = self._new_call(call_id, name, arguments, at_us)
            case "function_call_output" | "custom_tool_call_output":
                if call_id in self._running:
                    self._output(self._running.pop(call_id), body, at_us)
            case "exec_command_end" if body.source in ("user_shell", "userShell"):
                self.pass_over("shell mode")
            case _ if call_id in self._calls:
                _end(self._calls[call_id], body)
            case _ if call_id not in self._called:
                made, arguments = body.made
                if made is not None:
                    _end(self._new_call(call_id or self._line_id, made, arguments, at_us), body)

    def _new_call(self, call_id: str, name: str, arguments: dict[str, Any], at_us: int) -> ToolCall:
        name, arguments = called(name, arguments)
        call = ToolCall(call_id, name, arguments, at_us, self._aside)
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
        return {"model": self._model, "sidechain": self._aside}

    def _cut(self, *, finished: bool = True) -> None:
        self._seen.open[self._session] = None if finished else [self._open.prompt, *self._turn.held][-1]
        super()._cut(finished=finished)
        self._calls.clear()


def _is_new(told: _Ways, what: object, way: str) -> bool:
    """Whether this was told less often in any other way."""
    before = max(told[what].values(), default=0)
    told[what][way] += 1
    return told[what][way] > before


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
        known = tool_input(call.name, call.arguments)
        call.known = end.patched(known) if end.changes else known


def _difference(total: rollout.Usage | None, before: rollout.Usage | None) -> rollout.Usage | None:
    """Of two running totals; a total that fell began anew."""
    if total is None or before is None:
        return total
    pairs = [(getattr(total, name), getattr(before, name) or 0) for name in rollout.Usage.__struct_fields__]
    if any(now is not None and now < then for now, then in pairs):
        return total
    return rollout.Usage(*(None if now is None else now - then for now, then in pairs))


CODEX = Format(
    *("codex", "Codex session files (rollouts)", ("~/.codex",), "CODEX_HOME", ("sessions", "archived_sessions")),
    is_transcript=lambda file: file.name.startswith("rollout-") and file.name.endswith((".jsonl", ".jsonl.zst")),
    order=by_beginning,  # A parent before its forks: its file begins earlier
    reader=RolloutReader,
)
