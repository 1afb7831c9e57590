"""What holds for every route: error shapes, request ids, one log line a request, no internals."""

import re
from typing import Any

import msgspec
import pytest
import structlog
import trio
import trio.testing
from quart_trio import QuartTrio

from svc_http.app import build_api, build_intake
from svc_http.listener import AT_ONCE_SECONDS, Pace
from svc_http.params import BySecret
from svc_http.routes.people import digest_of
from svc_http.routing import attach, by_credentials, caller_of_intake
from svc_http.tools import new_routes
from tests.support.basics import ANA_KEY
from tests.svc_http.browsing import FORM, signs_in
from tests.svc_http.doors import Door, all_doors
from tests.svc_http.house import SECRET, Answer, Caller, House, bearer, internal, over, prompt


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/prompts/", "/v1//prompts", "/v1/prompts/x", "/static/x", "/favicon.ico", "/v1/%00"]
)
async def test_an_unknown_path(intake: Caller, path: str) -> None:
    """404 in the shape of every error; never a redirect."""
    answer = await intake.get(path)
    assert (answer.status, answer.message.startswith("no route GET /")) == (404, True)


REPORT = "/v1/score_v3/report"


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/v1/prompts", 405, "POST"),
        ("OPTIONS", "/v1/prompts", 405, "POST"),
        ("PUT", "/health", 405, "GET, HEAD"),
        ("OPTIONS", f"{REPORT}/generate", 405, "POST"),  # `generate` fits the id of a report as well
        ("GET", f"{REPORT}/generate", 404, None),  # it is looked up as an id, and there is none
        ("DELETE", f"{REPORT}/history", 404, None),
        ("HEAD", f"{REPORT}/pending", 200, None),
    ],
)
async def test_methods(intake: Caller, api: Caller, method: str, path: str, status: int, allowed: str | None) -> None:
    """405 that names what is possible."""
    answer = await (api if REPORT in path else intake).call(method, path)
    assert (answer.status, answer.headers.get("Allow")) == (status, allowed)


async def test_a_bug_is_a_500_without_internals(house: House, intake: Caller) -> None:
    """The answer names the request id, the log has the rest, and the next request works."""
    house.breaks = RuntimeError("database at /var/lib/svc holds 'Fix the crash'")
    with structlog.testing.capture_logs() as lines:
        answer = await intake.post("/v1/prompts", prompt())
    assert answer.status == 500
    assert "database" not in answer.message
    assert answer.headers["X-Request-Id"] in answer.message
    (line,) = lines
    assert (line["log_level"], line["request_id"]) == ("error", answer.headers["X-Request-Id"])
    house.breaks = None
    assert (await intake.post("/v1/prompts", prompt())).status == 201


_IDS = {"abc-1_2.3": True, "x" * 128: True} | dict.fromkeys(
    (ANA_KEY, f"id:{ANA_KEY}", "x" * 129, "a b", "ä", ""), False
)


@pytest.mark.parametrize(("sent", "kept"), _IDS.items())
async def test_a_request_id_is_taken_over_when_it_is_plain(intake: Caller, sent: str, kept: bool) -> None:
    """What is long or strange is not repeated into the log."""
    answer = await intake.get("/health", {"X-Request-Id": sent})
    assert (answer.headers["X-Request-Id"] == sent) is kept


async def test_requests_are_no_lines_unless_somebody_wants_that(house: House, intake: Caller, api: Caller) -> None:
    """They are counted by route, so that there are only so many; one that breaks is a line in any case."""
    with structlog.testing.capture_logs() as lines:
        await intake.post("/v1/prompts", prompt())
        await intake.get("/v1/none")
        await api.call("PATCH", "/v1/score_v3/sub-sessions/some-id", {"title": "x"})
    assert lines == []
    assert list(house.observed) == [
        "intake POST /v1/prompts 201",
        "intake GET none 404",
        "api PATCH /v1/score_v3/sub-sessions/<sub_session_id> 404",
    ]


async def test_one_log_line_a_request(house: House, intake: Caller) -> None:
    """With route, status and time, and without key, text or query."""
    house.settings = msgspec.structs.replace(house.settings, access_log=True)
    with structlog.testing.capture_logs() as lines:
        answer = await intake.post("/v1/prompts?token=secret-in-query", prompt("Very private words."))
    (line,) = lines
    assert (line["method"], line["route"], line["status"]) == ("POST", "/v1/prompts", 201)
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert not any(secret in repr(line) for secret in (ANA_KEY, "secret-in-query", "private"))


_CONTROL = "/v1/admin/control/catalog"
WITHOUT_A_CATALOG = ("/health/ready", "/v1/model-catalog", _CONTROL, f"{_CONTROL}/refresh")
"""What answers 503, or 502, while no prices were published and nobody can be asked for any."""


@pytest.mark.parametrize("headers", [bearer(), internal()])
async def test_no_credential_is_ever_answered(house: House, headers: dict[str, str]) -> None:
    app = over(house, build_api)
    for rule in app.url_map.iter_rules():
        for method in rule.methods or ():
            path = rule.rule.replace("<", "").replace(">", "")
            answer = await Caller(app, headers).call(method, path, {"key": ANA_KEY} if method != "GET" else None)
            assert answer.status < 500 or path in WITHOUT_A_CATALOG
            shown: Any = (answer.body, str(answer.headers))
            assert ANA_KEY not in repr(shown)
            assert SECRET not in repr(shown)


# --- what browsers and proxies are kept from -------------------------------------------------------------------


