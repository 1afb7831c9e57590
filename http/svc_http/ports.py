"""What the HTTP layer and the running service share; `svc` implements `Service`."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from secrets import token_urlsafe
from typing import Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeVar
from uuid import UUID

import msgspec
import trio

from aggregates.audit import Act
from aggregates.decide import AnyCommand
from aggregates.event import Digester, Mendable, Newest, Refused, Reply, Scope, Unavailable
from aggregates.people.acts import Channel, PeopleAct
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Activation, Directory
from aggregates.people.entry import Account, Budgets, BudgetShown, Passes, Uses
from aggregates.prices.catalog import CatalogCommand, CatalogReply, Published, RevisionRecord, Served
from aggregates.reports import decide, events, prose
from aggregates.scores.grades import PeerRanges
from aggregates.telemetry.export import UNKNOWN_SENDER
from aggregates.times import iso
from projections.facts.facts import ARRIVALS_MAX
from projections.prices import Reading, TeamWindow
from projections.reader import Reader
from svc_http.records import AgentAnswer, AnswersTaken, Arrival, OpenQuestion, Refusal

P = ParamSpec("P")
T = TypeVar("T")

COMMANDS_AT_ONCE = 64  # of many how many are on their way to the store
REFUSALS_MAX = 8
SEARCHES_MAX = 20  # of a browser
SEARCHING_MAX = 1_000  # browsers whose searches are kept
SEARCH_NAME_BYTES = 12
REFUSAL_CHARACTERS_MAX = 300
SHORT_BYTES_MAX = 256 * 1024  # of texts; a longer one waits in another line, so that no usual prompt waits for it
_SHORT, _LONG = trio.CapacityLimiter(1), trio.CapacityLimiter(1)  # one thread runs at a time; more would slow the loop


# --- work on what people sent, beside the loop: one at a time, charged to whoever it is for ----------------------


class CpuTime:
    """The processor time of the blocks that it is entered for, one after the other, in whichever thread."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.seconds -= time.thread_time()

    def __exit__(self, *_error: object) -> None:
        self.seconds += time.thread_time()


def in_turn() -> trio.CapacityLimiter:
    """For a block that opens many texts on its way: it waits in the line of long ones."""
    return _LONG


async def beside(taken: CpuTime, size_bytes: int, work: Callable[[], T]) -> T:
    """What the work returns; it changes nothing, so neither a stop nor a client that hung up waits for it."""

    def charged() -> T:
        with taken:
            return work()

    line = _SHORT if size_bytes <= SHORT_BYTES_MAX else _LONG
    return await trio.to_thread.run_sync(charged, limiter=line, abandon_on_cancel=True)


# --- what each developer's agents sent lately, and what was refused ----------------------------------------------


class Arrivals:
    """Forgotten with the process; of each developer the newest."""

    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self._taken: dict[UUID, Newest[tuple[str, str], tuple[int, int]]] = {}
        self._refused: dict[UUID, deque[Refusal]] = {}

    def took(self, developer_id: UUID, source: str, signal: str, at_us: int) -> None:
        known = self._taken.setdefault(developer_id, Newest(ARRIVALS_MAX))
        _, requests = known.get((source, signal), (0, 0))
        known.put((source, signal), (at_us, requests + 1))

    def refused(self, developer_id: UUID, path: str, status: int, message: str, at_us: int) -> None:
        refusal = Refusal(iso(at_us), path, status, message[:REFUSAL_CHARACTERS_MAX])
        self._refused.setdefault(developer_id, deque(maxlen=REFUSALS_MAX)).append(refusal)

    def with_known(self, developer_id: UUID, known: Iterable[tuple[str, str, int]]) -> list[Arrival]:
        """By agent and signal, with what the log knows from before: of that no requests are counted."""
        before = {(source, signal): Arrival(source, signal, iso(at_us), 0) for source, signal, at_us in known}
        taken, _ = self.of(developer_id)
        return [each for _, each in sorted((before | {(each.source, each.signal): each for each in taken}).items())]

    def unread(self, developer_id: UUID) -> tuple[str, ...]:
        """Which agents sent what svc cannot read, in words."""
        taken, _ = self.of(developer_id)
        unread = (each for each in taken if each.source.startswith(UNKNOWN_SENDER))
        return tuple(f"{each.source} sends {each.signal}" for each in unread)

    def of(self, developer_id: UUID) -> tuple[list[Arrival], list[Refusal]]:
        """By agent and signal; refusals oldest first."""
        known = sorted(self._taken.get(developer_id, {}).items())
        taken = [Arrival(*name, iso(at_us), requests) for name, (at_us, requests) in known]
        return taken, list(self._refused.get(developer_id, ()))


