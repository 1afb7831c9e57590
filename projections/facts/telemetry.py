"""Records and points become rows: as received, as a model request, and as what turns are derived from."""

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

import msgspec

from aggregates.capture.events import TRANSCRIPT_SUFFIX, MetricsCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Digester
from aggregates.ids import record_capture_id
from aggregates.prices.prices import Price, PriceBook, Usage
from aggregates.records.record import STOP_FAILURE, Record
from aggregates.retained import retained_observations
from aggregates.turns.turn import Observation, observe
from aggregates.turns.turns import LEADING, Capture, of_sub_agent
from projections.facts.rows import BEGINNING_US, END_US, Row, Rows, add_capture, host_name, price_of, trusted
from projections.reader import json_array, owner, pack, unpack

REPORTED = "reported"  # the kind of a cost that the agent itself told
_NAMES = {"request": "request_id", "error": "request_id", "tool": "call_id", "rejection": "call_id"}
"""What names the thing that was reported, so that an agent's log and its transcript do not count it twice."""
_LINES = ("lines_added", "lines_removed")
_USED = attrgetter(*Usage.__struct_fields__)
_TOKENS, _NO_TOKENS = attrgetter(*Usage.__struct_fields__[:4]), (None,) * 4
_MEASURED = attrgetter("model", "status_code", "retry_after_ms", "duration_ms", *Usage.__struct_fields__)
_NAMED = attrgetter("name", "kind", "unit", "temporality")
_COUNTED_POINT = attrgetter("start_us", "value", "series", "meaning", "model")


TRANSCRIPT = "transcript"  # the signal of what an import read from an agent's own files
_Key = tuple[str, int, str]  # of an observation: its session, time and record


class _Batch(NamedTuple):
    organization_id: str
    developer_id: str
    signal: str
    agent_session_id: str | None
    position: int
    agent: str


def add_records(
    rows: Rows, position: int, event: RecordsCaptured, digester: Digester, prices: PriceBook | None
) -> None:
    session, stood = event.agent_session_id, retained_observations(event.words)
    signal = "traces" if isinstance(event, TracesCaptured) else "logs"
    version = min(event.decoder_version, _VERSION_MAX) << _ACCOUNT_BITS
    agent = event.source.removesuffix(TRANSCRIPT_SUFFIX)
    batch = _Batch(*owner(event.scope), signal, session, position, agent)
    last_origin, from_us, hosts = None, END_US, set[str | None]()
    for place, record in enumerate(event.records):
        at_us, account = trusted(record.at_us, event.received_at_us), version + _told(record)
        # Records of one origin stand together, and the first of them is shown.
        if record.origin is not None and record.origin != last_origin:
            last_origin = record.origin
            rows.telemetry_records.append(_shown(record, at_us, batch, account))
        elif record.origin is None and record.kind in ("tool", "rejection"):
            # No listing shows a line of a transcript; the figures of tools count what nothing else has told.
            rows.telemetry_records.append(_shown(record, at_us, batch._replace(signal=TRANSCRIPT), account))
        if record.kind == "other":
            continue
        if record.former_id is not None:
            former = {"session": session, "at": at_us, "id": record.former_id}
            rows.formers.append({**former, "developer": batch.developer_id, "position": position})
        price = None
        if record.kind == "request" and record.cost_usd_nano is None:  # by the catalog, where its agent did not say
            price = price_of(prices, record.model, at_us, Usage(*_USED(record)))
        if record.kind in ("request", "error") and record.name != STOP_FAILURE:
            rows.requests.append(_request(record, at_us, batch, price, account))
        if session is not None:
            seen = stood.get(place) or observe(record, event.words, digester)
            prompt_id = _observe(rows, (session, at_us, record.record_id), record, seen, price, batch, account)
            from_us = min(from_us, BEGINNING_US if of_sub_agent(seen) else at_us)
            hosts.add(prompt_id)
    if session is not None and from_us < END_US:
        rows.touched_times.append((session, from_us))
        rows.touched_hosts += [(session, host) for host in sorted(host for host in hosts if host is not None)]


def _shown(record: Record, at_us: int, batch: _Batch, account: int) -> Row:
    key = batch.developer_id, at_us, record.record_id, batch.organization_id, batch.signal, batch.agent_session_id
    ok = None if record.ok is None else int(record.ok)
    told = record.name, record.kind, record.model, record.tool, ok, record.status_code, record.duration_ms
    return *key, *told, batch.position, record.origin, account


def _request(record: Record, at_us: int, batch: _Batch, price: Price | None, account: int) -> Row:
    key = batch.developer_id, at_us, record.record_id, batch.organization_id, batch.agent_session_id
    named = record.prompt_id, record.request_id, int(record.kind == "error"), int(record.sidechain)
    told = record.cost_usd_nano, None if record.cost_usd_nano is None else REPORTED, None
    cost = told if price is None else (price.cost_usd_nano, price.kind, price.catalog_revision)
    return *key, *named, *_MEASURED(record), *cost, 0, batch.position, batch.position, account


