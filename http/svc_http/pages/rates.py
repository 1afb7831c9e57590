"""A rate as a person reads it: "8 of 8 goals reached, too few to tell: 68 to 100 in 100 fits"."""

import msgspec

from aggregates.scores.grades import DECIDED_MIN, Interval, Tally
from projections.sub_sessions.goals import Outcome
from svc_http.pages.words import counted, number

_QUALIFIES = ("reached", "not_reached", "rework", "undecided")


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
        found = self.interval
        return "–" if found is None else f"{found.low:.0f} to {found.high:.0f}"

    @property
    def sentence(self) -> str:
        if not self.tally.total:
            return "No goal counts yet in this time."
        said = f"{number(self.reached)} of {counted(self.decided, 'goal')} reached"
        said += f", {number(self.undecided)} more undecided" if self.undecided else ""
        few = ", too few to tell: " if self.decided < DECIDED_MIN else "; "
        return f"{said}{few}{self.fits} in 100 fits."

    def moved(self, before: Outcome, after: Outcome) -> "Rate":
        """As it would be with one goal counted otherwise."""
        now = self.tally
        undecided = (after == "undecided") - (before == "undecided")
        return Rate(
            Tally(
                total=now.total + (after in _QUALIFIES) - (before in _QUALIFIES),
                crushed=now.crushed + (after == "reached") - (before == "reached"),
                undecided=now.undecided + undecided,
                possible=max(0, now.possible + undecided),
            )
        )
