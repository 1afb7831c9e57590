"""Every door of both listeners holds the headers and the bound that its row of `docs/generated/bounds.md` tells."""

import re

import pytest
from quart_trio import QuartTrio

from svc_http.app import build_api, build_intake
from svc_http.params import BySecret
from svc_http.routes.people import digest_of
from svc_http.routing import attach, by_credentials, caller_of_intake
from svc_http.tools import new_routes
from tests.svc_http.browsing import FORM, signs_in
from tests.svc_http.doors import Door, all_doors
from tests.svc_http.house import Answer, Caller, House, bearer, internal

CALL = Caller.call  # of no description: this asks for what is refused
DOORS = list(all_doors())


@pytest.fixture
def apps(house: House) -> dict[str, QuartTrio]:
    signs_in(house)
    api = build_api(house)
    attach(api, house, by_credentials(caller_of_intake), new_routes(None))
    house.operators.begin(digest_of("theirs"), house.now_us())
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
