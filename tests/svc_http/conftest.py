"""One service in memory, and callers of its two listeners."""

import pytest

from svc_http.app import build_api, build_intake
from tests.svc_http.house import Caller, House, bearer, internal


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
