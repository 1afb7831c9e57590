"""Work: how records become observations, and observations the work of a turn."""

from collections.abc import Sequence
from typing import Any

import pytest

from aggregates.event import Span, Words
from aggregates.reading.reading import text_digest
from aggregates.records.record import Record, RecordKind
from aggregates.turns.turn import FileWork, ModelUsage, Observation, ToolEffect, ToolUse, Work, observe, sum_work
from tests.support.stages import DIGESTER, file_work, tool
from tests.support.tables import table


def used(call: ToolUse | None) -> Observation:
    return Observation("tool", tool=call)


def work_of(*observations: Observation) -> Work:
    return sum_work(list(enumerate(observations, 1)))


ANSWER, ERROR = Observation("request"), Observation("error")
EDIT, CHECK = used(tool()), used(tool("shell", flags="check"))


@table(
    ("observations", "marks"),
    {
        "an answered request": ([ANSWER], "a"),
        "a sub-agent's request says nothing": ([Observation("request", sidechain=True)], ""),
        "a failed request": ([ERROR], "E"),
        "a sub-agent's error says nothing": ([Observation("error", sidechain=True)], ""),
        "an interruption": ([Observation("interruption")], "I"),
        "a refused call": ([Observation("rejection")], "J"),
        "an edit": ([EDIT], "C"),
        "an edit whose outcome was not seen": ([used(tool(ok=None))], "C"),
        "a failed edit": ([used(tool(ok=False))], ""),
        "a check that passed": ([CHECK], "K"),
        "a check that failed": ([used(tool("shell", ok=False, flags="check"))], "k"),
        "a check whose outcome was not seen": ([used(tool("shell", ok=None, flags="check"))], ""),
        "a commit": ([used(tool("shell", flags="commit"))], "M"),
        "a failed commit": ([used(tool("shell", ok=False, flags="commit"))], ""),
        "a commit whose outcome was not seen": ([used(tool("shell", ok=None, flags="commit"))], ""),
        "a pull request": ([used(tool("shell", flags="pull_request"))], "P"),
        "a revert": ([used(tool("shell", flags="revert"))], "R"),
        "all in one line": ([used(tool("shell", flags="check commit pull_request revert"))], "KMPR"),
        "all in one line, failed": ([used(tool("shell", ok=False, flags="check commit"))], "k"),
        "a look, and a call of which nothing is known": ([used(tool("read")), used(None)], ""),
        "anything else": ([Observation("response"), Observation("compaction"), Observation("lines")], ""),
        "equal neighbours stand once": ([ANSWER, ANSWER, EDIT, EDIT, ANSWER], "aCa"),
        "in time order": ([EDIT, CHECK, EDIT, CHECK], "CKCK"),
    },
)
def test_the_course_of_a_turn_is_a_string_of_marks(observations: list[Observation], marks: str) -> None:
    """One for each thing that can decide an outcome."""
    assert work_of(*observations).marks == marks


@table(
    ("calls", "marks"), {"240 marks are all kept": (240, "aE" * 120), "of 241 the first is dropped": (241, "Ea" * 120)}
)
def test_of_a_longer_course_the_end_is_kept(calls: int, marks: str) -> None:
    assert work_of(*((ANSWER, ERROR)[n % 2] for n in range(calls))).marks == marks


@table(
    ("observations", "observed"),
    {
        "nothing": ([], False),
        "its prompt alone": ([Observation("prompt")], False),
        "anything beside its prompt": ([Observation("prompt"), Observation("other")], True),
    },
)
def test_a_turn_is_observed_if_anything_beside_its_prompt_was_seen(
    observations: list[Observation], observed: bool
) -> None:
    assert work_of(*observations) == Work(observed=observed)


