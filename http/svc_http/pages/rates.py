"""A rate as a person reads it: "8 of 8 goals reached, too few to tell: 68 to 100 in 100 fits"."""

import msgspec

from projections.scores.score import Counts
from projections.sub_sessions.goals import Outcome
from svc_http.pages.words import counted, number

_DECIDED = ("reached", "not_reached", "rework")
TOLD_MIN = 10
"""Below so many decided goals a rate has no letter, and a page says that they are few."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """Of the goals that count in some time."""

    reached: int
    counted: int
    """Decided ones."""
    undecided: int
    low: float | None
    high: float | None
    """What fits, in 100; None where nothing counts."""

    @property
    def fits(self) -> str:
        return "–" if self.low is None or self.high is None else f"{self.low:.0f} to {self.high:.0f}"

    @property
    def has_undecided(self) -> bool:
        return self.undecided > 0

    @property
    def sentence(self) -> str:
        if not self.counted + self.undecided:
            return "No goal counts yet in this time."
        said = f"{number(self.reached)} of {counted(self.counted, 'goal')} reached"
        said += f", {number(self.undecided)} more undecided" if self.undecided else ""
        if self.low is None:
            return f"{said}."
        few = ", too few to tell: " if self.counted < TOLD_MIN else "; "
        return f"{said}{few}{self.fits} in 100 fits."

    def moved(self, before: Outcome, after: Outcome) -> "Rate":
        """As it would be with one goal counted otherwise; what fits is told once it is so."""
        more = (after in _DECIDED) - (before in _DECIDED)
        return Rate(
            reached=self.reached + (after == "reached") - (before == "reached"),
            counted=self.counted + more,
            undecided=self.undecided + (after == "undecided") - (before == "undecided"),
            low=None,
            high=None,
        )


def rate_of(counts: Counts) -> Rate:
    return Rate(
        reached=counts.crushed_count,
        counted=counts.total_count,
        undecided=0,
        low=None,
        high=None,
    )
