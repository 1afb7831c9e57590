"""What the process counts and measures, for Prometheus.

Counting must cost a capture next to nothing, so what happens often is added up in plain dictionaries on the one thread
of the loop, and becomes metrics only when somebody asks; what the parts of the service know anyway is read from them
then. Nothing is global: each service has its own registry. Labels are names of routes, signals, agents and log
messages, all of them bounded; there is never an id or a text of a person among them.
"""

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import trio
from prometheus_client import CollectorRegistry, GCCollector, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from aggregates.capture.commands import CaptureMetrics, CapturePrompt, CaptureRecords, CaptureResponse
from aggregates.decide import AnyCommand
from aggregates.event import Refused, Reply
from aggregates.people.directory import Developer, Directory, Membership
from aggregates.times import iso
from projections.facts.facts import Activation
from svc import __version__
from svc.actors.actors import Actors
from svc.jobs.catalog import Catalog
from svc.limits import STATUS_COUNT_SECONDS
from svc.log.folder import Clock, running
from svc.log.journal import Journal
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER
from svc.log.vault import FileKeys
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import RULES_VERSION
from svc_http.ports import ArchiveShown, CatalogShown, DeveloperStatus, LogShown, Status, ViewsShown, Waiting

COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
"""An fsync takes a fraction of a millisecond on a good disk; beyond a second something is wrong."""
READ_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
"""Reads wait two seconds at most for the views."""
AGENTS = frozenset({"claude-code", "codex", "gemini", "copilot", "svc"})
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE"})
EMBEDDED = ("embedded", "ok")
OTHER = "other"
"""Any other agent, which a client may name as it likes, and any other method."""


class Counters:
    """Counts while the service runs."""

    def __init__(self) -> None:
        self.captures: Counter[tuple[str, str]] = Counter()
        """(Signal, agent) → captures that were stored or known."""
        self.records: Counter[str] = Counter()
        """Signal → telemetry records and points in them."""
        self.requests: Counter[tuple[str, str, str, int]] = Counter()
        """(Listener, method, route, status) → answers."""
        self.judge_calls: Counter[tuple[str, str]] = Counter()
        """(Judge, outcome) → what was handed to it: to the embedded ones every new prompt, once, as it is projected."""
        self.model_tokens: Counter[str] = Counter()
        """Kind of question → tokens that a text model took for it, or may have taken."""
        self.errors: Counter[str] = Counter()
        """Message of the log → lines at level error."""

    def carried_out(self, command: AnyCommand, reply: Reply) -> None:
        if isinstance(reply, Refused):
            return
        match command:
            case CapturePrompt(source=source):
                self.captures["prompts", source if source in AGENTS else OTHER] += 1
                self.judge_calls[EMBEDDED] += reply.created
            case CaptureResponse():
                self.captures["responses", OTHER] += 1
            case CaptureRecords(signal=signal, source=source, records=records):
                self.captures[signal, source if source in AGENTS else OTHER] += 1
                self.records[signal] += len(records)
                self.judge_calls[EMBEDDED] += reply.created and sum(each.kind == "prompt" for each in records)
            case CaptureMetrics(source=source, points=points):
                self.captures["metrics", source if source in AGENTS else OTHER] += 1
                self.records["metrics"] += len(points)
            case _:
                pass

    def asked(self, kind: str, outcome: str, tokens: int) -> None:
        """Count a question to a text model, or why none was asked."""
        self.judge_calls[f"model:{kind}", outcome] += 1
        self.model_tokens[kind] += tokens

    def answered(self, listener: str, method: str, route: str, status: int) -> None:
        self.requests[listener, method if method in METHODS else OTHER, route, status] += 1

    def collect(self) -> Iterator[Metric]:
        yield _counter("svc_captures", "Captures stored, or known already.", ("signal", "source"), self.captures)
        records = {(signal,): count for signal, count in self.records.items()}
        yield _counter("svc_telemetry_records", "Telemetry records and points in them.", ("signal",), records)
        labels = ("listener", "method", "route", "status")
        requests = {(*key[:3], str(key[3])): count for key, count in self.requests.items()}
        yield _counter("svc_http_requests", "Answered requests; 499: the client had hung up.", labels, requests)
        yield _counter("svc_judge_calls", "What was handed to judges.", ("judge", "outcome"), self.judge_calls)
        tokens = {(kind,): count for kind, count in self.model_tokens.items()}
        yield _counter("svc_model_tokens", "Tokens of the text model, by kind of question.", ("kind",), tokens)
        errors = {(message,): count for message, count in self.errors.items()}
        yield _counter("svc_errors", "Lines of the log at level error, by their message.", ("error",), errors)


