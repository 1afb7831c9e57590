"""Each fact becomes rows outside any transaction, so that one that cannot be read spoils nothing else."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Protocol, TypeVar
from uuid import UUID

from aggregates.capture import events as captures
from aggregates.event import Digester, Event, Scope, Words
from aggregates.judging.rubric import JudgeAnswered
from aggregates.people.directory import Activation
from aggregates.prices.catalog import CatalogPublished, RequestsRepriced
from aggregates.prices.prices import PriceBook, price_book
from aggregates.reports.events import ReportEvent
from aggregates.retained import RetainedReading, retain
from aggregates.sub_sessions.sub_session import OverrideEvent, TitleEdited, override_words_of
from aggregates.turns.turn import CapturedResponse, Observation
from aggregates.turns.turns import Capture
from projections.facts import rows as tables
from projections.facts.reports import add_report
from projections.facts.telemetry import add_points, add_records
from projections.reader import BodyDamaged, Reader, owner, pack, unpack


def add_fact(
    rows: tables.Rows, position: int, event: Event, digesters: tables.Digesters, prices: PriceBook | None
) -> None:
    """The rows one fact stands for; `prices` is the newest valid catalog at the fact's place in the log."""
    tables.add_flags(rows, position, event)
    _add_arrival(rows, event)
    match event:
        case captures.SessionClaimed():
            rows.sessions.append((event.agent_session_id, *owner(event.scope)))
            # Captures may have been waiting for the claim: derive the session from its beginning.
            rows.touched_times.append((event.agent_session_id, tables.BEGINNING_US))
        case captures.PromptCaptured():
            _add_prompt(rows, position, event, digesters(event.developer_id))
        case captures.PromptAnswered():
            _add_answer(rows, position, event, digesters(event.developer_id), prices)
        case captures.RecordsCaptured():
            add_records(rows, position, event, digesters(event.developer_id), prices)
        case captures.MetricsCaptured():
            add_points(rows, position, event)
        case CatalogPublished():
            snapshot = event.snapshot
            rows.catalogs.append((snapshot.catalog_revision, snapshot.checksum_sha256, position, pack(snapshot)))
        case _:
            _add_said(rows, position, event)


def _add_arrival(rows: tables.Rows, event: Event) -> None:
    """That an agent sent something just now; what an import read of old is none."""
    match event:
        case captures.PromptCaptured():
            signal = "prompts"
        case captures.RecordsCaptured() if event.raw is not None:  # lines of a transcript have none
            signal = "traces" if isinstance(event, captures.TracesCaptured) else "logs"
        case captures.MetricsCaptured():
            signal = "metrics"
        case _:
            return
    if not event.source.endswith(captures.TRANSCRIPT_SUFFIX):
        rows.arrivals.append((*owner(event.scope), event.source, signal, event.received_at_us))


def _add_said(rows: tables.Rows, position: int, event: Event) -> None:
    """What people, text models and orders say: the session of a capture is derived again from its turn on."""
    match event:
        case RequestsRepriced():
            order = str(event.organization_id), event.catalog_revision, event.from_us, event.to_us
            rows.repricings.append(tables.Reprice(position, *order))
        case ReportEvent():
            add_report(rows, position, event)
        case captures.SetupCompleted():
            rows.setups.append((str(event.developer_id),))
        case TitleEdited():
            rows.titles.append((str(event.turn_id), position, int(event.summary is not None)))
            rows.touched_turns.append(str(event.turn_id))
        case JudgeAnswered():
            about = event.agent_session_id, str(event.capture_id)
            rows.judge_answers.append((*about, event.kind, event.agent is not None, position, pack(event)))
            rows.touched_captures.append(about[1])
        case _ if isinstance(event, OverrideEvent):
            capture, words = override_words_of(event)
            about = event.agent_session_id, str(capture)
            rows.corrections += [(*about, topic, position, word) for topic, word in words]
            rows.touched_captures.append(about[1])


def _add_prompt(rows: tables.Rows, position: int, event: captures.PromptCaptured, digester: Digester) -> None:
    shown = retain(position, event, digester) or RetainedReading(position)
    gathered = (event.host_prompt_id or "").startswith(captures.GATHERED)  # by AgentsView, whose name it is then
    by_file = event.source.endswith(captures.TRANSCRIPT_SUFFIX)
    capture = Capture(
        capture_id=event.prompt_id,
        kind="archive" if gathered else "transcript" if by_file else "plugin",
        at_us=tables.trusted(event.submitted_at_us, event.received_at_us),
        position=position,
        host_prompt_id=None if gathered else tables.host_name(event.host_prompt_id, event.agent_session_id),
        text_digest=shown.text_digest,
        reading=shown.prompt,
        cwd_digest=event.cwd_digest,
        agent=event.source.removesuffix(captures.TRANSCRIPT_SUFFIX),
    )
    if event.cwd_digest is not None:
        rows.folders.append((*owner(event.scope), event.cwd_digest, position, None, None))
    tables.add_capture(rows, event.agent_session_id, capture)


