"""What holds for every test."""

from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

# A machine that others use as well may take any time for an example: how long one takes proves nothing.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")


@pytest.fixture(autouse=True)
def _logs_of_one_test() -> Iterator[None]:
    """What a command sets up for its process is undone: here it is that of the next test as well."""
    yield
    structlog.reset_defaults()
