"""A real PostgreSQL for tests: the one that SVC_TEST_POSTGRES names, else one that is started here, from the `postgres`
of the machine. Without either, the tests that need it are skipped."""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import psycopg
import pytest

from tests.support.driver import until
from tests.support.listening import closed

NAMED = "SVC_TEST_POSTGRES"
_USERS = ("postgres", "nobody")  # whom a test of root's runs it as: PostgreSQL refuses to be root's
_START_SECONDS = 30.0
QUICK = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB", "max_connections": "60"}
"""What is asked here is who sees what; what a disk does is asked by `make cluster` and `make bench`."""


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps them off the path."""
    found = shutil.which("postgres")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def free_port() -> int:
    return int(closed().rpartition(":")[2])


class Postgres:
    """A server that can be asked for addresses; one of our own can be stopped and started as well."""

    def __init__(self, url: str, folder: Path | None = None, port: int = 0, options: Sequence[str] = ()) -> None:
        self.url = url
        self._folder = folder
        self.port = port
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def found(cls) -> Iterator["Postgres"]:
        """Skips the test where there is none."""
        if named := os.environ.get(NAMED):
            yield cls(named)
            return
        if programs() is None:
            pytest.skip(f"no postgres is found on this machine, and {NAMED} names none")
        with cls.started(QUICK) as server:
            yield server

    @classmethod
    @contextmanager
    def started(cls, settings: dict[str, str]) -> Iterator["Postgres"]:
        """One of our own, in a folder that is removed afterwards."""
        binaries = programs()
        assert binaries is not None, "no postgres is found on this machine"
        with tempfile.TemporaryDirectory(prefix="svc-postgres-") as name:
            folder = Path(name)
            if identity := _identity():
                os.chown(folder, identity["user"], identity["group"])
            initdb = ["--auth=trust", "--username=svc", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]
            command = [str(binaries / "initdb"), *initdb, str(folder / "data")]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity)
            port, options = free_port(), [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]
            server = cls(f"postgresql://svc@127.0.0.1:{port}/postgres", folder, port, options)
            server.start()
            try:
                yield server
            finally:
                server.stop()

    def start(self) -> None:
        binaries = programs()
        assert binaries is not None
        assert self._folder is not None
        place = ["-D", self._folder / "data", "-p", str(self.port), "-h", "127.0.0.1", "-k", self._folder]
        with (self._folder / "server.log").open("ab") as log:
            command = [str(each) for each in (binaries / "postgres", *place, *self._options)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **_identity())
        assert until(self._answers, _START_SECONDS), (self._folder / "server.log").read_text()

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(self.url, connect_timeout=2).close()
            return True
        assert self._process is not None
        assert self._process.poll() is None, "it has ended"
        return False

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: at once, in order; SIGQUIT: as in a crash."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(_START_SECONDS)

    def freeze(self, how: signal.Signals) -> None:
        """SIGSTOP or SIGCONT for all of its processes: the first one first, so that it starts no other meanwhile."""
        assert self._process is not None
        os.kill(self._process.pid, how)
        # Each of its children leads a process group of its own.
        for child in Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), how)

    def run(self, statement: str, *values: Any) -> list[Any]:
        """As its administrator; one that a lock holds up for so long fails."""
        with psycopg.connect(self.url, autocommit=True, connect_timeout=int(_START_SECONDS)) as connection:
            connection.execute(f"SET statement_timeout = '{_START_SECONDS}s'")
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def shared_store_in(server: Postgres) -> Iterator[str]:
    """The address of a new schema, which goes afterwards."""
    schema = f"svc_{uuid4().hex}"
    server.run(f"CREATE SCHEMA {schema}")
    try:
        yield in_schema(server.url, schema)
    finally:
        server.run(f"DROP SCHEMA {schema} CASCADE")


def in_schema(url: str, schema: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}options={quote(f'-csearch_path={schema}')}"


def _identity() -> dict[str, Any]:
    """Root's children become somebody else."""
    if os.geteuid() != 0:
        return {}
    user = next(each for each in pwd.getpwall() if each.pw_name in _USERS)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def as_role(url: str, role: str, password: str) -> str:
    """The same address for somebody else."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}:{password}@{parts.netloc.rpartition('@')[2]}").geturl()


@cache
def quick_database() -> Postgres:
    """One for the whole process, of many connections."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(Postgres.started(QUICK | {"max_connections": "200"}))
