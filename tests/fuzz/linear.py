"""Searches for texts that cost more than linear time, in all that reads what users send. A text is prefix + unit * n +
suffix; its cost is measured at one length and at four times that: a linear target takes four times as long."""

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType

import click
from rich.console import Console
from rich.progress import track

Cost = Callable[[Callable[[str], object], str], float]
"""What a call with this text costs; in seconds, where nothing else is said."""
SHORT_CHARS = 4_096
TIMES_LONGER = 4
GROWTH_MAX = 8.0  # between linear (4) and quadratic (16): n**1.5
SECONDS_PER_KIB_MAX = 0.02  # so dear nothing may be, whatever its growth: a constant may be as bad as a power
NOISE_SECONDS = 0.004  # below this a growth says nothing
CALL_SECONDS_MAX = 5
WINNERS_MAX = 6
_SUFFIXES = ("", "", "!", "\n", "\x00", " x", "\n.")
_COMMON = (" ", "\n", "\t", "a", "A", "0", ".", "-", "_", "/", '"', "'", "<", ">", "(", "[", "{", "\\", "é", "…")


@dataclass
class Target:
    """Something that reads users' text, and the pieces that it looks for."""

    name: str
    run: Callable[[str], object]
    pieces: Sequence[str] = ()
    short_chars: int = SHORT_CHARS
    per_kib_matters: bool = True
    """Whether its cost has a bound for each KiB; a letter that stands for a whole record has none."""
    winners: list[tuple[float, str, str, str]] = field(default_factory=list)
    """The dearest texts so far: cost, prefix, unit, suffix."""


@dataclass(frozen=True)
class Fault:
    target: str
    prefix: str
    unit: str
    suffix: str
    growth: float
    per_kib: float

    def __str__(self) -> str:
        text = f"{self.prefix!r} + {self.unit!r} * n + {self.suffix!r}"
        return f"{self.target}: {text} grows {self.growth:.1f} times, costs {1_000 * self.per_kib:.1f} ms a KiB"


class _TooLong(BaseException):
    """None that a target may take for one of its own."""


def cpu_seconds(run: Callable[[str], object], text: str) -> float:
    """CPU time of one call; a call over the limit is ended, and costs as much as the limit."""
    with _limited(CALL_SECONDS_MAX):
        began = time.thread_time()
        try:
            run(text)
        except _TooLong:
            return float(CALL_SECONDS_MAX)
        except Exception:
            pass  # a refusal is an answer: here only what it took counts
        return time.thread_time() - began


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def tried(target: Target, chance: Random, cost: Cost = cpu_seconds, noise: float = NOISE_SECONDS) -> Fault | None:
    """One text more; a fault is measured again, by the least of three calls."""
    prefix, unit, suffix = _drawn(target, chance)
    growth, dear, kib = _measured(target, (prefix, unit, suffix), cost)
    target.winners = sorted([*target.winners, (dear / kib, prefix, unit, suffix)], reverse=True)[:WINNERS_MAX]
    if not _is_fault(target, growth, dear / kib, dear > noise):
        return None
    again = [_measured(target, (prefix, unit, suffix), cost) for _ in range(3 if dear < 1 else 1)]
    growth, dear = min(each[0] for each in again), min(each[1] for each in again)
    fault = Fault(target.name, prefix, unit, suffix, growth, dear / kib)
    return fault if _is_fault(target, growth, dear / kib, dear > noise) else None


def _is_fault(target: Target, growth: float, per_kib: float, tells: bool) -> bool:
    return tells and (growth > GROWTH_MAX or (target.per_kib_matters and per_kib > SECONDS_PER_KIB_MAX))


def _measured(target: Target, drawn: tuple[str, str, str], cost: Cost) -> tuple[float, float, float]:
    """Growth, cost of the longer text, and its KiB."""
    prefix, unit, suffix = drawn
    times = max(target.short_chars // len(unit), 1)
    short, long = (prefix + unit * (times * longer) + suffix for longer in (1, TIMES_LONGER))
    cheap, dear = cost(target.run, short), cost(target.run, long)
    return dear / max(cheap, 1e-9), dear, len(long) / 1_024


def _drawn(target: Target, chance: Random) -> tuple[str, str, str]:
    if target.winners and chance.random() < 0.4:
        _, prefix, unit, suffix = chance.choice(target.winners)
        return prefix, _changed(unit, target, chance), suffix
    prefix = _some(target, chance, 2) if chance.random() < 0.5 else ""
    suffix = _some(target, chance, 1) if chance.random() < 0.2 else chance.choice(_SUFFIXES)
    return prefix, _some(target, chance, chance.choice((1, 1, 1, 2, 2, 3, 5))) or "a", suffix


def _some(target: Target, chance: Random, count: int) -> str:
    return "".join(
        chance.choice(target.pieces if target.pieces and chance.random() < 0.75 else _COMMON) for _ in range(count)
    )


def _changed(unit: str, target: Target, chance: Random) -> str:
    at = chance.randrange(len(unit))
    more = _some(target, chance, 1)
    changed = (unit[:at] + more + unit[at:], unit[:at] + unit[at + 1 :], unit[:at] + more, unit + unit[:at])
    return chance.choice(changed) or more


def search(targets: Sequence[Target], seconds: float, seed: int) -> list[Fault]:
    """Goes round all targets until the time is over; a target with a fault is left out from then on."""
    chance, faults, until = Random(seed), list[Fault](), time.monotonic() + seconds
    open_targets, tries = list(targets), 0
    console = Console(stderr=True)
    for _ in track(iter(lambda: time.monotonic() >= until, True), f"seed {seed}", total=None, console=console):
        for target in list(open_targets):
            tries += 1
            fault = tried(target, chance)
            if fault is not None:
                faults.append(fault)
                open_targets.remove(target)
                console.print(str(fault), markup=False, soft_wrap=True)
            if time.monotonic() >= until:
                break
    console.print(f"{tries} texts over {len(targets)} targets, {len(faults)} faults")
    return faults


@click.command()
@click.option("--seconds", default=600.0, show_default=True, help="How long to search.")
@click.option("--seed", default=1, show_default=True, help="Which texts are drawn.")
@click.option("--only", default="", help="Targets whose name holds this.")
@click.option("--without", default="\0", help="Targets whose name holds this are left out.")
def main(seconds: float, seed: int, only: str, without: str) -> None:
    """Searches for texts that cost more than linear time.

    Example: python -m tests.fuzz.linear --seconds 600 --only aggregates.reading"""
    from tests.fuzz.readers import targets

    chosen = [each for each in targets() if only in each.name and without not in each.name]
    sys.exit(1 if search(chosen, seconds, seed) else 0)


if __name__ == "__main__":
    main()
