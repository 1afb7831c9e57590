"""Three nodes of the real program over one PostgreSQL, each with a line of its own to it, behind a balancer."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

from svc.log.shared import make_master_key
from tests.bench.servers import NO_BUDGETS, svc_command
from tests.cluster.relay import Relay
from tests.support.postgres import Postgres

_READY = re.compile(r"ready intake=http://127\.0\.0\.1:(\d+) api=http://127\.0\.0\.1:(\d+)")
_KEY = re.compile(r"svc_[A-Za-z0-9_-]{43}")
START_SECONDS = 120.0
DISK = {"shared_buffers": "128MB", "max_connections": "100"}
"""Otherwise as PostgreSQL comes: every commit is synced."""


class Node:
    """A node: its folder, its line to the database, and its process while it runs."""

    def __init__(self, folder: Path, number: int, database: Postgres, more: dict[str, str]) -> None:
        self.var = folder / f"node{number}"
        self.number = number
        self.line = Relay(lambda: [database.port])
        self.told = {
            "SVC_STORE": f"postgresql://svc@127.0.0.1:{self.line.port}/postgres",
            "SVC_MASTER_KEY_FILE": str(folder / "master.key"),
            "SVC_CATALOG_REFRESH": "false",
            **NO_BUDGETS,
            **more,
        }
        self.log = folder / f"node{number}.log"
        self.process: subprocess.Popen[str] | None = None
        self.intake = self.api = 0
        self.frozen = False

    @property
    def serves(self) -> bool:
        """Whether the balancer may choose it, as its health check tells."""
        return self.intake > 0 and not self.frozen

    def begin(self) -> None:
        """Start the process."""
        listeners = ("--intake", f"127.0.0.1:{self.intake}", "--api", f"127.0.0.1:{self.api}")
        with self.log.open("a") as errors:
            self.process = subprocess.Popen(
                svc_command("serve", "--var", str(self.var), *listeners),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self.environment(),
            )

    def wait(self) -> None:
        """Until it serves. A start that found no database ends, and is tried again, as a service manager does."""
        until = time.monotonic() + START_SECONDS
        while True:
            assert self.process is not None
            assert self.process.stdout is not None
            found = _READY.search(_line(self.process.stdout))
            if found is not None:
                self.intake, self.api = int(found[1]), int(found[2])
                return
            self.process.wait()
            assert time.monotonic() < until, self.log.read_text()[-2_000:]
            time.sleep(0.5)
            self.begin()

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """As a service manager does; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def freeze(self, frozen: bool) -> None:
        assert self.process is not None
        self.frozen = frozen
        self.process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command on its folder."""
        command = svc_command(*arguments, "--var", str(self.var))
        return subprocess.run(command, capture_output=True, text=True, env=self.environment(), check=False)

    def environment(self) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        return {name: value for name, value in plain.items() if name != "PYTHONDONTWRITEBYTECODE"} | self.told


def _line(lines: IO[str]) -> str:
    line: str = lines.readline()
    return line


class Cluster:
    """All of them."""

    def __init__(self, database: Postgres, nodes: list[Node], folder: Path) -> None:
        self.database = database
        self.nodes = nodes
        self.folder = folder
        self.balancer = Relay(lambda: [node.intake for node in nodes if node.serves])
        self.reads = Relay(lambda: [node.api for node in nodes if node.serves], seed=2)

    @property
    def key(self) -> str:
        """The key that one node showed, once."""
        found: str
        (found,) = {key for node in self.nodes for key in _KEY.findall(node.log.read_text())}
        return found

    def heal(self) -> None:
        """Everything runs again."""
        for node in self.nodes:
            node.line.cut(False)
            if node.frozen:
                node.freeze(False)
            if node.process is None or node.process.poll() is not None:
                node.begin()
                node.wait()

    def level(self, seconds: float = 180.0) -> int:
        """Wait until every node holds all of the log; its last position."""
        until = time.monotonic() + seconds
        secret = {"X-Internal-Secret": (self.nodes[0].var / "internal-secret").read_text().strip()}
        head: int = self.database.run("SELECT head FROM svc_log")[0][0]
        for node in self.nodes:
            while True:
                assert time.monotonic() < until, f"node {node.number} does not come up to {head}"
                asked = {"X-Svc-Position": str(head)}
                answer = httpx.get(
                    f"http://127.0.0.1:{node.api}/v1/admin/developers", headers=secret | asked, timeout=30
                )
                if answer.status_code == 200:
                    break
                time.sleep(0.5)
        return head


@contextmanager
def cluster(database: Postgres, folder: Path, number: int = 3, **more: str) -> Iterator[Cluster]:
    """Nodes that start at the same time over an empty database: one sets it up."""
    make_master_key(folder / "master.key")
    nodes = [Node(folder, each, database, more) for each in range(number)]
    try:
        for node in nodes:
            node.begin()
        waiting = [threading.Thread(target=node.wait) for node in nodes]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join()
        assert all(node.intake for node in nodes), [node.log.read_text()[-2_000:] for node in nodes]
        yield Cluster(database, nodes, folder)
    finally:
        for node in nodes:
            if node.process is not None:
                node.process.send_signal(signal.SIGCONT)
            node.kill()
            node.line.close()
