"""Who gets in where and how much they may send: refusals tell their reason, budgets make wait, texts have one lane."""

import ast
import gzip
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import structlog
import trio
import trio.testing
from quart_trio import QuartTrio

from aggregates.ids import membership_stream
from aggregates.people.acts import ChangeMembership, EndMembership, RevokeKey
from aggregates.people.entry import BYTES_PER_MEGABYTE, WRONG_KEYS, Budgets
from svc_http import ports as lane
from svc_http.app import build_api, build_intake
from svc_http.bodies import AT_ONCE_MAX, SMALL_BYTES_MAX, Body
from svc_http.tools import with_tools
from tests.support.basics import ACME, ANA, ANA_KEY, BEN, BEN_KEY, NOW_US, carry_out, issue, key_of, named
from tests.svc_http.browsing import ANAS, press, signs_in
from tests.svc_http.house import Answer, Caller, House, bearer, internal

SCORE = "/v1/score_v3/score"


REFUSED = {
    "nothing": ({}, "a key is needed: send Authorization: Bearer"),
    "no bearer": ({"Authorization": f"Basic {ANA_KEY}"}, "must read: Bearer KEY"),
    "a foreign key": (bearer("sk-ant-api03-something-else"), "not a key of this service"),
    "an empty key": (bearer(""), "not a key of this service"),
    "too short": (bearer(ANA_KEY[:-1]), "not a key of this service"),
    "too long": (bearer(ANA_KEY + "x"), "not a key of this service"),
    "not ascii": (bearer("svc_" + "ü" * 43), "not a key of this service"),
    "unknown": (bearer(key_of("nobody")), "unknown key"),
    "two keys": ({"Authorization": f"Bearer {ANA_KEY}", "X-API-Key": BEN_KEY}, "two different credentials"),
    "revoked": (bearer(key_of("old")), "revoked or has expired"),
    "expired": (bearer(key_of("short")), "revoked or has expired"),
    "a former member's": (bearer(BEN_KEY), "no longer a member"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_key_of_anybody(house: House, intake: Caller, case: str) -> None:
    """401, and the message says which kind of wrong it is; it never repeats a key."""
    for command in (
        issue(key_of("old"), ACME, ANA),
        RevokeKey(credential_id=named(key_of("old"))),
        issue(key_of("short"), ACME, ANA, expires_at_us=NOW_US + 1),
        *([EndMembership(membership_id=membership_stream(ACME, BEN))] if "former" in case else ()),
    ):
        carry_out(house.directory, command)
    house.clock_us += 1
    headers, reason = REFUSED[case]
    answer = await intake.using(headers).get("/v1/plugin/config")
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert reason in answer.message
    assert ANA_KEY not in answer.message


async def test_a_refusal_by_the_api_says_what_to_send(api: Caller) -> None:
    by_key, by_secret = await api.get("/v1/admin/organizations"), await api.using(internal()).get(SCORE)
    assert (by_key.status, "X-Internal-Secret" in by_key.message) == (403, True)
    assert (by_secret.status, "X-Developer-Id" in by_secret.message) == (403, True)


# --- wrong ones, again and again --------------------------------------------------------------------------------


async def test_wrong_keys_are_logged_and_slowed_down(house: House, autojump_clock: trio.testing.MockClock) -> None:
    """The thousandth is 401 as well. The line has address and first characters; right keys pass all the same."""
    house.budgets = Budgets({WRONG_KEYS: 3})
    intake = Caller(build_intake(house), bearer())
    for _ in range(5):  # who sends nothing is not counted
        assert (await intake.using({}).get("/v1/plugin/config")).status == 401
    wrong = intake.using(bearer("svc_" + "w" * 43))
    with structlog.testing.capture_logs() as lines:
        answers, waits = [], []
        for _ in range(5):
            began = trio.current_time()
            answers.append(await wrong.get("/v1/plugin/config"))
            waits.append(round(trio.current_time() - began))
    assert [answer.status for answer in answers] == [401] * 5
    assert waits == [0, 0, 0, 1, 2]
    assert (await intake.get("/v1/plugin/config")).status == 200
    refused = [line for line in lines if line["event"] == "credentials refused"]
    assert len(refused) == 5
    assert {(line["address"], line["keys"]) for line in refused} == {(refused[0]["address"], "svc_wwwwwwww")}
    assert "w" * 9 not in str(lines)
    house.clock_us += 60 * 1_000_000
    assert (await wrong.get("/v1/plugin/config")).status == 401


async def test_so_many_wait_and_others_are_told_at_once(house: House, autojump_clock: trio.testing.MockClock) -> None:
    """A thousand guesses hold 64 connections, for two seconds."""
    house.budgets = Budgets({WRONG_KEYS: 1})
    wrong, waits = Caller(build_intake(house), bearer("svc_" + "w" * 43)), Counter[int]()

    async def guess() -> None:
        assert (await wrong.get("/v1/plugin/config")).status == 401
        waits[round(trio.current_time())] += 1

    async with trio.open_nursery() as nursery:
        for _ in range(1_000):
            nursery.start_soon(guess)
    began = min(waits)
    assert waits == {began: 1_000 - 64, began + 1: 1, began + 2: 63}


@pytest.mark.parametrize("path", ["/v1/prompts", "/v1/prompts/response", "/v1/logs"])
async def test_a_reader_captures_nothing(house: House, intake: Caller, path: str) -> None:
    """403 says why and what to do; reading goes on, and another role lets captures through again."""
    stream = membership_stream(ACME, BEN)
    carry_out(house.directory, ChangeMembership(membership_id=stream, role="reader"))
    reader = intake.using(bearer(BEN_KEY))
    refused = await reader.post(path, {})
    assert refused.status == 403
    assert "a reader captures nothing" in refused.message
    assert (await reader.get("/v1/plugin/config")).status == 200
    carry_out(house.directory, ChangeMembership(membership_id=stream, role="lead"))
    assert (await reader.post(path, {})).status != 403


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


async def test_processor_time_counts_for_bodies(house: House, intake: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def crowd(intake: Caller, nursery: trio.Nursery, people: int) -> None:
    """So many captures of Ana's, until none goes on by itself."""
    for number in range(people):
        nursery.start_soon(intake.post, "/v1/prompts", PROMPT | {"tool_session_id": f"crowd {number}"})
    await trio.testing.wait_all_tasks_blocked()


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
        await crowd(intake, nursery, 3 * AT_ONCE_MAX)
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
        await crowd(intake, nursery, AT_ONCE_MAX)
        nursery.start_soon(intake.post, "/v1/prompts", PROMPT | {"tool_session_id": "long", "prompt_text": text})
        await trio.sleep(1)  # of the test's clock: large bodies arrive at a pace
        assert Body.all_held_bytes > len(text) - SMALL_BYTES_MAX
        done.set()
    assert not Body.all_held_bytes


ROOT = Path(__file__).parents[2]
NO_LIMITER = {
    "svc/jobs/nodes.py": "waits for other nodes, by itself",
    "svc/jobs/notices.py": "at most NOTICES_MAX, by itself",
    "svc/maintenance/texts.py": "one person is forgotten at a time",
    "svc/maintenance/backup.py": "one backup at a time, by itself",
    "svc/maintenance/verify.py": "a command",
    "svc/views/projector.py": "where a replay ends, and one look after the other for what is due",
    "svc/views/replay.py": "one replay at a time",
}
"""Threads beside those that a route waits for, and why they are few."""
ROOMS = ("actors", "archive", "jobs", "llm", "log", "maintenance", "observe", "views", "service.py")


def _threads(*places: Path) -> Iterator[tuple[str, ast.Call]]:
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("to_thread.run_sync"):
                    yield path.relative_to(ROOT).as_posix(), node


def test_every_thread_names_its_limiter() -> None:
    """The pool that is used by default has 40. Routes begin theirs in the lane alone, which takes whose time it is."""
    assert [path for path, _ in _threads(ROOT / "http")] == ["http/svc_http/ports.py"]
    found = _threads(*(ROOT / "svc" / name for name in ROOMS))
    assert {path for path, call in found if "limiter" not in {each.arg for each in call.keywords}} == set(NO_LIMITER)


# --- the two doors to a grade ---------------------------------------------------------------------------------

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
Grade = Callable[[QuartTrio, str], Awaitable[Answer]]


async def _by_page(app: QuartTrio, text: str) -> Answer:
    return await press(Caller(app, ANAS), "/habits/grade", prompt=text)


async def _by_tool(app: QuartTrio, text: str) -> Answer:
    params = {"name": "grade_prompt", "arguments": {"text": text}}
    caller = Caller(app, bearer())
    return await caller.call("POST", "/mcp", MESSAGE | {"params": params}, {"Accept": "application/json"})


@pytest.fixture
async def app(house: House) -> Any:
    signs_in(house)
    made = build_api(house)
    async with with_tools(made, house):
        yield made


@pytest.mark.parametrize("grade", [_by_page, _by_tool])
async def test_grading_is_charged_and_no_longer_text_is_graded(house: House, app: QuartTrio, grade: Grade) -> None:
    """To whoever asks; a text is counted in bytes, and both say so."""
    house.budgets = Budgets({"cpu_seconds_per_minute": 40})
    assert (await grade(app, "fix the crash in src/a.py " + "a@" * 16_000)).status == 200
    shown = {each.name: each for each in house.budgets.shown(house.now_us())}
    assert shown["cpu_seconds_per_minute"].used > 0.01 / 40
    assert shown["cpu_seconds_per_minute"].used_by == str(ANA)
    answer = await grade(app, "한" * 11_000)
    assert b"32 KB" in answer.body or b"32768 bytes" in answer.body


async def test_grades_of_both_doors_wait_for_each_other(app: QuartTrio, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are asked for, one is worked on."""
    at_work, most, go_on = [0], [0], Event()

    def grade_text(_text: str) -> None:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        go_on.wait(10)
        at_work[0] -= 1
        raise ValueError("graded enough")

    monkeypatch.setattr("svc_http.pages.figures.prompt_grade.grade_text", grade_text)
    monkeypatch.setattr("svc_http.tools.grade_text", grade_text)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(_by_page, app, "fix it")
            nursery.start_soon(_by_tool, app, "fix it")
        with trio.fail_after(10):
            while lane._SHORT.statistics().tasks_waiting < 5:
                await trio.lowlevel.checkpoint()
        go_on.set()
    assert most == [1]
