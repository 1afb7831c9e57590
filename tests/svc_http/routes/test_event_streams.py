"""`GET /v1/score_v3/events`: who is told what, from where on, when it ends, and how many there may be."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
import structlog
import trio
import trio.testing
from hypercorn.typing import ASGIReceiveEvent, ASGISendEvent
from quart_trio import QuartTrio
from trio.testing import MockClock

from aggregates.ids import membership_stream
from aggregates.people.acts import EndMembership, RevokeKey
from aggregates.times import iso
from svc_http.app import build_api
from svc_http.routes import sub_sessions as events
from svc_http.routes.sub_sessions import HEARTBEAT_SECONDS, LOOK_SECONDS, TELL_SECONDS
from tests.support.basics import ACME, ANA_KEY, ANA_SCOPE, BEN_KEY, EVE_KEY, NOW_US, carry_out, named
from tests.support.event_streams import Stream, Told
from tests.support.facts import HOUR, SECOND, Log, edit
from tests.svc_http.house import Caller, House

PATH = "/v1/score_v3/events"
ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
START = NOW_US - 3 * HOUR


def worked(session: str, at_us: int) -> Log:
    log = Log(ANA_SCOPE, START)
    log.works(session, at_us, ASK)
    return log


@pytest.fixture
def busy(house: House) -> House:
    """Ana reached one goal three hours ago; it has settled. Four facts, the last of them that time passed."""
    house.has_seen(worked("s1", START), NOW_US)
    return house


async def test_the_answer_is_an_event_stream_that_nobody_keeps_or_holds_back(busy: House, api: Caller) -> None:
    """It begins at once, says when to come again, and from where."""
    answer = await api.get(PATH)
    assert answer.status == 200
    wanted = ("Content-Type", "Cache-Control", "X-Accel-Buffering")
    assert [answer.headers.get(name) for name in wanted] == ["text/event-stream", "no-store", "no"]
    assert answer.body.startswith(b":")
    stream = Stream(answer.body)
    assert (stream.told, stream.last_id, stream.retry_ms) == ([], str(len(busy.events)), 3_000)


@pytest.mark.parametrize("last", ["1", "6", "0", "9223372036854775808", "-1", "4.0", "٤", "abc", "4", ""])
async def test_who_was_away_is_told_once_that_there_is_something_to_fetch(busy: House, api: Caller, last: str) -> None:
    """From any place that is not the present one, the fourth; nothing is ever refused."""
    stream = Stream((await api.get(PATH, {"Last-Event-ID": last})).body)
    assert stream.told == ([] if last in ("4", "") else [Told("4", iso(NOW_US))])
    assert stream.last_id == "4"


async def test_head_opens_no_stream(house: House, api: Caller) -> None:
    """It ends at once, though events would go on. And there is none while the views are being built."""
    house.followed = True
    with trio.fail_after(5):
        answer = await api.call("HEAD", PATH)
    assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, "text/event-stream", b"")
    house.refuses = "the views are being built from the log"
    assert (await api.get(PATH)).status == 503


Opened = Callable[..., "Client"]


# --- for how long ---------------------------------------------------------------------------------------------


class Client:
    """One stream of a listener, without a connection: what a server would call, and what it would have to send."""

    def __init__(
        self, house: House, key: str = ANA_KEY, last_id: str | None = None, app: QuartTrio | None = None
    ) -> None:
        self.app = app or build_api(house)
        self._headers = [(b"x-api-key", key.encode())]
        if last_id is not None:
            self._headers.append((b"last-event-id", last_id.encode()))
        self._put, self._take = trio.open_memory_channel[ASGIReceiveEvent](10)
        self.stream = Stream()
        self.writes: list[float] = []  # when a piece of the body was sent
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.ended = False  # whether the answer was brought to its end
        self.over = trio.Event()

    async def run(self) -> None:
        scope: dict[str, Any] = dict.fromkeys(("client", "server")) | {"headers": self._headers, "state": {}}
        scope |= {"type": "http", "asgi": {"version": "3.0"}, "http_version": "2", "scheme": "https"}
        scope |= {"method": "GET", "path": PATH, "raw_path": PATH.encode(), "query_string": b"", "root_path": ""}
        self._put.send_nowait({"type": "http.request", "body": b"", "more_body": False})
        await self.app(cast(Any, scope), self._take.receive, self._send)
        self.over.set()

    def hang_up(self) -> None:
        self._put.send_nowait({"type": "http.disconnect"})

    async def _send(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = dict(message["headers"])
        elif message["type"] == "http.response.body" and self.status == 200:
            self.stream.feed(message["body"])
            self.writes.append(trio.current_time())
            self.ended = not message["more_body"]


@pytest.fixture
async def opened(house: House, nursery: trio.Nursery) -> AsyncIterator[Callable[..., Client]]:
    house.followed = True

    def open_one(**options: Any) -> Client:
        client = Client(house, **options)
        nursery.start_soon(client.run)
        return client

    yield open_one
    house.stop_following()


async def test_a_burst_is_told_as_one(house: House, autojump_clock: MockClock, opened: Opened, api: Caller) -> None:
    """The first of many changes waits for nothing, the others for a second; then they are told once."""
    client = opened()
    await trio.sleep(1)
    log = Log(ANA_SCOPE)
    began = trio.current_time()
    log.prompt("s1", ASK, START)
    house.has_seen(log)
    await trio.testing.wait_all_tasks_blocked()
    assert len(client.stream.told) == 1
    for second in range(20):
        house.has_seen(Log(ANA_SCOPE).records("s1", edit(START + second * SECOND)))
        await trio.sleep(0.01)
    await trio.sleep(1)
    assert len(client.stream.told) == 2
    assert [at - began for at in client.writes[1:]] == [0, TELL_SECONDS]
    assert client.stream.last_id == str(len(house.events))


async def test_a_comment_comes_every_fifteen_seconds(house: House, autojump_clock: MockClock, opened: Opened) -> None:
    """Whether anything happens or not."""
    client = opened()
    await trio.sleep(100)
    assert [at - client.writes[0] for at in client.writes] == [HEARTBEAT_SECONDS * number for number in range(7)]
    assert client.stream.told == []
    for second in range(12):
        log = Log(ANA_SCOPE)
        log.prompt(f"s{second}", ASK, START + second * SECOND)
        house.has_seen(log)
        await trio.sleep(4.5)
    assert len(client.stream.comments) == 1 + 6 + 4


async def test_nobody_is_told_of_anothers_work(house: House, autojump_clock: MockClock, opened: Opened) -> None:
    """Not within the organization, nor outside of it."""
    hers, others = opened(), [opened(key=key) for key in (BEN_KEY, EVE_KEY)]
    await trio.sleep(1)
    house.has_seen(worked("s1", START))
    await trio.sleep(2 * TELL_SECONDS)
    assert len(hers.stream.told) == 1, "all at one instant"
    assert [each.stream.told for each in others] == [[], []]


async def test_a_stream_ends_with_its_key(house: House, autojump_clock: MockClock, opened: Opened) -> None:
    """Within a heartbeat, and not at all for anybody else; it says why, and the answer is brought to its end."""
    hers, his = opened(), opened(key=BEN_KEY)
    await trio.sleep(1)
    carry_out(house.directory, EndMembership(membership_id=membership_stream(ACME, named("ben"))))
    with trio.fail_after(HEARTBEAT_SECONDS + TELL_SECONDS):
        await his.over.wait()
    assert (his.ended, "no longer a member" in his.stream.comments[-1], hers.over.is_set()) == (True, True, False)
    carry_out(house.directory, RevokeKey(credential_id=named(ANA_KEY)))
    house.has_seen(worked("s2", START + HOUR))
    with trio.fail_after(2 * LOOK_SECONDS):
        await hers.over.wait()
    assert "revoked" in hers.stream.comments[-1]
    assert hers.stream.told == [], "what happens between two heartbeats is looked up after the key is"


async def test_a_fault_ends_its_stream_alone(house: House, autojump_clock: MockClock, opened: Opened) -> None:
    """The log knows why, the client only that it is to come again."""
    client = opened()
    await trio.sleep(1)
    with structlog.testing.capture_logs() as lines:
        house.breaks = RuntimeError("database at /var/lib/svc holds 'Fix the crash'")
        house.passes(NOW_US)
        await client.over.wait()
    assert client.ended
    assert [line["log_level"] for line in lines] == ["error", "debug"]
    assert "database" not in str(client.stream.comments)
    house.breaks = None
    again = opened(last_id=client.stream.last_id)
    await trio.sleep(1)
    assert not again.over.is_set()


# --- how many -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bound", "status"), [("STREAMS_PER_DEVELOPER_MAX", 429), ("STREAMS_MAX", 503)])
async def test_one_stream_too_many_is_refused_until_another_ends(
    house: House, autojump_clock: MockClock, opened: Opened, monkeypatch: pytest.MonkeyPatch, bound: str, status: int
) -> None:
    """On one listener; the refusal has the shape of every error."""
    monkeypatch.setattr(events, bound, 2)
    app = build_api(house)
    first, _ = opened(app=app), opened(app=app)
    await trio.sleep(1)
    refused = Client(house, app=app)
    await refused.run()
    assert (refused.status, refused.headers[b"retry-after"]) == (status, b"5")
    with structlog.testing.capture_logs() as lines:
        first.hang_up()
        with trio.fail_after(0.01):
            await first.over.wait()
    assert ([line["event"] for line in lines], first.ended) == (["event stream ended"], False)
    another = opened(app=app)
    await trio.sleep(1)
    assert another.status == 200
