"""`GET /v1/score_v3/events`: who is told what, and from where on."""

import pytest
import trio
import trio.testing

from aggregates.times import iso
from tests.support.event_streams import Told, stream_of
from tests.support.facts import HOUR, MINUTE, SECOND, Log, edit, request, shell
from tests.support.people import ANA_SCOPE, NOW_US
from tests.svc_http.house import Caller, House

PATH = "/v1/score_v3/events"
ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
START = NOW_US - 3 * HOUR


def worked(log: Log, session: str, at_us: int, path: str = "src/parser.py") -> None:
    log.now_us = max(log.now_us, START)
    log.prompt(session, ASK, at_us, cwd_digest=7)
    log.records(session, request(at_us + 10 * SECOND), edit(at_us + 20 * SECOND, path=path))
    log.records(session, shell(at_us + MINUTE, "pytest -q"))


@pytest.fixture
def busy(house: House) -> House:
    """Ana reached one goal three hours ago; it has settled. Five facts, the last of them that time passed."""
    log = Log(ANA_SCOPE)
    worked(log, "s1", START)
    house.has_seen(log)
    house.passes(NOW_US)
    return house


async def test_the_answer_is_an_event_stream_that_nobody_keeps_or_holds_back(busy: House, api: Caller) -> None:
    """It begins at once, says when to come again, and from where."""
    answer = await api.get(PATH)
    assert answer.status == 200
    wanted = ("Content-Type", "Cache-Control", "X-Accel-Buffering")
    assert [answer.headers.get(name) for name in wanted] == ["text/event-stream", "no-store", "no"]
    assert "X-Request-Id" in answer.headers
    assert answer.body.startswith(b":")
    stream = stream_of(answer.body)
    assert (stream.told, stream.last_id, stream.retry_ms) == ([], str(len(busy.events)), 3_000)


@pytest.mark.parametrize("last", ["1", "4", "6", "0", "9223372036854775808", "-1", "4.0", "٤", "abc"])
async def test_who_was_away_is_told_once_that_there_is_something_to_fetch(busy: House, api: Caller, last: str) -> None:
    """Whatever happened since, and from any place that is not the present one; nothing is ever refused."""
    assert len(busy.events) == 5
    stream = stream_of((await api.get(PATH, {"Last-Event-ID": last})).body)
    (told,) = stream.told
    assert told == Told("5", iso(NOW_US))


@pytest.mark.parametrize("last", ["5", ""])
async def test_who_missed_nothing_is_told_nothing(busy: House, api: Caller, last: str) -> None:
    """The id to go on from stands there all the same."""
    stream = stream_of((await api.get(PATH, {"Last-Event-ID": last})).body)
    assert (stream.told, stream.last_id) == ([], "5")


async def test_head_opens_no_stream(house: House, api: Caller) -> None:
    """It ends at once, though events would go on."""
    house.followed = True
    with trio.fail_after(5):
        answer = await api.call("HEAD", PATH)
    assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, "text/event-stream", b"")


async def test_there_is_none_while_the_views_are_being_built(house: House, api: Caller) -> None:
    house.refuses = "the views are being built from the log"
    assert (await api.get(PATH)).status == 503
