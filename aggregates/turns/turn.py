"""A turn: one prompt and what the agent did about it, as numbers, flags, keyed digests and references to words.

Each record of an agent is read once, as an observation without its words; a turn sums up those that belong to it.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, groupby, pairwise, repeat, takewhile
from operator import add, attrgetter
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Digester, Span, Words, cut
from aggregates.reading.readings import PromptReading, ResponseReading
from aggregates.records.record import Record, RecordKind
from aggregates.records.shell import checks_run, read_command
from aggregates.records.tools import tool_effect
from aggregates.times import US_PER_SECOND

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
    more: tuple[tuple[int, Span, int, int], ...] = ()  # beside that file: digest, path, lines added and removed
    parts: tuple[Parts, ...] = ()  # of that file and of those beside it
    reverted: tuple[Parts, ...] = ()  # what it takes back; none where that is whatever there is
    named: tuple[int, ...] = ()  # keyed digests of `check_names`
    style: bool = False  # whether it checks no more than that

    def checks(self, asked: Collection[int]) -> bool:
        """Whether it is a check, by itself or since a prompt calls one by that name."""
        return self.check or any(name in asked for name in self.named)

    def passes(self, asked: Collection[int]) -> bool:
        """Whether a check succeeded: one that the prompt asked for; where it names none, any of more than style."""
        right = not {*asked}.isdisjoint(self.named) if asked else self.check and not self.style
        return right and self.ok is True


class Observation(msgspec.Struct, frozen=True, array_like=True):
    """A record without its words; shell commands are read here, since later only digests are at hand."""

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
    upper_bound: bool = False  # whether a discount is told that could not be taken off
    folder: int | None = None  # the keyed digest of that in which a prompt was typed


SKEW_US = 10 * 60 * 1_000_000  # a time further ahead of the server's than this is replaced by the time of receipt


class CapturedResponse(msgspec.Struct, frozen=True, array_like=True):
    reader_version: int  # of two answers that an import told, the newer reader's counts, then the later one
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
    lower_bound: bool = False
    upper_bound: bool = False

    def answered_us(self, prompted_us: int) -> int:
        """As the client said, else the prompt's time and the time it took, else the time of receipt."""
        said_us = self.at_us if self.timed or self.elapsed_ms is None else prompted_us + self.elapsed_ms * 1_000
        return said_us if prompted_us <= said_us <= self.at_us + SKEW_US else max(self.at_us, prompted_us)

    def is_request(self, *, failed: bool) -> bool:
        """Where requests of the turn `failed`, a response without a token or a cost is none."""
        tokens = tokens_of(self)
        return self.cost_usd_nano is not None or any(tokens) or (not failed and tokens != (None,) * len(tokens))


def observe(record: Record, words: Words, digester: Digester) -> Observation:
    text, folder = cut(words, record.text), cut(words, record.path) if record.kind == "prompt" else None
    prompt = response = digest = None
    if text is not None and record.kind in ("prompt", "response"):
        from aggregates.reading.reading import read_prompt, read_response, text_digest  # late: with the first text

        if record.kind == "prompt":
            prompt, digest = read_prompt(text, digester), text_digest(text, digester)
        else:
            response = read_response(text, digester)
    # Where a session starts, ends or is cleared is a matter of time, whatever prompt was the last one.
    named = None if record.kind in ("session_start", "session_end") else record.prompt_id
    tool = _tool_use(record, words, digester) if record.kind == "tool" else None
    tokens = record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens
    took = record.cost_usd_nano, record.duration_ms, record.status_code, record.sidechain
    read = prompt, response, digest, record.text
    place = None if folder is None else digester.number(folder)
    return Observation(record.kind, named, record.source, record.model, *tokens, *took, tool, *read, folder=place)


def _tool_use(record: Record, words: Words, digester: Digester) -> ToolUse:
    named = tool_effect(record.tool or "")
    effect: ToolEffect = "edit" if named == "write" else named
    command, path = cut(words, record.command), cut(words, record.path)
    shell = read_command(command) if effect == "shell" and command is not None else None
    names = checks_run(command or "") if shell is not None else ()
    flags: tuple[bool, bool, bool, bool] = _NO_FLAGS if shell is None else _SHELL_FLAGS(shell)
    others = [(name, file) for file in record.more_files if (name := cut(words, file.path)) is not None]
    paths = [*([] if path is None else [path]), *(name for name, _ in others)]
    return ToolUse(
        effect,
        record.ok,
        shell.mutating if shell is not None else effect in ("edit", "shell"),
        *flags,
        record.input_digest,
        None if path is None else digester.number(path),
        record.path,
        record.lines_added or 0,
        record.lines_removed or 0,
        more=tuple((digester.number(name), file.path, file.lines_added, file.lines_removed) for name, file in others),
        parts=tuple([path_parts(each, digester) for each in paths]),
        reverted=() if shell is None else tuple(path_parts(each, digester) for each in shell.reverted),
        named=tuple(map(digester.number, names)),
        style="lint" in names and {"test", "types", "build"}.isdisjoint(names),
    )


