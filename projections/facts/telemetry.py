"""Stage 1 for telemetry: log records, spans, transcript lines and metric points become rows.

A record may stand in three tables: as received (`telemetry_records`), as a model request (`requests`), and as what the
derivation of turns looks at (`observations`).
"""

import sqlite3

from aggregates.capture.events import MetricsCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Digester
from aggregates.ids import record_capture_id
from aggregates.prices.prices import Price, PriceBook, Usage
from aggregates.records.record import Record
from aggregates.retained import stood_observations
from aggregates.turns.turn import Observation, observe
from aggregates.turns.turns import Capture, Seen
from projections.facts.duplicates import UNNAMED
from projections.facts.prices import price_of
from projections.facts.rows import Row, Rows, add_capture, host_name, trusted
from projections.reader import pack

REPORTED = "reported"
"""The kind of a cost that the agent itself told."""
_TWINNED = {"request": "request_id", "error": "request_id", "tool": "call_id", "rejection": "call_id"}
"""What names the thing that was reported, so that an agent's log and its transcript do not count it twice."""
_LINES = ("lines_added", "lines_removed")


def add_records(
    rows: Rows, position: int, event: RecordsCaptured, digester: Digester, prices: PriceBook | None
) -> None:
    """The rows of a batch of log records, spans or transcript lines."""
    batch = _Batch(rows, position, event, digester, prices)
    stood = stood_observations(event.words)
    for place, record in enumerate(event.records):
        batch.add(record, stood.get(place))
    batch.touch()


def add_points(rows: Rows, position: int, event: MetricsCaptured) -> None:
    """The rows of a batch of metric points, each as received."""
    developer_id, organization_id = str(event.developer_id), str(event.organization_id)
    for point in event.points:
        at_us = trusted(point.at_us, event.received_at_us)
        rows.metric_points.append(
            (
                developer_id,
                at_us,
                point.record_id,
                organization_id,
                event.agent_session_id,
                point.name,
                point.kind,
                point.unit,
                point.temporality,
                None if point.monotonic is None else int(point.monotonic),
                point.start_us,
                point.value,
                point.series,
                point.meaning,
                point.model,
                position,
                point.origin,
            )
        )
        if event.agent_session_id is not None and point.meaning in _LINES:
            rows.touched_times.append((event.agent_session_id, at_us))


class _Batch:
    def __init__(
        self, rows: Rows, position: int, event: RecordsCaptured, digester: Digester, prices: PriceBook | None
    ) -> None:
        self._rows = rows
        self._position = position
        self._event = event
        self._digester = digester
        self._prices = prices
        self._developer_id = str(event.developer_id)
        self._organization_id = str(event.organization_id)
        self._session = event.agent_session_id
        self._signal = "traces" if isinstance(event, TracesCaptured) else "logs"
        self._last_origin: int | None = None
        self._earliest_us: int | None = None
        self._hosts: set[str] = set()

    def add(self, record: Record, stood: Observation | None = None) -> None:
        """The rows of one record. Records of one origin stand together, and the first of them is shown.

        `stood`: what was observed while its texts were there.
        """
        at_us = trusted(record.at_us, self._event.received_at_us)
        if record.origin is not None and record.origin != self._last_origin:
            self._last_origin = record.origin
            self._rows.telemetry_records.append(self._shown(record, at_us))
        if record.kind == "other":
            return
        price = _price(record, at_us, self._prices)
        if record.kind in ("request", "error"):
            self._rows.requests.append(self._request(record, at_us, price))
        if self._session is not None:
            self._observe(self._session, record, at_us, price, stood)

    def touch(self) -> None:
        if self._session is not None and self._earliest_us is not None:
            self._rows.touched_times.append((self._session, self._earliest_us))
            self._rows.touched_hosts += [(self._session, host) for host in sorted(self._hosts)]

    def _shown(self, record: Record, at_us: int) -> Row:
        return (
            self._developer_id,
            at_us,
            record.record_id,
            self._organization_id,
            self._signal,
            self._session,
            record.name,
            record.kind,
            record.model,
            record.tool,
            None if record.ok is None else int(record.ok),
            record.status_code,
            record.duration_ms,
            self._position,
            record.origin,
        )

    def _request(self, record: Record, at_us: int, price: Price | None) -> Row:
        reported = REPORTED if record.cost_usd_nano is not None else None
        return (
            self._developer_id,
            at_us,
            record.record_id,
            self._organization_id,
            self._session,
            record.prompt_id,
            record.request_id,
            int(record.kind == "error"),
            int(record.sidechain),
            record.model,
            record.status_code,
            record.retry_after_ms,
            record.duration_ms,
            record.input_tokens,
            record.output_tokens,
            record.cache_read_tokens,
            record.cache_write_tokens,
            record.cache_write_1h_tokens,
            record.cost_usd_nano if price is None else price.cost_usd_nano,
            reported if price is None else price.kind,
            None if price is None else price.catalog_revision,
            0,
            self._position,
            self._position,
        )

    def _observe(
        self, session: str, record: Record, at_us: int, price: Price | None, stood: Observation | None
    ) -> None:
        rows, position = self._rows, self._position
        seen = stood or observe(record, self._event.words, self._digester)
        prompt_id = host_name(seen.prompt_id, session)
        twin = _twin(record)
        given = None if price is None else pack(price)
        rows.observations.append(
            (session, at_us, record.record_id, prompt_id, position, pack(seen), given, twin, _rank(record), 0)
        )
        if self._earliest_us is None or at_us < self._earliest_us:
            self._earliest_us = at_us
        if twin is not None:
            rows.touched_twins.append((session, twin))
        if prompt_id is not None:
            self._hosts.add(prompt_id)
        if record.kind == "tool" and (record.lines_added is not None or record.lines_removed is not None):
            rows.edit_details.append((session,))
        if record.kind == "prompt":
            add_capture(rows, session, _log_capture(session, position, at_us, record.record_id, prompt_id, seen))


