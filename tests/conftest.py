"""What holds for every test."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.cluster.sprayed import NODES
from tests.support.postgres import Postgres, shared_store_in

# A Python that may keep no compiled modules compiles all of them, and every test, anew in each worker: 15 s of it.
sys.dont_write_bytecode = False

# A machine that others use as well may take any time for an example: how long one takes proves nothing.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

# Whoever uses svc as the README says has these in the shell; a test means its own server and keys.
for name in ("SVC_KEY", "SVC_API_URL"):
    os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several nodes, what concerns one folder is skipped, saying why."""
    for item in items if NODES > 1 else ():
        for mark in item.iter_markers("one_folder"):
            item.add_marker(pytest.mark.skip(f"one folder: {mark.args[0]}"))


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: nobody looks for garbage among them again and again."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: one more than processors, because many tests wait for processes and for the disk."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _logs_of_one_test() -> Iterator[None]:
    """What a command sets up for its process is undone: here it is that of the next test as well."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for this process: the one that SVC_TEST_POSTGRES names, or one of its own where that is found."""
    with Postgres.found() as server:
        yield server


@pytest.fixture
def shared_store(postgres: Postgres) -> Iterator[str]:
    """The address of an empty schema."""
    with shared_store_in(postgres) as url:
        yield url
