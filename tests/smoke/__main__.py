"""`python -m tests.smoke COMMAND…`: a newcomer's steps with the source tree or the binary, in a temporary folder."""

import sys
import tempfile
import time
from pathlib import Path

from tests.smoke.steps import newcomer, smoke


def say(sentence: str) -> None:
    print(sentence, flush=True)


program, *arguments = sys.argv[1:]
found = str(Path(program).absolute()) if "/" in program else program  # whatever folder it is then started in
begun = time.monotonic()
with tempfile.TemporaryDirectory(prefix="svc-smoke-") as folder:
    smoke(newcomer((found, *arguments), Path(folder)), say)
say(f"all of it in {time.monotonic() - begun:.0f} s")
