"""`GET /v1/score_v3/events`: who is told what, and from where on."""

import msgspec
import pytest
import trio
import trio.testing

from svc_http.routes import events
from tests.support.event_streams import Told, stream_of
from tests.support.facts import DAY, HOUR, MINUTE, SECOND, Log, edit, request, shell
from tests.support.people import ACME, ANA, ANA_SCOPE, BEN_KEY, EVE_KEY, NOW_US
from tests.svc_http.house import Caller, House, bearer, internal
from tests.svc_http.shapes import Id, Time

PATH = "/v1/score_v3/events"
ASK = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
START = NOW_US - 3 * HOUR


def worked(log: Log, session: str, at_us: int, path: str = "src/parser.py") -> None:
    """One goal: asked, edited, checked; four facts."""
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


async def test_who_was_away_is_told_what_happened_since(busy: House, api: Caller) -> None:
    """In the order in which it happened last; each event in its shape."""
    stream = stream_of((await api.get(PATH, {"Last-Event-ID": "1"})).body)
    assert stream.kinds == ["opened", "updated", "settled", "judged"]
    (name,) = {told.sub_session_id for told in stream.told}
    assert name == (await api.get("/v1/score_v3/realtime/sub-sessions")).json[0]["sub_session_id"]
    for told in stream.told:
        assert told.agent_session_id == "s1"
        msgspec.convert([told.sub_session_id, told.at], tuple[Id, Time])
    assert stream.last_id == str(len(busy.events))


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("4", ["settled", "judged"]),
        ("5", []),
        ("", []),
        ("6", None),
        ("0", None),
        ("99999999999999999999999999", None),
        ("9223372036854775808", None),
        ("-1", None),
        ("4.0", None),
        ("٤", None),
        ("abc", None),
    ],
)
async def test_the_last_id_that_a_client_saw(busy: House, api: Caller, last: str, told: list[str] | None) -> None:
    """From any place that was told it goes on; from any other all is to be fetched, and nothing is ever refused."""
    assert len(busy.events) == 5
    stream = stream_of((await api.get(PATH, {"Last-Event-ID": last})).body)
    if told is None:
        (only,) = stream.told
        assert (only.kind, only.sub_session_id, only.agent_session_id, only.id) == ("updated", None, None, "5")
    else:
        assert stream.kinds == told
    assert stream.last_id == "5"


async def test_who_was_away_for_over_a_day_is_told_to_fetch(busy: House, api: Caller) -> None:
    """By the clock of the request, from when the position was told; whatever has happened since."""
    house, place = busy, {"Last-Event-ID": str(len(busy.events))}
    house.clock_us = NOW_US + DAY
    assert stream_of((await api.get(PATH, place)).body).told == []
    house.clock_us = NOW_US + DAY + 1
    (only,) = stream_of((await api.get(PATH, place)).body).told
    assert only == Told("updated", "5", None, None, "2026-08-02T12:00:00.000001Z")


async def test_who_missed_too_much_is_told_to_fetch(busy: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand events are more than the list they are about."""
    monkeypatch.setattr(events, "CHANGES_MAX", 3)
    (only,) = stream_of((await api.get(PATH, {"Last-Event-ID": "1"})).body).told
    assert (only.kind, only.sub_session_id) == ("updated", None)


async def test_a_client_that_was_cut_off_goes_on_from_the_last_event_it_saw(house: House, api: Caller) -> None:
    """Wherever that was, and whatever shares a position: nothing is left out."""
    log = Log(ANA_SCOPE)
    for number in range(4):
        worked(log, f"s{number}", START + number * 10 * MINUTE, f"src/{number}.py")
    house.has_seen(log)
    house.passes(NOW_US)
    body = (await api.get(PATH, {"Last-Event-ID": "1"})).body
    whole = stream_of(body).told
    assert len(whole) == 16
    for end in range(len(body)):
        if body[:end].endswith(b"\n\n"):
            before = stream_of(body[:end])
            place = {"Last-Event-ID": before.last_id or "1"}
            after = stream_of((await api.get(PATH, place)).body)
            told = {(each.kind, each.sub_session_id) for each in (*before.told, *after.told)}
            assert told == {(each.kind, each.sub_session_id) for each in whole}


async def test_nobody_is_told_of_another_developers_sub_sessions(busy: House, api: Caller) -> None:
    """Not within the organization, nor outside of it."""
    for key in (BEN_KEY, EVE_KEY):
        assert stream_of((await api.using(bearer(key)).get(PATH, {"Last-Event-ID": "1"})).body).told == []
    on_behalf = internal() | {"X-Org-Id": str(ACME), "X-Developer-Id": str(ANA)}
    assert stream_of((await api.using(on_behalf).get(PATH, {"Last-Event-ID": "1"})).body).told


async def test_head_opens_no_stream(house: House, api: Caller) -> None:
    """It ends at once, though events would go on."""
    house.followed = True
    with trio.fail_after(5):
        answer = await api.call("HEAD", PATH)
    assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, "text/event-stream", b"")


async def test_there_is_none_while_the_views_are_being_built(house: House, api: Caller) -> None:
    """503, as every read."""
    house.refuses = "the views are being built from the log"
    assert (await api.get(PATH)).status == 503
