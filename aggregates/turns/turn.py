"""A turn: one prompt and what the agent did about it, as numbers, flags, keyed digests and references to words."""

from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Digester, Span, Words, cut
from aggregates.reading.reading import PromptReading, ResponseReading, read_prompt, read_response
from aggregates.records.record import Record, RecordKind
from aggregates.records.shell import read_command
from aggregates.records.tools import tool_effect

# The course of a turn's work is kept as a short string of marks in time order; equal neighbours stand once.
CHANGE = "C"  # a tool that edits or writes files succeeded
CHECK_OK = "K"  # a test, build, lint or type check succeeded
CHECK_FAILED = "k"  # … failed
COMMIT = "M"  # a git commit succeeded
PULL_REQUEST = "P"  # a pull request was opened
REVERT = "R"  # earlier work was taken back: git revert, checkout, restore, reset, stash
ANSWERED = "a"  # a model request succeeded
API_ERROR = "E"  # a model request failed for good
INTERRUPTED = "I"  # the user stopped the agent
REJECTED = "J"  # the user refused a tool call
Opening = Literal["start", "clear", "end"]
"""Why a turn cannot continue the one before it: nothing before, an explicit clear, the session had ended."""


class ModelUsage(msgspec.Struct, frozen=True, array_like=True):
    """What one model was asked for within a turn. Costs in nano-dollars; tokens None where not observed at all."""

    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd_nano: int
    unpriced_requests: int
    lower_bound_requests: int = 0
    """Priced, but some of their cache writes may have cost more."""
    response_requests: int = 0
    """How many of the requests a response capture told, no request log covering the turn."""


class FileWork(msgspec.Struct, frozen=True, array_like=True):
    """What happened to one file within a turn; the path is words, the digest is keyed."""

    digest: int
    position: int
    path: Span
    edits: int
    lines_added: int
    lines_removed: int


class Work(msgspec.Struct, frozen=True, array_like=True):
    """What the agent did within one turn."""

    marks: str = ""
    tool_calls: int = 0
    tool_errors: int = 0
    mutating_calls: int = 0
    edits: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    repeats_before_stop: int = 0
    """Length of the run of identical consecutive tool calls at the turn's end."""
    usage: tuple[ModelUsage, ...] = ()
    files: tuple[FileWork, ...] = ()
    observed: bool = False
    """Whether any telemetry or transcript line covers this turn; if not, nothing above is known to be zero."""

    @property
    def changed_files(self) -> frozenset[int]:
        return frozenset(file.digest for file in self.files if file.edits)

    @property
    def touched_files(self) -> frozenset[int]:
        return frozenset(file.digest for file in self.files)


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """One prompt, its response and its work."""

    turn_id: UUID
    agent_session_id: str
    started_us: int
    last_activity_us: int
    capture_id: UUID
    """The capture whose text is read: the plugin's where there is one."""
    position: int
    prompt: PromptReading | None
    response: ResponseReading | None
    response_position: int | None
    answered: bool
    """Whether any answer was seen, captured or in telemetry."""
    work: Work
    opening: Opening | None
    """A boundary that was said, between the turn before and this one."""
    closed_us: int | None
    """When a clear or the session's end closed the session after this turn; None while neither was seen."""
    closed_by: Literal["clear", "end"] | None
    cwd_digest: int | None
    elapsed_ms: int | None
    words_start: int = 0
    """Where the prompt begins within the words of its fact; a log record's prompt lies among other texts."""
    from_log: bool = False
    """Whether the prompt was read from telemetry, no plugin capture being there."""


ToolEffect = Literal["edit", "shell", "read", "other"]


class ToolUse(msgspec.Struct, frozen=True, array_like=True):
    """One finished tool call. A flag is None where it was not observed."""

    effect: ToolEffect
    ok: bool | None
    mutating: bool
    """Whether it changes something; a shell call whose command was not observed counts as mutating."""
    check: bool
    commit: bool
    pull_request: bool
    revert: bool
    input_digest: int | None
    file_digest: int | None
    path: Span | None
    lines_added: int
    lines_removed: int


class Observation(msgspec.Struct, frozen=True, array_like=True):
    """A record without its words, made once; shell commands are read here, since later only digests are at hand."""

    kind: RecordKind
    prompt_id: str | None = None
    source: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd_nano: int | None = None
    duration_ms: int | None = None
    status_code: int | None = None
    sidechain: bool = False
    tool: ToolUse | None = None
    prompt: PromptReading | None = None
    response: ResponseReading | None = None
    text_digest: int | None = None
    text: Span | None = None
    lines_added: int = 0
    lines_removed: int = 0
    """Of a `lines` observation."""
    lower_bound: bool = False
    """Whether the cost leaves something out that could not be priced exactly."""


def observe(record: Record, words: Words, digester: Digester) -> Observation:
    text = cut(words, record.text)
    return Observation(
        kind=record.kind,
        # Where a session starts, ends or is cleared is a matter of time, whatever prompt was the last one.
        prompt_id=None if record.kind in ("session_start", "session_end") else record.prompt_id,
        source=record.source,
        model=record.model,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        cache_read_tokens=record.cache_read_tokens,
        cache_write_tokens=record.cache_write_tokens,
        cost_usd_nano=record.cost_usd_nano,
        duration_ms=record.duration_ms,
        status_code=record.status_code,
        sidechain=record.sidechain,
        tool=_tool_use(record, words, digester) if record.kind == "tool" else None,
        prompt=read_prompt(text, digester) if record.kind == "prompt" and text is not None else None,
        response=read_response(text, digester) if record.kind == "response" and text is not None else None,
        text_digest=text_digest(text, digester) if record.kind == "prompt" and text is not None else None,
        text=record.text,
    )


def text_digest(text: str, digester: Digester) -> int:
    """Equal for two captures of one prompt, however each wrapped its white space."""
    return digester.number(" ".join(text.split()))


def _tool_use(record: Record, words: Words, digester: Digester) -> ToolUse:
    named = tool_effect(record.tool or "")
    effect: ToolEffect = "edit" if named == "write" else named
    command = cut(words, record.command)
    shell = read_command(command) if effect == "shell" and command is not None else None
    path = cut(words, record.path)
    return ToolUse(
        effect=effect,
        ok=record.ok,
        mutating=shell.mutating if shell is not None else effect in ("edit", "shell"),
        check=shell is not None and shell.check,
        commit=shell is not None and shell.commit,
        pull_request=shell is not None and shell.pull_request,
        revert=shell is not None and shell.revert,
        input_digest=record.input_digest,
        file_digest=None if path is None else digester.number(path),
        path=record.path,
        lines_added=record.lines_added or 0,
        lines_removed=record.lines_removed or 0,
    )
