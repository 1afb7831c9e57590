"""One turn: when it was active and answered, whose text and numbers it holds, and what its records amount to."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from aggregates.event import Span, Words
from aggregates.reading.reading import text_digest
from aggregates.records.record import Record, RecordKind
from aggregates.turns.turn import CapturedResponse, ModelUsage, Observation, Turn, Work, observe, sum_work
from aggregates.turns.turns import Capture, CaptureKind, PlacedObservation, build_turns
from tests.support.stages import DAY, DIGESTER, MINUTE, answer, capture, prompt, response, seen, tool, uuid
from tests.support.tables import beside, each_of, table

NUMBERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd_nano")


def turn_of(
    captures: Sequence[Capture],
    reports: Sequence[PlacedObservation] = (),
    answers: Mapping[UUID, CapturedResponse] | None = None,
) -> Turn:
    (turn,), _ = build_turns("session", captures, answers or {}, reports, openings={})
    return turn


@table(
    ("given", "answered_us"),
    {
        "as the client said": (answer(9 * MINUTE), 9 * MINUTE),
        "as the client said, whatever it took": (answer(9 * MINUTE, elapsed_ms=1_000), 9 * MINUTE),
        "never before the prompt": (answer(MINUTE), 5 * MINUTE),
        "on receipt, where nothing was said": (answer(9 * MINUTE, timed=False), 9 * MINUTE),
        "received before the prompt's time: at the prompt": (answer(MINUTE, timed=False), 5 * MINUTE),
        "prompt plus the time it took": (answer(9 * MINUTE, timed=False, elapsed_ms=60_000), 6 * MINUTE),
        "it took no time": (answer(9 * MINUTE, timed=False, elapsed_ms=0), 5 * MINUTE),
        "ten minutes ahead is believed": (answer(9 * MINUTE, timed=False, elapsed_ms=14 * 60_000), 19 * MINUTE),
        "over ten minutes is not": (answer(9 * MINUTE - 1, timed=False, elapsed_ms=14 * 60_000), 9 * MINUTE - 1),
        "nor is a receipt before the prompt": (answer(4 * MINUTE, timed=False, elapsed_ms=10 * 60_000), 5 * MINUTE),
    },
)
def test_a_response_happened_when_the_client_said_or_after_the_time_it_took(
    given: CapturedResponse, answered_us: int
) -> None:
    """The prompt was at five minutes; a time over ten minutes ahead of the receipt is replaced by it."""
    assert given.answered_us(5 * MINUTE) == answered_us


@beside()
def test_a_turn_is_active_until_its_last_report_or_answer(told: str, last: int, answered: bool) -> None:
    """Answered it is by a response or a request; the agent's log told the prompt a minute before the plugin did."""
    words = [(what, int(minute)) for what, _, minute in (each.partition("@") for each in told.split())]
    given = [answer(minute * MINUTE) for what, minute in words if what == "answer"]
    given += [answer(DAY, timed=False, elapsed_ms=minute * 60_000) for what, minute in words if what == "took"]
    reports: list[Any] = [
        seen(what.strip("~"), minute * MINUTE, sidechain="~" in what, tool=tool() if what == "tool" else None)  # type: ignore[arg-type]
        for what, minute in words
        if what not in ("answer", "took")
    ]
    captures = [capture(1, at_us=2 * MINUTE), capture(2, "log", at_us=MINUTE)]
    turn = turn_of(captures, reports, {uuid(1): each for each in given})
    assert (turn.started_us, turn.last_activity_us, turn.answered) == (MINUTE, last * MINUTE, answered)


@table(
    ("reported", "captured", "read"),
    {
        "none": ((), None, None),
        "the captured one": ((), 8, 8),
        "the reported one": ((9,), None, 9),
        "the last reported one": ((9, 11), None, 11),
        "the captured one before the reported one": ((9,), 8, 8),
    },
)
def test_the_captured_response_is_read_before_a_reported_one(
    reported: tuple[int, ...], captured: int | None, read: int | None
) -> None:
    readings = {place: response(f"answer {place}") for place in (8, 9, 11)}
    reports = [seen("response", place, place, response=readings[place]) for place in reported]
    given = {} if captured is None else {uuid(1): answer(reading=readings[captured], position=captured)}
    turn = turn_of([capture(1)], reports, given)
    assert (turn.response, turn.response_position) == (None if read is None else readings[read], read)


