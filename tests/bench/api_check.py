"""`make api-check`: schemathesis, with all its checks, against servers with the demo's data.

It runs three times, each on its own copy of the folder: as a developer on both listeners, as a developer on the API
alone, and as an administrator, who may end memberships and keys. `schemathesis.toml` names the refusals that are no
fault. A 500 always is a fault; the server's log says why.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from tests.bench.servers import NO_BUDGETS

_SVC = (sys.executable, "-m", "svc")
_ADMIN = ("--include-path-regex", "^/v1/(admin|model-catalog)")
_OTHERS = ("--exclude-path-regex", "^/v1/admin")
_BOTH = ("--include-path-regex", "^/(health$|v1/(insights|telemetry/logs$|score_v3/(today-summary|realtime)))")


@click.command()
@click.option("--schemathesis", default="schemathesis", help="The program.")
@click.option("--max-examples", default=25, show_default=True, help="For each operation and phase.")
@click.option("--seed", default=1, show_default=True)
def main(schemathesis: str, max_examples: int, seed: int) -> None:
    """Hold the running service against its own description; ends with 1 where they differ.

    Example: python -m tests.bench.api_check --schemathesis build/api-check/bin/schemathesis --seed 7
    """
    options = ("--checks", "all", "--continue-on-failure", "--generation-database", "none")
    command = (schemathesis, "run", *options, "--max-examples", str(max_examples), "--seed", str(seed))
    with tempfile.TemporaryDirectory(prefix="svc-api-check-") as folder:
        demo = Path(folder) / "demo"
        key = _with_a_key(demo)
        bearer = ("-H", f"Authorization: Bearer {key}")
        secret = ("-H", f"X-Internal-Secret: {(demo / 'internal-secret').read_text().strip()}")
        passed = [
            _run(demo, command, (*bearer, *_OTHERS)),
            _run(demo, command, (*bearer, *_BOTH), api_only=True),
            _run(demo, command, (*secret, *_ADMIN), api_only=True),
        ]
    sys.exit(0 if all(passed) else 1)


def _with_a_key(var: Path) -> str:
    """Make the folder; a key of one of its developers."""
    subprocess.run((*_SVC, "demo", "--var", str(var)), check=True, stdout=subprocess.DEVNULL)
    issue = ("key", "issue", "--var", str(var), "--developer", "Ana", "--json")
    made = subprocess.run((*_SVC, *issue), check=True, capture_output=True)
    key: str = msgspec.json.decode(made.stdout)["key"]
    return key


def _run(demo: Path, command: Sequence[str], more: Sequence[str], *, api_only: bool = False) -> bool:
    """One run, on a server over a copy of the folder. `api_only`: whatever the description says, ask the API."""
    var = demo.with_name("var")
    shutil.rmtree(var, ignore_errors=True)
    shutil.copytree(demo, var)
    with _server(var) as url:
        where = ("--url", url) if api_only else ()
        return subprocess.run((*command, f"{url}/openapi.json", *where, *more), check=False).returncode == 0


@contextmanager
def _server(var: Path) -> Iterator[str]:
    """The URL of the API of a server over a folder."""
    listeners = ("--intake", "127.0.0.1:0", "--api", "127.0.0.1:0")
    serve = (*_SVC, "serve", "--var", str(var), *listeners, "--log-level", "warning")
    # It sends wrong keys by the hundred, and is to see what each is told.
    quiet = os.environ | NO_BUDGETS | {"SVC_CATALOG_REFRESH": "false"}
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=quiet) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().rpartition("api=")[2].strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