def _observe(
    rows: Rows, key: _Key, record: Record, seen: Observation, price: Price | None, batch: _Batch, account: int
) -> str | None:
    """The host's name of the prompt that it belongs to, if it told one."""
    session, at_us, _ = key
    prompt_id = host_name(seen.prompt_id, session)
    duplicate = _duplicate_key(record, batch)
    given = None if price is None else pack(price)
    rows.observations.append((*key, prompt_id, batch.position, pack(seen), given, duplicate, _rank(record), 0, account))
    if duplicate is not None:
        rows.touched_duplicates.append((session, duplicate))
    if record.kind == "tool" and (record.lines_added is not None or record.lines_removed is not None):
        rows.touched_details.append(session)
    if record.kind == "prompt":
        capture = Capture(
            capture_id=record_capture_id(session, record.record_id),
            kind="log",
            at_us=at_us,
            position=batch.position,
            host_prompt_id=prompt_id,
            text_digest=seen.text_digest,
            reading=seen.prompt,
            cwd_digest=seen.folder,
            words_start=0 if seen.text is None else seen.text.start,
            sent_again=record.request_id,
            agent=batch.agent,
        )
        add_capture(rows, session, capture)
        if seen.folder is not None and record.path is not None:
            place = batch.position, record.path.start, record.path.end
            rows.folders.append((batch.organization_id, batch.developer_id, seen.folder, *place))
    return prompt_id


def add_points(rows: Rows, position: int, event: MetricsCaptured) -> None:
    organization_id, developer_id = owner(event.scope)
    for point in event.points:
        at_us = trusted(point.at_us, event.received_at_us)
        key = developer_id, at_us, point.record_id, organization_id, event.agent_session_id
        monotonic = None if point.monotonic is None else int(point.monotonic)
        rows.metric_points.append((*key, *_NAMED(point), monotonic, *_COUNTED_POINT(point), position, point.origin))
        if event.agent_session_id is not None and point.meaning in _LINES:
            rows.touched_times.append((event.agent_session_id, at_us))


def _duplicate_key(record: Record, batch: _Batch) -> str | None:
    """Equal for two reports of one thing: by its name, else by what such reports have in common (see `UNNAMED`)."""
    if record.name == STOP_FAILURE:
        return None
    field = _NAMES.get(record.kind)
    name = None if field is None else getattr(record, field)
    if name is not None and field == "request_id":  # a provider's own, whichever of the developer's sessions tells it
        named = f"{batch.organization_id}/{batch.developer_id}/{record.kind}/{name}"
        return OF_ANY_SESSION + blake2b(named.encode(), digest_size=12).hexdigest()
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


def _told(record: Record) -> int:
    """How much it tells: by its tokens, or by what is known of a call."""
    if record.kind == "rejection":
        return _REFUSED
    if record.kind == "tool":
        known = record.ok, record.path, record.command, record.duration_ms
        return len(known) - known.count(None)
    told = _TOKENS(record)  # mostly none
    return 0 if told == _NO_TOKENS else min(sum(filter(None, told)), (1 << _ACCOUNT_BITS) - 1)


def newly_detailed(db: sqlite3.Connection, sessions: set[str]) -> list[str]:
    """Note sessions whose tool calls tell their lines; those among them whose counters had stood in until now."""
    note = "INSERT OR IGNORE INTO edit_details VALUES (?) RETURNING 1"
    new = [session for session in sorted(sessions) if db.execute(note, (session,)).fetchone() is not None]
    counted = "SELECT 1 FROM metric_points WHERE agent_session_id = ? AND meaning IN ('lines_added', 'lines_removed')"
    return [session for session in new if db.execute(counted, (session,)).fetchone() is not None]


# One request, tool call or refusal that was reported twice counts once: an agent's own log and its transcript both
# tell of it, under the same request or call id; a fork or a resumed session tells the requests of another again. Which
# report counts does not depend on which came first: the better rank, then the larger account, then the earlier time;
# of requests the larger account, then the better rank.
# Codex and Gemini name no requests, and Gemini no calls. There the k-th report of one source is the k-th alike of the
# other: what is alike stands in the key, and the two lie close in time.

OF_ANY_SESSION = "@"  # a key that begins with this is sought over all sessions of its developer
TOLD_MAX = 100  # of what more sessions tell, so many are looked at beside what is new
UNNAMED = "~"  # a key that begins with this says what a report is like, and not which thing it tells of
_CLOSE_US = 2 * 60 * 1_000_000


