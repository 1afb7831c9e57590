"""Commands that people type again and again start fast: counted by what they import, for a clock would tell the day."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from svc.cli import COMMANDS

SLOW = {
    *("trio", "asyncio", "httpx", "quart", "flask", "hypercorn", "structlog", "duckdb", "cryptography", "pydantic"),
    *("eventsourcing", "sqlite_utils", "prometheus_client", "pygments", "msgpack"),
    *("svc.service", "svc.log.store", "svc_http.routing"),
}
"""Each takes from a tenth of a second to more than one."""
READERS = {"aggregates.reading.reading", "aggregates.reading.features", "aggregates.reading.redaction", "rapidfuzz"}
MODULES_MAX = 420
"""With those of the standard library; Python alone has some 60."""
OWN_MODULES_MAX = 50
PROGRAM = """
import json, sys
from svc.__main__ import main
try:
    main()
except SystemExit:
    pass
finally:
    sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""


def imported(folder: Path, *arguments: str, code: str = PROGRAM) -> set[str]:
    command, env = [sys.executable, "-c", code, *arguments], {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, check=True, timeout=60, env=env | {"PATH": ""}, cwd=folder)
    return set(json.loads(done.stderr.decode().splitlines()[-1]))


EACH_MODULE = {entry.module: f"{name} --help" for name, entry in COMMANDS.items()}
"""One command of each: what is imported at the top of a module, all commands in it wait for."""


@pytest.mark.parametrize("typed", ["--help", "--version", "doctor", *EACH_MODULE.values()])
def test_a_command_loads_only_what_it_needs(tmp_path: Path, typed: str) -> None:
    """No server, no event loop, no store, no log of a process."""
    found = imported(tmp_path, *typed.split())
    assert found & SLOW == set()
    assert len(found) <= MODULES_MAX
    own = {name for name in found if name.split(".")[0] in ("svc", "svc_http", "aggregates", "projections")}
    assert len(own) <= OWN_MODULES_MAX, sorted(own)


def test_a_server_starts_without_a_client(tmp_path: Path) -> None:
    """It takes a tenth of the start, and most servers ask nobody. What reads texts is loaded behind the start."""
    code = "import json, sys, svc.serving; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    found = imported(tmp_path, code=code)
    assert found & {"httpx", "duckdb", "mcp", "psycopg", "pydantic", "sqlite_utils"} == set()
    assert found & READERS == set()
