"""On which day each key or browser was last used: in memory at once, and in the log once a day.

So nothing that only asks for something writes to the log.
"""

from collections.abc import Iterator
from uuid import UUID

import msgspec

from aggregates.people.acts import NoteKeyUse, SeeSignIn
from aggregates.people.directory import Directory, Key, SignIn
from aggregates.times import US_PER_DAY, iso

DAY_CHARACTERS = 10


class Uses:
    """Of each key and sign-in, the newest day of UTC on which it opened something here."""

    def __init__(self) -> None:
        self._days: dict[UUID, int] = {}
        """As many as there are keys and sign-ins: a text that is neither is never noted."""

    def note(self, id_: UUID, now_us: int) -> None:
        self._days[id_] = max(now_us // US_PER_DAY, self._days.get(id_, 0))

    def shown(self, key: Key) -> Key:
        """The key with its newest day, whether or not the log has it yet."""
        day = self._day(key.id)
        return key if day <= (key.last_used_on or "") else msgspec.structs.replace(key, last_used_on=day)

    def due(self, directory: Directory) -> Iterator[NoteKeyUse | SeeSignIn]:
        """What the log does not know yet: at most one for each of them and day."""
        for key in directory.all(Key):
            if (day := self._day(key.id)) > (key.last_used_on or ""):
                yield NoteKeyUse(credential_id=key.id, last_used_on=day)
        for browser in directory.all(SignIn):
            if not browser.ended and self._day(browser.id) > browser.seen_at[:DAY_CHARACTERS]:
                yield SeeSignIn(sign_in_id=browser.id)

    def _day(self, id_: UUID) -> str:
        day = self._days.get(id_)
        return "" if day is None else iso(day * US_PER_DAY)[:DAY_CHARACTERS]
