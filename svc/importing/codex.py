"""Putting a rollout together: a prompt and everything the agent did until the next one is an exchange.

A file only grows, also when its session is resumed, so ids come from the session and the number of a line. What a fork
repeats of its parent is left out. A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

import errno
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import msgspec

from aggregates.records.record import Record, RecordKind
from aggregates.telemetry.draft import Draft
from svc.importing.codex_forks import Heritage, mark_of
from svc.importing.codex_items import Item, ToolCall, failure, request, shell_call, tool_call
from svc.importing.codex_lines import (
    Body,
    Call,
    Compacted,
    Failed,
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
    text_in,
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
    microseconds,
)

_TOLD_TWICE_US = 2_000_000
"""Some versions tell a prompt as an event and as an item."""


_NOT_TYPED = (
    *("<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<hook_prompt"),
    *("<subagent_notification>", "<skill>", "# AGENTS.md instructions"),
)


_UUID_CHARACTERS = 36


@dataclass(slots=True)
class Seen:
    """What an import has read so far: by session, the marks of its lines, for its forks."""

    marks: dict[str, "array[int]"] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """The exchange that is being read."""

    prompt: TypedPrompt | None = None
    items: list[Item] = field(default_factory=list)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    answer: str = ""
    answered_us: int = 0
    last_us: int = 0
    stopped: bool = False


class RolloutReader(Reader):
    """Reads one file. `seen` is shared by all files of one import."""

    def __init__(self, file: str, stem: str, seen: Seen) -> None:
        """`file` names the file in reports; `stem`, the file's own name, ends in the session's id."""
        super().__init__(file)
        named = _session_in(stem)
        self._named = named is not None
        self._session = named or stem
        self._seen = seen
        self._marks: array[int] = array("q")
        self._heritage: Heritage | None = None
        self._open = _Open()
        self._pending: dict[str, ToolCall] = {}
        self._calls: set[str] = set()
        self._total: Usage | None = None
        self._untold: Counter[tuple[bool, object]] = Counter()
        self._model: str | None = None
        self._cwd: str | None = None
        self._began_us: int | None = None
        self._of_sub_agent = False
        self._timed = True

    def _line(self, raw: bytes, number: int) -> Iterator[Exchange]:
        yield from self._take(decode_line(raw), number)

    def _rest(self) -> Iterator[Exchange]:
        self._seen.marks[self._session] = self._marks
        yield from self._cut(finished=self._open.stopped and not self._pending)

    # --- one line -------------------------------------------------------------------------------------------

    def _take(self, line: Line, number: int) -> Iterator[Exchange]:
        if line.body is None:
            return
        at_us = self._time_of(line, number)
        if isinstance(line.body, Meta):
            self._head(line.body, at_us, number)
            return
        mark = mark_of(line.body)
        if mark is not None:
            self._marks.append(mark)
        inherited = self._heritage is not None and self._heritage.covers(line)
        if inherited:
            self._remember(line.body)
        else:
            yield from self._read_in(line, at_us, number)

    def _time_of(self, line: Line, number: int) -> int:
        """A line of the older kind has none: it is put at the session's beginning, in its order."""
        if line.at_us is not None:
            return line.at_us
        if self._began_us is None or not line.bare:
            raise UnreadableLine("no timestamp")
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
            self._add(self._note("session_start", number, born_us))

    def _remember(self, body: Body) -> None:
        """What a copied line says of the lines that come after it."""
        if isinstance(body, TurnContext):
            self._model, self._cwd = body.model or self._model, body.cwd or self._cwd
        elif isinstance(body, TokenCount) and body.info is not None:
            self._total = body.info.total_token_usage

    def _read_in(self, line: Line, at_us: int, number: int) -> Iterator[Exchange]:
        match line.body:
            case TurnContext() as body:
                self._remember(body)
            case Prompt() as body:
                yield from self._prompt(body, at_us, number)
            case Message() as body if line.bare:
                yield from self._message(body, at_us, number)
            case Said() | TurnComplete() | TurnAborted() as body:
                yield from self._end(body, at_us, number)
            case TokenCount() | UsageRecord() as body:
                yield from self._usage(body, at_us, number)
            case Compacted(by_event=by_event):
                yield from self._compaction(at_us, number, by_event=by_event)
            case Failed(message=message):
                note = failure(self._id("error", number), message, at_us, self._model, sidechain=self._of_sub_agent)
                yield from self._begin(note)
            case Call() | ShellCall() | Output() | ShellEnd() | PatchEnd() | McpEnd() as body:
                yield from self._tool(body, at_us, number)

    # --- prompts and answers --------------------------------------------------------------------------------

    def _prompt(self, said: Prompt, at_us: int, number: int) -> Iterator[Exchange]:
        if self._of_sub_agent or said.kind not in (None, "plain") or said.message.lstrip().startswith(_NOT_TYPED):
            return
        text = said.message if said.message.strip() else "[Image]" if said.images else ""
        if not text or self._told_already(text, at_us):
            return
        yield from self._cut()
        self._open.prompt = TypedPrompt(self._id("codex", number), text, at_us, None, self._cwd)
        self._open.last_us = at_us

    def _told_already(self, text: str, at_us: int) -> bool:
        prompt = self._open.prompt
        if prompt is None or self._open.items or self._open.answer:
            return False
        return prompt.text == text and at_us - prompt.at_us < _TOLD_TWICE_US

    def _message(self, message: Message, at_us: int, number: int) -> Iterator[Exchange]:
        """In older files messages are all there is."""
        text = text_in(message.content)
        if message.role == "user":
            yield from self._prompt(Prompt(text), at_us, number)
        elif message.role == "assistant":
            self._say(text, at_us)

    def _say(self, text: str, at_us: int) -> None:
        if text.strip() and not self._open.stopped:
            self._open.answer, self._open.answered_us = text.strip(), at_us
            self._open.last_us = max(self._open.last_us, at_us)

    def _end(self, body: Said | TurnComplete | TurnAborted, at_us: int, number: int) -> Iterator[Exchange]:
        """The agent's words, and how its turn ended."""
        match body:
            case Said(message=text):
                self._say(text, at_us)
            case TurnComplete(last_agent_message=text):
                self._say(text or "", at_us)
            case TurnAborted(reason="interrupted") if not self._of_sub_agent:
                yield from self._begin(self._note("interruption", number, at_us))
        self._open.stopped = self._open.stopped or not isinstance(body, Said)

    # --- requests -------------------------------------------------------------------------------------------

    def _usage(self, told: TokenCount | UsageRecord, at_us: int, number: int) -> Iterator[Exchange]:
        """One request for each response, though newer versions tell of it in two lines, whichever comes first."""
        by_record = isinstance(told, UsageRecord)
        usage = told.usage if isinstance(told, UsageRecord) else self._counted(told)
        if usage is None or usage == Usage() or self._other_has(usage, by_record=by_record):
            return
        sidechain = self._of_sub_agent
        yield from self._begin(request(self._id("request", number), usage, at_us, self._model, sidechain=sidechain))

    def _other_has(self, usage: Usage, *, by_record: bool) -> bool:
        key = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
        if self._untold[not by_record, key]:
            self._untold[not by_record, key] -= 1
            return True
        self._untold[by_record, key] += 1
        return False

    def _counted(self, count: TokenCount) -> Usage | None:
        """What the last response used; None where the total says that nothing came since."""
        info = count.info
        if info is None or (info.total_token_usage is not None and info.total_token_usage == self._total):
            return None
        before, self._total = self._total, info.total_token_usage
        return _difference(info.total_token_usage, before) if info.last_token_usage is None else info.last_token_usage

    # --- tool calls -----------------------------------------------------------------------------------------

    def _tool(
        self, body: Call | ShellCall | Output | ShellEnd | PatchEnd | McpEnd, at_us: int, number: int
    ) -> Iterator[Exchange]:
        sidechain, timed = self._of_sub_agent, self._timed
        match body:
            case Call():
                yield from self._called(tool_call(body, at_us, sidechain=sidechain, timed=timed))
            case ShellCall():
                call_id = body.call_id or body.id or str(number)
                yield from self._called(shell_call(body, call_id, at_us, sidechain=sidechain, timed=timed))
            case Output():
                call = self._pending.pop(body.call_id, None)
                if call is not None:
                    call.output(body, at_us)
                    self._open.last_us = max(self._open.last_us, at_us)
            case ShellEnd() | PatchEnd() | McpEnd():
                yield from self._ended(body, at_us)

    def _called(self, call: ToolCall) -> Iterator[Exchange]:
        if call.call_id in self._calls:
            return
        yield from self._begin(call)
        self._calls.add(call.call_id)
        self._pending[call.call_id] = call

    def _ended(self, body: ShellEnd | PatchEnd | McpEnd, at_us: int) -> Iterator[Exchange]:
        """An event of a call; a call that only its event tells of was made by a script of the agent."""
        call = self._open.calls.get(body.call_id)
        if call is None:
            if body.call_id in self._calls or isinstance(body, McpEnd):
                return
            name = "exec_command" if isinstance(body, ShellEnd) else "apply_patch"
            arguments = {"command": body.command} if isinstance(body, ShellEnd) else {}
            call = ToolCall(body.call_id, name, arguments, at_us, self._of_sub_agent)
            yield from self._begin(call)
            self._calls.add(body.call_id)
        match body:
            case ShellEnd():
                call.shell_end(body)
            case PatchEnd():
                call.patch_end(body)
            case McpEnd():
                call.mcp_end(body)

    # --- exchanges ------------------------------------------------------------------------------------------

    def _compaction(self, at_us: int, number: int, *, by_event: bool) -> Iterator[Exchange]:
        if self._untold[not by_event, "compaction"]:
            self._untold[not by_event, "compaction"] -= 1
            return
        self._untold[by_event, "compaction"] += 1
        yield from self._begin(self._note("compaction", number, at_us))

    def _id(self, kind: str, number: int) -> str:
        return f"{kind}:{self._session}:{number}"

    def _note(self, kind: RecordKind, number: int, at_us: int) -> Note:
        return Note(Draft(Record(record_id=self._id(kind, number), at_us=at_us, kind=kind)))

    def _begin(self, item: Item) -> Iterator[Exchange]:
        """Add what a finished exchange cannot hold any more to one of its own, so that it stays as it was taken."""
        if self._open.stopped:
            yield from self._cut()
        self._add(item)

    def _add(self, item: Item) -> None:
        at_us = item.at_us if isinstance(item, ToolCall) else item.draft.record.at_us
        self._open.items.append(item)
        if isinstance(item, ToolCall):
            self._open.calls[item.call_id] = item
        self._open.last_us = max(self._open.last_us, at_us)

    def _cut(self, *, finished: bool = True) -> Iterator[Exchange]:
        """End the open exchange. A turn's calls end with it."""
        done, self._open = self._open, _Open()
        self._pending.clear()
        drafts = tuple(draft for item in done.items for draft in item.drafts())
        if done.prompt is not None or drafts:
            answer = _answer(done, timed=self._timed)
            yield Exchange(self._session, done.prompt, answer, drafts, finished, done.last_us)


