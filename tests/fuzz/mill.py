"""A service in memory whose log is bytes: what it takes is stored, derived, and derived again."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch
from uuid import UUID, uuid5

from aggregates.event import Digester, Event, NewEvent
from aggregates.prices.catalog import CatalogCommand, CatalogReply
from projections.reader import declared
from svc.log.codec import Codec
from svc.log.store import EventStore
from svc.log.vault import Vault
from svc.views.replay import digests
from svc.views.views import ViewsWriter
from svc_http.app import build_api, build_intake
from tests.support.basics import ANA_KEY, MemoryKeys, open_memory_store
from tests.support.facts import NAMESPACE, empty_views
from tests.support.tables import lines_of
from tests.svc_http.house import DIGESTER, Answer, Caller, House, bearer, internal

READS_AT_ONCE = 5  # how many reads are tried of one history

READS = [line for _, line in lines_of(Path(__file__).with_name("reads.txt"))]
OF_ONE = ("", "/prompts", "/explain")  # what is read of a sub-session


class OneDigester(Vault):
    """As the house has it."""

    def known_digester(self, developer_id: UUID) -> Digester:
        return DIGESTER


class Mill(House):
    """A house with a real codec and a real store under it; Ana talks to it."""

    def __init__(self) -> None:
        super().__init__()
        self.intake, self.api = Caller(build_intake(self), bearer()), Caller(build_api(self), bearer(ANA_KEY))
        self._codec = Codec(OneDigester(MemoryKeys()))
        self.admin = self.api.using(internal())
        self.empty()

    def empty(self) -> "Mill":
        """As on the first day, with the same listeners."""
        self.events, self.prices, self.newest_prices = [], None, None
        self._streams = {}
        self._views.close()
        self._views = empty_views()
        self._changed = {}
        self.store = open_memory_store(self._codec)
        return self

    def _append(self, *events: Event) -> None:
        for event in events:
            self.events.append(event)
            self.store.append([NewEvent(uuid5(NAMESPACE, str(len(self.events))), 1, event)])
            stepped = ViewsWriter(self._views, self.store).step(1_000)
            self._changed.update(dict.fromkeys(stepped.changed, len(self.events)))

    async def change_catalog(self, command: CatalogCommand) -> CatalogReply:
        """What a house notes is stored here."""
        known = len(self.events)
        reply = await super().change_catalog(command)
        self.events, decided = self.events[:known], self.events[known:]
        for event in decided:
            self._append(event)
        return reply

    def _fetch(self, positions: Iterable[int]) -> Mapping[int, Event]:
        return {position: each.event for position, each in self.store.read_positions(list(positions)).items()}

    @property
    def failed(self) -> list[tuple[int, str]]:
        """The facts that could not be derived."""
        return list(self._views.execute("SELECT * FROM failed"))

    def unlike_replayed(self, batch_events: int) -> list[str]:
        """The tables that a replay in such batches gives otherwise."""
        live, (again, _) = digests(self._views), replayed(self.store, batch_events)
        return [name for name in declared() if live[name] != again[name]]

    async def broken_reads(self, chance: Random) -> list[tuple[str, Answer]]:
        """The reads of the developer, some of all, that what was taken has made fail."""
        rows = (await self.api.get("/v1/score_v3/realtime/sub-sessions")).json[:2]
        paths = [f"/v1/score_v3/sub-sessions/{row['sub_session_id']}{end}" for row in rows for end in OF_ONE]
        asked = chance.sample([*READS, *paths], READS_AT_ONCE)
        found = [(path, await self.api.get(path)) for path in asked]
        return [(path, answer) for path, answer in found if answer.status != 200]

    async def check(self, chance: Random) -> None:
        """Whatever was taken breaks no derivation, no replay and no read."""
        assert self.failed == [], self.failed
        assert self.unlike_replayed(chance.choice((1_000, 3))) == []
        assert await self.broken_reads(chance) == []


MILL = Mill()


def replayed(store: EventStore, batch_events: int) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The tables, and what could not be read or derived."""
    with closing(empty_views()) as views:
        ViewsWriter(views, store).fill(lambda _done, _of: None, batch_events)
        return digests(views), list(views.execute("SELECT * FROM failed ORDER BY position"))


@contextmanager
def drawn_ids(chance: Random) -> Iterator[None]:
    """What is named by chance is named by this one, so that a history can be lived again."""

    def drawn() -> UUID:
        return UUID(int=chance.getrandbits(128), version=4)

    with patch("uuid.uuid4", drawn), patch("svc.hook.captures.uuid4", drawn):
        yield
