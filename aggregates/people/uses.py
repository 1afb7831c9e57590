"""On which day each key was last used: in memory at once, and in the log once a day."""

from collections.abc import Iterator
from uuid import UUID

import msgspec

from aggregates.people.commands import NoteKeyUse
from aggregates.people.directory import Directory, Key
from aggregates.times import US_PER_DAY, iso


class KeyUses:
    """Of each key, the newest day of UTC on which it opened something here."""

    def __init__(self) -> None:
        self._days: dict[UUID, int] = {}
        """As many as there are keys: a text that is no key is never noted."""

    def note(self, key_id: UUID, now_us: int) -> None:
        self._days[key_id] = max(now_us // US_PER_DAY, self._days.get(key_id, 0))

    def shown(self, key: Key) -> Key:
        """The key with its newest day, whether or not the log has it yet."""
        day = self._day(key.id)
        return key if day <= (key.last_used_on or "") else msgspec.structs.replace(key, last_used_on=day)

    def due(self, directory: Directory) -> Iterator[NoteKeyUse]:
        """What the log does not know yet: at most one for each key and day."""
        known = {each.id: each for each in directory.all(Key) if each.id in self._days}
        for key_id, key in known.items():
            day = self._day(key_id)
            if day > (key.last_used_on or ""):
                yield NoteKeyUse(credential_id=key_id, last_used_on=day)

    def _day(self, key_id: UUID) -> str:
        day = self._days.get(key_id)
        return "" if day is None else iso(day * US_PER_DAY)[:10]