@table(
    ("observation", "counts"),
    {
        "an edit": (used(tool("edit", mutating=True, added=3, removed=2)), (1, 0, 1, 1, 3, 2)),
        "outcome not seen": (used(tool("edit", ok=None, mutating=True, added=3, removed=2)), (1, 0, 1, 1, 3, 2)),
        "failed": (used(tool("edit", ok=False, mutating=True, added=3, removed=2)), (1, 1, 0, 0, 0, 0)),
        "a shell call that changes something": (used(tool("shell", mutating=True)), (1, 0, 1, 0, 0, 0)),
        "a look": (used(tool("read")), (1, 0, 0, 0, 0, 0)),
        "a call of which nothing is known": (used(None), (0, 0, 0, 0, 0, 0)),
        "a counter of lines": (Observation("lines", lines_added=4, lines_removed=1), (0, 0, 0, 0, 4, 1)),
    },
)
def test_calls_errors_edits_and_lines_are_counted(observation: Observation, counts: tuple[int, ...]) -> None:
    """A call that failed changed nothing. Twice the observation, twice the counts."""
    once, twice = work_of(observation), work_of(observation, observation)
    assert counted(once) == counts
    assert counted(twice) == tuple(2 * count for count in counts)


def counted(work: Work) -> tuple[int, ...]:
    return (work.tool_calls, work.tool_errors, work.mutating_calls, work.edits, work.lines_added, work.lines_removed)


@table(
    ("inputs", "repeats"),
    {
        "no call": ([], 0),
        "one call": ([1], 1),
        "three times the same": ([1, 1, 1], 3),
        "the last two": ([1, 2, 2], 2),
        "another in between": ([2, 1, 2], 1),
        "the last one's input was not seen": ([1, None], 0),
        "no input was seen": ([None, None], 0),
        "one in between was not seen": ([1, None, 1], 1),
    },
)
def test_the_run_of_identical_calls_at_the_end_is_counted(inputs: list[int | None], repeats: int) -> None:
    assert work_of(*(used(tool(input_digest=each)) for each in inputs), ANSWER).repeats_before_stop == repeats


def test_requests_are_summed_by_model() -> None:
    """What was not told counts as none; without a cost a request is unpriced."""
    told: dict[str, Any] = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    told["cost_usd_nano"] = 5
    whole = Observation("request", model="opus", lower_bound=True, **told)
    usage_of = work_of(whole, Observation("request"), whole, Observation("request", model="haiku"), ERROR).usage
    assert usage_of == (
        ModelUsage("haiku", 1, 0, 0, 0, 0, 0, 1, 0, 0, 1),
        ModelUsage("opus", 2, 2, 4, 6, 8, 10, 0, 2, 0),
        ModelUsage("unknown", 1, 0, 0, 0, 0, 0, 1, 0, 0, 1),
    )


@table(
    ("calls", "files"),
    {
        "an edit": ([tool(file=5, added=3, removed=2)], [file_work(5, 1, 3, 2, position=1)]),
        "outcome not seen": ([tool(ok=None, file=5, added=3)], [file_work(5, 1, 3, position=1)]),
        "a failed edit": ([tool(ok=False, file=5, added=3, removed=2)], [file_work(5, position=1)]),
        "a look": ([tool("read", file=5, added=3)], [file_work(5, position=1)]),
        "calls of no file": ([tool(), tool("shell")], []),
        "each file once, by its digest": (
            [tool(file=6), tool(file=5, added=3), tool("read", file=6), tool(file=6, added=1, removed=1)],
            [file_work(5, 1, 3, position=2), file_work(6, 2, 1, 1, position=1)],
        ),
        "a look after an edit": (
            [tool(file=5, added=3, removed=2), tool("read", file=5), tool(ok=False, file=5, added=9)],
            [file_work(5, 1, 3, 2, position=1)],
        ),
    },
)
def test_what_happened_to_each_file_is_summed(calls: Sequence[ToolUse], files: list[FileWork]) -> None:
    """At the place of the first call on it; only edits that did not fail count."""
    assert work_of(*map(used, calls)).files == tuple(files)


@pytest.mark.parametrize(("files", "kept"), [(200, 200), (201, 200)])
def test_two_hundred_files_of_a_turn_are_kept(files: int, kept: int) -> None:
    """The first ones by digest."""
    calls = (used(tool(file=digest)) for digest in range(files, 0, -1))
    assert [file.digest for file in work_of(*calls).files] == list(range(1, kept + 1))


TEXT = Words("src/core.py git commit -m x")
PATH, COMMIT = Span(0, 11), Span(12, 27)


def observed(kind: RecordKind = "tool", words: Words = TEXT, **told: Any) -> Observation:
    return observe(Record(record_id="r", at_us=1, kind=kind, **told), words, DIGESTER)