def _price(record: Record, at_us: int, prices: PriceBook | None) -> Price | None:
    """What the catalog says a request cost, where its agent did not say."""
    if record.kind != "request" or record.cost_usd_nano is not None:
        return None
    counts = (record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens)
    return price_of(prices, record.model, at_us, Usage(*counts, record.cache_write_1h_tokens))


def _twin(record: Record) -> str | None:
    """Equal for two reports of one request, one failure, one tool call or one refusal.

    Where nothing names it, by what such reports have in common (see `twins.UNNAMED`).
    """
    field = _TWINNED.get(record.kind)
    name = None if field is None else getattr(record, field)
    if name is not None:
        return f"{record.kind}:{name}"
    match record.kind:
        case "request":
            counts = (record.input_tokens, record.cache_read_tokens, record.output_tokens)
            return UNNAMED + "request:" + ":".join(str(count or 0) for count in counts) if any(counts) else None
        case "tool":
            return f"{UNNAMED}tool:{record.tool}:{record.input_digest}"
        case "rejection":
            return f"{UNNAMED}rejection:{record.tool}"
        case "error" | "interruption":
            return UNNAMED + record.kind
        case _:
            return None


def _rank(record: Record) -> int:
    """Which of two reports counts, the lower: of a tool call the one with details, of anything else the agent's log."""
    bare = record.kind == "tool" and record.path is None and record.command is None and record.lines_added is None
    return 2 * bare + (record.origin is None)


def _log_capture(
    session: str, position: int, at_us: int, record_id: str, prompt_id: str | None, seen: Observation
) -> Capture:
    return Capture(
        capture_id=record_capture_id(session, record_id),
        kind="log",
        at_us=at_us,
        position=position,
        host_prompt_id=prompt_id,
        text_digest=seen.text_digest,
        reading=seen.prompt,
        words_start=0 if seen.text is None else seen.text.start,
    )


# Changed lines by an agent's own counter: they stand in only where none of a session's tool calls tells its lines.

_COUNTED = """
SELECT at_us, record_id, position, meaning, CASE
    WHEN temporality IS NOT 'cumulative' OR before IS NULL OR before > value THEN value ELSE value - before END
FROM (
    SELECT at_us, record_id, position, meaning, temporality, value,
        lag(value) OVER (PARTITION BY series, start_us ORDER BY at_us, record_id) AS before
    FROM metric_points
    WHERE agent_session_id = ?1 AND meaning IN ('lines_added', 'lines_removed') AND value IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM edit_details WHERE agent_session_id = ?1)
)
WHERE at_us >= ?2 ORDER BY at_us, record_id
"""
"""What was counted since the point before, in time order. A cumulative series that starts anew, or falls, counts from
nothing."""


def line_counts(db: sqlite3.Connection, session: str, start_us: int) -> list[Seen]:
    """The counts from a time on; none where a tool call of the session told its lines."""
    return [
        Seen(at_us, record_id, position, _observation(meaning, round(count)))
        for at_us, record_id, position, meaning, count in db.execute(_COUNTED, (session, start_us))
    ]


def _observation(meaning: str, count: int) -> Observation:
    if meaning == "lines_added":
        return Observation(kind="lines", lines_added=count)
    return Observation(kind="lines", lines_removed=count)


def newly_detailed(db: sqlite3.Connection, sessions: set[str]) -> list[str]:
    """Note sessions whose tool calls tell their lines; those among them whose counters had stood in until now."""
    new = [session for session in sorted(sessions) if _note(db, session)]
    counted = "SELECT 1 FROM metric_points WHERE agent_session_id = ? AND meaning IN ('lines_added', 'lines_removed')"
    return [session for session in new if db.execute(counted, (session,)).fetchone() is not None]


def _note(db: sqlite3.Connection, session: str) -> bool:
    noted = db.execute("INSERT OR IGNORE INTO edit_details VALUES (?) RETURNING 1", (session,)).fetchone()
    return noted is not None
