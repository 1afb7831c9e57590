"""The expected and the seen outcome of a fault."""

import msgspec


class Outcome(msgspec.Struct):
    """One kind of fault, tried some times."""

    fault: str
    expected: str
    tried: int = 0
    seen: dict[str, int] = msgspec.field(default_factory=dict)
    """What was counted, by name: captures acknowledged, found, answers 503 …"""
    deviations: list[str] = msgspec.field(default_factory=list)
    """Whatever was not as expected, each with where to look."""
    left_out: str | None = None
    """Why it could not be tried on this machine."""

    def count(self, name: str, number: int = 1) -> None:
        """So many more of something were seen."""
        self.seen[name] = self.seen.get(name, 0) + number

    def check(self, holds: bool, otherwise: str) -> None:
        """Something must hold."""
        if not holds:
            self.deviations.append(otherwise)

    def verdict(self) -> str:
        """In a word."""
        if self.left_out is not None:
            return "left out"
        return "DEVIATES" if self.deviations else "as expected"
