"""Durable captures a second through /v1/prompts, beside a bare route, in the same run."""

import time

import msgspec
import trio
from rich.console import Console
from rich.table import Table

from tests.bench.load import Measured, prompt_body, put_load
from tests.bench.results import Result
from tests.bench.servers import Resident, bare_route, fresh_service

CONNECTIONS = 16


class Compared(msgspec.Struct, frozen=True):
    """One round: the bare route, the service, and how far behind its views were when the load ended."""

    bare: Measured
    captured: Measured
    behind_events: int
    level_seconds: float
    most: Resident

    @property
    def ratio(self) -> float:
        """Captures a second over bare requests a second."""
        return self.captured.per_second / self.bare.per_second


def compare_captures(requests: int, rounds: int, console: Console) -> list[Result]:
    """Print durable captures a second beside a bare route."""
    table = Table("round", "bare/s", "p50/p99 ms", "captures/s", "p50/p99 ms", "ratio", "views behind", "level after")
    all_rounds = []
    for number in range(rounds):
        compared = _round(requests)
        all_rounds.append(compared)
        table.add_row(
            str(number + 1),
            f"{compared.bare.per_second:,.0f}",
            f"{compared.bare.p50_ms:.1f} / {compared.bare.p99_ms:.1f}",
            f"{compared.captured.per_second:,.0f}",
            f"{compared.captured.p50_ms:.1f} / {compared.captured.p99_ms:.1f}",
            f"{compared.ratio:.2f}",
            f"{compared.behind_events:,} events",
            f"{compared.level_seconds:.2f} s",
        )
    console.print(table)
    console.print(f"captures: median ratio {_middle(all_rounds).ratio:.2f} to the bare route")
    return _results(_middle(all_rounds))


def _middle(all_rounds: list[Compared]) -> Compared:
    """The round of the median ratio."""
    return sorted(all_rounds, key=lambda each: each.ratio)[len(all_rounds) // 2]


def _results(middle: Compared) -> list[Result]:
    bare = f"bare route: {middle.bare.per_second:,.0f}/s; durable captures: {middle.captured.per_second:,.0f}/s"
    return [
        Result("captures, of the bare route", middle.ratio, "", 0.6, baseline=bare),
        Result(
            "memory under captures, server and child", sum(middle.most), "MiB", 300, at_most=True, baseline="the most"
        ),
    ]


def _round(requests: int) -> Compared:
    def load(port: int, headers: dict[str, str]) -> Measured:
        return trio.run(put_load, port, "/v1/prompts", headers, prompt_body, CONNECTIONS, requests)

    with bare_route() as port:
        bare = load(port, {})
    with fresh_service() as service:
        captured = load(service.port, service.headers)
        behind = service.behind_events()
        started = time.perf_counter()
        service.wait_until_level()
        level_seconds = time.perf_counter() - started
        most = service.server.most_resident()
    return Compared(bare, captured, behind, level_seconds, most)
