"""A turn: one prompt and what the agent did about it, as numbers, flags, keyed digests and references to words."""

from collections.abc import Iterable, Sequence
from itertools import chain, groupby, pairwise, repeat, takewhile
from operator import add
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Span
from aggregates.reading.readings import PromptReading, ResponseReading
from aggregates.times import US_PER_SECOND
from aggregates.turns.observation import CapturedResponse, Observation, Parts

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
    lower_bound_requests: int = 0  # priced, but some of their cache writes may have cost more
    response_requests: int = 0  # how many of the requests a response capture told, no request log covering the turn
    unmeasured_requests: int = 0  # how many told no tokens of any kind

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class FileWork(msgspec.Struct, frozen=True, array_like=True):
    """What happened to one file within a turn; the path is words, the digest is keyed."""

    digest: int
    position: int
    path: Span
    edits: int
    lines_added: int
    lines_removed: int
    parts: Parts = ()


class Work(msgspec.Struct, frozen=True, array_like=True):
    marks: str = ""
    tool_calls: int = 0
    tool_errors: int = 0
    mutating_calls: int = 0
    edits: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    repeats_before_stop: int = 0  # length of the run of identical consecutive tool calls at the turn's end
    usage: tuple[ModelUsage, ...] = ()
    files: tuple[FileWork, ...] = ()
    observed: bool = False
    """Whether any telemetry or transcript line covers this turn; if not, nothing above is known to be zero."""
    reverted: tuple[Parts, ...] | None = None
    """The files and folders that were taken back; none where that was whatever there is; None where nothing was."""
    unknown_calls: int = 0  # calls of tools whose names do not say what they do, or of which nothing was told

    @property
    def changed_files(self) -> frozenset[int]:
        return frozenset(file.digest for file in self.files if file.edits)

    @property
    def touched_files(self) -> frozenset[int]:
        return frozenset(file.digest for file in self.files)


class Turn(msgspec.Struct, frozen=True, array_like=True):
    turn_id: UUID
    agent_session_id: str
    started_us: int
    last_activity_us: int
    agent_us: int  # when the agent last did something for it, chores and sub-agents aside; 0 where it never did
    capture_id: UUID  # the capture whose text is read: the plugin's where there is one
    position: int
    prompt: PromptReading | None
    response: ResponseReading | None
    response_position: int | None
    answered: bool  # whether any answer was seen, captured or in telemetry
    work: Work
    opening: Opening | None  # a boundary that was said, between the turn before and this one
    closed_us: int | None
    """When a clear or the session's end closed the session after this turn; None while neither was seen."""
    closed_by: Literal["clear", "end"] | None
    cwd_digest: int | None
    elapsed_ms: int | None
    words_start: int = 0
    """Where the prompt begins within the words of its fact; a log record's prompt lies among other texts."""
    from_log: bool = False  # whether the prompt was read from telemetry, no plugin capture being there
    made: tuple[str, ...] = ()
    """What an agent wrote in a person's place within it, as `PromptReading.maker` says; each once for each time."""


# The sum of what an agent did, within one turn or several.

MARKS_MAX = 240  # the end of a turn decides its outcome, so of a longer course the end is kept
FILES_MAX = 200  # a turn that touches more files keeps the first ones by digest; overlap is then judged on those
REVERTED_MAX = 16  # of the paths that a turn takes back so many are looked at
UNKNOWN_MODEL = "unknown"
Placed = tuple[int, Observation]


def sum_work(placed: Sequence[Placed]) -> Work:
    seen = [(position, each) for position, each in placed if each.kind != "prompt"]
    if not seen:
        return Work()
    marks = "".join(_marks_of(each) for _, each in seen)
    tools = [each.tool for _, each in seen if each.tool is not None]
    done = [tool for tool in tools if tool.ok is not False]
    taken = [tool.reverted for tool in tools if tool.revert and tool.ok is True]
    last = tools[-1].input_digest if tools else None
    repeated = takewhile(lambda tool: tool.input_digest == last, reversed(tools if last is not None else ()))
    return Work(
        marks="".join(mark for mark, _ in groupby(marks))[-MARKS_MAX:],
        tool_calls=len(tools),
        tool_errors=sum(tool.ok is False for tool in tools),
        mutating_calls=sum(tool.mutating for tool in done),
        edits=sum(tool.effect == "edit" for tool in done),
        lines_added=sum(tool.lines_added for tool in done) + sum(each.lines_added for _, each in seen),
        lines_removed=sum(tool.lines_removed for tool in done) + sum(each.lines_removed for _, each in seen),
        repeats_before_stop=len(list(repeated)),
        usage=usage_of(each for _, each in seen if each.kind == "request"),
        files=_files(seen),
        observed=True,
        reverted=taken_back(taken) if taken else None,
        unknown_calls=sum(tool.effect == "other" for tool in done),
    )


_MARKS = {"request": ANSWERED, "error": API_ERROR, "interruption": INTERRUPTED, "rejection": REJECTED}


