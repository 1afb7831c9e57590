"""`svc-client.pyz`: the commands of a machine without a server, in one archive that any Python from 3.11 on runs.

It is made of the modules that run here, and of the libraries that they need; all of these are plain Python but msgspec,
for which `plain_msgspec` stands in there.
"""

import io
import zipfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from svc import __version__

if TYPE_CHECKING:
    from svc_http.ports import ClientFile

NAME = "svc-client.pyz"
COMMANDS = ("connect", "disconnect", "doctor", "hook", "import", "score", "goals", "why", "wrong", "habits", "cost")
_OWN = {
    "svc": (
        *("__init__.py", "process.py", "settings.py", "llm/__init__.py", "llm/budget.py", "hook", "connect"),
        *("log/__init__.py", "log/folder.py", "importing", "cli/__init__.py", "cli/common.py", "cli/connecting.py"),
        *("cli/importing.py", "cli/scoring.py"),
    ),
    "aggregates": ("",),
    "svc_http": ("__init__.py", "asking/__init__.py", "asking/words.py", "pages/__init__.py", "pages/words.py"),
}
"""Of each package what the commands import."""
_LIBRARIES = {
    **{"click": ("click",), "rich": ("rich",), "tomlkit": ("tomlkit",), "trio": ("trio",), "attrs": ("attr", "attrs")},
    **{"outcome": ("outcome",), "sniffio": ("sniffio",), "sortedcontainers": ("sortedcontainers",), "idna": ("idna",)},
}
"""Of each distribution its packages; trio, with what it needs, runs an import."""
_LEFT_OUT = {"__pycache__", "_tests", "testing", "tests", "client.py", "plain_msgspec.py", "here.py"}
_ENDINGS = {".py", ".toml", ".json", ".txt"}
_ALL_READ = 0o644 << 16
_MAIN = f"""import os
import sys

if sys.version_info < (3, 11):
    sys.exit("svc-client needs Python 3.11 or newer; this is " + sys.version.split()[0])
if sys.argv[1:2] == ["hook"] and not {{"-h", "--help"}} & set(sys.argv):
    from svc.hook.main import call

    call(sys.argv[2:])
os.umask(0o077)
from svc import cli

for name in set(cli.COMMANDS) - set({COMMANDS!r}):
    del cli.COMMANDS[name]
cli.main.help = "Connect this machine's agents to a server of svc elsewhere, and see how well you work with them."
cli.main(prog_name="svc-client")
"""


class NotHere(Exception):
    """The archive cannot be made of this program; the message says why."""


@cache
def archive() -> "ClientFile":
    """The same bytes whenever it is made of the same modules. Takes a second. Raises `NotHere`."""
    from svc_http.ports import ClientFile

    buffer = io.BytesIO()
    buffer.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, data in sorted(_members()):
            member = zipfile.ZipInfo(name)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, _ALL_READ
            packed.writestr(member, data)
    return ClientFile(buffer.getvalue(), sha256(buffer.getvalue()).hexdigest())


def made_here() -> "ClientFile | None":
    """None where it cannot be made."""
    try:
        return archive()
    except NotHere:
        return None


def _members() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    yield "msgspec/__init__.py", _folder("svc").joinpath("connect", "plain_msgspec.py").read_bytes()
    yield "svc/cli/version.txt", f"{__version__}\n".encode()
    yield "msgspec/structs.py", b"from msgspec import replace\n"
    for package, parts in _OWN.items():
        for part in parts:
            yield from _files(_folder(package) / part, f"{package}/{part}".rstrip("/"))
    for name, packages in _LIBRARIES.items():
        for package in packages:
            yield from _files(_folder(package), package)
        yield from _licences(name)


def _folder(package: str) -> Path:
    found = find_spec(package)
    folder = Path(found.origin or "").parent if found is not None else Path()
    if not (folder / "__init__.py").is_file():
        raise NotHere("the one-file program cannot make the client: take it from an installed package of svc")
    return folder


def _files(path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for each in sorted(path.iterdir()):
            if each.name not in _LEFT_OUT:
                yield from _files(each, f"{name}/{each.name}")
    elif path.suffix in _ENDINGS and path.is_file():
        yield name, path.read_bytes()


def _licences(name: str) -> Iterator[tuple[str, bytes]]:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return
    for each in files:
        if each.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE")):
            yield f"licences/{name}/{each.name}", each.read_binary()
