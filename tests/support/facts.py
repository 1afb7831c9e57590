"""Facts for tests of the derivation: short to write, and with positions that do not depend on their order."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid5

from aggregates.capture.events import MetricsCaptured, PromptAnswered, PromptCaptured, RecordsCaptured, SessionClaimed
from aggregates.decide import TimePassed
from aggregates.event import Digester, Event, Scope, Words
from aggregates.judging.rubric import JudgeAnswered
from aggregates.prices.catalog import CatalogPublished, RequestsRepriced
from aggregates.reading.verdicts import Intent
from aggregates.records.record import Point, PointMeaning, Record, TextPool
from aggregates.sub_sessions.sub_session import (
    GapOverridden,
    GoalOverridden,
    IntentOverridden,
    OverrideCleared,
    OverrideField,
    ReworkOverridden,
    TitleEdited,
)
from projections.apply import apply
from projections.reader import Reader, create_tables, declared
from tests.support.catalogs import list_rate, lookup, rate, snapshot

NAMESPACE = UUID("3f2b8c1e-0000-4000-8000-000000000001")
ANA = Scope(uuid5(NAMESPACE, "org"), uuid5(NAMESPACE, "ana"))
BEN = Scope(uuid5(NAMESPACE, "org"), uuid5(NAMESPACE, "ben"))
DIGESTER = Digester(b"a key for tests")
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MONDAY = 1_767_603_600 * SECOND  # Monday 2026-01-05, 09:00 UTC
FIX = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
ADD = "Add a --json flag to src/cli.py and a test for it"


@dataclass(frozen=True)
class Placed:
    """An event at a position of the log."""

    position: int
    event: Event


class Log:
    """Facts as they are told, each at the next position."""

    def __init__(self, scope: Scope = ANA, now_us: int = MONDAY) -> None:
        self.scope = scope
        self.facts: list[Placed] = []
        self.claimed: set[str] = set()
        self.now_us = now_us

    def claim(self, session: str) -> "Log":
        """The session belongs to the log's developer."""
        self.claimed.add(session)
        return self._add(SessionClaimed, agent_session_id=session)

    def prompt(self, session: str, text: str, at_us: int, name: str | None = None, **fields: Any) -> UUID:
        """A plugin's capture; its id comes from its name, by default its text."""
        if session not in self.claimed:
            self.claim(session)
        prompt_id = prompt_name(session, name or text, at_us)
        self._add(
            PromptCaptured,
            at_us,
            prompt_id=prompt_id,
            agent_session_id=session,
            prompt=Words(text),
            prompt_digest=DIGESTER.digest(text),
            submitted_at_us=at_us,
            **({"source": "claude-code"} | fields),
        )
        return prompt_id

    def answer(self, session: str, prompt_id: UUID, text: str, at_us: int, **fields: Any) -> "Log":
        return self._add(
            PromptAnswered,
            at_us,
            prompt_id=prompt_id,
            agent_session_id=session,
            response=Words(text),
            content_digest=DIGESTER.digest(text),
            **({"responded_at_us": at_us} | fields),
        )

    def records(self, session: str | None, *drafts: dict[str, Any], version: int = 1) -> "Log":
        """A batch of telemetry; `path`, `command` and `text` are given as texts."""
        table = TextPool()
        records = []
        for number, draft in enumerate(drafts):
            words: dict[str, Any] = {
                name: table.add(draft[name]) for name in ("path", "command", "text") if name in draft
            }
            named: dict[str, Any] = {"record_id": f"{draft['kind']}-{draft['at_us']}-{number}"}
            records.append(Record(**(named | draft | words)))
        return self._add(
            RecordsCaptured,
            max(record.at_us for record in records),
            agent_session_id=session,
            source="claude-code",
            decoder_version=version,
            records=tuple(records),
            words=Words(table.words),
        )

    def works(
        self, session: str, at_us: int, ask: str = FIX, path: str | None = None, *, ok: bool = True, **asked: Any
    ) -> UUID:
        """A goal of one minute: asked, edited, checked. Its capture."""
        capture_id = self.prompt(session, ask, at_us, cwd_digest=7)
        done = edit(at_us + 20 * SECOND, path or f"src/{session}.py"), shell(at_us + MINUTE, "pytest -q", ok)
        self.records(session, request(at_us + 10 * SECOND, **asked), *done)
        return capture_id

    def lines(
        self, session: str, at_us: int, value: float, meaning: PointMeaning = "lines_added", **fields: Any
    ) -> "Log":
        usual: dict[str, Any] = {
            "temporality": "delta",
            "series": meaning,
            "record_id": f"{meaning}-{at_us}-{value}-{fields}",
        }
        point = Point(at_us=at_us, name="lines", kind="sum", origin=0, value=value, meaning=meaning, **(usual | fields))
        return self._add(
            MetricsCaptured,
            at_us,
            agent_session_id=session,
            source="claude-code",
            decoder_version=1,
            points=(point,),
            raw=Words("{}"),
        )

    def corrects_gap(self, session: str, capture_id: UUID, boundary: bool) -> "Log":
        """Somebody says that there is a boundary before a capture, or none."""
        return self._add(GapOverridden, agent_session_id=session, before_capture=capture_id, boundary=boundary)

    def corrects_goal(self, session: str, capture_id: UUID, complete: bool) -> "Log":
        """Somebody says whether the goal was reached."""
        return self._add(GoalOverridden, agent_session_id=session, capture_id=capture_id, complete=complete)

    def corrects_rework(self, session: str, capture_id: UUID, rework: bool) -> "Log":
        return self._add(ReworkOverridden, agent_session_id=session, capture_id=capture_id, rework=rework)

    def corrects_intent(self, session: str, capture_id: UUID, intent_class: Intent) -> "Log":
        return self._add(IntentOverridden, agent_session_id=session, capture_id=capture_id, intent_class=intent_class)

    def answers_gap(self, session: str, before: UUID, capture_id: UUID, boundary: bool, **fields: Any) -> "Log":
        """A text model says whether a prompt opens another topic than the one before it."""
        told = {"captures": (before,), "boundary": boundary, "prompt_version": 1, "input_digest": b"d" * 16}
        return self._answers("boundary", session, capture_id, **(told | fields))

    def answers_prompt(self, session: str, capture_id: UUID, intent: Intent, **fields: Any) -> "Log":
        return self._answers("rubric", session, capture_id, captures=(capture_id,), intent=intent, **fields)

    def answers_outcome(self, session: str, *captures: UUID, **fields: Any) -> "Log":
        """A text model judges the sub-session of these prompts."""
        return self._answers("outcome", session, captures[-1], captures=captures, **fields)

    def _answers(self, kind: str, session: str, capture_id: UUID, **fields: Any) -> "Log":
        asked: dict[str, Any] = {"model": "m", "prompt_version": 2, "input_digest": b"", "confidence": 0.9}
        about = {"kind": kind, "agent_session_id": session, "capture_id": capture_id}
        return self._add(JudgeAnswered, **about, **(asked | fields))

    def clears(self, session: str, capture_id: UUID, field: OverrideField) -> "Log":
        """Somebody takes back what they said in a field of a turn."""
        return self._add(OverrideCleared, agent_session_id=session, capture_id=capture_id, field=field)

    def renames(self, capture_id: UUID, title: str) -> "Log":
        """Somebody names the sub-session that holds a capture."""
        return self._add(TitleEdited, turn_id=capture_id, title=Words(title))

    def publishes(self, revision: int, input_dollars: float = 3, model: str = "claude-sonnet-4-5") -> "Log":
        """A catalog that prices one model; output costs five times as much as input."""
        entry = lookup(model, list_rates=[list_rate(rate=rate(input_dollars))])
        found = snapshot(entry, revision=revision)
        return self._place(CatalogPublished(received_at_us=self.now_us, source="test", snapshot=found))

    def reprices(self, revision: int, from_us: int = 0, to_us: int = MONDAY + DAY) -> "Log":
        """Requests without a price get one of this revision."""
        told = {"catalog_revision": revision, "from_us": from_us, "to_us": to_us}
        owner = self.scope.organization_id
        return self._place(RequestsRepriced(received_at_us=self.now_us, organization_id=owner, **told))

    def passes(self, to_us: int) -> "Log":
        return self._place(TimePassed(received_at_us=to_us))

    def _add(self, kind: type[Event], at_us: int | None = None, /, **fields: Any) -> "Log":
        self.now_us = max(self.now_us, at_us or 0)
        owner = {"organization_id": self.scope.organization_id, "developer_id": self.scope.developer_id}
        return self._place(kind(received_at_us=self.now_us, **owner, **fields))

    def _place(self, event: Event) -> "Log":
        self.facts.append(Placed(len(self.facts) + 1, event))
        return self