@table(
    ("kinds", "read"),
    {
        "the plugin's before all": (("log", "transcript", "plugin"), 3),
        "the transcript's before the log's": (("log", "transcript"), 2),
        "the log's alone": (("log",), 1),
    },
)
def test_whose_text_and_answer_are_read(kinds: tuple[CaptureKind, ...], read: int) -> None:
    """The plugin's first, then the transcript's, then the log's; a directory from whichever names one."""
    readings = {n: prompt(words=f"reading {n}") for n in (1, 2, 3)}
    captures = [
        capture(n, kind, at_us=n, reading=readings[n], cwd=5 if n == len(kinds) else None)
        for n, kind in enumerate(kinds, 1)
    ]
    turn = turn_of(captures, (), {uuid(n): answer(position=n, elapsed_ms=n) for n in (1, 2, 3)})
    assert (turn.prompt, turn.position, turn.capture_id) == (readings[read], read, uuid(read))
    assert (turn.words_start, turn.from_log, turn.cwd_digest) == (read * 100, kinds[read - 1] == "log", 5)
    assert (turn.response_position, turn.elapsed_ms) == (read, read)


@table(
    ("given", "model", "numbers"),
    {
        "no numbers": ({}, None, ()),
        "tokens without a price": ({"input_tokens": 3}, "unknown", (3, 0, 0, 0, 0, 1, 0, 1)),
        "a zero that was told": ({"output_tokens": 0}, "unknown", (0, 0, 0, 0, 0, 1, 0, 1)),
        "a price without tokens": ({"cost_usd_nano": 7}, "unknown", (0, 0, 0, 0, 7, 0, 0, 1, 1)),
        "everything": (
            dict(zip(NUMBERS, range(1, 6), strict=True)) | {"model": "opus", "lower_bound": True},
            *("opus", (1, 2, 3, 4, 5, 0, 1, 1)),
        ),
    },
)
def test_a_responses_numbers_stand_in_where_no_request_log_covers_the_turn(
    given: dict[str, Any], model: str | None, numbers: tuple[int, ...]
) -> None:
    """With a request log they are not added to it."""
    alone = turn_of([capture(1)], [seen("tool", 1, tool=tool())], {uuid(1): answer(**given)})
    assert alone.work.usage == (() if model is None else (ModelUsage(model, 1, *numbers),))
    logged = turn_of([capture(1)], [seen("request", 1, model="sonnet")], {uuid(1): answer(**given)})
    assert [row.model for row in logged.work.usage] == ["sonnet"]


# --- the work of a turn ---------------------------------------------------------------------------------------

FLAGS = ("check", "commit", "pull_request", "revert")
OTHERS: dict[str, tuple[RecordKind, dict[str, Any]]] = {
    "answers": ("request", {}),
    "~answers": ("request", {"sidechain": True}),
    "fails": ("error", {}),
    "~fails": ("error", {"sidechain": True}),
    "interrupted": ("interruption", {}),
    "refused": ("rejection", {}),
    "unknown": ("tool", {}),
    "counter": ("lines", {"lines_added": 4, "lines_removed": 1}),
    "response": ("response", {}),
    "compaction": ("compaction", {}),
    "prompt": ("prompt", {}),
    "other": ("other", {}),
}


def done(word: str) -> Observation:
    """A call: its effect or flags, `?` its outcome was not seen, `!` it failed, `#` its input, `:` its file, lines."""
    if word in OTHERS:
        kind, fields = OTHERS[word]
        return Observation(kind, **fields)
    found = re.fullmatch(r"([a-z_&]+)([?!]?)(?:#(\d))?(?::(\d))?(?:\+(\d))?(?:-(\d))?", word)
    assert found is not None
    name, end, given, file, added, removed = found.groups(default="")
    told: dict[str, Any] = {"ok": {"": True, "?": None, "!": False}[end], "input_digest": int(given or 0) or None}
    told |= {"file": int(file or 0) or None, "added": int(added or 0), "removed": int(removed or 0)}
    effect = name if name in ("edit", "read") else "shell"
    flags = "" if name in ("edit", "read", "writes") else name
    return Observation("tool", tool=tool(effect, flags=flags, mutating=name in ("edit", "writes"), **told))  # type: ignore[arg-type]


