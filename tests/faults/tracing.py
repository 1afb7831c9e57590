"""What a program did to the files of a folder, and when, from strace."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

CALLS = (
    "openat,write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,"
    "rename,renameat,renameat2,unlink,unlinkat,link,linkat,mkdir,mkdirat,rmdir,copy_file_range,sendfile,symlink"
)
"""Everything that changes a file, or makes a change last. SQLite maps only what is rebuilt anyway, the `-shm` files."""
TEXT_BYTES_MAX = 64 * 1024 * 1024  # of one write; a longer one would be cut short
_UNFINISHED, _RESUMED, _NO_RESULT = "<unfinished ...>", "<... ", " = ?"
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<(.*?)>)?[^<]*(?:<(\d+\.\d+)>)?$")
_FILE = re.compile(r"(\d+)<((?:\\x[0-9a-f]{2})+)>(\(deleted\))?")


class NotUnderstood(Exception):
    """A line that would make what follows from it untrue."""


class Call(msgspec.Struct, frozen=True):
    """One system call that succeeded. Times in seconds since 1970."""

    name: str
    begun: float
    ended: float
    files: list[tuple[int, str]]  # the open files it was given, by number and by path at that time
    texts: list[bytes]  # the strings it was given: paths, or what was to be written
    words: str  # its other arguments
    result: int
    opened: str | None
    interrupted: bool  # the process was killed within it: a write may have happened, a sync promises nothing


def strace(output: Path) -> list[str]:
    """What to run a program under, with all its children; more calls are added to what the file holds."""
    shown = ["-y", "-xx", "-s", str(TEXT_BYTES_MAX), "-ttt", "-T"]
    return ["strace", "-f", "--seccomp-bpf", "-A", "-o", str(output), *shown, "-e", f"trace={CALLS}"]


def calls_in(trace: Path, folder: Path) -> list[Call]:
    """Those that concern files in a folder, in the order in which they ended. Raises `NotUnderstood`."""
    found = [call for call in _calls(trace, _hex(str(folder))) if call is not None]
    return sorted(found, key=lambda call: call.ended)


def _calls(trace: Path, wanted: str) -> Iterator[Call | None]:
    """An interrupted call ends with its process: what the next process writes comes after it."""
    begun: dict[str, tuple[float, str]] = {}
    time = 0.0
    with trace.open(encoding="ascii") as lines:
        for line in lines:
            process, stamp, text = line.rstrip("\n").split(maxsplit=2)
            time = float(stamp)
            if text.startswith("+++") and process in begun:
                yield _interrupted(*begun.pop(process), time, wanted)
            if text.startswith(("+++", "---")):
                continue
            start = time
            if text.startswith(_RESUMED):
                start, first = begun.pop(process)
                text = first + text.partition(" resumed>")[2]
            if text.endswith((_UNFINISHED, _NO_RESULT)):
                begun[process] = (start, text.removesuffix(_UNFINISHED).removesuffix(_NO_RESULT))
            else:
                yield _call(text, start, None if start == time else time, wanted)
    for start, text in begun.values():
        yield _interrupted(start, text, time, wanted)


def _interrupted(begun: float, text: str, ended: float, wanted: str) -> Call | None:
    call = _call(text.strip().rstrip(",").removesuffix(")") + ") = 0", begun, ended, wanted)
    return None if call is None else msgspec.structs.replace(call, interrupted=True)


def _call(text: str, begun: float, ended: float | None, wanted: str) -> Call | None:
    """None: it is about other files, or failed and so changed nothing."""
    if wanted not in text:
        return None
    pieces = text.split('"')  # everything within quotes is written as \\x41, so there is no quote in it
    texts, rest = pieces[1::2], '""'.join(pieces[::2])
    if '""...' in rest:
        raise NotUnderstood(f"more was written than is shown: {rest[:200]}")
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
        interrupted=False,
    )


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def _plain(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))