class Searches:
    """Words that browsers looked for, of each the newest; forgotten with the process, and under names of chance.

    An address has the name and never the words: proxies log addresses.
    """

    def __init__(self) -> None:
        self._words = Newest[UUID, Newest[str, str]](SEARCHING_MAX)

    def keep(self, sign_in_id: UUID, words: str) -> str:
        """The name."""
        known, name = self._words.get(sign_in_id) or Newest(SEARCHES_MAX), token_urlsafe(SEARCH_NAME_BYTES)
        known.put(name, words)
        self._words.put(sign_in_id, known)
        return name

    def words(self, sign_in_id: UUID, name: str) -> str | None:
        known = self._words.get(sign_in_id)
        return None if known is None else known.get(name)


# --- the running server as it is shown to the one who looks after it ---------------------------------------------


class Standing(NamedTuple):
    """How far the views stand."""

    position: int  # of the log
    steps: int  # batches that they took in, and exchanges of their file
    changed: int  # the step that last changed a sub-session of who follows


class ReplayStatus(msgspec.Struct, frozen=True, kw_only=True):
    state: Literal["none", "running", "completed", "failed"] = "none"
    done: int = 0
    of: int = 0  # events applied, and events there are
    seconds_left: int | None = None  # at the pace so far
    message: str | None = None


class LogShown(msgspec.Struct, frozen=True, kw_only=True):
    head: int  # the position of its last event
    writable: bool
    events: dict[str, int] | None  # how many of each kind; null where counting would take too long


