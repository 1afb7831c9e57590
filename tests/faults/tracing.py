"""What a program did to the files of a folder, and when, from strace."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.faults.captures import NEVER

CALLS = (
    "openat,write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,"
    "rename,renameat,renameat2,unlink,unlinkat,link,linkat,mkdir,mkdirat,rmdir,copy_file_range,sendfile,symlink"
)
"""Everything that changes a file, or makes a change last. SQLite maps only what is rebuilt anyway, the `-shm` files."""
TEXT_BYTES_MAX = 64 * 1024 * 1024
"""Of one write; a longer one would be cut short."""
_UNFINISHED, _RESUMED = "<unfinished ...>", "<... "
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<(.*?)>)?[^<]*(?:<(\d+\.\d+)>)?$")
_FILE = re.compile(r"(\d+)<((?:\\x[0-9a-f]{2})+)>(\(deleted\))?")


class NotUnderstood(Exception):
    """A line that would make what follows from it untrue."""


class Call(msgspec.Struct, frozen=True):
    """One system call that succeeded. Times in seconds since 1970."""

    name: str
    begun: float
    ended: float
    """Infinite where the process was killed within it."""
    files: list[tuple[int, str]]
    """The open files it was given, by number and by path at that time."""
    texts: list[bytes]
    """The strings it was given: paths, or what was to be written."""
    words: str
    """Its other arguments."""
    result: int
    opened: str | None


def strace(output: Path) -> list[str]:
    """What to run a program under, with all its children; more calls are added to what the file holds."""
    shown = ["-y", "-xx", "-s", str(TEXT_BYTES_MAX), "-ttt", "-T"]
    return ["strace", "-f", "--seccomp-bpf", "-A", "-o", str(output), *shown, "-e", f"trace={CALLS}"]


def calls_in(trace: Path, folder: Path) -> list[Call]:
    """Those that concern files in a folder, in the order in which they ended. Raises `NotUnderstood`."""
    found = [call for call in _calls(trace, _hex(str(folder))) if call is not None]
    return sorted(found, key=lambda call: call.ended)


def _calls(trace: Path, wanted: str) -> Iterator[Call | None]:
    begun: dict[str, tuple[float, str]] = {}
    with trace.open(encoding="ascii") as lines:
        for line in lines:
            process, time, text = line.rstrip("\n").split(maxsplit=2)
            if text.endswith(_UNFINISHED):
                begun[process] = (float(time), text.removesuffix(_UNFINISHED))
            elif text.startswith(_RESUMED):
                start, first = begun.pop(process)
                yield _call(first + text.partition(" resumed>")[2], start, float(time), wanted)
            else:
                yield _call(text, float(time), None, wanted)
    for start, text in begun.values():
        yield _call(text.rstrip(", ") + ") = 0", start, NEVER, wanted)


def _call(text: str, begun: float, ended: float | None, wanted: str) -> Call | None:
    """None: it is about other files, or failed and so changed nothing."""
    if wanted not in text or text.startswith(("+++", "---")):
        return None
    pieces = text.split('"')  # everything within quotes is written as \\x41, so there is no quote in it
    texts, rest = pieces[1::2], '""'.join(pieces[::2])
    if '""...' in rest:
        raise NotUnderstood(f"more was written than is shown: {rest[:200]}")
    if rest.endswith("= ?"):  # the process was killed within it
        rest, ended = rest[:-1] + "0", NEVER
    parts = _CALL.match(rest)
    if parts is None:
        raise NotUnderstood(rest[:200])
    name, arguments, result, opened, seconds = parts.groups()
    if int(result) < 0:
        return None
    return Call(
        name=name,
        begun=begun,
        ended=begun + float(seconds or 0) if ended is None else ended,
        files=[(int(file[1]), _plain(file[2]).decode() + (file[3] or "")) for file in _FILE.finditer(arguments)],
        texts=[_plain(text) for text in texts],
        words=_FILE.sub("", arguments),
        result=int(result),
        opened=None if opened is None else _plain(opened).decode(),
    )


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def _plain(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))