def work_of(told: str) -> Work:
    return sum_work(list(enumerate(map(done, told.split()), 1)))


def counts(work: Work) -> str:
    """Calls, failed ones, those that change something, edits, lines added and removed."""
    counted = (work.tool_calls, work.tool_errors, work.mutating_calls, work.edits, work.lines_added, work.lines_removed)
    return " ".join(map(str, counted))


def files(work: Work) -> str:
    return " ".join(f"{f.digest}@{f.position}:{f.edits}+{f.lines_added}-{f.lines_removed}" for f in work.files)


VIEWS: dict[str, Callable[[Work], object]] = {
    "marks": lambda work: work.marks,
    "counts": counts,
    "files": files,
    "repeats": lambda work: work.repeats_before_stop,
    "observed": lambda work: work.observed,
}


@beside()
def test_what_a_turn_did_is_summed(told: str, view: str, expected: object) -> None:
    """Its course is a mark for each thing that can decide an outcome; a file stands where it was first touched."""
    assert VIEWS[view](work_of(told)) == expected


@each_of([("", "aE"), ("answers", "Ea")])
def test_240_marks_are_kept(then: str, marks: str) -> None:
    """Of more the first are dropped."""
    assert work_of("answers fails " * 120 + then).marks == marks * 120


def test_requests_are_summed_by_model() -> None:
    """What was not told counts as none; without a cost a request is unpriced."""
    told: dict[str, Any] = dict(zip(NUMBERS, range(1, 6), strict=True))
    whole = Observation("request", model="opus", lower_bound=True, **told)
    others = Observation("request"), whole, Observation("request", model="haiku"), Observation("error")
    assert sum_work(list(enumerate((whole, *others), 1))).usage == (
        ModelUsage("haiku", 1, 0, 0, 0, 0, 0, 1, 0, 0, 1),
        ModelUsage("opus", 2, 2, 4, 6, 8, 10, 0, 2, 0),
        ModelUsage("unknown", 1, 0, 0, 0, 0, 0, 1, 0, 0, 1),
    )


@each_of([(200, 200), (201, 200)])
def test_two_hundred_files_of_a_turn_are_kept(files: int, kept: int) -> None:
    """The first ones by digest."""
    calls = [(digest, Observation("tool", tool=tool(file=digest))) for digest in range(files, 0, -1)]
    assert [file.digest for file in sum_work(calls).files] == list(range(1, kept + 1))


# --- records become observations ------------------------------------------------------------------------------

TEXT = Words("src/core.py git commit -m x")
PATH = Span(0, 11)


def observed(kind: RecordKind = "tool", words: Words = TEXT, **told: Any) -> Observation:
    return observe(Record(record_id="r", at_us=1, kind=kind, **told), words, DIGESTER)


@beside()
def test_what_a_call_does_is_read_from_its_tool_else_from_its_command(
    name: str | None, command: str | None, read: str
) -> None:
    """Its effect, whether it changes anything, and whether it is a check, a commit, a pull request or a revert."""
    span = None if command is None else Span(0, len(command))
    call = observed(words=Words(command or ""), tool=name, command=span).tool
    assert call is not None
    flags = [flag for flag in FLAGS if getattr(call, flag)]
    assert ", ".join([call.effect, *["changes"] * call.mutating, *flags]) == read


def test_a_call_tells_its_file_its_lines_and_its_input() -> None:
    """Lines that were not told count as none; a path whose words are gone is none."""
    told = {"ok": True, "path": PATH, "lines_added": 3, "lines_removed": 2, "input_digest": 9}
    names = ("ok", "path", "lines_added", "lines_removed", "input_digest", "file_digest")
    whole, bare, gone = (
        [getattr(observed(words=words, tool="Edit", **fields).tool, name) for name in names]
        for words, fields in ((TEXT, told), (TEXT, {}), (Words(None), {"path": PATH}))
    )
    assert whole == [True, PATH, 3, 2, 9, DIGESTER.number("src/core.py")]
    assert bare == [None, None, 0, 0, None, None]
    assert gone[-1] is None


@beside()
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
