"""Inputs of the pure rules, made by hand: readings without a text, tool calls, turns and arcs."""

from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID, uuid5

from aggregates.event import Digester, Span, packed
from aggregates.judging.rubric import JudgeAnswered
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.readings import NUMBER, PromptReading, ResponseReading
from aggregates.records.record import RecordKind
from aggregates.sub_sessions.arcs import Arc
from aggregates.turns.turn import (
    ANSWERED,
    CapturedResponse,
    FileWork,
    ModelUsage,
    Observation,
    Opening,
    ToolEffect,
    ToolUse,
    Turn,
    Work,
)
from aggregates.turns.turns import Capture, CaptureKind, PlacedObservation

DIGESTER = Digester(b"stages")
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
SPAN = Span(0, 4)
NOTHING = Work()
NAMES = UUID("8c1a52d8-1f0c-5c0e-9f6f-3d1f8c0b2a11")


def uuid(number: int) -> UUID:
    """Return an id that sorts by its number."""
    return UUID(int=number)


def digests(words: str) -> bytes:
    """Digest the words of a text, as a reading holds them."""
    return packed(sorted(DIGESTER.numbers(set(words.split()))))


def prompt(
    *flags: str,
    opens: Iterable[str] = (),
    words: str = "",
    topic: str = "",
    navigational: str | None = None,
    clears: bool = False,
) -> PromptReading:
    """Make the reading of a prompt that shows just these flags, openings and words."""
    return PromptReading(
        weight=40,
        navigational=navigational,
        clears=clears,
        token_digests=digests(words),
        title=SPAN,
        summary=SPAN,
        shown=tuple(sorted(NUMBER[name] for name in {*flags, *opens})),
        topic_digests=digests(topic),
    )


def response(topic: str = "", *says: str, asks: bool = False, characters: int = 40) -> ResponseReading:
    """Make the reading of an answer; `says` are names of its flags."""
    told: dict[str, Any] = dict.fromkeys(says, True)
    return ResponseReading(topic_digests=digests(topic), characters=characters, asks=asks, **told)


def tool(
    effect: ToolEffect = "edit",
    *,
    flags: str = "",
    file: int | None = None,
    added: int = 0,
    removed: int = 0,
    **fields: Any,
) -> ToolUse:
    """Make a finished tool call; `flags` are words out of check, commit, pull_request and revert."""
    usual: dict[str, Any] = {name: name in flags for name in ("check", "commit", "pull_request", "revert")}
    usual |= {"ok": True, "mutating": False, "input_digest": None, "path": None if file is None else SPAN}
    return ToolUse(effect=effect, file_digest=file, lines_added=added, lines_removed=removed, **(usual | fields))


def file_work(digest: int, edits: int = 0, added: int = 0, removed: int = 0, position: int = 0) -> FileWork:
    """Make what a turn did to one file."""
    return FileWork(digest, position, SPAN, edits, added, removed)


def judged(kind: Literal["rubric", "outcome", "boundary"] = "rubric", **told: Any) -> JudgeAnswered:
    """Make what a text model answered."""
    usual: dict[str, Any] = {"organization_id": uuid(1), "developer_id": uuid(2), "capture_id": uuid(3), "model": "m"}
    usual |= {"received_at_us": 0, "agent_session_id": "session", "prompt_version": 1, "input_digest": b""}
    return JudgeAnswered(kind=kind, **(usual | {"confidence": 0.8} | told))