class ViewsShown(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    rules_version: int
    position: int
    lag_events: int
    level: bool  # whether they have caught up with the log as it was at the start: before, reads answer 503
    failed_events: int  # events that could not be derived from, and were passed over


class ArchiveShown(msgspec.Struct, frozen=True, kw_only=True):
    position: int
    files: int
    rows: int
    bytes: int


class CatalogShown(msgspec.Struct, frozen=True, kw_only=True):
    revision: int
    published_at: str
    refreshed_at: str
    stale: bool
    fault: str | None  # why the last refresh failed, where one did
    models: int


class DeveloperStatus(msgspec.Struct, frozen=True, kw_only=True):
    developer_id: str
    display_name: str
    activation: Activation
    active: bool  # whether they are a member of any organization now
    unusable_email: str | None = None  # one from before that is not ASCII: it lets nobody in until another is set
    unknown_agents: tuple[str, ...] = ()  # what sent them telemetry that svc cannot read, since the server started


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    developers: int  # how many have an actor just now
    commands: int
    bytes: int


class BackupsShown(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    kept: int
    newest_at: str | None
    age_seconds: int | None  # of the newest one
    overdue: bool  # whether there is none, or the newest is older than twice the time between two
    failures: int  # since the start


class ModelShown(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    spent_tokens: int
    daily_tokens: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    state: Literal["serving", "stopped"]  # stopped: a command looked at the folder itself
    version: str
    process_id: int | None
    intake: str | None
    api: str | None
    started_at: str | None
    uptime_seconds: int | None
    log: LogShown
    views: ViewsShown
    waiting: Waiting
    archive: ArchiveShown | None
    catalog: CatalogShown | None
    replay: ReplayStatus
    developers: list[DeveloperStatus]
    disk_bytes: dict[str, int]  # what each part of the data folder takes
    disk_free_bytes: int | None = None  # what may still be written beside it
    budgets: list[BudgetShown] = []
    missing_keys: list[str] = []  # developers whose key file is gone: `svc verify` says what to do
    backups: BackupsShown | None = None  # None where `backup_every` is 0
    model: ModelShown | None = None  # None where no text model is set


class Wheel(NamedTuple):
    """svc itself, for other machines to install."""

    name: str
    data: bytes
    sha256: str


class Pasted(NamedTuple):
    """What a person puts into a file of an agent where nothing is installed."""

    agent: str
    path: str
    text: str


class ClientSetup(NamedTuple):
    wheel: Wheel | None  # None where this program cannot make one
    pasted: list[Pasted]


class Provider(Protocol):
    """The organization's own sign-in. Both methods raise `Unavailable`."""

    @property
    def name(self) -> str: ...
    async def address(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Where a browser goes to sign in."""

    async def account(self, redirect_uri: str, code: str, nonce: str, verifier: str) -> Account:
        """Whose code a browser came back with. Raises `NotProven`."""


class NotRefreshed(Mendable):
    """The source of prices gave none that can be used; the message says why. Answered as 502."""


class PublicSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that routes show or obey. No secret is among them but the internal one, for comparing."""

    internal_secret: str
    ingest_url: str
    gateway_url: str | None
    anthropic_base_url: str | None
    dashboard_url: str | None
    environment: str
    capture_prompts: bool
    capture_responses: bool
    version: str  # of this program
    channels: tuple[Channel, ...] = ()  # by which this server can tell people that a report is finished
    api_hosts: frozenset[str] = frozenset()  # names of the private listener, in lower case; addresses always may be
    access_log: bool  # whether every request is a line in the log; else only those that break
    rules_version: int  # the rule set that made the conclusions which are served
    catalog_refresh: bool = True  # whether prices are asked for daily


class Service(ABC):
    """What routes may use of the running service; `svc` fills it in. Whatever waits may raise `Unavailable`."""

    settings: PublicSettings
    directory: Directory  # as of the last event; never cached by a route
    peer_ranges: PeerRanges
    budgets: Budgets
    uses: Uses
    operator_links: Passes
    operator_browsers: Passes
    provider: Provider | None
    arrivals: Arrivals
    searches: Searches
    now_us: Callable[[], int]

    # Writing: returns once it is on disk.
    send: Callable[[AnyCommand], Awaitable[Reply]]
    held_back: Callable[[UUID], Awaitable[None]]  # waits a moment for views that lack much of what a developer sent
    start_backfill: Callable[[events.BackfillRequested], Awaitable[decide.BackfillReply]]  # or joins the one that runs
    change_catalog: Callable[[CatalogCommand], Awaitable[CatalogReply]]
    refresh_catalog: Callable[[], Awaitable[Published]]  # raises `NotRefreshed`

    async def send_all(self, commands: Sequence[AnyCommand]) -> list[Reply]:
        """Many at once: one that cannot be stored keeps no other back. Raises the first `Unavailable` then."""
        replies: dict[int, Reply] = {}
        failures: list[Unavailable] = []

        async def send(place: int) -> None:
            try:
                replies[place] = await self.send(commands[place])
            except Unavailable as error:
                failures.append(error)

        for start in range(0, len(commands), COMMANDS_AT_ONCE):
            async with trio.open_nursery() as nursery:
                for place in range(start, min(start + COMMANDS_AT_ONCE, len(commands))):
                    nursery.start_soon(send, place)
            if failures:
                raise failures[0]
        return [replies[place] for place in range(len(commands))]

    @abstractmethod
    async def administer(self, command: PeopleAct, by: UUID | None = None) -> PeopleReply:
        """`by`: the member who gave it; None where the internal secret did."""

    # Reading.
    shared_position: Callable[[], int | None]  # that holds all this node acknowledged, where nodes share a log
    reach: Callable[[int], Awaitable[None]]  # wait for the views to hold a position that another node told

    async def read(
        self, scope: Scope, query: Callable[Concatenate[Reader, Scope, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a query off the loop, on views that hold the scope's own writes."""
        return await self.queried(lambda reader: query(reader, scope, *args, **kwargs), scope)

    async def read_all(self, query: Callable[[Reader], T]) -> T:
        """Run a query over everybody's rows: for administration only."""
        return await self.queried(query, None)

    @abstractmethod
    async def queried(self, query: Callable[[Reader], T], scope: Scope | None) -> T:
        """`scope`: whose time it takes, and whose writes the views must hold."""

    standing: Callable[[Scope], Awaitable[Standing]]  # for one who follows the views
    moved: Callable[[int], Awaitable[bool]]  # waits for a step beyond; False once the server stops
    acts: Callable[[], Awaitable[Sequence[Act]]]
    backfills: Callable[[], Awaitable[Sequence[decide.BackfillRecord]]]
    team_spending: Callable[[Scope, Sequence[TeamWindow]], Awaitable[Sequence[Reading]]]
    narrates: Callable[[UUID], bool]  # whether there is a text model, and the organization lets text leave
    narrate: Callable[[prose.NarrativeRequest], Awaitable[prose.Narration]]
    judge_questions: Callable[[Scope, int], Awaitable[list[OpenQuestion] | Refused]]  # for the developer's own agent
    judge_answers: Callable[[Scope, Sequence[AgentAnswer]], Awaitable[AnswersTaken | Refused]]
    digester: Callable[[Scope], Digester]
    activation: Callable[[], Awaitable[Mapping[UUID, Activation]]]  # who is missing is still waiting
    catalog: Callable[[], Served | None]
    catalog_revisions: Callable[[int], Awaitable[Sequence[RevisionRecord]]]

    # Running.
    start_replay: Callable[[], ReplayStatus]  # or joins the one that runs
    replay_status: Callable[[], ReplayStatus]
    store_is_writable: Callable[[], Awaitable[bool]]  # within a few seconds
    client_setup: Callable[[], Awaitable[ClientSetup]]
    metrics: Callable[[str], tuple[bytes, str]]  # for Prometheus, as Accept allows: text and media type
    observe: Callable[[str, str, str, int, float], None]  # listener, method, route without ids, status, seconds

    @abstractmethod
    async def status(self, *, by_kind: bool = True) -> Status:
        """`by_kind`: with the events of each kind, which takes longer the longer the log is."""