def _marks_of(observation: Observation) -> str:
    """One shell line may check, commit and open a pull request; an outcome that was not seen proves nothing."""
    tool = observation.tool
    if observation.kind != "tool" or tool is None:
        # A sub-agent's answer says nothing about whether the main agent recovered.
        aside = observation.sidechain and observation.kind in ("request", "error")
        return "" if aside else _MARKS.get(observation.kind, "")
    if tool.effect == "edit":
        return "" if tool.ok is False else CHANGE
    if tool.ok is not True:
        return CHECK_FAILED if tool.check and tool.ok is False else ""
    flags = ((tool.check, CHECK_OK), (tool.commit, COMMIT), (tool.pull_request, PULL_REQUEST), (tool.revert, REVERT))
    return "".join(mark for flag, mark in flags if flag)


def taken_back(named: Sequence[tuple[Parts, ...]]) -> tuple[Parts, ...]:
    """The first of all files and folders that were named, each once; none where one revert named none."""
    return tuple(dict.fromkeys(chain.from_iterable(named)))[:REVERTED_MAX] if all(named) else ()


def usage_of(requests: Iterable[Observation | CapturedResponse]) -> tuple[ModelUsage, ...]:
    """By model what requests took; a captured response stands for one request."""
    sums: dict[str, list[int]] = {}
    for each in requests:
        tokens = tokens_of(each)
        cost, by_response = each.cost_usd_nano, isinstance(each, CapturedResponse)
        known = (cost or 0, cost is None, each.lower_bound, by_response, tokens == (None,) * len(tokens))
        counts = (1, *(count or 0 for count in tokens), *known)
        before = sums.get(each.model or UNKNOWN_MODEL) or [0] * len(counts)
        sums[each.model or UNKNOWN_MODEL] = [*map(add, before, counts)]
    return tuple(ModelUsage(model, *sums[model]) for model in sorted(sums))


def tokens_of(told: Observation | CapturedResponse) -> tuple[int | None, ...]:
    return told.input_tokens, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens


def _files(placed: Iterable[Placed]) -> tuple[FileWork, ...]:
    files: dict[int, FileWork] = {}
    for position, tool in ((position, each.tool) for position, each in placed if each.tool is not None):
        if tool.file_digest is None or tool.path is None:
            continue
        own_added = tool.lines_added - sum(file[2] for file in tool.more)
        own_removed = tool.lines_removed - sum(file[3] for file in tool.more)
        own = (tool.file_digest, tool.path, max(0, own_added), max(0, own_removed))
        changed = tool.effect == "edit" and tool.ok is not False
        touched = zip((own, *tool.more), chain(tool.parts, repeat(())), strict=False)
        for (digest, path, added, removed), parts in touched:
            known = files.setdefault(digest, FileWork(digest, position, path, 0, 0, 0, parts))
            if changed:
                lines = known.lines_added + added, known.lines_removed + removed
                files[digest] = FileWork(digest, known.position, known.path, known.edits + 1, *lines, parts)
    return tuple(files[digest] for digest in sorted(files)[:FILES_MAX])


def covered(files: Iterable[Parts], taken: Iterable[Parts]) -> int:
    """How many of these files are among those taken back, or lie in a folder among them."""
    wanted = [parts for parts in taken if parts]
    return sum(any(_names(parts, file) for parts in wanted) for file in files if file)


def _names(parts: Parts, file: Parts) -> bool:
    """Whether a path names a file or a folder above it; one of the two may be written from farther up."""
    length = len(parts)
    within = any(file[at : at + length] == parts for at in range(len(file) - length + 1))
    return within or parts[-len(file) :] == file


class FileTotals(msgspec.Struct):
    digest: int
    position: int
    path: Span
    edits: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    edits_without_lines: int = 0  # edits in turns that reported no changed line of this file at all
    seen_us: int = 0  # the last moment of the turns that touched it: no call on it came later
    parts: Parts = ()

    def add(self, turn: Turn, work: FileWork) -> None:
        self.edits += work.edits
        self.lines_added += work.lines_added
        self.lines_removed += work.lines_removed
        if not work.lines_added + work.lines_removed:
            self.edits_without_lines += work.edits
        self.seen_us = max(self.seen_us, turn.last_activity_us)


class ModelTotals(msgspec.Struct, array_like=True):
    model: str | None  # none where nobody said which model, or whether any, was asked
    requests: int = 0
    tokens: int = 0
    reported: bool = True
    cost_usd_nano: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0
    unmeasured_requests: int = 0

    def add(self, usage: ModelUsage) -> None:
        self.requests += usage.requests
        self.tokens += usage.tokens
        self.unmeasured_requests += usage.unmeasured_requests
        # No request goes without a token: where none is counted, none was reported.
        self.reported &= usage.tokens > 0 and not usage.unmeasured_requests
        self.cost_usd_nano += usage.cost_usd_nano
        self.unpriced_requests += usage.unpriced_requests
        self.lower_bound_requests += usage.lower_bound_requests


def file_totals(turns: Iterable[Turn]) -> list[FileTotals]:
    """Of every file that was looked at or changed, in the order of their digests; turns come in time order."""
    files: dict[int, FileTotals] = {}
    for turn in turns:
        for work in turn.work.files:
            totals = FileTotals(work.digest, work.position, work.path, parts=work.parts)
            files.setdefault(work.digest, totals).add(turn, work)
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
