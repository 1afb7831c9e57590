"""The routes of both listeners, held against the list of the contract: `tests/routes.txt`."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from quart_trio import QuartTrio

from svc_http.app import build_api, build_intake
from tests.svc_http.house import Caller, House, bearer, internal

LISTENERS = {"i": "intake", "a": "API"}
SOME_ID = "00000000-0000-4000-8000-000000000000"


class Listed(NamedTuple):
    method: str
    path: str
    listener: str
    auth: str


def listed() -> list[Listed]:
    """The contract, one entry for each listener a route answers on."""
    lines = (Path(__file__).parent.parent / "routes.txt").read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines if not line.startswith("#")]
    return [Listed(method, path, letter, auth) for method, path, letters, auth in fields for letter in letters]


def served(listener: QuartTrio, letter: str) -> set[tuple[str, str, str]]:
    """(method, path, listener) of everything that it answers; ids in paths have one name."""
    return {
        (method, re.sub("<[^>]*>", "<id>", rule.rule), letter)
        for rule in listener.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD"}
    }


ROUTES = listed()


def name(route: Listed) -> str:
    """How a route is called in test reports."""
    return f"{route.method} {route.path} {LISTENERS[route.listener]}"


def test_both_listeners_serve_what_the_list_says(house: House) -> None:
    """Nothing is missing, nothing is there that the list does not know."""
    contract = {route[:3] for route in listed()}
    found = served(build_intake(house), "i") | served(build_api(house), "a")
    assert found == contract


def test_no_route_is_listed_twice() -> None:
    """Each method, path and listener once."""
    entries = [route[:3] for route in listed()]
    assert len(entries) == len(set(entries))


async def statuses(intake: Caller, api: Caller, routes: list[Listed], headers: dict[str, str]) -> dict[str, int]:
    """What each route answers to a caller with these credentials."""
    callers = {"i": intake.using(headers), "a": api.using(headers)}
    return {
        name(route): (await callers[route.listener].call(route.method, route.path.replace("<id>", SOME_ID))).status
        for route in routes
    }


def of(*auth: str, listeners: str = "ia") -> list[Listed]:
    """The built routes that ask for one of these credentials."""
    return [route for route in ROUTES if route.auth in auth and route.listener in listeners]


async def test_nobody_gets_in_without_a_credential(intake: Caller, api: Caller) -> None:
    """401 before anything else is looked at."""
    found = await statuses(intake, api, of("key", "member", "owner", "secret"), {})
    assert {route: status for route, status in found.items() if status != 401} == {}


async def test_what_is_public_needs_none(intake: Caller, api: Caller) -> None:
    """Health and readiness answer anybody."""
    found = await statuses(intake, api, of("none"), {})
    assert {route: status for route, status in found.items() if status in (401, 403)} == {}


async def test_a_developers_key_is_no_secret(intake: Caller, api: Caller) -> None:
    """403, for an owner's key as well."""
    found = await statuses(intake, api, of("secret"), bearer())
    assert {route: status for route, status in found.items() if status != 403} == {}


@pytest.mark.parametrize(("listener", "expected"), [("i", 401), ("a", 403)])
async def test_the_secret_alone_is_nobody(intake: Caller, api: Caller, listener: str, expected: int) -> None:
    """On the API a service principal, 403; the public listener does not even look at it."""
    found = await statuses(intake, api, of("key", "member", "owner", listeners=listener), internal())
    assert {route: status for route, status in found.items() if status != expected} == {}