def _add_answer(
    rows: tables.Rows, position: int, event: captures.PromptAnswered, digester: Digester, prices: PriceBook | None
) -> None:
    capture_id = str(event.prompt_id)
    rows.touched_captures.append(capture_id)
    if event.withdraws:
        rows.withdrawn.append((capture_id, position))
        return
    shown = retain(position, event, digester)
    answer = CapturedResponse(
        # Times that hang on the prompt's own time are settled when the turn is built.
        reader_version=event.reader_version,
        at_us=tables.trusted(event.responded_at_us, event.received_at_us),
        timed=event.responded_at_us is not None,
        position=position,
        reading=None if shown is None else shown.response,
        cache_write_tokens=event.cache_creation_tokens,
        **{name: getattr(event, name) for name in _AS_TOLD},
    )
    price = tables.answer_price(prices, answer, answer.at_us)
    told = event.agent_session_id, event.content_digest, event.received_at_us, position
    rows.answers.append((capture_id, *told, pack(answer), None if price is None else pack(price)))


_Kept = TypeVar("_Kept", Capture, CapturedResponse, Observation)


def reading_in(db: sqlite3.Connection, position: int, event: Event) -> RetainedReading | None:
    """What views that read texts alike hold of an event's texts; None where that is nothing, as without its key."""

    def kept(kind: type[_Kept], query: str, *key: object) -> Iterator[_Kept]:
        with suppress(sqlite3.Error, BodyDamaged):  # then the text is read
            for (body,) in db.execute(f"SELECT body FROM {query}", key):
                yield unpack(body, kind)

    match event:
        case captures.PromptCaptured(prompt=Words(text=str())):
            for capture in kept(Capture, "captures WHERE capture_id = ?", str(event.prompt_id)):
                if capture.position == position and capture.reading is not None:
                    return RetainedReading(position, capture.text_digest, capture.reading)
        case captures.PromptAnswered(response=Words(text=str())):
            for answer in kept(CapturedResponse, "answers WHERE capture_id = ?", str(event.prompt_id)):
                if answer.position == position and answer.reading is not None:
                    return RetainedReading(position, response=answer.reading)
        case captures.RecordsCaptured(words=Words(text=str()), agent_session_id=str(session)):
            query = "observations WHERE agent_session_id = ? AND at_us = ? AND record_id = ? AND position = ?"
            found = tuple(
                (place, seen)
                for place, record in enumerate(event.records)
                if record.kind in ("prompt", "response")
                for at_us in [tables.trusted(record.at_us, event.received_at_us)]
                for seen in kept(Observation, query, session, at_us, record.record_id, position)
                if seen.prompt is not None or seen.response is not None
            )
            return RetainedReading(position, observations=found) if found else None
    return None


_AS_TOLD = ("elapsed_ms", "model", "input_tokens", "output_tokens", "cache_read_tokens", "cost_usd_nano")


class Fact(Protocol):
    """An event with its place in the log."""

    @property
    def position(self) -> int: ...
    @property
    def event(self) -> Event: ...


Broken = list[tuple[int, str]]  # positions of facts that break a rule, and how
GiveWay = Callable[[], None]  # called often during long work; it may sleep for a moment, so that another thread runs
Priced = tuple[Fact, PriceBook | None]  # a fact with the newest valid catalog at its place in the log


def read_rows(facts: Iterable[Priced], digesters: tables.Digesters, give_way: GiveWay | None = None) -> tables.Rows:
    """Raises whatever a fact does that breaks a rule."""
    rows = tables.Rows()
    for fact, book in facts:
        add_fact(rows, fact.position, fact.event, digesters, book)
        if give_way is not None:
            give_way()
    rows.arrivals = list({row[:4]: row for row in sorted(rows.arrivals, key=itemgetter(4))}.values())
    return rows


def priced(facts: Iterable[Fact], prices: PriceBook | None) -> list[Priced]:
    """The facts with their catalogs. `prices`: the newest valid one before the first of them."""
    found: list[Priced] = []
    for fact in facts:
        found.append((fact, prices))
        if isinstance(fact.event, CatalogPublished):
            prices = price_book(fact.event.snapshot) or prices
    return found


def reason(error: Exception) -> str:
    """The kind of error and where it arose; never its text, which may quote a prompt."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    place = "" if traceback is None else f" in {traceback.tb_frame.f_code.co_qualname}, line {traceback.tb_lineno}"
    return f"{type(error).__name__}{place}"


ARRIVALS_MAX = 32  # pairs of agent and signal that are shown, the newest; an agent names itself as it likes


def arrivals(reader: Reader, scope: Scope) -> list[tuple[str, str, int]]:
    """Each agent and signal, and when it last came; by name."""
    newest = "organization_id = ? AND developer_id = ? ORDER BY last_us DESC LIMIT ?"
    query = f"SELECT source, signal, last_us FROM arrivals WHERE {newest}"
    return sorted(reader.db.execute(query, (*owner(scope), ARRIVALS_MAX)).fetchall())


def activation(db: sqlite3.Connection) -> dict[UUID, Activation]:
    """The developers that are no longer waiting."""
    found: dict[UUID, Activation] = {}
    found |= {UUID(row[0]): "key_configured" for row in db.execute("SELECT developer_id FROM setups")}
    return found | {
        UUID(row[0]): "first_prompt" for row in db.execute("SELECT DISTINCT developer_id FROM sub_sessions")
    }
