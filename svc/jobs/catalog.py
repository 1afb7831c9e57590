"""The one place that publishes catalogs, and the snapshot that is served.

A revision is validated before it is stored, and again when a process starts; the newest valid one is served.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.event import Refused
from aggregates.ids import CATALOG_STREAM, REPRICING_STREAM
from aggregates.prices import catalog as prices
from aggregates.times import iso
from svc.actors.actors import Clock, Turns, recur
from svc.log.codec import CorruptEvent
from svc.log.journal import Busy, Journal
from svc.log.store import READS, VERSION_END, Conflict, EventStore, StoreUnavailable
from svc.outward import asked
from svc.process import MIB_BYTES
from svc_http.ports import NotRefreshed

CATALOG_SOURCE_BYTES_MAX = 16 * MIB_BYTES  # of a file, or of an answer unpacked; the maintained data take about 2 MiB
CATALOG_FETCH_SECONDS = 45.0  # how long all of a fetch may take; a command that waits for it waits longer
CATALOG_REDIRECTS_MAX = 5
CATALOG_FIRST_REFRESH_SECONDS = 60.0  # after a start with prices: who starts again and again asks nobody
CATALOG_REFRESH_SECONDS = 24 * 3_600.0  # list prices change some times a week
CATALOG_RETRY_SECONDS = 3_600.0  # after a refresh that failed
CATALOG_COMMANDS_MAX = 16  # catalogs and orders to reprice that may wait: each may be 4 MiB

PACKAGE = "genai-prices"  # the setting for the maintained data, which is installed with this program
COMPILED_VERSION = 2  # counted up whenever more of an edition is used, so that a start publishes it anew
_T = TypeVar("_T")
_DOCUMENT = msgspec.json.Decoder(prices.CatalogDocument)
_ADDRESS = ("http://", "https://")


class CatalogSource:
    def __init__(self, setting: str, *, network: bool) -> None:
        """`setting`: `genai-prices`, whose newest edition is asked for with `network`; an address; a file's path."""
        self.setting, self._network = setting, network

    async def at_start(self, held: str | None, now_us: int) -> prices.PublishCatalog | None:
        """What a start publishes; `held` is the source of the newest valid revision. Raises `NotRefreshed`."""
        is_newer = held is not None and (held == packaged_source() or not held.startswith(f"{PACKAGE} "))
        if self.setting.startswith(_ADDRESS) or (self.setting == PACKAGE and is_newer):
            return None
        return await CatalogSource(self.setting, network=False).newest(now_us)

    async def newest(self, now_us: int) -> prices.PublishCatalog:
        """What a refresh publishes. Raises `NotRefreshed`."""
        if self.setting == PACKAGE and not self._network:
            return await _in_thread(PACKAGE, partial(_packaged, now_us))
        url = await _in_thread(PACKAGE, _package_url) if self.setting == PACKAGE else self.setting
        return await (fetch(url) if url.startswith(_ADDRESS) else read_file(Path(url)))


def packaged_source() -> str:
    return f"{PACKAGE} {version(PACKAGE)} ({COMPILED_VERSION})"


async def read_file(path: Path) -> prices.PublishCatalog:
    """The catalog in a file. Raises `NotRefreshed`."""

    def read() -> prices.PublishCatalog:
        with path.open("rb") as file:
            content = file.read(CATALOG_SOURCE_BYTES_MAX + 1)
        if len(content) > CATALOG_SOURCE_BYTES_MAX:
            raise ValueError(f"larger than {CATALOG_SOURCE_BYTES_MAX} bytes")
        return prices.PublishCatalog(document=decoded(content), source=path.name)

    return await _in_thread(str(path), read)


