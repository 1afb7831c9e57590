"""Who has used up a budget is told to wait: in time, by name, and alone."""

import gzip
from typing import Any

import pytest
import structlog
import trio
import trio.testing

from aggregates.people.entry import BYTES_PER_MEGABYTE, Budgets
from svc_http.app import build_api, build_intake
from svc_http.bodies import AT_ONCE_MAX, SMALL_BYTES_MAX, Body
from tests.support.people import ANA, BEN_KEY
from tests.svc_http.house import Caller, House, bearer

PROMPT = {"prompt_text": "Add a test.", "tool_session_id": "one"}
SECOND_US = 1_000_000


async def test_too_many_requests_of_a_developer_are_held_back_with_every_key(house: House, intake: Caller) -> None:
    house.budgets = Budgets({"requests_per_minute": 3})
    with structlog.testing.capture_logs() as lines:
        answers = [await intake.post("/v1/prompts", PROMPT) for _ in range(5)]
    assert [answer.status for answer in answers] == [201, 201, 201, 429, 429]
    assert answers[-1].headers["Retry-After"] == "1"
    assert answers[-1].message.startswith(f"developer {ANA} has used up requests_per_minute (3); send it again later")
    assert [line["budget"] for line in lines if line["event"] == "a budget is used up"] == ["requests_per_minute"]
    assert (await intake.using(bearer(BEN_KEY)).post("/v1/prompts", PROMPT | {"tool_session_id": "two"})).status == 201
    house.clock_us += 20 * SECOND_US
    assert (await intake.post("/v1/prompts", PROMPT)).status == 201


async def test_an_address_has_a_budget_whoever_speaks(house: House, intake: Caller) -> None:
    """A wrong key is told that it is wrong, with a delay: `test_auth.py`."""
    house.budgets = Budgets({"address_requests_per_minute": 2})
    assert (await intake.get("/v1/plugin/config")).status == 200
    assert (await intake.using(bearer(BEN_KEY)).get("/v1/plugin/config")).status == 200
    assert (await intake.get("/v1/plugin/config")).status == 429
    assert (await intake.using(bearer("svc_" + "w" * 43)).get("/v1/plugin/config")).status == 401
    assert (await intake.get("/health")).status == 200


@pytest.mark.parametrize("name", ["megabytes_per_minute", "address_megabytes_per_minute"])
async def test_bytes_count_as_sent_whatever_became_of_them(house: House, intake: Caller, name: str) -> None:
    house.budgets = Budgets({name: 1})
    broken = b"{" + b" " * BYTES_PER_MEGABYTE
    zipped = {"Content-Encoding": "gzip"}
    assert (await intake.post("/v1/logs", gzip.compress(broken), zipped)).status == 400
    assert (await intake.get("/v1/plugin/config")).status == 200
    assert (await intake.post("/v1/logs", broken)).status == 400
    assert (await intake.get("/v1/plugin/config")).status == 429


async def test_processor_time_counts_for_small_and_large_bodies(
    house: House, intake: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block of work takes a second by this clock."""
    ticks = iter(range(1_000))
    monkeypatch.setattr("svc_http.ports.time.thread_time", lambda: float(next(ticks)))
    for path, body in [
        ("/v1/prompts", PROMPT),
        ("/v1/prompts", {"prompt_text": "x" * 100_000, "tool_session_id": "two"}),
        ("/v1/logs", {"resourceLogs": []}),
        ("/v1/logs", {"resourceLogs": [], "more": "x" * 100_000}),
    ]:
        house.budgets = Budgets({"cpu_seconds_per_minute": 2})
        assert [(await intake.post(path, body)).status < 300 for _ in range(3)] == [True, True, False], path


@pytest.mark.parametrize(
    ("name", "wait"),
    [("sessions_per_day", "86401"), ("stored_megabytes_per_day", "86401"), ("deriving_seconds_per_minute", "61")],
)
async def test_who_may_store_no_more_may_still_read(house: House, name: str, wait: str) -> None:
    house.budgets = Budgets({name: 1})
    house.budgets.use(name, ANA, 2, house.clock_us)
    intake, api = Caller(build_intake(house), bearer()), Caller(build_api(house), bearer())
    refused = await intake.post("/v1/prompts", PROMPT)
    assert (refused.status, refused.headers["Retry-After"]) == (429, wait)
    assert (await intake.get("/v1/plugin/config")).status == 200
    assert (await api.get("/v1/score_v3/realtime/sub-sessions")).status == 200


async def test_a_crowd_of_one_developers_captures_holds_nobody_else_up(
    house: House, intake: Caller, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """They are taken in turns: the colleague's is not the last of all."""
    taken: list[str] = []
    plain = house.send

    async def slowly(command: Any) -> Any:
        await trio.sleep(1)
        taken.append(command.agent_session_id)
        return await plain(command)

    monkeypatch.setattr(house, "send", slowly)
    async with trio.open_nursery() as nursery:
        for number in range(3 * AT_ONCE_MAX):
            nursery.start_soon(intake.post, "/v1/prompts", PROMPT | {"tool_session_id": f"crowd {number}"})
        await trio.testing.wait_all_tasks_blocked()
        ben = intake.using(bearer(BEN_KEY))
        assert (await ben.post("/v1/prompts", PROMPT | {"tool_session_id": "ben"})).status == 201
        assert taken.index("ben") <= AT_ONCE_MAX
    assert len(taken) == 3 * AT_ONCE_MAX + 1


async def test_a_body_that_stands_in_line_is_counted(
    house: House, intake: Caller, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """It is read first: what nobody reads, Quart takes in all the same."""
    plain, done = house.send, trio.Event()

    async def in_the_end(command: Any) -> Any:
        await done.wait()
        return await plain(command)

    monkeypatch.setattr(house, "send", in_the_end)
    text = "please add the test " * (SMALL_BYTES_MAX // 10)
    async with trio.open_nursery() as nursery:
        for number in range(AT_ONCE_MAX):
            nursery.start_soon(intake.post, "/v1/prompts", PROMPT | {"tool_session_id": f"crowd {number}"})
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(intake.post, "/v1/prompts", PROMPT | {"tool_session_id": "long", "prompt_text": text})
        await trio.sleep(1)  # of the test's clock: large bodies arrive at a pace
        assert Body.all_held_bytes > len(text) - SMALL_BYTES_MAX
        done.set()
    assert not Body.all_held_bytes
