"""The service in memory: real decisions, a real directory, real views; only the disk and the threads are missing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

import msgspec
import trio
from quart_trio import QuartTrio
from quart_trio.wrappers import TrioResponse
from werkzeug.datastructures import Headers
from werkzeug.local import LocalProxy

from aggregates.audit import Act, acts
from aggregates.decide import AnyCommand, StreamState, TimePassed, decide, evolve
from aggregates.event import Context, Digester, Event, NewEvent, RecordedEvent, Refused, Reply, Scope, Unavailable
from aggregates.people.acts import PeopleAct
from aggregates.people.decide import PeopleReply, decide_people
from aggregates.people.directory import Activation, Organization
from aggregates.people.entry import OPERATOR_HOURS, OPERATOR_LINK_SECONDS, Budgets, Passes, Uses
from aggregates.prices import catalog as prices
from aggregates.reports.decide import BackfillRecord, BackfillReply, decide_backfill, show_backfill
from aggregates.reports.events import BackfillRequested
from aggregates.reports.prose import Narration, Narrative, NarrativeRequest
from aggregates.scores.grades import PeerRanges
from projections.apply import apply
from projections.prices import Coverage, Reading, TeamWindow
from projections.reader import Reader
from svc.jobs.questions import Reviews
from svc_http import ports
from svc_http.listener import LARGE_BYTES_PER_SECOND, Listener, Pace
from tests.support.basics import ANA_KEY, ANA_SCOPE, NOW_US, company
from tests.support.facts import Log, Placed, empty_views
from tests.support.household import import_demo
from tests.support.requests import spending_in_views

P = ParamSpec("P")
T = TypeVar("T")

SECRET = "the-internal-secret-of-these-tests"
DIGESTER = Digester(b"a key for tests")
DAY_US = 86_400_000_000


_DEMOS: dict[tuple[Scope, int], tuple[list[Event], dict[UUID, StreamState], dict[Scope, int], bytes]] = {}
"""By whom and when: what a house holds that has lived the demo's month."""