class Metrics(Collector):
    """The registry of one service."""

    def __init__(self, tallies: Counters, now: Callable[[], Iterable[Metric]]) -> None:
        """`now`: metrics read from the parts of the service when asked."""
        self._tallies = tallies
        self._now = now
        self._registry = CollectorRegistry()
        self._commits = Histogram(
            "svc_commit_seconds", "Synced transactions of the log.", buckets=COMMIT_SECONDS, registry=self._registry
        )
        reads = Histogram(
            "svc_read_seconds", "Answered reads, by route.", ["route"], buckets=READ_SECONDS, registry=self._registry
        )
        self._reads = reads
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(self)

    def committed(self, seconds: float) -> None:
        """Observe a transaction; from any thread."""
        self._commits.observe(seconds)

    def observe(self, listener: str, method: str, route: str, status: int, seconds: float) -> None:
        self._tallies.answered(listener, method, route, status)
        if method == "GET" and status == 200:
            self._reads.labels(route).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("svc_build_info", "The version that runs.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield from self._tallies.collect()
        yield from self._now()

    def text(self, accept: str) -> tuple[bytes, str]:
        """Everything, in the format an Accept header prefers, and its media type."""
        encode, media = choose_encoder(accept)
        return encode(self._registry), media


def _counter(name: str, about: str, labels: tuple[str, ...], counts: Mapping[Any, int]) -> Metric:
    found = CounterMetricFamily(name, about, labels=list(labels))
    for values, count in sorted(counts.items()):
        found.add_metric(list(values), count)
    return found


def gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=value)


def total(name: str, about: str, value: float) -> Metric:
    return CounterMetricFamily(name, about, value=value)


# What an operator sees of the running service: its metrics, and a picture of it as it is now.

ARCHIVE_FOLDER = "archive"
ARCHIVE_FILE = "archive.db"
_PROGRESS_STEPS = 100_000


class Parts(NamedTuple):
    var: Path
    journal: Journal
    actors: Actors
    projector: Projector
    rebuilding: Rebuilding
    catalog: Catalog
    clock: Clock


class Instruments:
    """Looks at the parts of a service without changing any."""

    def __init__(self, parts: Parts, tallies: Counters) -> None:
        self._parts = parts
        self._started_us = parts.clock.now_us()
        self.tallies = tallies
        self.metrics = Metrics(tallies, self._now)
        parts.journal.watch(self.metrics.committed)

    def _now(self) -> Iterator[Metric]:
        journal, actors, projector = self._parts.journal, self._parts.actors, self._parts.projector
        commits, waiting = journal.statistics(), actors.waiting()
        yield total("svc_commits", "Transactions that became durable.", commits.commits)
        yield total("svc_events", "Events that became durable.", commits.events)
        yield total("svc_commit_conflicts", "Appends that the store refused.", commits.conflicts)
        yield total(
            "svc_commit_failures", "Transactions and probes that found the store not writable.", commits.failures
        )
        yield total("svc_saturated", "Appends refused because too much waited.", commits.saturated)
        yield gauge("svc_commit_waiting_appends", "Appends that wait for the journal.", commits.waiting_appends)
        yield gauge("svc_store_writable", "1 while the last write went through.", journal.healthy)
        yield gauge("svc_mailbox_commands", "Commands that wait in the mailboxes of actors.", waiting.commands)
        yield gauge("svc_actors", "Developers that have an actor.", waiting.developers)
        yield gauge("svc_flight_bytes", "Bytes of commands on their way to the disk.", waiting.bytes)
        yield gauge("svc_log_position", "The last position of the log.", journal.head)
        yield gauge("svc_projection_position", "The last position that the views hold.", projector.position)
        yield gauge("svc_projection_lag_events", "Events that the views do not hold yet.", self._lag())
        yield gauge("svc_projection_level", "1 once the views have caught up since the start.", projector.is_level)
        yield total("svc_projection_steps", "Batches that were projected.", projector.steps)
        yield total("svc_projection_failures", "Batches that failed and were tried again.", projector.failures)
        served = self._parts.catalog.served
        yield gauge(
            "svc_catalog_revision", "The served revision; 0: none.", served.snapshot.catalog_revision if served else 0
        )
        yield gauge("svc_catalog_stale", "1 where the last refresh failed.", bool(served and served.stale))

    def _lag(self) -> int:
        return max(self._parts.journal.head - self._parts.projector.position, 0)

    async def status(self, directory: Directory, activation: Mapping[UUID, Activation], *, writable: bool) -> Status:
        parts = self._parts
        server = running(parts.var)
        serves = server is not None and server.pid == os.getpid()
        events, archive, sizes = await trio.to_thread.run_sync(_looked_up, parts.var)
        waiting = parts.actors.waiting()
        return Status(
            state="serving" if serves else "stopped",
            version=__version__,
            process_id=os.getpid() if serves else None,
            intake=server.intake if server is not None and serves else None,
            api=server.api if server is not None and serves else None,
            started_at=iso(self._started_us) if serves else None,
            uptime_seconds=(parts.clock.now_us() - self._started_us) // 1_000_000 if serves else None,
            log=LogShown(head=parts.journal.head, writable=writable, events=events),
            views=await trio.to_thread.run_sync(self._views),
            waiting=Waiting(developers=waiting.developers, commands=waiting.commands, bytes=waiting.bytes),
            archive=archive,
            catalog=self._catalog(),
            replay=parts.rebuilding.status,
            developers=_developers(directory, activation),
            disk_bytes=sizes,
            missing_keys=[str(each) for each in await trio.to_thread.run_sync(_missing_keys, parts.var)],
        )

    def _views(self) -> ViewsShown:
        projector = self._parts.projector
        with projector.readers.reading() as db:
            (failed,) = db.execute("SELECT count(*) FROM failed").fetchone()
        return ViewsShown(
            file=projector.readers.path.name,
            rules_version=RULES_VERSION,
            position=projector.position,
            lag_events=self._lag(),
            level=projector.is_level,
            failed_events=failed,
        )

    def _catalog(self) -> CatalogShown | None:
        served = self._parts.catalog.served
        if served is None:
            return None
        return CatalogShown(
            revision=served.snapshot.catalog_revision,
            published_at=iso(served.snapshot.published_at_us),
            refreshed_at=iso(served.refreshed_at_us),
            stale=served.stale,
            models=len(served.snapshot.exact_lookups),
        )


