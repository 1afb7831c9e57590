"""What the process counts and measures, for Prometheus.

What the parts of the service know anyway is read from them when somebody asks. Labels are names of routes, signals,
agents and log messages, all of them bounded; there is never an id or a text of a person among them.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from shutil import disk_usage
from typing import Any
from uuid import UUID

import prometheus_client as prometheus
import trio
from eventsourcing.domain import EventSourcingError
from prometheus_client.core import CounterMetricFamily as Total, GaugeMetricFamily as Level, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from aggregates.capture.events import CapturePrompt, CaptureResponse, MetricsCaptured, RecordsCaptured, TracesCaptured
from aggregates.decide import AnyCommand
from aggregates.event import Refused, Reply
from aggregates.people.directory import Activation, Developer, Directory, Membership
from aggregates.times import US_PER_SECOND, iso
from svc import __version__
from svc.actors.actors import ActorContext, Actors
from svc.archive.folder import ARCHIVE, ARCHIVE_MANIFEST
from svc.jobs.catalog import Catalog
from svc.log.folder import running
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER
from svc.log.store import READS, EventStore
from svc.maintenance.backup import ScheduledBackups
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import open_reader, rules_of
from svc_http import ports

STATUS_COUNT_SECONDS = 5.0  # how long `svc status` counts events of each kind before it does without: some ten million

COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
"""An fsync takes a fraction of a millisecond on a good disk; beyond a second something is wrong."""
READ_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)  # they wait 2 s at most
AGENTS = frozenset({"claude-code", "codex", "gemini", "copilot", "opencode", "svc"})
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE"})
OTHER = "other"  # any other agent, which a client may name as it likes, and any other method
_FOLDERS = {ARCHIVE: "archive", KEYS_FOLDER: "keys"}
_FILES = {EVENTS_FILE: "log", "views": "views", ARCHIVE_MANIFEST: "archive"}  # how names of files there begin


class Metrics:
    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        for collector in (prometheus.ProcessCollector, prometheus.PlatformCollector, prometheus.GCCollector):
            collector(registry=self.registry)
        self.commits = prometheus.Histogram(
            "svc_commit_seconds", "Synced transactions of the log.", buckets=COMMIT_SECONDS, registry=self.registry
        )
        self._reads = prometheus.Histogram(
            "svc_read_seconds", "Answered reads, by route.", ["route"], buckets=READ_SECONDS, registry=self.registry
        )
        build = prometheus.Gauge("svc_build_info", "The version that runs.", ["version"], registry=self.registry)
        build.labels(__version__).set(1)
        self._captures = self._counter("svc_captures", "Captures stored, or known already.", "signal", "source")
        self._records = self._counter("svc_telemetry_records", "Telemetry records and points in them.", "signal")
        about = "Answered requests; 499: the client had hung up."
        self._requests = self._counter("svc_http_requests", about, "listener", "method", "route", "status")
        # To the embedded judges every new prompt is handed once, as it is projected.
        self._judge_calls = self._counter("svc_judge_calls", "What was handed to judges.", "judge", "outcome")
        about = "Tokens that a text model took, or may have taken, by kind of question."
        self._model_tokens = self._counter("svc_model_tokens", about, "kind")
        self.errors = self._counter("svc_errors", "Lines of the log at level error, by their message.", "error")

    def _counter(self, name: str, about: str, *labels: str) -> prometheus.Counter:
        return prometheus.Counter(name, about, labels, registry=self.registry)

    def carried_out(self, command: AnyCommand, reply: Reply) -> None:
        if isinstance(reply, Refused):
            return
        records, prompts = -1, 0
        match command:
            case CapturePrompt(source=source):
                signal, prompts = "prompts", 1
            case CaptureResponse():
                signal, source = "responses", OTHER
            case RecordsCaptured(source=source):
                signal = "traces" if isinstance(command, TracesCaptured) else "logs"
                records, prompts = len(command.records), sum(each.kind == "prompt" for each in command.records)
            case MetricsCaptured(source=source):
                signal, records = "metrics", len(command.points)
            case _:
                return
        self._captures.labels(signal, source if source in AGENTS else OTHER).inc()
        if records >= 0:
            self._records.labels(signal).inc(records)
        if reply.created:
            self._judge_calls.labels("embedded", "ok").inc(prompts)

    def asked(self, kind: str, outcome: str, tokens: int) -> None:
        """Count a question to a text model, or why none was asked."""
        self._judge_calls.labels(f"model:{kind}", outcome).inc()
        self._model_tokens.labels(kind).inc(tokens)

    def observe(self, listener: str, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(listener, method if method in METHODS else OTHER, route, status).inc()
        if method == "GET" and status == 200:
            self._reads.labels(route).observe(seconds)

    def text(self, accept: str) -> tuple[bytes, str]:
        """Everything, in the format an Accept header prefers, and its media type."""
        encode, media = choose_encoder(accept)
        return encode(self.registry), media


@dataclass(eq=False)
class Instruments(Collector):
    _var: Path
    _context: ActorContext
    _actors: Actors
    _projector: Projector
    _rebuilding: Rebuilding
    _catalog: Catalog
    metrics: Metrics
    _backups: ScheduledBackups | None

    def __post_init__(self) -> None:
        self._started_us = self._context.clock.now_us()
        self.metrics.registry.register(self)
        self._context.journal.committed = self.metrics.commits.observe

    def collect(self) -> Iterator[Metric]:
        journal, projector, served = self._context.journal, self._projector, self._catalog.served
        commits, waiting = journal.counts, self._actors.waiting()
        yield Total("svc_commits", "Transactions that became durable.", commits.commits)
        yield Total("svc_events", "Events that became durable.", commits.events)
        yield Total("svc_commit_conflicts", "Appends that the store refused.", commits.conflicts)
        about = "Transactions and probes that found the store not writable."
        yield Total("svc_commit_failures", about, commits.failures)
        yield Total("svc_saturated", "Appends refused because too much waited.", commits.saturated)
        yield Level("svc_commit_waiting_appends", "Appends that wait for the journal.", journal.waiting)
        yield Level("svc_store_writable", "1 while the last write went through.", journal.healthy)
        yield Level("svc_mailbox_commands", "Commands that wait in the mailboxes of actors.", waiting.commands)
        yield Level("svc_actors", "Developers that have an actor.", waiting.developers)
        yield Level("svc_flight_bytes", "Bytes of commands on their way to the disk.", waiting.bytes)
        yield Level("svc_log_position", "The last position of the log.", journal.head)
        yield Level("svc_projection_position", "The last position that the views hold.", projector.position)
        yield Level("svc_projection_lag_events", "Events that the views do not hold yet.", self._lag())
        yield Level("svc_projection_level", "1 once the views have caught up since the start.", projector.is_level)
        yield Total("svc_projection_steps", "Batches that were projected.", projector.steps)
        yield Total("svc_projection_failures", "Batches that failed and were tried again.", projector.failures)
        refused = Total(
            "svc_budget_refusals", "Requests answered 429, by the allowance that was used up.", labels=["budget"]
        )
        used = Level("svc_budget_used", "By whoever has used most of an allowance; 1: all of it.", labels=["budget"])
        for each in self._context.budgets.shown(self._context.clock.now_us()):
            refused.add_metric([each.name], each.refused)
            used.add_metric([each.name], each.used)
        yield from (refused, used)
        revision = served.snapshot.catalog_revision if served else 0
        yield Level("svc_catalog_revision", "The served revision; 0: none.", revision)
        if self._backups is not None:
            age = self._backups.age_seconds()
            about = "Seconds since the newest scheduled backup was begun; infinite where there is none."
            yield Level("svc_backup_age_seconds", about, inf if age is None else age)
            yield Total("svc_backup_failures", "Scheduled backups that failed.", self._backups.failures)
        yield Level("svc_catalog_stale", "1 where the last refresh failed.", bool(served and served.stale))

    def _lag(self) -> int:
        return max(self._context.journal.head - self._projector.position, 0)

    async def status(
        self, developers: list[ports.DeveloperStatus], model: ports.ModelShown | None, *, writable: bool, by_kind: bool
    ) -> ports.Status:
        server = running(self._var)
        if server is not None and server.pid != os.getpid():  # a command looks at the folder of one that is gone
            server = None
        now_us, served = self._context.clock.now_us(), self._catalog.served
        return ports.Status(
            state="stopped" if server is None else "serving",
            version=__version__,
            process_id=server.pid if server else None,
            intake=server.intake if server else None,
            api=server.api if server else None,
            started_at=iso(self._started_us) if server else None,
            uptime_seconds=(now_us - self._started_us) // US_PER_SECOND if server else None,
            waiting=self._actors.waiting(),
            catalog=None
            if served is None
            else ports.CatalogShown(
                revision=served.snapshot.catalog_revision,
                published_at=iso(served.snapshot.published_at_us),
                refreshed_at=iso(served.refreshed_at_us),
                stale=served.stale,
                fault=served.fault,
                models=len(served.snapshot.exact_lookups),
            ),
            replay=self._rebuilding.shown(),
            developers=developers,
            budgets=self._context.budgets.shown(now_us),
            model=model,
            **await trio.to_thread.run_sync(self._on_disk, writable, by_kind, limiter=READS),
        )

    def _on_disk(self, writable: bool, by_kind: bool) -> dict[str, Any]:
        context, projector, keys = self._context, self._projector, self._context.store.vault.keys
        with projector.readers.reading() as db:
            (failed,) = db.execute("SELECT count(*) FROM failed").fetchone()
        events = _counted(self._var, context.store) if by_kind else None
        return {
            "log": ports.LogShown(head=context.journal.head, writable=writable, events=events),
            "views": ports.ViewsShown(
                file=projector.readers.path.name,
                rules_version=rules_of(projector.readers.path),
                position=projector.position,
                lag_events=self._lag(),
                level=projector.is_level,
                failed_events=failed,
            ),
            "archive": _archive(self._var),
            "disk_bytes": _sizes(self._var),
            "disk_free_bytes": disk_usage(self._var).free,
            "missing_keys": sorted(map(str, (keys.listed() or frozenset()) - keys.there())),
            "backups": None if self._backups is None else self._backups.shown(),
        }


def developers_shown(
    directory: Directory, activation: Mapping[UUID, Activation], arrivals: ports.Arrivals
) -> list[ports.DeveloperStatus]:
    members = {each.developer_id for each in directory.all(Membership, active=True)}
    return [
        ports.DeveloperStatus(
            developer_id=str(each.developer_id),
            display_name=each.display_name,
            activation=activation.get(each.developer_id, "waiting"),
            active=each.developer_id in members,
            unusable_email=None if (each.email or "").isascii() else each.email,
            unknown_agents=arrivals.unread(each.developer_id),
        )
        for each in directory.all(Developer)
    ]


def _archive(var: Path) -> ports.ArchiveShown | None:
    state = "coalesce((SELECT position FROM state), 0)"
    query = f"SELECT {state}, count(*), coalesce(sum(row_count), 0), coalesce(sum(byte_count), 0) FROM files"
    for position, files, count, size in _asked(var / ARCHIVE_MANIFEST, query) or ():
        return ports.ArchiveShown(position=position, files=files, rows=count, bytes=size)
    return None


def _sizes(var: Path) -> dict[str, int]:
    sizes = dict.fromkeys(("log", "views", "archive", "keys", "other"), 0)
    for folder, _, names in os.walk(var):
        for name in names:
            path = Path(folder, name)
            first = path.relative_to(var).parts[0]
            file = next((part for start, part in _FILES.items() if first.startswith(start)), "other")
            with suppress(FileNotFoundError):
                sizes[_FOLDERS.get(first, file)] += path.stat().st_size
    return sizes


def _counted(var: Path, store: EventStore) -> dict[str, int] | None:
    """Events by kind; None where the store cannot count just now, or it takes too long."""
    if store.shared is None:
        counts = _asked(var / EVENTS_FILE, "SELECT topic, count(*) FROM stored_events GROUP BY topic ORDER BY topic")
        return None if counts is None else dict(counts)
    try:
        query = "SELECT topic, count(*) AS events FROM {schema}.stored_events GROUP BY topic ORDER BY topic"
        return {row["topic"]: row["events"] for row in store.shared.rows(query)}
    except EventSourcingError:
        return None


def _asked(path: Path, query: str) -> list[Any] | None:
    """The rows; None where the file is missing or unreadable, or it takes too long."""
    until = time.monotonic() + STATUS_COUNT_SECONDS
    try:
        with closing(open_reader(path)) as db:
            db.set_progress_handler(lambda: time.monotonic() > until, 100_000)
            return db.execute(query).fetchall()
    except sqlite3.Error:
        return None
