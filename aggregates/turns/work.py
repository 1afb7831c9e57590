"""Summing what an agent did within one turn."""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise, takewhile

import msgspec

from aggregates.event import Span
from aggregates.times import US_PER_SECOND
from aggregates.turns.turn import (
    ANSWERED,
    API_ERROR,
    CHANGE,
    CHECK_FAILED,
    CHECK_OK,
    COMMIT,
    INTERRUPTED,
    PULL_REQUEST,
    REJECTED,
    REVERT,
    FileWork,
    ModelUsage,
    Observation,
    ToolUse,
    Turn,
    Work,
)

MARKS_MAX = 240
"""The end of a turn decides its outcome, so of a longer course the end is kept."""
FILES_MAX = 200
"""A turn that touches more files keeps the first ones by digest; overlap is then judged on those."""
UNKNOWN_MODEL = "unknown"
Placed = tuple[int, Observation]


def sum_work(placed: Sequence[Placed]) -> Work:
    """The work of a turn from its observations, which come in time order."""
    seen = [(position, each) for position, each in placed if each.kind != "prompt"]
    if not seen:
        return Work()
    tools = [each.tool for _, each in seen if each.tool is not None]
    done = [tool for tool in tools if tool.ok is not False]
    return Work(
        marks=_marks(each for _, each in seen),
        tool_calls=len(tools),
        tool_errors=sum(tool.ok is False for tool in tools),
        mutating_calls=sum(tool.mutating for tool in done),
        edits=sum(tool.effect == "edit" for tool in done),
        lines_added=sum(tool.lines_added for tool in done) + sum(each.lines_added for _, each in seen),
        lines_removed=sum(tool.lines_removed for tool in done) + sum(each.lines_removed for _, each in seen),
        repeats_before_stop=_repeats(tools),
        usage=_usage(each for _, each in seen if each.kind == "request"),
        files=_files(seen),
        observed=True,
    )


def _marks(observations: Iterable[Observation]) -> str:
    marks = "".join(map(_marks_of, observations))
    return "".join(mark for mark, _ in groupby(marks))[-MARKS_MAX:]


def _marks_of(observation: Observation) -> str:
    match observation.kind:
        case "request":
            # A sub-agent's answer says nothing about whether the main agent recovered.
            return "" if observation.sidechain else ANSWERED
        case "error":
            return "" if observation.sidechain else API_ERROR
        case "interruption":
            return INTERRUPTED
        case "rejection":
            return REJECTED
        case "tool" if observation.tool is not None:
            return _tool_marks(observation.tool)
        case _:
            return ""


def _tool_marks(tool: ToolUse) -> str:
    """One shell line may check, commit and open a pull request; an outcome that was not seen proves nothing."""
    if tool.effect == "edit":
        return "" if tool.ok is False else CHANGE
    if tool.ok is not True:
        return CHECK_FAILED if tool.check and tool.ok is False else ""
    flags = ((tool.check, CHECK_OK), (tool.commit, COMMIT), (tool.pull_request, PULL_REQUEST), (tool.revert, REVERT))
    return "".join(mark for flag, mark in flags if flag)


def _repeats(tools: Sequence[ToolUse]) -> int:
    if not tools or tools[-1].input_digest is None:
        return 0
    digest = tools[-1].input_digest
    return sum(1 for _ in takewhile(lambda tool: tool.input_digest == digest, reversed(tools)))


def _usage(requests: Iterable[Observation]) -> tuple[ModelUsage, ...]:
    sums: dict[str, list[int]] = {}
    for request in requests:
        row = sums.setdefault(request.model or UNKNOWN_MODEL, [0] * 8)
        row[0] += 1
        row[1] += request.input_tokens or 0
        row[2] += request.output_tokens or 0
        row[3] += request.cache_read_tokens or 0
        row[4] += request.cache_write_tokens or 0
        row[5] += request.cost_usd_nano or 0
        row[6] += request.cost_usd_nano is None
        row[7] += request.lower_bound
    return tuple(ModelUsage(model, *sums[model]) for model in sorted(sums))