_REFUSED = 5  # more than is ever known of a call, which an earlier import may have had without its end
_ACCOUNT_BITS = 48  # above them stands the version of the reader
_VERSION_MAX = 2**14 - 1  # so that SQLite's integers hold both, whatever a client says


class _Report(NamedTuple):
    session: str
    at_us: int
    record_id: str
    position: int
    rank: int
    account: int
    superseded: int

    @property
    def order(self) -> tuple[bool, int, int, int, str, str]:
        """The best first; a pass of a request stands behind it."""
        return self.is_pass, self.rank, -self.account, self.at_us, self.record_id, self.session

    @property
    def tokens(self) -> int:
        return self.account & ((1 << _ACCOUNT_BITS) - 1)

    @property
    def is_pass(self) -> bool:
        return "#" in self.record_id

    @property
    def whole(self) -> tuple[str, str]:
        """The request of which it may be a pass."""
        return self.session, self.record_id.partition("#")[0]

    @property
    def by_transcript(self) -> bool:
        """A transcript's report ranks one behind the agent's log, see `telemetry._rank`."""
        return self.rank % 2 == 1


_REPORTED_TWICE = """
SELECT o.twin, o.agent_session_id, o.at_us, o.record_id, o.position, o.rank, o.account, o.superseded
FROM (
    SELECT value, iif(value LIKE '@%', (
        SELECT n.rowid FROM observations n WHERE n.twin = value ORDER BY n.rowid DESC LIMIT 1 OFFSET {most}
    ), 0) AS since FROM json_each(:keys) LIMIT -1
) k CROSS JOIN observations o ON o.twin = k.value AND {own}
WHERE EXISTS (SELECT 1 FROM observations o WHERE o.twin = k.value AND {own} LIMIT 1 OFFSET 1)
AND (k.value NOT LIKE '~%' OR (SELECT count(DISTINCT o.rank % 2) FROM observations o
    WHERE o.twin = k.value AND {own}) > 1)
AND (o.superseded = 0 OR o.rowid > coalesce(k.since, 0))
ORDER BY 1
"""
"""Mostly a key has one report, which an index alone tells."""


def settle_duplicates(db: sqlite3.Connection, keys: Iterable[tuple[str, str]]) -> list[tuple[str, int]]:
    """Mark what another report supersedes; (session, time) of every report that may count otherwise than before."""
    by_session: dict[str | None, set[str]] = {}
    for session, key in keys:
        by_session.setdefault(None if key.startswith(OF_ANY_SESSION) else session, set()).add(key)
    touched: list[tuple[str, int]] = []
    for told_in, some in by_session.items():
        own = "true" if told_in is None else "o.agent_session_id = :session"
        query = _REPORTED_TWICE.format(own=own, most=TOLD_MAX)
        rows = db.execute(query, {"session": told_in, "keys": json_array(sorted(some))}).fetchall()
        for key, reported in groupby(rows, key=itemgetter(0)):
            reports = sorted((_Report(*row[1:]) for row in reported), key=lambda report: report.order)
            changed: list[_Report] = []
            if key.startswith(UNNAMED):
                # One counts unless it is the worse of a pair; a pair may change when an earlier report comes late.
                worse, since = _worse(reports), max(report.position for report in reports)
                for report in reports:
                    _write(db, report, report in worse, since)
                changed = reports
            else:
                # One counts, with its own passes.
                counted, turned = _counted(reports, two_sources=key.startswith(OF_ANY_SESSION))
                for report in reports:
                    apart = report is not counted and not (report.is_pass and report.whole == counted.whole)
                    since = max((at for each, at in turned.items() if each.whole == report.whole), default=0)
                    if apart != report.superseded or since > report.position:
                        _write(db, report, apart, since, counted)
                    if apart != report.superseded:
                        changed.append(report)
            touched += [(report.session, report.at_us) for report in changed]
    return touched


def _counted(reports: Sequence[_Report], *, two_sources: bool) -> tuple[_Report, dict[_Report, int]]:
    """The one that counts, and of those that ever did the place in the log where each last began to, or stopped.

    Of requests it is the larger of the best of two sources, since versions of two readers tell nothing of each other.
    """
    best: dict[bool, _Report] = {}
    turned: dict[_Report, int] = {}
    counted = reports[0]
    for report in sorted(reports, key=lambda report: (report.position, report.order)):
        source, before = two_sources and report.by_transcript, counted
        best[source] = min(best.get(source, report), report, key=lambda each: each.order)
        counted = min(best.values(), key=lambda each: (each.is_pass, -each.tokens, each.rank))
        if before != counted:
            turned |= {before: report.position, counted: report.position}
    return counted, turned


