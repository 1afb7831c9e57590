"""What the process counts and measures, for Prometheus.

Counting must cost a capture next to nothing, so what happens often is added up in plain dictionaries on the one thread
of the loop, and becomes metrics only when somebody asks; what the parts of the service know anyway is read from them
then. Nothing is global: each service has its own registry. Labels are names of routes, signals, agents and log
messages, all of them bounded; there is never an id or a text of a person among them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from aggregates.capture.commands import CaptureMetrics, CapturePrompt, CaptureRecords, CaptureResponse
from aggregates.command import Refused, Reply
from aggregates.decide import AnyCommand
from svc import __version__

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
