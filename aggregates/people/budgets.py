"""What one developer, or one address, may use of a server; whoever has used it up is asked to wait.

An allowance is a bucket that leaks: a whole window's use may come at once, and room for more comes back evenly. A use
is counted when it is known, so the last request before a refusal may go beyond it.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

import msgspec

from aggregates.times import US_PER_DAY, US_PER_SECOND

User = UUID | str  # a developer, or an address
US_PER_MINUTE = 60 * US_PER_SECOND
BYTES_PER_MEGABYTE = 1024 * 1024
USERS_MAX = 10_000  # whose use of an allowance is remembered; beyond it those are forgotten who used it longest ago
ADDRESS = ("address_requests_per_minute", "address_megabytes_per_minute")
DEVELOPER = ("requests_per_minute", "megabytes_per_minute", "cpu_seconds_per_minute")
DERIVING = "deriving_seconds_per_minute"
CAPTURES = ("sessions_per_day", "stored_megabytes_per_day", DERIVING)  # these keep nobody from reading
WRONG_KEYS = "wrong_keys_per_minute"
NAMES = (*DEVELOPER, *CAPTURES, *ADDRESS, WRONG_KEYS)  # each is a setting


class Exhausted(NamedTuple):
    """The allowance that is used up."""

    name: str
    most: int
    wait_seconds: int
    is_new: bool  # whether nobody was told before, since there last was room


class BudgetShown(msgspec.Struct, frozen=True):
    """An allowance of each developer or address; its name is the setting's."""

    name: str
    most: int  # 0: no bound
    used: float  # by whoever has used most of it: 1 is all of it
    used_by: str | None  # that developer's id, or that address
    refused: int  # requests answered 429 for it since the start


class _Use:
    __slots__ = ("at_us", "level_us", "told")

    def __init__(self) -> None:
        self.level_us = 0.0  # how long the use takes to leak away; a full window is as much as may be used
        self.at_us = 0
        self.told = False

    def leak(self, now_us: int) -> None:
        if now_us > self.at_us:  # a clock that was set back leaks nothing, and keeps nobody waiting for long
            self.level_us = max(self.level_us - (now_us - self.at_us), 0.0)
        self.at_us = now_us


class Budgets:
    """Who has used how much of what."""

    def __init__(self, most: Mapping[str, int]) -> None:
        """most: of each name, in a window; 0 or none: no bound."""
        self._most = {name: amount for name in NAMES if (amount := most.get(name, 0))}
        self._uses: dict[str, OrderedDict[User, _Use]] = {name: OrderedDict() for name in self._most}
        self.refused: Counter[str] = Counter()

    def use(self, name: str, user: User, amount: float, now_us: int) -> None:
        most = self._most.get(name)
        if most is None or not amount:
            return
        uses = self._uses[name]
        use = uses.get(user) or _Use()
        use.leak(now_us)
        window_us = _window_us(name)
        # Nobody waits for longer than a window, whatever one request turned out to be.
        use.level_us = min(use.level_us + amount * window_us / most, 2.0 * window_us)
        uses[user] = use
        uses.move_to_end(user)
        if len(uses) > USERS_MAX:
            uses.popitem(last=False)

    def exhausted(self, names: Iterable[str], user: User, now_us: int) -> Exhausted | None:
        """The first allowance of which the user has nothing left."""
        for name in names:
            use = self._uses[name].get(user) if name in self._most else None
            if use is None:
                continue
            use.leak(now_us)
            over_us = use.level_us - _window_us(name)
            if over_us < 0:
                use.told = False
                continue
            self.refused[name] += 1
            is_new, use.told = not use.told, True
            return Exhausted(name, self._most[name], 1 + int(over_us // US_PER_SECOND), is_new)
        return None

    def shown(self, now_us: int) -> list[BudgetShown]:
        found = []
        for name in NAMES:
            used_us, by = 0.0, None
            for user, use in self._uses.get(name, {}).items():
                use.leak(now_us)
                if use.level_us > used_us:
                    used_us, by = use.level_us, str(user)
            found.append(BudgetShown(name, self._most.get(name, 0), used_us / _window_us(name), by, self.refused[name]))
        return found


def _window_us(name: str) -> int:
    return US_PER_DAY if name.endswith("_per_day") else US_PER_MINUTE
