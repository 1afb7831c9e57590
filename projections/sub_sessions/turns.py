"""The turns of a goal: what was asked, answered and done in each, and what it took."""

from typing import Any, Literal
from uuid import UUID

import msgspec

from aggregates.event import Scope, shaped
from aggregates.ids import plain
from aggregates.times import UNTIMED_US, US_PER_SECOND, iso
from aggregates.turns.turn import CHECK_FAILED, CHECK_OK, COMMIT, MARKS_MAX, OTHER_OK, FileWork, Turn, marks_of
from aggregates.turns.turns import PlacedObservation
from projections.derive.sessions import prompt_id, response_ref, seen_in
from projections.reader import Reader, TextRef
from projections.sub_sessions.detail import PAGE_CHARS_MAX, FileShown, Used, used
from projections.sub_sessions.rows import MARKS, JudgedTurn, judged_turns, resolve

TOOLS_MAX = 500  # of a turn that called more, the first ones are told
TOOLS_OF_PAGE_MAX = 5_000  # a page whose turns called more ends early
FILES_MAX = 100  # of a turn that touched more, those edited most are told
COURSE_MAX = 500  # so many turns stand in the course, the first ones
PATH_CHARACTERS_MAX = 300
COMMAND_CHARACTERS_MAX = 80
ToolOutcome = Literal["ok", "failed", "refused", "unknown"]
_OUTCOMES: dict[bool | None, ToolOutcome] = {True: "ok", False: "failed", None: "unknown"}


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that was called; what it worked on is None where that was not observed, or has been forgotten."""

    name: str | None
    file: str | None
    command: str | None  # its first words
    outcome: ToolOutcome
    duration_ms: int | None


class TurnMarks(msgspec.Struct, frozen=True, kw_only=True):
    """A turn in short."""

    number: int  # from 1
    started_at: str
    ended_at: str
    duration_seconds: float | None  # None where no times were told
    cost_usd: float | None  # None where a request has no price, or none was seen
    marks: list[str]  # what happened in it, in order; in the course, of the same in a row one
    is_answered: bool


class GoalTurn(TurnMarks, frozen=True, kw_only=True):
    """One turn. Texts are None where they were not captured or have been forgotten."""

    prompt_id: str
    prompt_text: str | None
    response_text: str | None
    is_observed: bool  # whether anything told what the agent did; else no zero of its work is known
    failed_requests: int
    used: Used
    changes: int
    files_changed: int
    lines_added: int
    lines_removed: int
    files: list[FileShown]
    files_not_shown: int
    checks_passed: int
    checks_failed: int
    commits: int
    tool_calls: int
    failed_tool_calls: int
    tools: list[ToolCall]
    tools_not_shown: int


class GoalTurns(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the turns of a goal, and its course in short."""

    score_v3_sub_session_id: str
    total_turns: int
    used: Used  # of all its turns
    course: list[TurnMarks]
    course_not_shown: int
    turns: list[GoalTurn]
    next_offset: int | None  # where the next page begins; None after the last one


def goal_turns(reader: Reader, scope: Scope, sub_session_id: UUID, limit: int, offset: int) -> GoalTurns | None:
    """In time order, None where there is no such goal; very much in a turn makes a page shorter, never empty."""
    current = resolve(reader, scope, sub_session_id)
    if current is None:
        return None
    judged, shown = list(judged_turns(reader.db, str(current))), list[GoalTurn]()
    characters = tools = 0
    for number, each in enumerate(judged[offset : offset + limit], offset + 1):
        shown.append(turn := _turn(reader, number, each))
        characters += len(turn.prompt_text or "") + len(turn.response_text or "")
        tools += len(turn.tools)
        if characters > PAGE_CHARS_MAX or tools > TOOLS_OF_PAGE_MAX:
            break
    end = offset + len(shown)
    return GoalTurns(
        score_v3_sub_session_id=str(current),
        total_turns=len(judged),
        used=used([usage for each in judged for usage in each.body.usage]),
        course=[TurnMarks(**_in_short(number, each)) for number, each in enumerate(judged[:COURSE_MAX], 1)],
        course_not_shown=max(len(judged) - COURSE_MAX, 0),
        turns=shown,
        next_offset=end if end < len(judged) else None,
    )


