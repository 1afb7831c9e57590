"""`make api-check`: schemathesis against servers with the demo's data, as a developer on both listeners, on the API
alone, and as an administrator. `schemathesis.toml` names refusals that are no fault; a 500 always is."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from tests.support.process import NO_BUDGETS, THIS_TREE, log_tail

_ADMIN = ("--include-path-regex", "^/v1/(admin|model-catalog)")
_OTHERS = ("--exclude-path-regex", "^/v1/admin")
_BOTH = ("--include-path-regex", "^/(health$|v1/(insights|telemetry/logs$|score_v3/(today-summary|realtime)))")


@click.command()
@click.option("--schemathesis", default="schemathesis", help="The program.")
@click.option("--max-examples", default=25, show_default=True, help="For each operation and phase.")
@click.option("--seed", default=1, show_default=True)
def main(schemathesis: str, max_examples: int, seed: int) -> None:
    """Hold the running service against its own description; ends with 1 where they differ.

    Example: python -m tests.bench.api_check --schemathesis build/api-check/bin/schemathesis --seed 7"""
    options = ("--checks", "all", "--continue-on-failure", "--generation-database", "none")
    command = (schemathesis, "run", *options, "--max-examples", str(max_examples), "--seed", str(seed))
    with tempfile.TemporaryDirectory(prefix="svc-api-check-") as folder:
        demo = Path(folder) / "demo"
        THIS_TREE.run("demo", "--var", demo)
        key = THIS_TREE.json("key", "issue", "--var", demo, "--developer", "Ana")["key"]
        bearer = ("-H", f"Authorization: Bearer {key}")
        secret = ("-H", f"X-Internal-Secret: {(demo / 'internal-secret').read_text().strip()}")
        passed = [
            _run(demo, command, (*bearer, *_OTHERS)),
            _run(demo, command, (*bearer, *_BOTH), api_only=True),
            _run(demo, command, (*secret, *_ADMIN), api_only=True),
        ]
    sys.exit(0 if all(passed) else 1)


def _run(demo: Path, command: Sequence[str], more: Sequence[str], *, api_only: bool = False) -> bool:
    """One run, on a server over a copy of the folder. `api_only`: whatever the description says, ask the API."""
    var = demo.with_name("var")
    shutil.rmtree(var, ignore_errors=True)
    shutil.copytree(demo, var)
    # It sends wrong keys by the hundred, and is to see what each is told.
    with THIS_TREE.serving(var, "--log-level", "warning", told=NO_BUDGETS) as server:
        where = ("--url", server.api_url) if api_only else ()
        done = subprocess.run((*command, f"{server.api_url}/openapi.json", *where, *more), check=False)
        if done.returncode:
            print(log_tail(var))
        return done.returncode == 0


if __name__ == "__main__":
    main()