class House(ports.Service):
    """Implements the port of the HTTP layer; what goes wrong outside can be switched on."""

    def __init__(self) -> None:
        self.settings = ports.PublicSettings(
            internal_secret=SECRET,
            ingest_url="https://ingest.example",
            gateway_url=None,
            anthropic_base_url=None,
            dashboard_url="https://dashboard.example",
            environment="test",
            capture_prompts=True,
            capture_responses=True,
            version="0",
            access_log=False,
            rules_version=2,
        )
        self.directory = company()
        self.clock_us = NOW_US
        self.events: list[Event] = []
        self.administered: list[RecordedEvent] = []
        self.states: dict[UUID, Activation] = {}
        self.refuses: str | None = None  # why commands and reads are unavailable
        self.breaks: Exception | None = None  # what a bug raises
        self.writable = True
        self.prices: prices.Served | None = None
        self.newest_prices: prices.CatalogCommand | None = None  # what a refresh finds; None: the source gives nothing
        self.replay = ports.ReplayStatus()
        self.observed: Counter[str] = Counter()
        self.coverage = [Coverage(), Coverage()]  # of the archive by a team's reads: the window before, and the current
        self.narrative: Narrative | None = None
        self.narrations: list[NarrativeRequest] = []
        self.followed = False  # whether streams of events go on after what there is
        self.changed = trio.Event()
        self.peer_ranges, self.budgets = PeerRanges(), Budgets({})
        self.arrivals, self.uses = ports.Arrivals(0), Uses()
        self.operator_links, self.searches = Passes(OPERATOR_LINK_SECONDS), ports.Searches()
        self.operator_browsers = Passes(OPERATOR_HOURS * 3_600)
        self.provider: ports.Provider | None = None
        self._streams: dict[UUID, StreamState] = {}
        self._views = empty_views()
        self.filling: list[BackfillRequested] = []  # backfills that run; they never end
        self._changed: dict[Scope, int] = {}
        reviews = Reviews(self, self._keep, self.directory.text_leaves)
        self.judge_questions, self.judge_answers = reviews.questions, reviews.take

    async def _keep(self, new: Sequence[NewEvent]) -> None:
        for each in new:
            self._append(each.event)

    def shared_position(self) -> int | None:
        return None

    async def reach(self, position: int) -> None:
        """Only other nodes tell of positions, and there are none."""

    def now_us(self) -> int:
        return self.clock_us

    def digester(self, scope: Scope) -> Digester:
        return DIGESTER

    async def held_back(self, developer_id: UUID) -> None:
        """The views are never behind."""

    async def send(self, command: AnyCommand) -> Reply:
        self._fail()
        events, reply = self._decided(command)
        self._append(*events)
        return reply

    def _decided(self, command: AnyCommand) -> tuple[list[Event], Reply]:
        decision = decide(command, self._streams, Context(now_us=self.clock_us, digester=DIGESTER, redaction=True))
        for stream, event in decision.events:
            self._streams[stream] = evolve(self._streams.get(stream), event)
        return [event for _, event in decision.events], decision.reply

    async def has_demo(self, scope: Scope = ANA_SCOPE) -> None:
        """The demo's month of work by one of these, told at once; three weeks pass. Who comes next gets a copy."""
        self.clock_us += 20 * DAY_US
        key = scope, self.clock_us
        if self.events or key not in _DEMOS:
            taken: list[Event] = []

            async def take(command: AnyCommand) -> Reply:
                events, reply = self._decided(command)
                taken.extend(events)
                return reply

            with TemporaryDirectory() as folder:
                await import_demo(Path(folder), take, scope, DIGESTER, self.clock_us)
            alone = not self.events
            self._append(*taken)
            if alone:
                _DEMOS[key] = taken, dict(self._streams), dict(self._changed), self._views.serialize()
            return
        events, streams, changed, views = _DEMOS[key]
        self.events, self._streams, self._changed = list(events), dict(streams), dict(changed)
        self._views.deserialize(views)

    def passes(self, to_us: int) -> None:
        self.clock_us = to_us
        self._append(TimePassed(received_at_us=to_us))

    def has_seen(self, log: Log, until_us: int | None = None) -> None:
        """What a log tells; and then time passes."""
        self._append(*(fact.event for fact in log.facts))
        if until_us is not None:
            self.passes(until_us)

    def _append(self, *events: Event) -> None:
        """All of them as one batch, as a server catches up."""
        if not events:
            return
        facts = [Placed(position, event) for position, event in enumerate(events, len(self.events) + 1)]
        self.events.extend(events)
        changed = apply(self._views, facts, b"", lambda _developer_id: DIGESTER, self._fetch)
        self._changed.update(dict.fromkeys(changed, len(self.events)))
        self.changed.set()
        self.changed = trio.Event()

    async def administer(self, command: PeopleAct, by: UUID | None = None) -> PeopleReply:
        self._fail()
        decided, reply = decide_people(command, self.directory, self.clock_us, by)
        for new in decided:
            self.directory.apply(new.stream_id, new.event)
            self.administered.append(RecordedEvent(new.stream_id, new.version, new.event, len(self.administered) + 1))
        return reply

    async def acts(self) -> Sequence[Act]:
        self._fail()
        return acts(self.administered, self.directory)

    async def queried(self, query: Callable[[Reader], T], scope: Scope | None) -> T:
        self._fail()
        return query(Reader(self._views, self._fetch))

    async def standing(self, scope: Scope) -> ports.Standing:
        self._fail()
        return ports.Standing(len(self.events), len(self.events), self._changed.get(scope, 0))

    async def moved(self, steps: int) -> bool:
        """Wait for the next event, where the test means to be waited for; others stop at once."""
        while self.followed and len(self.events) <= steps:
            await self.changed.wait()
        return self.followed

    def stop_following(self) -> None:
        self.followed = False
        self.changed.set()

    async def start_backfill(self, asked: BackfillRequested) -> BackfillReply:
        self._fail()
        running = next((each for each in self.filling if each.organization_id == asked.organization_id), None)
        chosen = decide_backfill(asked, running)
        if isinstance(chosen, Refused):
            return chosen
        if chosen is asked:
            self.filling.append(asked)
            self._append(asked)
        return show_backfill(chosen, "running")

    async def backfills(self) -> Sequence[BackfillRecord]:
        return [show_backfill(each, "running") for each in reversed(self.filling)]

    async def team_spending(self, scope: Scope, asked: Sequence[TeamWindow]) -> Sequence[Reading]:
        """From the views alone; what coverage says is as the test has set it."""
        found = await self.read(scope, spending_in_views, asked)
        return [Reading(each.spent, coverage) for each, coverage in zip(found, self.coverage, strict=True)]

    def narrates(self, organization_id: UUID) -> bool:
        return self.narrative is not None

    async def narrate(self, wanted: NarrativeRequest) -> Narration:
        self.narrations.append(wanted)
        return Narration("off") if self.narrative is None else Narration("written", self.narrative)

    def _fetch(self, positions: Iterable[int]) -> Mapping[int, Event]:
        return {position: self.events[position - 1] for position in positions}

    def _fail(self) -> None:
        if self.breaks is not None:
            raise self.breaks
        if self.refuses is not None:
            raise Unavailable(self.refuses)

    async def activation(self) -> Mapping[UUID, Activation]:
        return self.states

    async def store_is_writable(self) -> bool:
        return self.writable

    def catalog(self) -> prices.Served | None:
        return self.prices

    async def change_catalog(self, command: prices.CatalogCommand) -> prices.CatalogReply:
        self._fail()
        newest = None if self.prices is None else self.prices.snapshot
        revision = 0 if newest is None else newest.catalog_revision
        state = prices.CatalogState(last_revision=revision, newest_valid=newest)
        organizations = {each.id for each in self.directory.all(Organization)}
        facts, reply = prices.decide_catalog(command, state, organizations, self.clock_us)
        for fact in facts:
            self.events.append(event := fact.event)
            if isinstance(event, prices.CatalogPublished):
                self.prices = prices.Served(event.snapshot, self.clock_us)
        return reply

    async def refresh_catalog(self) -> prices.Published:
        if self.newest_prices is None:
            raise ports.NotRefreshed("prices.example: answered 500")
        reply = await self.change_catalog(self.newest_prices)
        assert isinstance(reply, prices.Published)
        return reply

    async def catalog_revisions(self, limit: int) -> Sequence[prices.RevisionRecord]:
        published = [event.snapshot for event in self.events if isinstance(event, prices.CatalogPublished)]
        newest_first = [each.catalog_revision for each in reversed(published)]
        return [prices.RevisionRecord(catalog_revision=revision, valid=True) for revision in newest_first[:limit]]

    async def status(self, *, by_kind: bool = True) -> ports.Status:
        head = len(self.events)
        views = ports.ViewsShown(
            file="memory", rules_version=2, position=head, lag_events=0, level=True, failed_events=0
        )
        return ports.Status(
            state="serving",
            version="0",
            process_id=None,
            intake=None,
            api=None,
            started_at=None,
            uptime_seconds=None,
            log=ports.LogShown(head=head, writable=self.writable, events=None),
            views=views,
            waiting=ports.Waiting(developers=0, commands=0, bytes=0),
            archive=None,
            catalog=None,
            replay=self.replay,
            developers=[],
            disk_bytes={},
        )

    def metrics(self, accept: str) -> tuple[bytes, str]:
        lines = [f'requests{{route="{route}"}} {count}' for route, count in self.observed.items()]
        return "\n".join(lines).encode(), "text/plain; version=0.0.4; charset=utf-8"

    def observe(self, listener: str, method: str, route: str, status: int, seconds: float) -> None:
        self.observed[f"{listener} {method} {route} {status}"] += 1

    def start_replay(self) -> ports.ReplayStatus:
        self.replay = ports.ReplayStatus(state="running", of=len(self.events))
        return self.replay

    async def client_setup(self) -> ports.ClientSetup:
        wheel = ports.Wheel("svc-1-py3-none-any.whl", b"PK", "5" * 64)
        return ports.ClientSetup(wheel, [ports.Pasted("codex", "~/.codex/config.toml", "[otel]\n")])

    def replay_status(self) -> ports.ReplayStatus:
        return self.replay


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a JSON value; asserts that it is declared as one."""
        assert self.headers["Content-Type"] == "application/json", self
        return msgspec.json.decode(self.body)

    @property
    def message(self) -> str:
        """The message of an error; asserts its exact shape."""
        error = self.json
        assert set(error) == {"code", "message"}, error
        assert error["code"] == self.status, error
        message = error["message"]
        assert isinstance(message, str), error
        return message


class Caller:
    def __init__(self, app: QuartTrio, headers: Mapping[str, str]) -> None:
        self._app = app
        self.headers = dict(headers)

    def using(self, headers: Mapping[str, str]) -> "Caller":
        return Caller(self._app, headers)

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.call("GET", path, headers=headers)

    async def post(self, path: str, value: object, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.call("POST", path, value, headers)

    async def call(
        self, method: str, path: str, value: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Any request; a value that is not bytes is sent as JSON."""
        data = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
        usual = {} if value is None else {"Content-Type": "application/json"}
        sent = self.headers | usual | dict(headers or {})
        client = self._app.test_client(use_cookies=False)
        response = await client.open(path, method=method, data=data, headers=sent)  # type: ignore[call-arg]
        assert isinstance(response, TrioResponse)
        return Answer(response.status_code, response.headers, await response.get_data(as_text=False))


_SERVED: list[House] = []
"""The one that the shared applications stand over."""


@cache
def _made(build: Callable[[ports.Service], QuartTrio]) -> Listener:
    app = build(cast(ports.Service, LocalProxy(lambda: _SERVED[0])))
    assert isinstance(app, Listener)
    return app


def over(house: House, build: Callable[[ports.Service], QuartTrio]) -> QuartTrio:
    """The one application of its kind, over this service from now on: each takes 30 ms to make. Each test has a clock
    of its own, so nobody waits for a turn that another test's clock gave."""
    _SERVED[:], app = [house], _made(build)
    app.large = Pace(LARGE_BYTES_PER_SECOND)
    return app


def bearer(key: str = ANA_KEY) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def internal() -> dict[str, str]:
    return {"X-Internal-Secret": SECRET}


def prompt(text: str = "Fix the crash in src/parser.py when the file is empty.", **fields: object) -> dict[str, Any]:
    return {"prompt_text": text, "tool_session_id": "session-1", **fields}