def _in_short(number: int, judged: JudgedTurn) -> dict[str, Any]:
    turn = judged.turn
    took_us = turn.last_activity_us - turn.started_us
    return {
        "number": number,
        "started_at": iso(turn.started_us),
        "ended_at": iso(turn.last_activity_us),
        "duration_seconds": None if 0 < took_us < UNTIMED_US else took_us / US_PER_SECOND,
        "cost_usd": used(judged.body.usage).cost_usd,
        "marks": _told(turn.work.marks),
        "is_answered": turn.answered,
    }


def _told(marks: str) -> list[str]:
    return [MARKS["told"][each] for each in marks if each in MARKS["told"]]


def _turn(reader: Reader, number: int, judged: JudgedTurn) -> GoalTurn:
    turn, work, (calls, marks) = judged.turn, judged.turn.work, _calls(reader, judged.turn)
    files = sorted(work.files, key=lambda each: (-each.edits, -each.lines_added, each.digest))[:FILES_MAX]
    paths = [TextRef(each.position, "words", each.path) for each in files]
    told, prompt, response = calls[:TOOLS_MAX], judged.body.prompt, response_ref(reader.db, turn)
    targets = [_target(each) for each in told]
    texts = reader.texts([prompt, response, *paths, *targets])
    records = reader.calls((each.position, each.record_id) for each in told)
    tools = []
    for each, target in zip(told, targets, strict=True):
        name, command = records.get((each.position, each.record_id), (None, None))
        call = ToolCall(
            name=_cut(name, COMMAND_CHARACTERS_MAX),
            file=None if target is None else _cut(texts[target], PATH_CHARACTERS_MAX),
            command=_cut(command, COMMAND_CHARACTERS_MAX),
            outcome="refused" if each.observation.tool is None else _OUTCOMES[each.observation.tool.ok],
            duration_ms=each.observation.duration_ms,
        )
        tools.append(call)
    return shaped(
        GoalTurn,
        work,
        **_in_short(number, judged) | {"marks": _told(marks)[-MARKS_MAX:]},
        prompt_id=prompt_id(turn),
        prompt_text=None if prompt is None else texts[prompt],
        response_text=None if response is None else texts[response],
        is_observed=work.observed,
        used=used(judged.body.usage),
        changes=work.edits,
        files_changed=len(work.changed_files),
        files=[_file(texts[path], each) for path, each in zip(paths, files, strict=True)],
        files_not_shown=len(work.files) - len(files),
        checks_passed=marks.count(CHECK_OK) + marks.count(OTHER_OK),
        checks_failed=marks.count(CHECK_FAILED),
        commits=marks.count(COMMIT),
        tool_calls=work.tool_calls,
        failed_tool_calls=work.tool_errors,
        tools=tools,
        tools_not_shown=len(calls) - len(tools),
    )


def _calls(reader: Reader, turn: Turn) -> tuple[list[PlacedObservation], str]:
    """What was called in it, in time order, and every mark of what came of it."""
    seen = seen_in(reader.db, turn)
    asked = () if turn.prompt is None else turn.prompt.checks
    calls = [each for each in seen if each.observation.kind in ("tool", "rejection")]
    return calls, "".join(marks_of(each.observation, asked) for each in seen)


def _target(called: PlacedObservation) -> TextRef | None:
    tool = called.observation.tool
    return None if tool is None or tool.path is None else TextRef(called.position, "words", tool.path)


def _file(path: str | None, work: FileWork) -> FileShown:
    lines = (work.lines_added, work.lines_removed) if work.lines_added or work.lines_removed else (None, None)
    return FileShown(_cut(path, PATH_CHARACTERS_MAX), work.edits, *(lines if work.edits else (0, 0)))


def _cut(text: str | None, characters: int) -> str | None:
    """So much of a text, on one line."""
    return None if text is None else " ".join(plain(text[: 4 * characters]).split())[:characters]
