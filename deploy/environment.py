"""Makes `.venv` from the lock files, and says what it is doing. Needs the standard library and a pip, or uv.

    python3 deploy/environment.py .venv requirements.lock requirements-build.lock --editable

uv is used where it is installed. Else the pip beside this Python fetches the uv of `requirements-uv.lock` into the
environment; where that cannot be had, pip installs the packages itself. An environment of another Python is made anew.
"""

import sys

if sys.version_info < (3, 11):  # before anything that an older Python cannot read
    sys.exit(f"svc needs Python 3.11 or newer, and this is {sys.version.split()[0]}: make PYTHON=python3.12 serve")

import ast
import os
import re
import shutil
import subprocess
import time
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
STEP = re.compile(r"(?:Collecting|Processing|Downloading|Installing collected packages:?)\s*(?:\S*/)?([A-Za-z0-9._]*)")
NEXT = ("Collecting", "Processing")
"""What pip says first of a package: it comes from an index, or lies in a folder."""
WIDTH = 60
UV_LOCK = PROJECT.with_name("requirements-uv.lock")
GIVE_UP_SECONDS = 2  # pip waits so long for an index, twice, before svc does without uv
FOR_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "no-index": "UV_NO_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
"""pip's settings, which uv does not read, and uv's names of them."""
SECTIONS = ("global", "install", ":env:")


def main(folder: str, *named: str) -> None:
    """Make the environment where there is none, and install what the lock files name; `--editable`: svc itself too."""
    locks = [each for each in named if not each.startswith("--")]
    began = time.monotonic()
    wanted = sum(line[:1].isalnum() for lock in locks for line in Path(lock).read_text(encoding="utf-8").splitlines())
    python = str(Path(folder, "bin", "python"))
    own_pip = not _has_pip()
    run = minors_run()
    if sys.version_info[1] not in run:
        say(f"this is Python {sys.version.split()[0]}; svc was run on 3.{min(run)} to 3.{max(run)}, and may work here")
    there = _version_of(folder)
    if there != sys.version_info[:3] or not Path(python).exists():
        if there is not None:
            shutil.rmtree(folder)
        say(f"making {folder}, an environment for svc alone, of Python {sys.version.split()[0]}")
        uv = shutil.which("uv")
        made = [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
        carried_out([*made, *([] if uv or own_pip else ["--without-pip"]), folder])
    pip = [python, "-m", "pip"] if own_pip else [sys.executable, "-m", "pip", "--python", python]
    packages = ["--require-hashes", *(each for lock in locks for each in ("-r", lock))]
    svc = ["--no-deps", "--no-build-isolation", "--editable", "."] if "--editable" in named else []
    of = f"{wanted} packages from {' and '.join(locks)}"
    if uv := shutil.which("uv") or _fetched_uv(folder, pip):
        say(f"installing {of} with uv")
        install = [uv, "pip", "install", "--python", python]
        env = {**settings_for_uv(pip), **os.environ}
        commands = [[*install, *packages], *([[*install, "--quiet", *svc]] if svc else [])]
        commands += [[python, "-c", "import svc.serving, svc_http.app"]] if svc else []  # compiles what a start needs
        if all(subprocess.call(each, env=env) == 0 for each in commands):
            return say(f"installed in {time.monotonic() - began:.0f} s")
    say(f"installing {of} with pip, which takes longer")
    # Python compiles what is imported when it is imported; compiling all of it would take longer than fetching it.
    options = ["--no-compile", "--disable-pip-version-check", "--progress-bar", "off"]
    _shown([*pip, "install", *options, *packages], wanted)
    if svc:
        carried_out([*pip, "install", "--quiet", "--disable-pip-version-check", *svc])
    say(f"installed in {time.monotonic() - began:.0f} s")


def _fetched_uv(folder: str, pip: list[str]) -> str | None:
    """The uv of an environment, fetched where it has none; nothing where the index does not answer soon."""
    uv = Path(folder, "bin", "uv")
    if not uv.exists():
        say("fetching uv, which installs the packages in a tenth of pip's time")
        bounds = ["--retries", "0", "--timeout", str(GIVE_UP_SECONDS), "--disable-pip-version-check"]
        fetch = [*pip, "install", "--quiet", "--require-hashes", *bounds, "-r", str(UV_LOCK)]
        if subprocess.run(fetch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            say("uv cannot be had here")
    return str(uv) if uv.exists() else None


def settings_for_uv(pip: list[str]) -> dict[str, str]:
    """pip's settings of indexes under uv's names. With hashes required, any index may serve any package."""
    told = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False)
    found = dict[str, str]()
    for line in told.stdout.splitlines():
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        if section in SECTIONS and (name := FOR_UV.get(option.replace("_", "-"))):
            found[name] = ("," if name == "UV_FIND_LINKS" else " ").join(str(ast.literal_eval(value)).split())
    return {**found, "UV_INDEX_STRATEGY": "unsafe-best-match"} if "UV_INDEX" in found else found


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
    try:
        found = metadata.version("pip").split(".")
    except metadata.PackageNotFoundError:
        return False
    return (int(found[0]), int(found[1])) >= (22, 3)


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