def _files(placed: Iterable[Placed]) -> tuple[FileWork, ...]:
    files: dict[int, FileWork] = {}
    for position, each in placed:
        tool = each.tool
        if tool is None or tool.file_digest is None or tool.path is None:
            continue
        changed = tool.effect == "edit" and tool.ok is not False
        known = files.get(tool.file_digest)
        files[tool.file_digest] = FileWork(
            digest=tool.file_digest,
            position=position if known is None else known.position,
            path=tool.path if known is None else known.path,
            edits=(known.edits if known else 0) + changed,
            lines_added=(known.lines_added if known else 0) + (tool.lines_added if changed else 0),
            lines_removed=(known.lines_removed if known else 0) + (tool.lines_removed if changed else 0),
        )
    return tuple(files[digest] for digest in sorted(files)[:FILES_MAX])


class FileTotals(msgspec.Struct):
    """What happened to one file."""

    digest: int
    position: int
    path: Span
    edits: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    edits_without_lines: int = 0
    """Edits in turns that reported no changed line of this file at all."""
    seen_us: int = 0
    """The last moment of the turns that touched it: no call on it came later."""

    def add(self, turn: Turn, work: FileWork) -> None:
        self.edits += work.edits
        self.lines_added += work.lines_added
        self.lines_removed += work.lines_removed
        if not work.lines_added + work.lines_removed:
            self.edits_without_lines += work.edits
        self.seen_us = max(self.seen_us, turn.last_activity_us)


class ModelTotals(msgspec.Struct, array_like=True):
    """What was asked of one model."""

    model: str | None
    """None where nobody said which model, or whether any, was asked."""
    requests: int = 0
    tokens: int = 0
    reported: bool = True
    cost_usd_nano: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0

    def add(self, usage: ModelUsage) -> None:
        tokens = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self.requests += usage.requests
        self.tokens += tokens
        self.reported &= tokens > 0  # no request goes without a token: where none is counted, none was reported
        self.cost_usd_nano += usage.cost_usd_nano
        self.unpriced_requests += usage.unpriced_requests
        self.lower_bound_requests += usage.lower_bound_requests


def file_totals(turns: Iterable[Turn]) -> list[FileTotals]:
    """Of every file that was looked at or changed, in the order of their digests; turns come in time order."""
    files: dict[int, FileTotals] = {}
    for turn in turns:
        for work in turn.work.files:
            files.setdefault(work.digest, FileTotals(work.digest, work.position, work.path)).add(turn, work)
    return [files[digest] for digest in sorted(files)]


def model_totals(turns: Iterable[Turn]) -> list[ModelTotals]:
    """Of every model that was asked; without any known request, of none by name."""
    models: dict[str | None, ModelTotals] = {}
    for turn in turns:
        for usage in turn.work.usage:
            model = None if usage.model == UNKNOWN_MODEL else usage.model
            models.setdefault(model, ModelTotals(model)).add(usage)
    return list(models.values()) or [ModelTotals(None, reported=False)]


IDLE_US = 5 * 60 * US_PER_SECOND
"""Where nothing was seen for longer than this, nobody was at work: a pause, or a command that ran on by itself."""


def active_us(instants: Iterable[int]) -> int:
    """The sum of the gaps between neighbouring instants, longer gaps than `IDLE_US` left out; any order."""
    return sum(gap for start, end in pairwise(sorted(instants)) if (gap := end - start) <= IDLE_US)


def active_by_turns_us(turns: Sequence[tuple[int, int]]) -> int | None:
    """The same from the first and last moment of each turn; None where one is so long that it may hold a pause."""
    if any(end_us - start_us > IDLE_US for start_us, end_us in turns):
        return None
    return active_us(instant for turn in turns for instant in turn)
