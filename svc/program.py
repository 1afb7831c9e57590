"""How this very program is started again, as a child of itself."""

import shlex
import shutil
import sys
from pathlib import Path


def program() -> list[str]:
    """The command that runs it: the one-file binary, or the package under Python."""
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "svc"]


def typed(*arguments: str) -> str:
    """A command line that runs it in the shell from which it was started, wherever it lies."""
    began = Path(sys.argv[0])
    on_path = shutil.which("svc")
    if began.name == "__main__.py":
        command = [sys.executable, "-m", "svc"]
    elif on_path is not None and began.exists() and Path(on_path).samefile(began):
        command = ["svc"]
    else:
        command = [sys.argv[0]]
    return shlex.join([*command, *arguments])