async def test_an_id_may_be_percent_encoded(api: Caller) -> None:
    answer = await api.get("/v1/score_v3/sessions/caf%C3%A9%20one/prompts")
    assert "percent" not in answer.message


_KNOWN = (
    *("127.0.0.1:8318", "[::1]:8318", "10.0.0.7", "localhost:8318", "svc.localhost", "svc", "svc:8318"),
    *("dashboard.example:8318", "DASHBOARD.example."),
)
_HOSTS = dict.fromkeys(_KNOWN, 200) | dict.fromkeys(
    ("rebound.example", "127.0.0.1.rebound.example", "dashboard.example.rebound.example", "1.2.3.4.evil"), 421
)


async def test_the_private_listener_is_called_by_known_names(house: House, intake: Caller) -> None:
    """A page that had its own name rebound to this machine's address is refused, whatever it asks for."""
    house.settings = msgspec.structs.replace(house.settings, api_hosts=frozenset({"dashboard.example"}))
    private = Caller(over(house, build_api), {})
    for host, status in _HOSTS.items():
        for path in ("/health", "/metrics", "/docs", "/openapi.json") if status != 200 else ("/health", "/metrics"):
            answer = await private.get(path, {"Host": host})
            assert answer.status == status, (host, path)
            assert status == 200 or "api_hosts" in answer.message
        assert (await intake.get("/health", {"Host": host})).status == 200, host


async def test_what_is_refused_arrives_at_a_bounded_pace(autojump_clock: trio.testing.MockClock) -> None:
    """All refused bodies together, so that they leave time for everybody else."""
    pace = Pace(1_000)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(pace.take_turn, 500)
    assert trio.current_time() - began == pytest.approx(5 - AT_ONCE_SECONDS)
    await trio.sleep(60)
    began = trio.current_time()
    await pace.take_turn(500)
    assert trio.current_time() - began == pytest.approx(0.5 - AT_ONCE_SECONDS)


async def test_reads_and_edits_wait_for_what_another_node_told_and_captures_do_not(
    house: House, intake: Caller, api: Caller, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who made a developer at one node makes a key for them at another one; a capture speaks of nothing before it."""
    reached: list[int] = []

    async def reach(position: int) -> None:
        reached.append(position)

    monkeypatch.setattr(house, "shared_position", lambda: 9)
    monkeypatch.setattr(house, "reach", reach)
    told = {"X-Svc-Position": "7"}
    assert (await api.call("GET", "/v1/score_v3/score", headers=told)).status == 200
    assert (await admin.call("POST", "/v1/admin/developers", {"display_name": "Kim"}, told)).status == 201
    assert (await intake.call("GET", "/v1/plugin/config", headers=told)).status == 200
    assert reached == [7, 7, 7]
    assert (await intake.call("POST", "/v1/prompts", prompt(), told)).status == 201
    assert (await api.call("GET", "/health", headers=told)).status == 200
    assert reached == [7, 7, 7]


# --- every door of both listeners, as its row of `docs/generated/bounds.md` tells -------------------------------

CALL = Caller.call  # of no description: this asks for what is refused
DOORS = list(all_doors())


@pytest.fixture
def apps(house: House) -> dict[str, QuartTrio]:
    signs_in(house)
    api = build_api(house)
    attach(api, house, by_credentials(caller_of_intake), new_routes(None))
    house.operator_browsers.begin(digest_of("theirs"), house.now_us())
    return {"intake": build_intake(house), "api": api, "page": api}


async def knock(apps: dict[str, QuartTrio], door: Door, body: bytes | None, told: dict[str, str]) -> Answer:
    path = re.sub("<[^>]*>", "00000000-0000-4000-8000-000000000000", door.route.path)
    return await CALL(Caller(apps[door.listener], {}), door.route.method, path, body, told)


@pytest.mark.parametrize("origin", ["null", "https://evil.example"])
async def test_every_answer_of_every_door_bears_the_three_headers(apps: dict[str, QuartTrio], origin: str) -> None:
    """Whatever it is. A page from elsewhere changes nothing at the private listener; it cannot send a key."""
    for door in DOORS:
        answer = await knock(apps, door, None, {"X-Request-Id": "mine", "Origin": origin})
        assert answer.headers["X-Request-Id"] == "mine", door.name
        assert answer.headers["X-Content-Type-Options"] == "nosniff", door.name
        assert answer.headers["Cache-Control"] == "no-store" or "/static/" in door.route.path, door.name
        if door.route.method != "GET" and door.listener != "intake":
            assert answer.status == 403, door.name


async def test_no_door_takes_a_longer_body_than_its_row_tells(apps: dict[str, QuartTrio]) -> None:
    """Refused by what it announces, before any of it is kept; the contract has 413 on intake alone."""
    knocked = [door for door in DOORS if door.body_bytes_max]
    for door in knocked:
        told = {"Content-Length": str(door.body_bytes_max + 1)}
        told |= internal() if door.route.kind is BySecret else bearer()
        if door.listener == "page":
            told |= FORM | {"Cookie": "svc_session=ana's; operator_svc_session=theirs"}
        answer = await knock(apps, door, b"{}", told)
        unknown = answer.status == 404 and "<" in door.route.path  # some look first for what they name
        refused = answer.status == (413 if door.listener == "intake" else 400) and b"larger than" in answer.body
        assert refused or unknown, (door.name, answer)
    assert len(knocked) > 40


async def test_the_tools_answer_one_method(apps: dict[str, QuartTrio]) -> None:
    for method in ("GET", "HEAD", "DELETE", "OPTIONS"):
        answer = await CALL(Caller(apps["api"], bearer()), method, "/mcp")
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
