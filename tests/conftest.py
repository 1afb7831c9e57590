"""What holds for every test."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.support.facts import views_closed
from tests.support.postgres import Postgres, shared_store_in

# A Python that may keep no compiled modules compiles all of them, and every test, anew in each worker: 15 s of it.
sys.dont_write_bytecode = False

# A machine that others use as well may take any time for an example: how long one takes proves nothing. Forty of each
# in every run find what eighty find in half as many runs; `make fuzz` goes deep.
settings.register_profile("any-machine", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

# Whoever uses svc as the README says has these in the shell; a test means its own server and keys.
for name in ("SVC_KEY", "SVC_API_URL", "SSL_CERT_FILE"):
    os.environ.pop(name, None)
# Each of a thousand clients of httpx would read the bundle of all authorities, 20 ms; here none is ever asked.
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# Where no program has set up its logs, tracebacks are Python's own: rich's print what each name of each frame holds,
# which takes seconds for one error.
for part in structlog.get_config()["processors"]:
    if isinstance(part, structlog.dev.ConsoleRenderer):
        part.exception_formatter = structlog.dev.plain_traceback

MEMORY = Path("/dev/shm")
ROOM_BYTES_MIN = 2 * 2**30


def _in_memory() -> bool:
    """Whether what tests write may lie there: each fsync of a disk is waited for, thousands of times. A process that is
    killed loses nothing there either; what a power cut takes, tests/faults asks of each write."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(MEMORY)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > ROOM_BYTES_MIN


if _in_memory():
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: nobody looks for garbage among them again and again."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`. Each more would import and collect all again, which takes longer than what it would do."""
    return os.cpu_count() or 1


@pytest.fixture(autouse=True)
def _logs_of_one_test() -> Iterator[None]:
    """What a command sets up for its process is undone: here it is that of the next test as well."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session", autouse=True)
def _views_of_modules() -> Iterator[None]:
    with views_closed():
        yield


@pytest.fixture(autouse=True)
def _views_of_one_test() -> Iterator[None]:
    with views_closed():
        yield


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