async def fetch(url: str) -> prices.PublishCatalog:
    """The catalog at an address. Raises `NotRefreshed`."""
    try:  # without user name, password or token, which go into no log and no message
        parts = urlsplit(url)
        shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        shown = "the address of prices"
    try:
        bounds = CATALOG_FETCH_SECONDS, CATALOG_SOURCE_BYTES_MAX
        answer = await asked("GET", url, *bounds, redirects_max=CATALOG_REDIRECTS_MAX)
    except OSError as error:
        raise NotRefreshed(f"{shown}: {error or type(error).__name__}") from error
    if answer.status >= 300:
        raise NotRefreshed(f"{shown}: answered {answer.status}")
    return await _in_thread(shown, lambda: prices.PublishCatalog(document=decoded(answer.content), source=shown))


def decoded(content: bytes) -> prices.CatalogDocument:
    """A catalog document, or the maintained data's own form, which is a list. Raises `ValueError`."""
    if not content.lstrip().startswith(b"["):
        return _DOCUMENT.decode(content)
    from svc.jobs.price_data import compiled, parsed

    return prices.CatalogDocument(exact_lookups=compiled(parsed(msgspec.json.decode(content, type=list[object]))))


def _packaged(now_us: int) -> prices.PublishCatalog:
    from svc.jobs.price_data import compiled, data_date_us, packaged

    data = packaged()
    document = prices.CatalogDocument(exact_lookups=compiled(data), published_at=iso(data_date_us(data, now_us)))
    return prices.PublishCatalog(document=document, source=packaged_source())


def _package_url() -> str:
    from genai_prices.update_prices import DEFAULT_UPDATE_URL

    return DEFAULT_UPDATE_URL


async def _in_thread(source: str, work: Callable[[], _T]) -> _T:
    # The price data are imported in there, not above: they cost 0.3 s and 30 MiB, which most commands need not pay.
    try:
        return await trio.to_thread.run_sync(work, limiter=READS)
    except OSError as error:
        raise NotRefreshed(f"{source}: {error.strerror or error}") from error
    except Exception as error:
        # Whatever foreign data makes the parser raise: what cannot be read is not published, and nothing else breaks.
        raise NotRefreshed(f"{source} holds no usable catalog: {error or type(error).__name__}") from error


log = structlog.get_logger()
_FAILURES = (NotRefreshed, Busy, StoreUnavailable)  # why a refresh may not come about; what is served goes on