@table(
    ("name", "command", "effect", "mutating"),
    {
        "an edit": ("Edit", None, "edit", True),
        "a write is an edit": ("Write", None, "edit", True),
        "a read": ("Read", None, "read", False),
        "a read, whatever is told as a command": ("Read", "rm -r src", "read", False),
        "a search": ("Grep", None, "read", False),
        "a listing": ("LS", None, "read", False),
        "another tool": ("Task", None, "other", False),
        "a tool without a name": (None, None, "other", False),
        "a shell call whose command was not observed": ("Bash", None, "shell", True),
        "a shell call that lists": ("Bash", "ls src", "shell", False),
        "a shell call that deletes": ("Bash", "rm -r src", "shell", True),
    },
)
def test_a_call_is_mutating_by_its_tool_else_by_its_command(
    name: str | None, command: str | None, effect: ToolEffect, mutating: bool
) -> None:
    words = Words(command or "")
    call = observed(words=words, tool=name, command=None if command is None else Span(0, len(command))).tool
    assert call is not None
    assert (call.effect, call.mutating) == (effect, mutating)


@table(
    ("name", "command", "flags"),
    {
        "a test run": ("Bash", "pytest -q", "check"),
        "a commit": ("Bash", "git commit -m x", "commit"),
        "a pull request": ("Bash", "gh pr create", "pull_request"),
        "a revert": ("Bash", "git revert HEAD", "revert"),
        "a listing": ("Bash", "ls", ""),
        "no shell": ("Task", "git commit -m x", ""),
    },
)
def test_what_a_shell_call_does_is_read_from_its_command(name: str, command: str, flags: str) -> None:
    """A test, build or lint; a commit; a pull request; a revert."""
    call = observed(words=Words(command), tool=name, command=Span(0, len(command))).tool
    assert call is not None
    found = {"check": call.check, "commit": call.commit, "pull_request": call.pull_request, "revert": call.revert}
    assert " ".join(name for name, holds in found.items() if holds) == flags


def test_a_call_tells_its_file_its_lines_and_its_input() -> None:
    """Lines that were not told count as none; a path whose words are gone is none."""
    whole = observed(tool="Edit", ok=True, path=PATH, lines_added=3, lines_removed=2, input_digest=9).tool
    bare = observed(tool="Edit").tool
    gone = observed(words=Words(None), tool="Edit", path=PATH).tool
    assert whole is not None
    assert bare is not None
    assert gone is not None
    assert (whole.file_digest, whole.path, whole.ok) == (DIGESTER.number("src/core.py"), PATH, True)
    assert (whole.lines_added, whole.lines_removed, whole.input_digest) == (3, 2, 9)
    assert (bare.file_digest, bare.path, bare.ok, bare.lines_added, bare.lines_removed) == (None, None, None, 0, 0)
    assert gone.file_digest is None


@table(
    ("kind", "prompt_id", "shown"),
    {
        "a prompt": ("prompt", "p", {"prompt", "text_digest"}),
        "a response": ("response", "p", {"response"}),
        "a tool call": ("tool", "p", {"tool"}),
        "a request": ("request", "p", set()),
        "a session's start is a matter of time": ("session_start", None, set()),
        "so is its end": ("session_end", None, set()),
    },
)
def test_a_record_is_reduced_to_what_its_kind_needs(kind: RecordKind, prompt_id: str | None, shown: set[str]) -> None:
    """Texts become readings and digests; where the words are gone there is none."""
    told = observed(kind, text=PATH, prompt_id="p", source="clear")
    assert (told.prompt_id, told.source, told.text) == (prompt_id, "clear", PATH)
    read = ("prompt", "response", "tool", "text_digest")
    assert {name for name in read if getattr(told, name) is not None} == shown
    gone = observed(kind, Words(None), text=PATH)
    assert {name for name in read if getattr(gone, name) is not None} == shown & {"tool"}


def test_white_space_makes_no_other_text() -> None:
    """Each capture of a prompt may wrap it in its own way."""
    assert text_digest(" Add\n a  flag ", DIGESTER) == text_digest("Add a flag", DIGESTER)
    assert text_digest("Adda flag", DIGESTER) != text_digest("Add a flag", DIGESTER)