_SHELL_FLAGS = attrgetter("check", "commit", "pull_request", "revert")
_NO_FLAGS = False, False, False, False


def path_parts(path: str, digester: Digester) -> Parts:
    names = [name for name in path.replace("\\", "/").split("/") if name not in ("", ".", "..")]
    return tuple(digester.numbers(names[-PARTS_MAX:]))


# The course of a turn's work is kept as a short string of marks in time order; equal neighbours stand once.
CHANGE = "C"  # a tool that edits or writes files succeeded
CHECK_OK = "K"  # a test, build, lint or type check succeeded
CHECK_FAILED = "k"  # … failed
OTHER_OK = "S"  # a check succeeded that proves little: of style alone, or another than the prompt asked for
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
    lower_bound_requests: int = 0  # priced, but they may have cost more
    response_requests: int = 0  # how many of the requests a response capture told, no request log covering the turn
    unmeasured_requests: int = 0  # how many told no tokens of any kind
    upper_bound_requests: int = 0  # priced, but they may have cost less

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class FileWork(msgspec.Struct, frozen=True, array_like=True):
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
    observed: bool = False  # whether any telemetry or transcript line covers it; else no zero above is known
    reverted: tuple[Parts, ...] | None = None  # what was taken back; none: whatever there was; None: nothing was
    unknown_calls: int = 0  # calls of tools whose names do not say what they do, or of which nothing was told
    failed_requests: int = 0  # that their agent told of; they have neither tokens nor a price

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
    closed_us: int | None  # when a clear or the session's end closed the session after it; None: neither was seen
    closed_by: Literal["clear", "end"] | None
    cwd_digest: int | None
    elapsed_ms: int | None
    words_start: int = 0  # where the prompt begins in the words of its fact; a log record's lies among other texts
    from_log: bool = False  # whether the prompt was read from telemetry, no plugin capture being there
    made: tuple[str, ...] = ()  # what an agent wrote in a person's place within it, as `PromptReading.maker` says
    agent: str | None = None  # that was asked, as it names itself


# The sum of what an agent did, within one turn or several.

MARKS_MAX = 240  # the end of a turn decides its outcome, so of a longer course the end is kept
FILES_MAX = 200  # a turn that touches more files keeps the first ones by digest; overlap is then judged on those
REVERTED_MAX = 16  # of the paths that a turn takes back so many are looked at
UNKNOWN_MODEL = "unknown"
Placed = tuple[int, Observation]


def sum_work(placed: Sequence[Placed], checks: Collection[int] = ()) -> Work:
    """`checks`: the names of those that the prompt asks for."""
    seen = [(position, each) for position, each in placed if each.kind != "prompt"]
    if not seen:
        return Work()
    marks = "".join(marks_of(each, checks) for _, each in seen)
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
        failed_requests=sum(each.kind == "error" and each.source is None for _, each in seen),
    )


_MARKS = {"request": ANSWERED, "error": API_ERROR, "interruption": INTERRUPTED, "rejection": REJECTED}


def marks_of(observation: Observation, checks: Collection[int]) -> str:
    """One shell line may check, commit and open a pull request; an outcome that was not seen proves nothing."""
    tool = observation.tool
    if observation.kind != "tool" or tool is None:
        # A sub-agent's answer says nothing about whether the main agent recovered.
        aside = observation.sidechain and observation.kind in ("request", "error")
        return "" if aside else _MARKS.get(observation.kind, "")
    if tool.effect == "edit":
        return "" if tool.ok is False else CHANGE
    if tool.ok is not True:
        return CHECK_FAILED if tool.checks(checks) and tool.ok is False else ""
    flags = (
        (tool.passes(checks), CHECK_OK),
        (tool.check and not tool.passes(checks), OTHER_OK),
        (tool.commit, COMMIT),
        (tool.pull_request, PULL_REQUEST),
        (tool.revert, REVERT),
    )
    return "".join(mark for flag, mark in flags if flag)


def check_fails(marks: str) -> bool:
    """Whether the last check failed."""
    return marks.rfind(CHECK_FAILED) > max(marks.rfind(CHECK_OK), marks.rfind(OTHER_OK))


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
        counts = (1, *(count or 0 for count in tokens), *known, each.upper_bound)
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