def _developers(directory: Directory, activation: Mapping[UUID, Activation]) -> list[DeveloperStatus]:
    members = {each.developer_id for each in directory.all(Membership) if each.active}
    return [
        DeveloperStatus(
            developer_id=str(each.developer_id),
            display_name=each.display_name,
            activation=activation.get(each.developer_id, "waiting"),
            active=each.developer_id in members,
        )
        for each in directory.all(Developer)
    ]


def _looked_up(var: Path) -> tuple[dict[str, int] | None, ArchiveShown | None, dict[str, int]]:
    return _events_by_kind(var), _archive(var), _sizes(var)


def _events_by_kind(var: Path) -> dict[str, int] | None:
    rows = _asked(var / EVENTS_FILE, "SELECT topic, count(*) FROM stored_events GROUP BY topic ORDER BY topic")
    return None if rows is None else {str(topic): int(count) for topic, count in rows}


def _archive(var: Path) -> ArchiveShown | None:
    query = (
        "SELECT (SELECT position FROM state), count(*), coalesce(sum(row_count), 0), coalesce(sum(byte_count), 0) "
        "FROM files"
    )
    rows = _asked(var / ARCHIVE_FILE, query)
    if not rows:
        return None
    position, files, count, size = rows[0]
    return ArchiveShown(position=position or 0, files=files, rows=count, bytes=size)


def _asked(path: Path, query: str) -> Sequence[tuple[int, ...]] | None:
    """The rows; None where the file is missing or unreadable, or it takes too long."""
    until = time.monotonic() + STATUS_COUNT_SECONDS
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            db.set_progress_handler(lambda: time.monotonic() > until, _PROGRESS_STEPS)
            return db.execute(query).fetchall()
    except sqlite3.Error:
        return None


def _missing_keys(var: Path) -> list[UUID]:
    keys = FileKeys(var / KEYS_FOLDER)
    return sorted((keys.listed() or frozenset()) - keys.there())


def _sizes(var: Path) -> dict[str, int]:
    sizes = {"log": 0, "views": 0, "archive": 0, "keys": 0, "other": 0}
    for folder, _, names in os.walk(var):
        for name in names:
            path = Path(folder, name)
            try:
                sizes[_part_of(path.relative_to(var))] += path.stat().st_size
            except FileNotFoundError:
                continue
    return sizes


def _part_of(path: Path) -> str:
    first = path.parts[0]
    if first.startswith(EVENTS_FILE):
        return "log"
    if first.startswith("views"):
        return "views"
    if first.startswith(ARCHIVE_FILE) or first == ARCHIVE_FOLDER:
        return "archive"
    return "keys" if first == KEYS_FOLDER else "other"
