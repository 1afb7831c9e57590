"""Work: how records become observations, and observations the work of a turn."""

from collections.abc import Sequence
from typing import Any

import pytest

from aggregates.event import Span, Words
from aggregates.reading.reading import text_digest
from aggregates.records.record import Record, RecordKind
from aggregates.turns.turn import (
    FileWork,
    ModelUsage,
    Observation,
    ToolEffect,
    ToolUse,
    Work,
    observe,
    sum_work,
)
from tests.support.stages import DIGESTER, file_work, tool


def used(call: ToolUse | None) -> Observation:
    return Observation("tool", tool=call)


def work_of(*observations: Observation) -> Work:
    return sum_work(list(enumerate(observations, 1)))


ANSWER, ERROR = Observation("request"), Observation("error")
EDIT, CHECK = used(tool()), used(tool("shell", flags="check"))


@pytest.mark.parametrize(
    ("observations", "marks"),
    [
        pytest.param([ANSWER], "a", id="an answered request"),
        pytest.param([Observation("request", sidechain=True)], "", id="a sub-agent's request says nothing"),
        pytest.param([ERROR], "E", id="a failed request"),
        pytest.param([Observation("error", sidechain=True)], "", id="a sub-agent's error says nothing"),
        pytest.param([Observation("interruption")], "I", id="an interruption"),
        pytest.param([Observation("rejection")], "J", id="a refused call"),
        pytest.param([EDIT], "C", id="an edit"),
        pytest.param([used(tool(ok=None))], "C", id="an edit whose outcome was not seen"),
        pytest.param([used(tool(ok=False))], "", id="a failed edit"),
        pytest.param([CHECK], "K", id="a check that passed"),
        pytest.param([used(tool("shell", ok=False, flags="check"))], "k", id="a check that failed"),
        pytest.param([used(tool("shell", ok=None, flags="check"))], "", id="a check whose outcome was not seen"),
        pytest.param([used(tool("shell", flags="commit"))], "M", id="a commit"),
        pytest.param([used(tool("shell", ok=False, flags="commit"))], "", id="a failed commit"),
        pytest.param([used(tool("shell", ok=None, flags="commit"))], "", id="a commit whose outcome was not seen"),
        pytest.param([used(tool("shell", flags="pull_request"))], "P", id="a pull request"),
        pytest.param([used(tool("shell", flags="revert"))], "R", id="a revert"),
        pytest.param([used(tool("shell", flags="check commit pull_request revert"))], "KMPR", id="all in one line"),
        pytest.param([used(tool("shell", ok=False, flags="check commit"))], "k", id="all in one line, failed"),
        pytest.param([used(tool("read")), used(None)], "", id="a look, and a call of which nothing is known"),
        pytest.param(
            [Observation("response"), Observation("compaction"), Observation("lines")], "", id="anything else"
        ),
        pytest.param([ANSWER, ANSWER, EDIT, EDIT, ANSWER], "aCa", id="equal neighbours stand once"),
        pytest.param([EDIT, CHECK, EDIT, CHECK], "CKCK", id="in time order"),
    ],
)
def test_the_course_of_a_turn_is_a_string_of_marks(observations: list[Observation], marks: str) -> None:
    """One for each thing that can decide an outcome."""
    assert work_of(*observations).marks == marks


@pytest.mark.parametrize(
    ("calls", "marks"),
    [
        pytest.param(240, "aE" * 120, id="240 marks are all kept"),
        pytest.param(241, "Ea" * 120, id="of 241 the first is dropped"),
    ],
)
def test_of_a_longer_course_the_end_is_kept(calls: int, marks: str) -> None:
    assert work_of(*((ANSWER, ERROR)[n % 2] for n in range(calls))).marks == marks


@pytest.mark.parametrize(
    ("observations", "observed"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param([Observation("prompt")], False, id="its prompt alone"),
        pytest.param([Observation("prompt"), Observation("other")], True, id="anything beside its prompt"),
    ],
)
def test_a_turn_is_observed_if_anything_beside_its_prompt_was_seen(
    observations: list[Observation], observed: bool
) -> None:
    assert work_of(*observations) == Work(observed=observed)


@pytest.mark.parametrize(
    ("observation", "counts"),
    [
        pytest.param(used(tool("edit", mutating=True, added=3, removed=2)), (1, 0, 1, 1, 3, 2), id="an edit"),
        pytest.param(
            used(tool("edit", ok=None, mutating=True, added=3, removed=2)), (1, 0, 1, 1, 3, 2), id="outcome not seen"
        ),
        pytest.param(used(tool("edit", ok=False, mutating=True, added=3, removed=2)), (1, 1, 0, 0, 0, 0), id="failed"),
        pytest.param(used(tool("shell", mutating=True)), (1, 0, 1, 0, 0, 0), id="a shell call that changes something"),
        pytest.param(used(tool("read")), (1, 0, 0, 0, 0, 0), id="a look"),
        pytest.param(used(None), (0, 0, 0, 0, 0, 0), id="a call of which nothing is known"),
        pytest.param(Observation("lines", lines_added=4, lines_removed=1), (0, 0, 0, 0, 4, 1), id="a counter of lines"),
    ],
)
def test_calls_errors_edits_and_lines_are_counted(observation: Observation, counts: tuple[int, ...]) -> None:
    """A call that failed changed nothing. Twice the observation, twice the counts."""
    once, twice = work_of(observation), work_of(observation, observation)
    assert counted(once) == counts
    assert counted(twice) == tuple(2 * count for count in counts)


