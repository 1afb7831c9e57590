"""Makes `.venv` from the lock files, and says what it is doing. Needs the standard library and a pip, or uv.

    python3 deploy/environment.py .venv requirements.lock requirements-build.lock --editable

uv is used where it is installed. Else the pip beside this Python works on the environment, which then needs no copy of
its own; only where there is none, the environment gets one. An environment of another Python is made anew.
"""

import sys

if sys.version_info < (3, 11):  # before anything that an older Python cannot read
    sys.exit(f"svc needs Python 3.11 or newer, and this is {sys.version.split()[0]}: make PYTHON=python3.12 serve")

import re
import shutil
import subprocess
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
STEP = re.compile(r"(?:Collecting|Processing|Downloading|Installing collected packages:?)\s*(?:\S*/)?([A-Za-z0-9._]*)")
NEXT = ("Collecting", "Processing")
"""What pip says first of a package: it comes from an index, or lies in a folder."""
WIDTH = 60


def main(folder: str, *named: str) -> None:
    """Make the environment where there is none, and install what the lock files name; `--editable`: svc itself too."""
    locks = [each for each in named if not each.startswith("--")]
    began = time.monotonic()
    wanted = sum(line[:1].isalnum() for lock in locks for line in Path(lock).read_text(encoding="utf-8").splitlines())
    python = str(Path(folder, "bin", "python"))
    uv, pip = shutil.which("uv"), _has_pip()
    run = minors_run()
    if sys.version_info[1] not in run:
        say(f"this is Python {sys.version.split()[0]}; svc was run on 3.{min(run)} to 3.{max(run)}, and may work here")
    there = _version_of(folder)
    if there != sys.version_info[:3] or not Path(python).exists():
        if there is not None:
            shutil.rmtree(folder)
        say(f"making {folder}, an environment for svc alone, of Python {sys.version.split()[0]}")
        made = [uv, "venv", "--quiet", "--python", sys.executable, folder] if uv else [sys.executable, "-m", "venv"]
        carried_out(made if uv else [*made, *(["--without-pip"] if pip else []), folder])
    sources = [each for lock in locks for each in ("-r", lock)]
    say(f"installing {wanted} packages from {' and '.join(locks)} with {'uv' if uv else 'pip'}")
    svc = ["--no-deps", "--no-build-isolation", "--editable", "."] if "--editable" in named else []
    if uv:
        carried_out([uv, "pip", "install", "--python", python, "--require-hashes", *sources])
        if svc:
            carried_out([uv, "pip", "install", "--quiet", "--python", python, *svc])
        return
    installer = [sys.executable, "-m", "pip", "--python", python] if pip else [python, "-m", "pip"]
    # Python compiles what is imported when it is imported; compiling all of it would take longer than fetching it.
    options = ["--no-compile", "--disable-pip-version-check", "--require-hashes", "--progress-bar", "off"]
    _shown([*installer, "install", *options, *sources], wanted)
    if svc:
        carried_out([*installer, "install", "--quiet", "--disable-pip-version-check", *svc])
    say(f"installed in {time.monotonic() - began:.0f} s")


def minors_run() -> list[int]:
    """The minor versions of Python 3 that svc was run on, as the project's classifiers tell."""
    return [int(each) for each in re.findall(r"Python :: 3\.(\d+)", PROJECT.read_text(encoding="utf-8"))]


def _version_of(folder: str) -> tuple[int, ...] | None:
    """The Python of an environment, as its own file tells it; nothing where there is none."""
    told = Path(folder, "pyvenv.cfg")
    text = told.read_text(encoding="utf-8") if told.exists() else ""
    found = re.search(r"^version(?:_info)? = (\d+)\.(\d+)\.(\d+)", text, re.MULTILINE)
    return tuple(int(each) for each in found.groups()) if found is not None else None


def say(sentence: str) -> None:
    """One line, at once."""
    print(f"svc: {sentence}", flush=True)


def carried_out(command: list[str]) -> None:
    """Run it; end with its code where it fails."""
    code = subprocess.call(command)
    if code != 0:
        sys.exit(code)


def _has_pip() -> bool:
    """Whether the pip beside this Python can work on another environment: since 22.3."""
    told = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"pip (\d+)\.(\d+)", told.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= (22, 3)


def _shown(command: list[str], wanted: int) -> None:
    """Run pip with a line that changes on a terminal, and a line for every tenth package elsewhere."""
    watched, collected, said = sys.stdout.isatty(), 0, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            found = STEP.match(line.strip())
            if found is None:
                continue
            collected += line.startswith(NEXT)
            doing = "installing" if line.startswith("Installing") else f"fetching {found[1]}"
            if watched:
                print(f"\r  {collected} of {wanted}, {doing}"[:WIDTH].ljust(WIDTH), end="", flush=True)
            elif line.startswith("Installing") or (line.startswith(NEXT) and collected % 10 == 0):
                print(f"  {collected} of {wanted}, {doing}", flush=True)
    if watched:
        print("\r" + " " * WIDTH, end="\r", flush=True)
    if pip.returncode != 0:
        sys.exit("".join(said[-20:]) + f"pip ended with {pip.returncode}; what it said last stands above")


if __name__ == "__main__":
    main(*sys.argv[1:])
