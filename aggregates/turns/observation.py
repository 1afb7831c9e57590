"""What a turn is made of beside its prompt: each record of an agent, read once and without its words."""

from typing import Literal

import msgspec

from aggregates.event import Digester, Span, Words, cut
from aggregates.reading.readings import PromptReading, ResponseReading
from aggregates.records.record import Record, RecordKind
from aggregates.records.shell import read_command
from aggregates.records.tools import tool_effect

ToolEffect = Literal["edit", "shell", "read", "other"]


Parts = tuple[int, ...]
"""Keyed digests of the names in a path, at most the last `PARTS_MAX`: two spellings of one file end alike."""
PARTS_MAX = 8


class ToolUse(msgspec.Struct, frozen=True, array_like=True):
    """One finished tool call. A flag is None where it was not observed."""

    effect: ToolEffect
    ok: bool | None
    mutating: bool  # whether it changes something; a shell call whose command was not observed counts as mutating
    check: bool
    commit: bool
    pull_request: bool
    revert: bool
    input_digest: int | None
    file_digest: int | None
    path: Span | None
    lines_added: int
    lines_removed: int  # of all files that it changed
    more: tuple[tuple[int, Span, int, int], ...] = ()
    """What it changed beside that file: digest, path, lines added and removed."""
    parts: tuple[Parts, ...] = ()  # of that file and of those beside it
    reverted: tuple[Parts, ...] = ()
    """The files and folders that it takes back; none where it takes back whatever there is."""


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
    lines_removed: int = 0  # of a `lines` observation
    lower_bound: bool = False  # whether the cost leaves something out that could not be priced exactly


SKEW_US = 10 * 60 * 1_000_000  # a time further ahead of the server's than this is replaced by the time of receipt


class CapturedResponse(msgspec.Struct, frozen=True, array_like=True):
    """The response a plugin captured for one prompt."""

    at_us: int  # when the agent answered, else when the server heard of it
    timed: bool
    position: int
    reading: ResponseReading | None
    elapsed_ms: int | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_usd_nano: int | None
    lower_bound: bool = False  # whether the cost leaves something out that could not be priced exactly

    def answered_us(self, prompted_us: int) -> int:
        """As the client said, else the prompt's time and the time it took, else the time of receipt."""
        if self.timed or self.elapsed_ms is None:
            return max(self.at_us, prompted_us)
        said_us = prompted_us + self.elapsed_ms * 1_000
        return max(self.at_us, prompted_us) if said_us > self.at_us + SKEW_US else said_us


def observe(record: Record, words: Words, digester: Digester) -> Observation:
    text = cut(words, record.text)
    prompt = response = digest = None
    if text is not None and record.kind in ("prompt", "response"):
        from aggregates.reading.reading import (  # late: loaded with the first text
            read_prompt,
            read_response,
            text_digest,
        )

        if record.kind == "prompt":
            prompt, digest = read_prompt(text, digester), text_digest(text, digester)
        else:
            response = read_response(text, digester)
    return Observation(
        kind=record.kind,
        # Where a session starts, ends or is cleared is a matter of time, whatever prompt was the last one.
        prompt_id=None if record.kind in ("session_start", "session_end") else record.prompt_id,
        **{name: getattr(record, name) for name in _AS_TOLD},
        tool=_tool_use(record, words, digester) if record.kind == "tool" else None,
        prompt=prompt,
        response=response,
        text_digest=digest,
    )


_AS_TOLD = (
    *("source", "model", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("cost_usd_nano", "duration_ms", "status_code", "sidechain", "text"),
)


def _tool_use(record: Record, words: Words, digester: Digester) -> ToolUse:
    named = tool_effect(record.tool or "")
    effect: ToolEffect = "edit" if named == "write" else named
    command = cut(words, record.command)
    shell = read_command(command) if effect == "shell" and command is not None else None
    path = cut(words, record.path)
    further = [(cut(words, file.path), file) for file in record.more_files]
    others = [each for each, _ in further]
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
        more=tuple(
            (digester.number(path), file.path, file.lines_added, file.lines_removed)
            for path, file in further
            if path is not None
        ),
        parts=tuple(path_parts(each, digester) for each in (path, *others) if each is not None),
        reverted=() if shell is None else tuple(path_parts(each, digester) for each in shell.reverted),
    )


def path_parts(path: str, digester: Digester) -> Parts:
    names = [name for name in path.replace("\\", "/").split("/") if name not in ("", ".", "..")]
    return tuple(digester.numbers(names[-PARTS_MAX:]))
