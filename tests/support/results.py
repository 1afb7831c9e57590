"""What the tools found, in one table: a figure beside its target, or a fault beside what must hold."""

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

BAR_CELLS = 30  # of which the first half is the way to the target
MOST_SHOWN = 2.0  # times the target; what is better than that fills the bar as well


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure, and its target where it has one."""

    what: str
    measured: float
    unit: str = ""
    target: float | None = None
    at_most: bool = False  # whether less is better
    baseline: str = ""  # what it was measured beside, in the same run

    @property
    def reach(self) -> float | None:
        """How far towards the target: 1 reaches it."""
        if self.target is None:
            return None
        if self.at_most:
            return self.target / self.measured if self.measured else MOST_SHOWN
        return self.measured / self.target if self.target else MOST_SHOWN

    @property
    def missed(self) -> bool:
        return self.reach is not None and self.reach < 1

    def number(self, value: float) -> str:
        shown = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
        return f"{shown} {self.unit}".strip()

    @property
    def wanted(self) -> str:
        return "" if self.target is None else f"{'≤' if self.at_most else '≥'} {self.number(self.target)}"

    @property
    def bar(self) -> Text:
        if self.reach is None:
            return Text()
        filled = round(min(self.reach, MOST_SHOWN) / MOST_SHOWN * BAR_CELLS)
        cells = "█" * filled + " " * (BAR_CELLS - filled)
        half = BAR_CELLS // 2
        return Text(f"{cells[:half]}│{cells[half:]}", style="red" if self.missed else "green")


class Outcome(msgspec.Struct):
    """One kind of fault, tried some times, and what must hold."""

    fault: str
    expected: str
    tried: int = 0
    seen: dict[str, int] = msgspec.field(default_factory=dict)
    """What was counted, by name: captures acknowledged, found, answers 503 …"""
    deviations: list[str] = msgspec.field(default_factory=list)  # whatever was not as expected, each with where to look
    left_out: str | None = None  # why it could not be tried on this machine

    def count(self, name: str, number: int = 1) -> None:
        self.seen[name] = self.seen.get(name, 0) + number

    def check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.deviations.append(otherwise)

    @property
    def verdict(self) -> Text:
        if self.left_out is not None:
            return Text("left out")
        return Text("DEVIATES", style="bold red") if self.deviations else Text("as expected", style="green")


def table_of(found: Sequence[Result | Outcome], title: str = "") -> Table:
    """Each with its verdict: for a figure a bar whose middle is the target."""
    table = Table("", "seen", "wanted", title=title)
    table.add_column("misses it     │ reaches it", no_wrap=True)
    table.add_column("beside")
    for each in found:
        if isinstance(each, Result):
            table.add_row(each.what, each.number(each.measured), each.wanted, each.bar, each.baseline)
        else:
            seen = each.left_out or ", ".join(f"{name} {number:,}" for name, number in each.seen.items())
            table.add_row(each.fault, seen, each.expected, each.verdict, f"{each.tried} times")
    return table


def all_hold(found: Sequence[Result | Outcome]) -> bool:
    return not any(each.missed if isinstance(each, Result) else each.deviations for each in found)


def told(found: Sequence[Result | Outcome], title: str = "") -> int:
    """Print the table and every deviation; the exit code: 1 where something does not hold."""
    console = Console(width=150)
    console.print(table_of(found, title))
    for each in found:
        if isinstance(each, Outcome):
            for deviation in each.deviations:
                console.print(f"{each.fault}: {deviation}", style="red", markup=False)
    return 0 if all_hold(found) else 1