@dataclass(eq=False)
class Catalog:
    _store: EventStore
    _journal: Journal
    _clock: Clock
    _organizations: Callable[[], Collection[UUID]]
    _source: CatalogSource

    def __post_init__(self) -> None:
        self._turns = Turns(self._store, CATALOG_COMMANDS_MAX, "too many catalogs wait to be published already")
        self._started = trio.Event()
        self._served: prices.Served | None = None
        self._served_source: str | None = None
        self._state: prices.CatalogState | None = None  # None until it is read, which takes a fifth of a second

    @property
    def served(self) -> prices.Served | None:
        self._loaded()
        return self._served

    async def send(self, command: prices.CatalogCommand) -> prices.CatalogReply:
        """Return once it is on disk. Raises what the journal raises."""
        return await self._turns.take(partial(self._carry_out, command))

    async def start(self) -> None:
        """Have prices before the first capture where that takes no network."""
        await trio.to_thread.run_sync(self._loaded, limiter=READS)
        try:
            await self._publish(self._source.at_start(self._served_source, self._clock.now_us()))
        except _FAILURES as error:
            log.warning("the model catalog could not be read from its source", reason=str(error))
        self._started.set()

    async def refresh(self) -> prices.Published:
        """Ask the source for its newest prices. Raises `NotRefreshed`, or what `send` raises."""
        reply = await self._publish(self._source.newest(self._clock.now_us()))
        assert isinstance(reply, prices.Published)
        return reply

    async def keep_fresh(self) -> None:
        await self._started.wait()
        await trio.sleep(CATALOG_FIRST_REFRESH_SECONDS if self.served is not None else 0.0)
        broken = "the model catalog could not be refreshed"
        await recur(self.refresh, CATALOG_REFRESH_SECONDS, broken, CATALOG_RETRY_SECONDS)

    async def revisions(self, limit: int) -> list[prices.RevisionRecord]:
        def read() -> list[prices.RevisionRecord]:
            return [record for record, _ in islice(_stored_revisions(self._store), limit)]

        return await trio.to_thread.run_sync(read, limiter=READS)

    async def _publish(self, finding: Awaitable[prices.PublishCatalog | None]) -> prices.CatalogReply | None:
        try:
            found = await finding
            reply = None if found is None else await self.send(found)
            if found is not None and isinstance(reply, Refused):
                raise NotRefreshed(f"{found.source}: {reply.message}")
            return reply
        except _FAILURES as error:
            self._served = None if self._served is None else msgspec.structs.replace(self._served, fault=str(error))
            raise

    async def follow(self) -> None:
        """Serve what another node has published. Raises `StoreUnavailable`."""
        if self._state is not None:
            self._state = await trio.to_thread.run_sync(self._load, limiter=READS)

    async def _carry_out(self, command: prices.CatalogCommand) -> prices.CatalogReply:
        state, now_us = await trio.to_thread.run_sync(self._loaded, limiter=READS), self._clock.now_us()
        # Checking and hashing a whole catalog takes a quarter of a second: in a thread, beside the loop.
        decided = partial(prices.decide_catalog, command, state, self._organizations(), now_us)
        facts, reply = await trio.to_thread.run_sync(decided, limiter=READS)
        if facts:
            try:
                await self._journal.append(facts)
            except (Conflict, StoreUnavailable):
                self._state = None  # the commit may have happened all the same: look before the next decision
                raise
            for fact in facts:
                if isinstance(event := fact.event, prices.CatalogPublished):
                    self._served, self._served_source = prices.Served(event.snapshot, now_us), event.source
                    state = msgspec.structs.replace(state, last_revision=fact.version, newest_valid=event.snapshot)
                else:
                    state = msgspec.structs.replace(state, repricings=fact.version)
            self._state = state
        elif isinstance(reply, prices.Published) and self._served is not None:
            self._served = prices.Served(self._served.snapshot, now_us)
        return reply

    def _loaded(self) -> prices.CatalogState:
        if self._state is None:
            self._state = self._load()
        return self._state

    def _load(self) -> prices.CatalogState:
        newest, valid = 0, None
        for record, event in _stored_revisions(self._store):
            newest = newest or record.catalog_revision
            if record.valid:
                valid = event
                break
            log.error("a stored catalog is not valid", revision=record.catalog_revision, reason=record.fault)
        if valid is not None and (self._served is None or self._served.snapshot != valid.snapshot):
            self._served, self._served_source = prices.Served(valid.snapshot, valid.received_at_us), valid.source
        repricings, newest_valid = self._store.version(REPRICING_STREAM), None if valid is None else valid.snapshot
        return prices.CatalogState(last_revision=newest, newest_valid=newest_valid, repricings=repricings)


def _stored_revisions(store: EventStore) -> Iterator[tuple[prices.RevisionRecord, prices.CatalogPublished | None]]:
    """Each checked, the newest first; without the event where that cannot be read."""
    below = VERSION_END
    while True:
        try:
            recorded = store.read_newest(CATALOG_STREAM, below)
            if recorded is None:
                return
            below, event, fault = recorded.version, recorded.event, "this is not the revision that stands here"
        except CorruptEvent as error:
            below, event, fault = error.version, None, str(error)
        if not isinstance(event, prices.CatalogPublished) or event.snapshot.catalog_revision != below:
            yield prices.RevisionRecord(catalog_revision=below, valid=False, fault=fault), None
            continue
        snapshot, broken = event.snapshot, prices.snapshot_fault(event.snapshot)
        shown = prices.RevisionRecord(
            catalog_revision=below,
            valid=broken is None,
            fault=broken,
            source=event.source,
            published_at=iso(snapshot.published_at_us),
            stored_at=iso(event.received_at_us),
            checksum_sha256=snapshot.checksum_sha256,
            lookups=len(snapshot.exact_lookups),
        )
        yield shown, event
