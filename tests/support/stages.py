"""Inputs of the pure rules, made by hand: readings without a text, tool calls, turns and arcs."""

from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

from aggregates.event import Digester, Span, packed
from aggregates.reading.readings import NUMBER, PromptReading, ResponseReading
from aggregates.records.record import RecordKind
from aggregates.sub_sessions.arcs import Arc, BoundaryKind
from aggregates.turns.captures import Capture, CaptureKind
from aggregates.turns.observation import CapturedResponse, Observation, ToolEffect, ToolUse
from aggregates.turns.turn import FileWork, ModelUsage, Opening, Turn, Work
from aggregates.turns.turns import PlacedObservation

DIGESTER = Digester(b"stages")
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
SPAN = Span(0, 4)
NOTHING = Work()


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
    told = dict.fromkeys(says, True)
    return ResponseReading(topic_digests=digests(topic), characters=characters, asks=asks, **told)


def tool(
    effect: ToolEffect = "edit",
    *,
    ok: bool | None = True,
    mutating: bool = False,
    flags: str = "",
    input_digest: int | None = None,
    file: int | None = None,
    added: int = 0,
    removed: int = 0,
) -> ToolUse:
    """Make a finished tool call; `flags` are words out of check, commit, pull_request and revert."""
    return ToolUse(
        effect=effect,
        ok=ok,
        mutating=mutating,
        check="check" in flags,
        commit="commit" in flags,
        pull_request="pull_request" in flags,
        revert="revert" in flags,
        input_digest=input_digest,
        file_digest=file,
        path=None if file is None else SPAN,
        lines_added=added,
        lines_removed=removed,
    )


def file_work(digest: int, edits: int = 0, added: int = 0, removed: int = 0, position: int = 0) -> FileWork:
    """Make what a turn did to one file."""
    return FileWork(digest, position, SPAN, edits, added, removed)


def usage(model: str = "opus", *, requests: int = 1, **counts: int) -> ModelUsage:
    """Make what one model was asked for, everything else 0."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd_nano")
    return ModelUsage(
        model,
        requests,
        *(counts.get(name, 0) for name in (*names, "unpriced_requests", "lower_bound_requests")),
        *(counts.get(name, 0) for name in ("response_requests", "unmeasured_requests")),
    )


def worked(marks: str = "", *, changed: Iterable[int] = (), read: Iterable[int] = ()) -> Work:
    """Make the work of a turn that was observed."""
    files = [file_work(digest, edits=1) for digest in changed] + [file_work(digest) for digest in read]
    return Work(marks=marks, tool_calls=len(files), files=tuple(files), observed=True)


def turn_at(
    minutes: float,
    said: PromptReading | None = None,
    *,
    answer: ResponseReading | None = None,
    work: Work = NOTHING,
    lasts_us: int = 0,
    opening: Opening | None = None,
    closed: Literal["clear", "end"] | None = None,
    closed_at: float | None = None,
    session: str = "session",
    cwd: int | None = None,
    answered: bool = False,
) -> Turn:
    """Make a turn; its id and position are its minute."""
    number = int(minutes)
    started_us = round(minutes * MINUTE)
    return Turn(
        turn_id=uuid(number),
        agent_session_id=session,
        started_us=started_us,
        last_activity_us=started_us + lasts_us,
        agent_us=started_us + lasts_us,
        capture_id=uuid(number + 10_000),
        position=number,
        prompt=said,
        response=answer,
        response_position=None,
        answered=answered,
        work=work,
        opening=opening,
        closed_us=None if closed_at is None else round(closed_at * MINUTE),
        closed_by=closed,
        cwd_digest=cwd,
        elapsed_ms=None,
    )


def arc_of(
    number: int = 1,
    *,
    session: str = "session",
    started_us: int = 0,
    last_activity_us: int | None = None,
    opened_by: BoundaryKind = "start",
    closed_by: BoundaryKind | None = None,
    closed_us: int | None = None,
    cwd: int | None = 7,
    touched: Iterable[int] = (),
    said: bool | None = None,
) -> Arc:
    """Make an arc of one turn, whose id is its number."""
    return Arc(
        arc_id=uuid(number),
        agent_session_id=session,
        started_us=started_us,
        last_activity_us=started_us if last_activity_us is None else last_activity_us,
        turn_ids=(uuid(number),),
        opened_by=opened_by,
        closed_by=closed_by,
        closed_us=closed_us,
        cwd_digest=cwd,
        touched_files=tuple(touched),
        changed_files=(),
        shift=None,
        said=said,
    )


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


def answer(
    at_us: int = 0,
    *,
    timed: bool = True,
    position: int = 50,
    reading: ResponseReading | None = None,
    elapsed_ms: int | None = None,
    model: str | None = None,
    lower_bound: bool = False,
    **counts: int,
) -> CapturedResponse:
    """Make a captured response, without numbers unless they are given."""
    return CapturedResponse(
        at_us=at_us,
        timed=timed,
        position=position,
        reading=reading,
        elapsed_ms=elapsed_ms,
        model=model,
        input_tokens=counts.get("input_tokens"),
        output_tokens=counts.get("output_tokens"),
        cache_read_tokens=counts.get("cache_read_tokens"),
        cache_write_tokens=counts.get("cache_write_tokens"),
        cost_usd_nano=counts.get("cost_usd_nano"),
        lower_bound=lower_bound,
    )


def seen(kind: RecordKind, at_us: int, position: int = 70, **fields: Any) -> PlacedObservation:
    return PlacedObservation(at_us, f"record-{position}", position, Observation(kind, **fields))
