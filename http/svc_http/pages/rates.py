"""A rate as a person reads it: "8 of 8 goals reached, too few to tell: likely between 68 and 100 percent"."""

import msgspec

from aggregates.scores.grades import DECIDED_MIN, Interval, Tally
from svc_http.pages.words import counted, number


def likely(found: Interval | None) -> str:
    return "–" if found is None else f"{found.low:.0f} to {found.high:.0f}"


def told(reached: int, decided: int, undecided: int, interval: Interval | None) -> str:
    """In one sentence, with what is likely."""
    if interval is None:
        return "No goal counts yet in this time."
    said = f"{number(reached)} of {counted(decided, 'goal')} reached"
    said += f", {number(undecided)} more undecided" if undecided else ""
    few = ", too few to tell: " if decided < DECIDED_MIN else "; "
    return f"{said}{few}likely between {interval.low:.0f} and {interval.high:.0f} percent."


class Rate(msgspec.Struct, frozen=True):
    """Of the goals that count in some time."""

    tally: Tally

    @property
    def reached(self) -> int:
        return self.tally.crushed

    @property
    def decided(self) -> int:
        return self.tally.decided

    @property
    def undecided(self) -> int:
        return self.tally.undecided

    @property
    def interval(self) -> Interval | None:
        return self.tally.interval()

    @property
    def fits(self) -> str:
        return likely(self.interval)

    @property
    def sentence(self) -> str:
        return told(self.reached, self.decided, self.undecided, self.interval)
