"""Putting a transcript together: a prompt and everything the agent did until the next one is an exchange.

Lines come in the order in which the agent wrote them. Forked and resumed sessions repeat lines of an earlier
session, in another file and under another session id: what was seen once is not taken again. Ids come from
the lines' own ids: the same transcript gives the same ids whenever, and however far, it is read.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from aggregates.records.record import Record
from aggregates.telemetry.draft import Draft
from svc.importing.claude_items import SYNTHETIC_MODEL, Call, Item, Request, api_error, note
from svc.importing.claude_lines import (
    AssistantLine,
    AttachmentLine,
    Line,
    ProgressLine,
    SystemLine,
    UserLine,
    command_in,
    decode_line,
    is_compaction,
    is_interruption,
    is_local_output,
    queued_in,
    typed_in,
)
from svc.importing.exchange import (
    Answer,
    Exchange,
    Format,
    Note,
    Reader,
    TypedPrompt,
    UnreadableLine,
    by_beginning,
    lines_of,
)

_END_REASONS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal", "model_context_window_exceeded"})


_END_NOTES = frozenset({"turn_duration", "stop_hook_summary"})


_START_REPEATS_US = 10_000_000
"""Each of several hooks reports the same session start; within this time they are one."""


@dataclass(slots=True)
class Seen:
    """What an import has taken so far, over all its files."""

    lines: set[str] = field(default_factory=set)
    requests: set[tuple[str, str | None]] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    prompts: set[tuple[int, str]] = field(default_factory=set)
    host_prompts: set[tuple[str, str]] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Open:
    """The exchange that is being read."""

    session: str
    prompt: TypedPrompt | None = None
    items: list[Item] = field(default_factory=list)
    requests: dict[tuple[str, str | None], Request] = field(default_factory=dict)
    answer_id: str | None = None
    answer: list[str] = field(default_factory=list)
    answered_us: int = 0
    last_us: int = 0
    stopped: bool = False

    @property
    def host_prompt_id(self) -> str | None:
        return self.prompt.host_prompt_id if self.prompt else None

    def say(self, line: AssistantLine, at_us: int) -> None:
        """Keep the last message that has a text."""
        texts = [block.text for block in line.message.blocks if block.type == "text" and block.text]
        self.answered_us = at_us
        if not "".join(texts).strip():
            return
        message_id = line.message.id or line.uuid
        if message_id != self.answer_id:
            self.answer_id, self.answer = message_id, []
        self.answer += texts


class TranscriptReader(Reader):
    """Reads one file. `seen` is shared by all files of one import."""

    def __init__(self, file: str, session: str, seen: Seen) -> None:
        """`file` names the file in reports; `session` stands in for lines that name no session."""
        super().__init__(file)
        self._seen = seen
        self._open = _Open(session)
        self._session = session
        self._pending: dict[str, Call] = {}
        self._started: tuple[str, int] | None = None
        self._spawning_prompt: str | None = None

    def _line(self, raw: bytes, number: int) -> Iterator[Exchange]:
        yield from self._take(decode_line(raw), number)

    def _rest(self) -> Iterator[Exchange]:
        yield from self._cut(self._open.session, finished=self._open.stopped and not self._pending)

    # --- one line -------------------------------------------------------------------------------------------

    def _take(self, line: Line, number: int) -> Iterator[Exchange]:
        at_us = line.at_us
        if at_us is None and isinstance(line, UserLine | AssistantLine):
            raise UnreadableLine("no timestamp")
        if at_us is None or type(line) is Line:
            return
        line = self._identified(line, number)
        if line.uuid in self._seen.lines:
            return
        self._seen.lines.add(line.uuid or "")
        session = self._session_of(line)
        if session != self._open.session:
            yield from self._cut(session)
        yield from self._read_in(line, at_us)
        self._first_of_session(line, at_us)

    def _read_in(self, line: Line, at_us: int) -> Iterator[Exchange]:
        match line:
            case UserLine():
                yield from self._user(line, at_us)
            case AssistantLine():
                self._assistant(line, at_us)
            case SystemLine():
                yield from self._system(line, at_us)
            case AttachmentLine():
                yield from self._session_start(line.attachment, line, at_us)
                yield from self._prompt(queued_in(line), line, at_us)
            case ProgressLine():
                yield from self._session_start(line.data, line, at_us)

    def _identified(self, line: Line, number: int) -> Line:
        """The line under the id that it had where it was written first."""
        original = line.forked_from.message_uuid if line.forked_from else None
        uuid = original or line.uuid or f"{self._session_of(line)}:{number}"
        return line if uuid == line.uuid else msgspec.structs.replace(line, uuid=uuid)

    def _session_of(self, line: Line) -> str:
        original = line.forked_from.session_id if line.forked_from else None
        return original or line.session_id or self._session

    def _first_of_session(self, line: Line, at_us: int) -> None:
        if line.is_sidechain or self._open.session in self._seen.sessions:
            return
        if isinstance(line, UserLine | AssistantLine):
            self._seen.sessions.add(self._open.session)
            if self._started is None:
                record_id = f"session_start:{self._open.session}"
                self._add(Note(Draft(Record(record_id=record_id, at_us=at_us, kind="session_start"))), at_us)

    def _session_start(self, data: dict[str, object], line: Line, at_us: int) -> Iterator[Exchange]:
        """A hook that ran at a session's start tells what it was started by.

        After a finished exchange it stands apart, so that what was finished stays as it was.
        """
        if data.get("hookEvent") != "SessionStart" or line.is_sidechain:
            return
        source = str(data.get("hookName")).partition(":")[2]
        repeats = self._started is not None and (
            self._started[0] == source and at_us - self._started[1] < _START_REPEATS_US
        )
        self._started = (source, at_us)
        if not repeats:
            if self._open.stopped and not self._pending:
                yield from self._cut(self._open.session)
            self._add(note("session_start", line, at_us, source=source or None), at_us)

    # --- user lines -----------------------------------------------------------------------------------------

    def _user(self, line: UserLine, at_us: int) -> Iterator[Exchange]:
        self._remember_spawning_prompt(line)
        for block in line.message.blocks:
            if block.type == "tool_result":
                self._result(block.tool_use_id or "", line, at_us)
        if line.is_sidechain:
            return
        if is_interruption(line):
            self._add(note("interruption", line, at_us), at_us)
            self._pending.clear()
            self._open.stopped = True
        elif is_compaction(line):
            self._compaction(line, at_us, None)
        elif is_local_output(line):
            self._open.stopped = True
        yield from self._prompt(typed_in(line), line, at_us)

    def _result(self, call_id: str, line: UserLine, at_us: int) -> None:
        call = self._pending.pop(call_id, None)
        if call is None:
            return
        block = next(block for block in line.message.blocks if block.tool_use_id == call_id)
        call.finish(block, line, at_us)
        self._open.last_us = max(self._open.last_us, at_us)
        self._open.stopped = False

    def _prompt(self, text: str | None, line: Line, at_us: int) -> Iterator[Exchange]:
        if text is None or line.is_sidechain:
            return
        known = (at_us, text) in self._seen.prompts
        yield from self._cut(self._open.session)
        self._open.last_us = at_us
        if known:
            return
        self._seen.prompts.add((at_us, text))
        host_prompt_id = self._claimed_host_id(line)
        self._open.prompt = TypedPrompt(line.uuid or "", text, at_us, host_prompt_id, line.cwd)
        if text in ("/exit", "/quit"):
            # An end follows the command that asked for it.
            self._add(note("session_end", line, at_us + 1, source="prompt_input_exit"), at_us)
            self._open.stopped = True

    def _claimed_host_id(self, line: Line) -> str | None:
        """The agent's id of a prompt; a second prompt under one id (typed while it worked) goes without."""
        if line.prompt_id is None or (self._open.session, line.prompt_id) in self._seen.host_prompts:
            return None
        self._seen.host_prompts.add((self._open.session, line.prompt_id))
        return line.prompt_id

    def _remember_spawning_prompt(self, line: Line) -> None:
        if line.is_sidechain and line.prompt_id is not None:
            known = (self._open.session, line.prompt_id) in self._seen.host_prompts
            self._spawning_prompt = line.prompt_id if known else None

    def _compaction(self, line: Line, at_us: int, trigger: str | None) -> None:
        last = self._open.items[-1] if self._open.items else None
        if isinstance(last, Note) and last.draft.record.kind == "compaction":
            return
        self._add(note("compaction", line, at_us, source=trigger), at_us)

    # --- the agent's lines ----------------------------------------------------------------------------------

    def _assistant(self, line: AssistantLine, at_us: int) -> None:
        if line.is_api_error_message:
            self._add(api_error(line, at_us, self._prompt_of(line)), at_us)
            self._open.stopped = not line.is_sidechain
            return
        if line.message.model == SYNTHETIC_MODEL:
            return
        self._request(line, at_us)
        for index, block in enumerate(line.message.blocks):
            if block.type == "tool_use" and block.id is not None:
                # A request comes before the calls it asks for, and these in their order.
                self._call(block.id, block.name or "", block.input, line, at_us + 1 + index)
        if not line.is_sidechain:
            self._open.say(line, at_us)
        self._open.stopped = line.message.stop_reason in _END_REASONS

    def _request(self, line: AssistantLine, at_us: int) -> None:
        key = (line.message.id or line.uuid or "", line.request_id)
        known = self._open.requests.get(key)
        if known is not None:
            known.line, known.at_us = line, at_us
        elif key not in self._seen.requests:
            self._seen.requests.add(key)
            self._forget_dead_calls(line)
            request = Request(f"request:{key[0]}:{key[1] or ''}", self._prompt_of(line), line, at_us)
            self._open.requests[key] = request
            self._add(request, at_us)
        self._open.last_us = max(self._open.last_us, at_us)

    def _forget_dead_calls(self, line: Line) -> None:
        """The agent asks on only with every result of its calls: what has none by now never gets one."""
        if not line.is_sidechain:
            self._pending = {call_id: call for call_id, call in self._pending.items() if call.sidechain}

    def _call(self, call_id: str, name: str, arguments: object, line: Line, at_us: int) -> None:
        if call_id in self._seen.calls:
            return
        self._seen.calls.add(call_id)
        known = arguments if isinstance(arguments, dict) else {}
        call = Call(call_id, self._prompt_of(line), name, known, at_us, bool(line.is_sidechain))
        self._pending[call_id] = call
        self._add(call, at_us)

    def _system(self, line: SystemLine, at_us: int) -> Iterator[Exchange]:
        if line.subtype in _END_NOTES and not line.is_sidechain:
            self._open.stopped = True
        elif line.subtype == "compact_boundary":
            data = line.compact_metadata
            trigger = data.get("trigger") if isinstance(data, dict) else None
            self._compaction(line, at_us, trigger if isinstance(trigger, str) else None)
        yield from self._prompt(command_in(line), line, at_us)

    # --- exchanges ------------------------------------------------------------------------------------------

    def _prompt_of(self, line: Line) -> str | None:
        """The agent's id of a line's prompt; a sub-agent's line belongs to the prompt that spawned it."""
        return self._open.host_prompt_id or (self._spawning_prompt if line.is_sidechain else None)

    def _add(self, item: Item, at_us: int) -> None:
        self._open.items.append(item)
        self._open.last_us = max(self._open.last_us, at_us)

    def _cut(self, next_session: str, *, finished: bool = True) -> Iterator[Exchange]:
        """End the open exchange. A call that still runs goes on into the next one."""
        done, self._open = self._open, _Open(next_session)
        if finished and next_session == done.session:
            running = [item for item in done.items if self._is_running(item)]
            done.items = [item for item in done.items if not self._is_running(item)]
            self._open.items.extend(running)
        drafts = tuple(draft for item in done.items for draft in item.drafts())
        if done.prompt is not None or drafts:
            yield Exchange(done.session, done.prompt, _answer(done), drafts, finished, done.last_us)

    def _is_running(self, item: Item) -> bool:
        return isinstance(item, Call) and item.call_id in self._pending


def _answer(done: _Open) -> Answer | None:
    if done.prompt is None or not done.answer:
        return None
    elapsed_us = max(0, done.answered_us - done.prompt.at_us)
    return Answer("\n\n".join(done.answer).strip(), done.answered_us, elapsed_us // 1000)


# Where Claude Code keeps its transcripts: one file a session, sub-agents' beside it.


def _is_transcript(file: Path) -> bool:
    return file.suffix == ".jsonl"


def _order(file: Path) -> tuple[bool, int, int]:
    """Sub-agents' files last, so that the prompts which spawned them are known; an original before its forks."""
    of_sub_agent = file.name.startswith("agent-") or "subagents" in file.parts
    return of_sub_agent, *by_beginning(file, lines_of(file), lambda raw: decode_line(raw).at_us)


def _readers() -> Callable[[Path, str], Reader]:
    seen = Seen()
    return lambda file, name: TranscriptReader(name, file.stem, seen)


def _folder() -> str:
    return str(Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude") / "projects")


CLAUDE_CODE = Format("claude-code", _folder, _is_transcript, _order, lines_of, _readers)
