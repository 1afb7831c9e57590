"""One service in memory, and callers of its two listeners, each of whose answers is held against the description."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from werkzeug.routing import Rule

from svc_http.app import build_api, build_intake
from tests.support.described import faults
from tests.svc_http.house import Answer, Caller, House, bearer, internal

CALL = Caller.call


async def described(
    self: Caller, method: str, path: str, value: object = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Any request; what is answered is as `/openapi.json` says."""
    answer = await CALL(self, method, path, value, headers)
    if method != "HEAD":
        wrong = faults(method, path, answer.status, answer.headers.get("Content-Type", ""), answer.body)
        assert wrong == [], (method, path, answer.status, wrong)
    return answer


def _builds_no_addresses(_rule: Rule, append_unknown: bool = True) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise AssertionError("svc asked for the address of a route")

    return refuse


@pytest.fixture(autouse=True, scope="session")
def _routes_only_lead_in() -> Iterator[None]:
    """Werkzeug compiles a function for each route that makes its address: 40 ms an app, for what svc never asks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "_compile_builder", _builds_no_addresses)
        yield


@pytest.fixture(autouse=True)
def _as_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test asks for, it also shows that the description is true."""
    monkeypatch.setattr(Caller, "call", described)


@pytest.fixture
def house() -> House:
    """The service; Ana and Ben belong to Acme, Eve to Other."""
    return House()


@pytest.fixture
def intake(house: House) -> Caller:
    """Ana's agents at the public listener."""
    return Caller(build_intake(house), bearer())


@pytest.fixture
def api(house: House) -> Caller:
    """Ana at the private listener."""
    return Caller(build_api(house), bearer())


@pytest.fixture
def admin(house: House) -> Caller:
    """Whoever holds the internal secret."""
    return Caller(build_api(house), internal())
