"""What the HTTP layer needs of the running service; `svc` implements it."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeVar
from uuid import UUID

import msgspec

from aggregates.audit import Act
from aggregates.decide import AnyCommand
from aggregates.event import Digester, Mendable, Reply, Scope
from aggregates.people.acts import Channel, PeopleAct
from aggregates.people.budgets import Budgets, BudgetShown
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Activation, Directory
from aggregates.people.entry import Account, Operators, Uses
from aggregates.prices.catalog import CatalogCommand, CatalogReply, Published, RevisionRecord, Served
from aggregates.reports.decide import BackfillRecord, BackfillReply
from aggregates.reports.events import BackfillRequested
from aggregates.reports.prose import Narration, NarrativeRequest
from aggregates.scores.grades import PeerRanges
from projections.prices import Reading, TeamWindow
from projections.reader import Reader
from svc_http.arrivals import Arrivals

# The running server as it is shown to the one who looks after it.


class Standing(NamedTuple):
    """How far the views stand."""

    position: int  # of the log
    steps: int  # batches that they took in, and exchanges of their file
    changed: int  # the step that last changed a sub-session of who follows


class ReplayStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far the newest replay has come."""

    state: Literal["none", "running", "completed", "failed"] = "none"
    done: int = 0
    of: int = 0  # events applied, and events there are
    message: str | None = None


class LogShown(msgspec.Struct, frozen=True, kw_only=True):
    """The event log."""

    head: int  # the position of its last event
    writable: bool
    events: dict[str, int] | None  # how many of each kind; null where counting would take too long


class ViewsShown(msgspec.Struct, frozen=True, kw_only=True):
    """The tables that reads are answered from."""

    file: str
    rules_version: int
    position: int
    lag_events: int
    level: bool  # whether they have caught up with the log as it was at the start: before, reads answer 503
    failed_events: int  # events that could not be derived from, and were passed over


class ArchiveShown(msgspec.Struct, frozen=True, kw_only=True):
    """The Parquet files of model requests."""

    position: int
    files: int
    rows: int
    bytes: int


class CatalogShown(msgspec.Struct, frozen=True, kw_only=True):
    """The list prices that are served."""

    revision: int
    published_at: str
    refreshed_at: str
    stale: bool
    models: int


class DeveloperStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A developer, and how far they have come."""

    developer_id: str
    display_name: str
    activation: Activation
    active: bool  # whether they are a member of any organization now
    unusable_email: str | None = None  # one from before that is not ASCII: it lets nobody in until another is set
    unknown_agents: tuple[str, ...] = ()  # what sent them telemetry that svc cannot read, since the server started


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What is on its way to the disk."""

    developers: int  # how many have an actor just now
    commands: int
    bytes: int


class BackupsShown(msgspec.Struct, frozen=True, kw_only=True):
    """Backups that the server makes by itself."""

    folder: str
    kept: int
    newest_at: str | None
    age_seconds: int | None  # of the newest one
    overdue: bool  # whether there is none, or the newest is older than twice the time between two
    failures: int  # since the start


class ModelShown(msgspec.Struct, frozen=True, kw_only=True):
    """The text model, and its tokens of this day of UTC."""

    name: str
    spent_tokens: int
    daily_tokens: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The running server; `state` is `stopped` where a command looked at the folder itself."""

    state: Literal["serving", "stopped"]
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
    missing_keys: list[str] = []
    """Developers whose data key was made and whose key file is gone: `svc verify` says what to do."""
    backups: BackupsShown | None = None  # None where `backup_every` is 0
    model: ModelShown | None = None  # None where no text model is set


P = ParamSpec("P")
T = TypeVar("T")


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
    """With what another machine sends here."""

    wheel: Wheel | None  # None where this program cannot make one
    pasted: list[Pasted]


class Unavailable(Mendable):
    """The service cannot take or answer this now; the message says why. Answered as 503, Retry-After 5."""


class Provider(Protocol):
    """The organization's own sign-in. Both methods raise `Unavailable`."""

    @property
    def name(self) -> str: ...
    async def address(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Where a browser goes to sign in."""

    async def account(self, redirect_uri: str, code: str, nonce: str, verifier: str) -> Account:
        """Whose code a browser came back with. Raises `NotProven`."""


class UnknownRules(Exception):
    """There is no rule set of that number; the message names those there are. Answered as 404."""


class NotRefreshed(Exception):
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
    api_hosts: frozenset[str] = frozenset()
    """Names in lower case by which the private listener is called, besides addresses and names without a dot."""
    access_log: bool  # whether every request is a line in the log; else only those that break
    rules_version: int  # the rule set that made the conclusions which are served


class Service(ABC):
    """What routes may use of the running service; `svc` fills it in. Whatever waits may raise `Unavailable`."""

    settings: PublicSettings
    directory: Directory  # as of the last event; never cached by a route
    peer_ranges: PeerRanges
    budgets: Budgets
    uses: Uses
    operators: Operators
    provider: Provider | None
    arrivals: Arrivals
    now_us: Callable[[], int]

    # Writing: returns once it is on disk.
    send: Callable[[AnyCommand], Awaitable[Reply]]
    start_backfill: Callable[[BackfillRequested], Awaitable[BackfillReply]]  # or joins the one that runs
    change_catalog: Callable[[CatalogCommand], Awaitable[CatalogReply]]
    refresh_catalog: Callable[[], Awaitable[Published]]  # raises `NotRefreshed`

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

    @abstractmethod
    async def standing(self, scope: Scope) -> Standing:
        """How far the views stand, for one who follows them."""

    moved: Callable[[int], Awaitable[bool]]  # beyond so many steps, once the views have; False once the server stops
    acts: Callable[[], Awaitable[Sequence[Act]]]
    backfills: Callable[[], Awaitable[Sequence[BackfillRecord]]]
    team_spending: Callable[[Scope, Sequence[TeamWindow]], Awaitable[Sequence[Reading]]]
    narrates: Callable[[UUID], bool]  # whether there is a text model, and the organization lets text leave
    narrate: Callable[[NarrativeRequest], Awaitable[Narration]]
    digester: Callable[[Scope], Digester]
    operation_prompt: Callable[[Scope, str], Awaitable[UUID | None]]  # of a response operation
    activation: Callable[[], Awaitable[Mapping[UUID, Activation]]]  # who is missing is still waiting
    catalog: Callable[[], Served | None]
    catalog_revisions: Callable[[int], Awaitable[Sequence[RevisionRecord]]]

    # Running.
    start_replay: Callable[[int | None], ReplayStatus]  # or joins the one that runs; raises `UnknownRules`
    replay_status: Callable[[], ReplayStatus]
    store_is_writable: Callable[[], Awaitable[bool]]  # within a few seconds
    client_setup: Callable[[], Awaitable[ClientSetup]]
    metrics: Callable[[str], tuple[bytes, str]]  # for Prometheus, as Accept allows: text and media type
    observe: Callable[[str, str, str, int, float], None]  # listener, method, route without ids, status, seconds

    @abstractmethod
    async def status(self, *, by_kind: bool = True) -> Status:
        """`by_kind`: with the events of each kind, which takes longer the longer the log is."""