def _answer(done: _Open, *, timed: bool) -> Answer | None:
    if done.prompt is None or not done.answer:
        return None
    elapsed_us = max(0, done.answered_us - done.prompt.at_us)
    return Answer(done.answer, done.answered_us, elapsed_us // 1000 if timed else None)


def _difference(total: Usage | None, before: Usage | None) -> Usage | None:
    """Of two running totals; a total that fell began anew."""
    if total is None or before is None:
        return total
    pairs = [(getattr(total, name), getattr(before, name) or 0) for name in Usage.__struct_fields__]
    if any(now is not None and now < then for now, then in pairs):
        return total
    return Usage(*(None if now is None else now - then for now, then in pairs))


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


# Where Codex keeps its rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` under its home.

_PACKED = ".jsonl.zst"


def _is_transcript(file: Path) -> bool:
    return file.name.startswith("rollout-") and file.name.endswith((".jsonl", _PACKED))


def _order(file: Path) -> tuple[int, int]:
    """A parent before its forks: its file begins earlier."""
    return by_beginning(file, _lines(file), lambda raw: decode_line(raw).at_us)


def _lines(file: Path) -> Iterator[bytes]:
    if file.name.endswith(_PACKED):
        raise OSError(errno.EINVAL, "packed: unpack it with `zstd -d`")
    yield from lines_of(file)


def _readers() -> Callable[[Path, str], Reader]:
    seen = Seen()
    return lambda file, name: RolloutReader(name, file.stem, seen)


def _folder() -> str:
    home = os.environ.get("CODEX_HOME") or "~/.codex"
    return f"{home}/sessions"


CODEX = Format("codex", _folder, _is_transcript, _order, _lines, _readers)
