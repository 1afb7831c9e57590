"""One service in memory, and callers of its two listeners, each of whose answers is held against the description."""

from collections.abc import Mapping

import pytest

from svc_http.app import build_api, build_intake
from tests.support.described import faults
from tests.svc_http.house import Answer, Caller, House, bearer, internal, over
from tests.svc_http.workshop import Workshop

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


@pytest.fixture(autouse=True)
def _as_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test asks for, it also shows that the description is true."""
    monkeypatch.setattr(Caller, "call", described)


@pytest.fixture
def house() -> Workshop:
    """The service, and who makes its reports; Ana and Ben belong to Acme, Eve to Other."""
    return Workshop()


@pytest.fixture
def intake(house: House) -> Caller:
    return Caller(over(house, build_intake), bearer())


@pytest.fixture
def api(house: House) -> Caller:
    return Caller(over(house, build_api), bearer())


@pytest.fixture
def admin(house: House) -> Caller:
    return Caller(over(house, build_api), internal())