def _worse(reports: Sequence[_Report]) -> set[_Report]:
    """Of each pair, in the order of time, the one that does not count."""
    ordered = sorted(reports, key=lambda report: (report.at_us, report.record_id))
    logged = [report for report in ordered if not report.by_transcript]
    written = [report for report in ordered if report.by_transcript]
    worse: set[_Report] = set()
    while logged and written:
        apart_us = logged[0].at_us - written[0].at_us
        if abs(apart_us) <= _CLOSE_US:
            worse.add(max(logged.pop(0), written.pop(0), key=lambda report: report.order))
        else:
            (logged if apart_us < 0 else written).pop(0)
    return worse


def _write(
    db: sqlite3.Connection, report: _Report, superseded: bool, since: int, counted: _Report | None = None
) -> None:
    where = "WHERE agent_session_id = :session AND at_us = :at_us AND record_id = :record_id"
    told = report._asdict() | {"since": since, "superseded": superseded}
    db.execute(f"UPDATE observations SET superseded = :superseded {where}", told)
    # What is told of one time in two sessions is one row among the requests.
    if counted is None or not superseded or report[1:3] != counted[1:3]:
        changed = "changed_position = max(changed_position, :since)"
        db.execute(f"UPDATE requests SET superseded = :superseded, {changed} {where}", told)


# One prompt, wherever it was told: captures of one prompt in several sessions of a developer name the one that counts.
# They are one where two of three agree: the host's name of the prompt, its text, a request that it led to. It counts in
# the session that a plugin names, else a transcript, else telemetry; among equal ones in that of the earliest capture.


_BY_REQUEST = f"""
SELECT a.sign, a.capture_id FROM (
    SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM observations o WHERE o.twin = value LIMIT 1 OFFSET 1)
    LIMIT -1
) k CROSS JOIN askings a
ON a.place IN (SELECT o.rowid FROM observations o WHERE o.twin = k.value ORDER BY o.rowid DESC LIMIT {TOLD_MAX})
"""


# Those known are one: any of them will do.
_BY_NAME = f"""
SELECT k.value, (SELECT json_group_array(namesake) FROM (
    SELECT namesake FROM namesakes WHERE capture_id = k.value AND namesake <> k.value LIMIT {TOLD_MAX}
)) FROM json_each(?) k
"""


# Whose captures they are is known from the claim on, which may come after them.
_OF_CLAIMED = "SELECT capture_id FROM captures WHERE agent_session_id IN (SELECT value FROM json_each(?))"


def link_copies(db: sqlite3.Connection, rows: Rows) -> None:
    """Find the captures that are one prompt with these new ones, or by these new requests; note whose turns change."""
    new = [str(row[0]) for row in rows.captures]
    keys = {key for _, key in rows.touched_duplicates if key.startswith(OF_ANY_SESSION)}
    if new:
        query = "SELECT r.twin FROM json_each(?) k CROSS JOIN late_requests r ON r.capture_id = k.value"
        keys |= {key for (key,) in db.execute(query, (json_array(new),))}
    told = [name for name, _, _, host, digest, *_ in rows.captures if host is not None and digest is not None]
    if claimed := [session for session, *_ in rows.sessions]:
        told += [name for (name,) in db.execute(_OF_CLAIMED, (json_array(claimed),))]
    found = db.execute(_BY_NAME, (json_array(told),)) if told else ()
    alike = {name: {name, *msgspec.json.decode(names, type=list[str])} for name, names in found if names != "[]"}
    for sign, capture in db.execute(_BY_REQUEST, (json_array(sorted(keys)),)) if keys else ():
        alike.setdefault(sign, set()).add(capture)
    for captures in alike.values():
        if len(captures) > 1:
            _unite(db, rows, captures)


def _unite(db: sqlite3.Connection, rows: Rows, captures: Iterable[str]) -> None:
    """All of them, and what any of them was known to be a copy of, become copies of the one that counts."""
    query = (
        "SELECT c.agent_session_id, r.capture_id, r.agent_session_id, r.body FROM json_each(?) k "
        "JOIN captures c ON c.capture_id = k.value JOIN captures r ON r.capture_id = coalesce(c.copy_of, c.capture_id)"
    )
    found = db.execute(query, (json_array(sorted(captures)),)).fetchall()
    roots = {row[1:] for row in found}
    if len(roots) > 1 and len({session for session, *_ in found}) > 1:
        told = [(unpack(body, Capture), session, name) for name, session, body in roots]
        *_, home, first = min((LEADING.index(each.kind), each.at_us, home, name) for each, home, name in told)
        others = sorted(name for name, *_ in roots if name != first)
        among = "(SELECT value FROM json_each(:others))"
        update = "UPDATE captures SET copy_of = :first, home = :home WHERE"
        named = {"first": first, "home": home, "others": json_array(others)}
        db.execute(f"{update} capture_id IN {among} OR copy_of IN {among}", named)
        rows.touched_captures += [first, *others]
