"""Prints the Pythons on this machine that svc runs on, the oldest first: version and path, one a line.

    python3 deploy/pythons.py

One for each patch version: those on PATH, in /usr/bin, and in pyenv's folder.
"""

import glob
import os
import re
import subprocess
import sys
from pathlib import Path

from environment import minors_run

_ASKED = "import sys, ensurepip, venv; print('.'.join(map(str, sys.version_info[:3])), sys.version_info.releaselevel)"


def main() -> None:
    """Name each, and on the other stream each minor version that is missing."""
    found = {version: path for path in reversed(_candidates()) if (version := _version(path)) is not None}
    for version in sorted(found):
        print(".".join(map(str, version)), found[version])
    for minor in minors_run():
        if not any(version[:2] == (3, minor) for version in found):
            print(f"Python 3.{minor} is not on this machine: nothing was run on it", file=sys.stderr)


def _candidates() -> list[str]:
    """Paths of all programs that may be a Python 3, by name; PATH comes first."""
    pyenv = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", *sorted(glob.glob(f"{pyenv}/versions/*/bin"))]
    named = (path for folder in folders if folder for path in sorted(glob.glob(f"{folder}/python3.[0-9]*")))
    return [path for path in named if re.fullmatch(r"python3\.\d+", Path(path).name)]


def _version(path: str) -> tuple[int, ...] | None:
    """A final version that svc runs on and that can make environments; nothing for another program."""
    try:
        told = subprocess.run([path, "-c", _ASKED], capture_output=True, text=True, check=False, timeout=30).stdout
    except OSError:
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+) final\s*", told)
    version = tuple(int(each) for each in found.groups()) if found is not None else None
    return version if version is not None and version >= (3, 11) else None


if __name__ == "__main__":
    main()