def counted(work: Work) -> tuple[int, ...]:
    return (work.tool_calls, work.tool_errors, work.mutating_calls, work.edits, work.lines_added, work.lines_removed)


@pytest.mark.parametrize(
    ("inputs", "repeats"),
    [
        pytest.param([], 0, id="no call"),
        pytest.param([1], 1, id="one call"),
        pytest.param([1, 1, 1], 3, id="three times the same"),
        pytest.param([1, 2, 2], 2, id="the last two"),
        pytest.param([2, 1, 2], 1, id="another in between"),
        pytest.param([1, None], 0, id="the last one's input was not seen"),
        pytest.param([None, None], 0, id="no input was seen"),
        pytest.param([1, None, 1], 1, id="one in between was not seen"),
    ],
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


@pytest.mark.parametrize(
    ("calls", "files"),
    [
        pytest.param([tool(file=5, added=3, removed=2)], [file_work(5, 1, 3, 2, position=1)], id="an edit"),
        pytest.param([tool(ok=None, file=5, added=3)], [file_work(5, 1, 3, position=1)], id="outcome not seen"),
        pytest.param([tool(ok=False, file=5, added=3, removed=2)], [file_work(5, position=1)], id="a failed edit"),
        pytest.param([tool("read", file=5, added=3)], [file_work(5, position=1)], id="a look"),
        pytest.param([tool(), tool("shell")], [], id="calls of no file"),
        pytest.param(
            [tool(file=6), tool(file=5, added=3), tool("read", file=6), tool(file=6, added=1, removed=1)],
            [file_work(5, 1, 3, position=2), file_work(6, 2, 1, 1, position=1)],
            id="each file once, by its digest",
        ),
        pytest.param(
            [tool(file=5, added=3, removed=2), tool("read", file=5), tool(ok=False, file=5, added=9)],
            [file_work(5, 1, 3, 2, position=1)],
            id="a look after an edit",
        ),
    ],
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


@pytest.mark.parametrize(
    ("name", "command", "effect", "mutating"),
    [
        pytest.param("Edit", None, "edit", True, id="an edit"),
        pytest.param("Write", None, "edit", True, id="a write is an edit"),
        pytest.param("Read", None, "read", False, id="a read"),
        pytest.param("Read", "rm -r src", "read", False, id="a read, whatever is told as a command"),
        pytest.param("Grep", None, "read", False, id="a search"),
        pytest.param("LS", None, "read", False, id="a listing"),
        pytest.param("Task", None, "other", False, id="another tool"),
        pytest.param(None, None, "other", False, id="a tool without a name"),
        pytest.param("Bash", None, "shell", True, id="a shell call whose command was not observed"),
        pytest.param("Bash", "ls src", "shell", False, id="a shell call that lists"),
        pytest.param("Bash", "rm -r src", "shell", True, id="a shell call that deletes"),
    ],
)
def test_a_call_is_mutating_by_its_tool_else_by_its_command(
    name: str | None, command: str | None, effect: ToolEffect, mutating: bool
) -> None:
    words = Words(command or "")
    call = observed(words=words, tool=name, command=None if command is None else Span(0, len(command))).tool
    assert call is not None
    assert (call.effect, call.mutating) == (effect, mutating)


@pytest.mark.parametrize(
    ("name", "command", "flags"),
    [
        pytest.param("Bash", "pytest -q", "check", id="a test run"),
        pytest.param("Bash", "git commit -m x", "commit", id="a commit"),
        pytest.param("Bash", "gh pr create", "pull_request", id="a pull request"),
        pytest.param("Bash", "git revert HEAD", "revert", id="a revert"),
        pytest.param("Bash", "ls", "", id="a listing"),
        pytest.param("Task", "git commit -m x", "", id="no shell"),
    ],
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


@pytest.mark.parametrize(
    ("kind", "prompt_id", "shown"),
    [
        pytest.param("prompt", "p", {"prompt", "text_digest"}, id="a prompt"),
        pytest.param("response", "p", {"response"}, id="a response"),
        pytest.param("tool", "p", {"tool"}, id="a tool call"),
        pytest.param("request", "p", set(), id="a request"),
        pytest.param("session_start", None, set(), id="a session's start is a matter of time"),
        pytest.param("session_end", None, set(), id="so is its end"),
    ],
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