def usage(model: str = "opus", *, requests: int = 1, **counts: int) -> ModelUsage:
    """Make what one model was asked for, everything else 0."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd_nano")
    return ModelUsage(
        model,
        requests,
        *(counts.get(name, 0) for name in (*names, "unpriced_requests", "lower_bound_requests")),
        *(counts.get(name, 0) for name in ("response_requests", "unmeasured_requests", "upper_bound_requests")),
    )


def worked(marks: str = "", *, changed: Iterable[int] = (), read: Iterable[int] = ()) -> Work:
    """Make the work of a turn that was observed."""
    files = [file_work(digest, edits=1) for digest in changed] + [file_work(digest) for digest in read]
    return Work(marks=marks, tool_calls=len(files), files=tuple(files), observed=True)


def bare_turn(turn_id: UUID, started_us: int, position: int, **fields: Any) -> Turn:
    """Make a turn of which nothing else is known."""
    usual: dict[str, Any] = dict.fromkeys(
        ("prompt", "response", "response_position", "opening", "closed_us", "closed_by", "cwd_digest", "elapsed_ms")
    )
    usual |= {"agent_session_id": "session", "last_activity_us": started_us, "agent_us": started_us}
    usual |= {"capture_id": turn_id, "answered": False, "work": NOTHING}
    return Turn(turn_id=turn_id, started_us=started_us, position=position, **(usual | fields))


def turn(
    text: str | None = "Add a flag that prints the version",
    *,
    place: int = 1,
    answer: str | None = "Done. All tests pass.",
    marks: str = "",
    mutating: int = 0,
    tool_calls: int = 0,
    lines: int = 0,
    repeats: int = 0,
    files: tuple[str, ...] = (),
    changed: tuple[str, ...] = (),
    opening: Opening | None = None,
) -> Turn:
    """A turn; `marks` are followed by an answer where there is one."""
    touched = {DIGESTER.number(path): 1 if path in changed else 0 for path in (*files, *changed)}
    work = Work(
        marks=marks,
        tool_calls=tool_calls or len(touched),
        mutating_calls=mutating,
        lines_added=lines,
        repeats_before_stop=repeats,
        files=tuple(FileWork(digest, 0, Span(0, 0), touched[digest], 0, 0) for digest in sorted(touched)),
        observed=bool(marks or tool_calls or touched),
    )
    return bare_turn(
        uuid5(NAMES, f"{place}:{text}"),
        place * 60_000_000,
        place,
        last_activity_us=place * 60_000_000 + 1,
        agent_us=place * 60_000_000 + 1,
        prompt=None if text is None else read_prompt(text, DIGESTER),
        response=None if answer is None else read_response(answer, DIGESTER),
        response_position=None if answer is None else place + 100,
        answered=answer is not None or ANSWERED in marks,
        work=work,
        opening=opening,
    )


def turn_at(
    minutes: float,
    said: PromptReading | None = None,
    *,
    answer: ResponseReading | None = None,
    lasts_us: int = 0,
    closed: Literal["clear", "end"] | None = None,
    closed_at: float | None = None,
    session: str = "session",
    cwd: int | None = None,
    **fields: Any,
) -> Turn:
    """Make a turn; its id and position are its minute."""
    number, started_us = int(minutes), round(minutes * MINUTE)
    return bare_turn(
        uuid(number),
        started_us,
        number,
        agent_session_id=session,
        last_activity_us=started_us + lasts_us,
        agent_us=started_us + lasts_us,
        capture_id=uuid(number + 10_000),
        prompt=said,
        response=answer,
        closed_us=None if closed_at is None else round(closed_at * MINUTE),
        closed_by=closed,
        cwd_digest=cwd,
        **fields,
    )


def arc_of(
    number: int = 1, *, session: str = "session", started_us: int = 0, touched: Iterable[int] = (), **fields: Any
) -> Arc:
    """Make an arc of one turn, whose id is its number."""
    usual: dict[str, Any] = dict.fromkeys(("closed_by", "closed_us", "shift", "said"))
    usual |= {"last_activity_us": started_us, "opened_by": "start", "cwd_digest": fields.pop("cwd", 7)}
    turns: dict[str, Any] = {"turn_ids": (uuid(number),), "touched_files": tuple(touched), "changed_files": ()}
    return Arc(arc_id=uuid(number), agent_session_id=session, started_us=started_us, **turns, **(usual | fields))


def capture(
    number: int,
    kind: CaptureKind = "plugin",
    *,
    at_us: int = 0,
    host: str | None = None,
    text: str | None = "Add a flag",
    reading: PromptReading | None = None,
    cwd: int | None = None,
) -> Capture:
    """Make one capture of a prompt; its id and position are its number."""
    digest = None if text is None else DIGESTER.number(text)
    return Capture(uuid(number), kind, at_us, number, host, digest, reading, cwd, words_start=number * 100)


def answer(at_us: int = 0, **fields: Any) -> CapturedResponse:
    """Make a captured response, without numbers unless they are given."""
    usual: dict[str, Any] = dict.fromkeys(CapturedResponse.__struct_fields__)
    usual |= {
        "at_us": at_us,
        "timed": True,
        "position": 50,
        "reader_version": 1,
        "lower_bound": False,
        "upper_bound": False,
    }
    return CapturedResponse(**(usual | fields))


def seen(kind: RecordKind, at_us: int, position: int = 70, **fields: Any) -> PlacedObservation:
    return PlacedObservation(at_us, f"record-{position}", position, Observation(kind, **fields))