def prompt_name(session: str, name: str, at_us: int) -> UUID:
    """The id of a capture that a log was told."""
    return uuid5(NAMESPACE, f"{session}/{name}/{at_us}")


def edit(at_us: int, path: str = "src/app.py", added: int = 12, **fields: Any) -> dict[str, Any]:
    told = {"kind": "tool", "tool": "Edit", "at_us": at_us, "ok": True, "path": path}
    return {**told, "lines_added": added, "lines_removed": 1, **fields}


def shell(at_us: int, command: str, ok: bool = True, **fields: Any) -> dict[str, Any]:
    return {"kind": "tool", "tool": "Bash", "at_us": at_us, "ok": ok, "command": command, **fields}


def request(at_us: int, **fields: Any) -> dict[str, Any]:
    """A model answered: 100 tokens in, 20 out, for a cent."""
    usual = {"model": "claude-sonnet-4-5", "input_tokens": 100, "output_tokens": 20, "cost_usd_nano": 10_000_000}
    return {"kind": "request", "at_us": at_us, **(usual | fields)}


OPEN_MAX = 100
"""Views of one test that stay open at once: an example of a property needs a few, and there are thousands."""
_open: list[sqlite3.Connection] = []


def empty_views() -> sqlite3.Connection:
    """Views in memory, with no rows, open until the test ends: a copy, because making them takes four times as long."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _open.append(db)
    if len(_open) > OPEN_MAX:
        _open.pop(0).close()
    with closing(sqlite3.connect(":memory:")) as made:
        made.deserialize(_made())
        made.backup(db)
    return db


@contextmanager
def views_closed() -> Iterator[None]:
    """Close at the end what was opened in between; what a module's fixture had opened before stays."""
    outer = _open.copy()
    _open.clear()
    yield
    for db in _open:
        db.close()
    _open[:] = outer


@cache
def _made() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        return db.serialize()


def project(facts: Sequence[Placed], batches: Iterable[int] = ()) -> sqlite3.Connection:
    """Views of these facts, applied in this order, cut after each of the given indexes."""
    db = empty_views()
    events = {fact.position: fact.event for fact in facts}

    def fetch(positions: Iterable[int]) -> dict[int, Event]:
        return {position: events[position] for position in positions}

    cuts = sorted({0, *batches, len(facts)})
    for start, end in pairwise(cuts):
        if facts[start:end]:
            apply(db, facts[start:end], b"", lambda _developer_id: DIGESTER, fetch)
    return db


def reader(db: sqlite3.Connection, facts: Iterable[Placed]) -> Reader:
    """A reader that finds the words in these facts."""
    events = {fact.position: fact.event for fact in facts}
    return Reader(db, lambda positions: {p: events[p] for p in positions if p in events})


def tables(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every row but the bookmark, in key order."""
    keys = {name: ", ".join(table.keys) for name, table in declared().items() if name != "bookmark"}
    return {name: db.execute(f"SELECT * FROM {name} ORDER BY {key}").fetchall() for name, key in keys.items()}
