"""Durable captures a second through /v1/prompts, next to a bare route: in one process."""

import msgspec
import trio
from rich.console import Console
from rich.table import Table

from tests.bench.load import Measured, prompt_body, put_load
from tests.bench.results import Result
from tests.bench.servers import bare_route, fresh_service

CONNECTIONS = 16
RATIO_MIN = 0.4
P99_TIMES_MAX = 4.0
"""A capture's p99 over that of the bare route, in one process."""
LEVEL_SECONDS_MAX = 5.0


class Compared(msgspec.Struct, frozen=True):
    """One round of one mode: the bare route, the service, and how far behind its views were when the load ended."""

    bare: Measured
    captured: Measured
    behind_events: int
    level_seconds: float
    most_mib: float

    @property
    def ratio(self) -> float:
        """Captures a second over bare requests a second."""
        return self.captured.per_second / self.bare.per_second

    @property
    def p99_times(self) -> float:
        """The p99 over that of the bare route."""
        return self.captured.p99_ms / self.bare.p99_ms


def compare_captures(requests: int, rounds: int, console: Console) -> list[Result]:
    """Print durable captures a second beside a bare route."""
    columns = ("bare/s", "p50/p99 ms", "captures/s", "p50/p99 ms", "ratio", "p99", "views behind", "level after", "MiB")
    table = Table("round", *columns)
    found = []
    for number in range(rounds):
        found.append(_round(requests))
        table.add_row(str(number + 1), *_row(found[-1]))
    console.print(table)
    return _results(_middle(found))


def _row(compared: Compared) -> list[str]:
    return [
        f"{compared.bare.per_second:,.0f}",
        f"{compared.bare.p50_ms:.1f} / {compared.bare.p99_ms:.1f}",
        f"{compared.captured.per_second:,.0f}",
        f"{compared.captured.p50_ms:.1f} / {compared.captured.p99_ms:.1f}",
        f"{compared.ratio:.2f}",
        f"{compared.p99_times:.1f} times",
        f"{compared.behind_events:,} events",
        f"{compared.level_seconds:.2f} s",
        f"{compared.most_mib:.0f}",
    ]


def _middle(all_rounds: list[Compared]) -> Compared:
    """The round of the median ratio."""
    return sorted(all_rounds, key=lambda each: each.ratio)[len(all_rounds) // 2]


def _results(middle: Compared) -> list[Result]:
    where = "one process"
    bare = f"bare route: {middle.bare.per_second:,.0f}/s; durable captures: {middle.captured.per_second:,.0f}/s"
    p99 = f"bare route: {middle.bare.p99_ms:.0f} ms; durable captures: {middle.captured.p99_ms:.0f} ms"
    level = f"{middle.behind_events:,} events behind after {middle.captured.requests:,} captures"
    return [
        Result(f"captures, of the bare route, {where}", middle.ratio, "", RATIO_MIN, baseline=bare),
        Result(
            f"a capture's p99, of the bare route's, {where}",
            middle.p99_times,
            "",
            P99_TIMES_MAX,
            at_most=True,
            baseline=p99,
        ),
        Result(
            f"views level after captures, {where}",
            middle.level_seconds,
            "s",
            LEVEL_SECONDS_MAX,
            at_most=True,
            baseline=level,
        ),
        Result(f"memory under captures, {where}", middle.most_mib, "MiB", 300, at_most=True, baseline="the most"),
    ]


def _round(requests: int) -> Compared:
    with bare_route() as port:
        bare = _load(port, {}, requests)
    with fresh_service() as service:
        captured = _load(service.port, service.headers, requests)
        behind = service.behind_events()
        return Compared(bare, captured, behind, service.level_seconds(), service.server.most_resident_mib())


def _load(port: int, headers: dict[str, str], requests: int) -> Measured:
    return trio.run(put_load, port, "/v1/prompts", headers, prompt_body, CONNECTIONS, requests)
