"""One service in memory, and callers of its two listeners, each of whose answers is held against the description."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import pytest
from quart_trio import QuartTrio

from svc_http.app import build_api, build_intake
from svc_http.listener import LARGE_BYTES_PER_SECOND, Listener, Pace
from svc_http.ports import Service
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


class Current:
    """The service of the test that runs. An application takes 30 ms to make, so each is made once for all tests."""

    def __init__(self) -> None:
        self.house: House | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.house, name)


CURRENT = Current()


@cache
def _made(build: Callable[[Service], QuartTrio]) -> QuartTrio:
    return build(cast(Service, CURRENT))


def _begun_anew(build: Callable[[Service], QuartTrio]) -> QuartTrio:
    """Each test has a clock of its own, so nobody waits for a turn that another test's clock gave."""
    app = _made(build)
    assert isinstance(app, Listener)
    app.large = Pace(LARGE_BYTES_PER_SECOND)
    return app


@pytest.fixture(autouse=True)
def _as_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test asks for, it also shows that the description is true."""
    monkeypatch.setattr(Caller, "call", described)


@pytest.fixture
def house() -> House:
    """The service; Ana and Ben belong to Acme, Eve to Other."""
    CURRENT.house = House()
    return CURRENT.house


@pytest.fixture
def intake(house: House) -> Caller:
    return Caller(_begun_anew(build_intake), bearer())


@pytest.fixture
def api(house: House) -> Caller:
    return Caller(_begun_anew(build_api), bearer())


@pytest.fixture
def admin(house: House) -> Caller:
    return Caller(_begun_anew(build_api), internal())
