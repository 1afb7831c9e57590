"""Play written sessions through the real derivation: captures and telemetry in, sub-sessions out."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID, uuid5

import msgspec

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured, SessionClaimed
from aggregates.event import Digester, Event, Words
from aggregates.records.record import Record, TextPool
from aggregates.topics import TimePassed
from projections.apply import apply
from projections.schema import create
from tests.judges.cases import CASES
from tests.judges.measures import Share

_NAMESPACE = UUID("5b0b6b5e-55a0-5d0e-8f1f-0a7c4b6f2d11")
_SESSION = "built"
_START_US = 1_767_603_600_000_000
STEP_US = 20_000_000
SETTLED_US = 3_600_000_000


class BuiltCases(msgspec.Struct, frozen=True):
    """How many of the written cases are judged right."""

    missed: Share
    reached: Share


def measure_built_cases() -> BuiltCases:
    """All cases of `cases.py`."""
    right: dict[bool, list[bool]] = {False: [], True: []}
    for case in CASES:
        right[case.complete is True].append(first_is_complete(case.script) is case.complete)
    return BuiltCases(*(Share(sum(right[of]), len(right[of])) for of in (False, True)))


class _Placed(msgspec.Struct, frozen=True):
    position: int
    event: Event


def first_is_complete(script: str) -> bool | None:
    """Whether the first sub-session of a script (`cases.py`) reached its goal, an hour later; None: undecided."""
    facts = [_Placed(place, event) for place, event in enumerate(_Told(script).events(), 1)]
    events = {fact.position: fact.event for fact in facts}
    db = sqlite3.connect(":memory:", isolation_level=None)
    create(db)

    def fetch(positions: Iterable[int]) -> dict[int, Event]:
        return {position: events[position] for position in positions}

    apply(db, facts, b"", lambda _developer_id: Digester(b"built"), fetch)
    row = db.execute("SELECT judged_goal_complete FROM sub_sessions ORDER BY started_us LIMIT 1").fetchone()
    db.close()
    return None if row[0] is None else bool(row[0])


class _Told:
    """The events of a script, a step every 20 seconds."""

    def __init__(self, script: str) -> None:
        self._steps = [line.partition(" ") for line in script.splitlines() if line.strip()]
        self._owner: dict[str, Any] = {
            "organization_id": uuid5(_NAMESPACE, "organization"),
            "developer_id": uuid5(_NAMESPACE, "developer"),
        }
        self._prompt: UUID | None = None

    def events(self) -> Iterator[Event]:
        """In the order of the script; at the end an hour passes."""
        yield SessionClaimed(received_at_us=_START_US, agent_session_id=_SESSION, **self._owner)
        at_us = _START_US
        for place, (step, _, rest) in enumerate(self._steps):
            at_us = _START_US + place * STEP_US
            yield from self._step(step, rest, at_us)
        yield TimePassed(received_at_us=at_us + SETTLED_US)

    def _step(self, step: str, rest: str, at_us: int) -> Iterator[Event]:
        if step == ">":
            self._prompt = uuid5(_NAMESPACE, f"{at_us}")
            yield PromptCaptured(
                received_at_us=at_us,
                prompt_id=self._prompt,
                agent_session_id=_SESSION,
                prompt=Words(rest),
                prompt_digest=rest.encode(),
                submitted_at_us=at_us,
                source="claude-code",
                **self._owner,
            )
        elif step == "<" and self._prompt is not None:
            yield self._records({"kind": "request", "model": "m", "output_tokens": 9}, at_us)
            yield PromptAnswered(
                received_at_us=at_us,
                prompt_id=self._prompt,
                agent_session_id=_SESSION,
                response=Words(rest),
                content_digest=rest.encode(),
                responded_at_us=at_us,
                **self._owner,
            )
        else:
            if step in ("edit", "read", "run", "fail", "call"):
                yield self._records({"kind": "request", "model": "m", "output_tokens": 9}, at_us)
            yield self._records(_observed(step, rest), at_us + 1)

    def _records(self, draft: dict[str, Any], at_us: int) -> RecordsCaptured:
        table = TextPool()
        words: dict[str, Any] = {name: table.add(draft[name]) for name in ("path", "command") if name in draft}
        named: dict[str, Any] = {"record_id": f"{draft['kind']}-{at_us}", "at_us": at_us}
        record = Record(**(named | draft | words))
        return RecordsCaptured(
            received_at_us=at_us,
            agent_session_id=_SESSION,
            source="claude-code",
            decoder_version=1,
            records=(record,),
            words=Words(table.words),
            **self._owner,
        )


def _observed(step: str, rest: str) -> dict[str, Any]:
    """What telemetry says of a step. Raises KeyError for a step that there is none of."""
    told: dict[str, dict[str, Any]] = {
        "edit": {"kind": "tool", "tool": "Edit", "ok": True, "path": rest, "lines_added": 12, "lines_removed": 2},
        "read": {"kind": "tool", "tool": "Read", "ok": True, "path": rest},
        "run": {"kind": "tool", "tool": "Bash", "ok": True, "command": rest},
        "fail": {"kind": "tool", "tool": "Bash", "ok": False, "command": rest},
        "call": {"kind": "tool", "tool": "Grep", "ok": True, "input_digest": 7},
        "error": {"kind": "error", "status_code": 529},
        "stop": {"kind": "interruption"},
        "refuse": {"kind": "rejection"},
        "clear": {"kind": "session_start", "source": "clear"},
        "end": {"kind": "session_end", "source": "exit"},
    }
    return told[step]
