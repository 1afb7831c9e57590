"""Summing what an agent did within one turn."""

from collections.abc import Iterable, Sequence

from aggregates.observation import Observation, ToolUse
from aggregates.turn import (
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
    Work,
)

MARKS_MAX = 240
"""The end of a turn decides its outcome, so of a longer course the end is kept."""
FILES_MAX = 200
"""A turn that touches more files keeps the first ones by digest; overlap is then judged on those."""
UNKNOWN_MODEL = "unknown"

Placed = tuple[int, Observation]
"""The position of the fact an observation came from, and the observation."""


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
    marks = ""
    for each in observations:
        for mark in _marks_of(each):
            if not marks.endswith(mark):
                marks += mark
    return marks[-MARKS_MAX:]


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
    """How many of the last calls were the same call."""
    if not tools or tools[-1].input_digest is None:
        return 0
    count = 0
    for tool in reversed(tools):
        if tool.input_digest != tools[-1].input_digest:
            break
        count += 1
    return count


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
