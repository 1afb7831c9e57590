"""A disk that loses unsynced writes, sector by sector, in any order. A change of a name is certain after a sync of its
folder; before that, a first part of such changes is there, in their order."""

import os
import random
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
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


_SKIPPED = ("-shm",)  # SQLite's index of a write-ahead log is built anew by the first who opens it

_FOLDERS = ("mkdir", "mkdirat", "rmdir")  # folders are made where their files are
_BY_NAME = ("openat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat", "symlink", *_FOLDERS)
"""Calls that are told paths, not what to write."""


class _Change(msgspec.Struct, frozen=True):
    """To a file's content: bytes at a place, or a new size where there are none."""

    ended: float
    offset: int
    data: bytes | None


class _File(msgspec.Struct, eq=False):
    kept: bytearray
    pending: list[_Change] = msgspec.field(default_factory=list)


class _Naming(msgspec.Struct, frozen=True, eq=False):
    """A name given to a file, or taken away where there is none."""

    path: str
    file: _File | None


class Disk:
    """The files of a folder, what of them is sure to last, and what may."""

    def __init__(self, before: Path, folder: Path) -> None:
        """`before`: a copy of the folder as it was before anything was done to it; all of that lasts."""
        self._folder = folder
        self._names = {
            str(folder / path.relative_to(before)): _File(bytearray(path.read_bytes())) for path in _files(before)
        }
        self._lasting = dict(self._names)
        self._pending: list[_Naming] = []
        self._places: dict[tuple[int, str], int] = {}

    def take(self, calls: Iterable[Call]) -> None:
        """Do what was done. Raises `NotUnderstood`."""
        for call in calls:
            self._take(call)

    def image(self, target: Path, chance: random.Random, survival: float, sector_bytes: int) -> None:
        """Write what is left of the folder: of what may be lost, each sector stays with that probability."""
        names = dict(self._lasting)
        staying = chance.randint(0, len(self._pending)) if survival < 1 else len(self._pending)
        for naming in self._pending[:staying]:
            _name(names, naming)
        target.mkdir(mode=0o700, parents=True)
        for path, file in names.items():
            place = target / Path(path).relative_to(self._folder)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.write_bytes(_content(file, chance, survival, sector_bytes))
            place.chmod(0o600)

    def _take(self, call: Call) -> None:
        paths = [path for _, path in call.files if self._inside(path)]
        named = [call.opened or "", *(text.decode() for text in call.texts)] if call.name in _BY_NAME else []
        if any(path.endswith("(deleted)") for path in paths) or not (paths or any(map(self._inside, named))):
            return
        match call.name:
            case "openat":
                self._open(call)
            case "write" | "pwrite64":
                self._write(call, paths[0])
            case "lseek":
                self._places[call.files[0]] = call.result
            case "ftruncate":
                self._change(paths[0], _Change(call.ended, int(call.words.rsplit(",", 1)[1]), None))
            case "fsync" | "fdatasync":
                if not call.interrupted:
                    self._sync(paths[0], call.begun)
            case "rename" | "unlink" | "link":
                self._rename(call)
            case name if name not in _FOLDERS:
                raise NotUnderstood(f"{name} on {paths or named}")

    def _open(self, call: Call) -> None:
        path = call.opened or ""
        if not self._inside(path) or "O_DIRECTORY" in call.words:
            return
        if path not in self._names and "O_CREAT" in call.words:
            self._give(_Naming(path, _File(bytearray())))
        if "O_TRUNC" in call.words:
            self._change(path, _Change(call.ended, 0, None))
        file = self._names.get(path)
        at_end = file is not None and "O_APPEND" in call.words
        whole = _content(file, random.Random(0), 1.0, 4096) if file is not None and at_end else b""
        self._places[call.result, path] = len(whole)

    def _write(self, call: Call, path: str) -> None:
        data = call.texts[0]
        if call.name == "pwrite64":
            offset = int(call.words.rsplit(",", 1)[1])
        else:
            offset = self._places[call.files[0]]
            self._places[call.files[0]] = offset + call.result
        if not call.interrupted:
            data = data[: call.result]
        self._change(path, _Change(call.ended, offset, data))

    def _change(self, path: str, change: _Change) -> None:
        if path in self._names:
            self._names[path].pending.append(change)
        elif not path.endswith(_SKIPPED):
            raise NotUnderstood(f"{path} was never made")

    def _sync(self, path: str, begun: float) -> None:
        """All that was done before the sync began lasts once it has ended."""
        if path in self._names:
            file = self._names[path]
            for change in file.pending:
                if change.ended <= begun:
                    _apply(file.kept, change)
            file.pending = [change for change in file.pending if change.ended > begun]
            return
        mine = [naming for naming in self._pending if os.path.dirname(naming.path) == path]
        for naming in mine:
            _name(self._lasting, naming)
        self._pending = [naming for naming in self._pending if naming not in mine]

    def _rename(self, call: Call) -> None:
        source, *target = [text.decode() for text in call.texts]
        if not self._inside(source):
            return
        file = self._names.get(source)
        if target and file is not None:
            self._give(_Naming(target[0], file))
        if call.name != "link":
            self._give(_Naming(source, None))

    def _give(self, naming: _Naming) -> None:
        if not naming.path.endswith(_SKIPPED):
            _name(self._names, naming)
            self._pending.append(naming)

    def _inside(self, path: str) -> bool:
        return f"{path}/".startswith(f"{self._folder}/")


def _name(names: dict[str, _File], naming: _Naming) -> None:
    if naming.file is None:
        names.pop(naming.path, None)
    else:
        names[naming.path] = naming.file


def _content(file: _File, chance: random.Random, survival: float, sector_bytes: int) -> bytearray:
    content = bytearray(file.kept)
    for change in file.pending:
        for part in _sectors(change, sector_bytes):
            if chance.random() < survival:
                _apply(content, part)
    return content


def _sectors(change: _Change, sector_bytes: int) -> Iterable[_Change]:
    if change.data is None:
        return [change]
    start, end = change.offset, change.offset + len(change.data)
    edges = [start, *range(start - start % sector_bytes + sector_bytes, end, sector_bytes), end]
    return [_Change(change.ended, low, change.data[low - start : high - start]) for low, high in pairwise(edges)]


def _apply(content: bytearray, change: _Change) -> None:
    if change.data is None:
        del content[change.offset :]
        content.extend(bytes(change.offset - len(content)))
        return
    content.extend(bytes(max(0, change.offset - len(content))))
    content[change.offset : change.offset + len(change.data)] = change.data


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(_SKIPPED)]


def differences(folder: Path, image: Path) -> list[str]:
    ones = {str(path.relative_to(folder)): path for path in _files(folder)}
    others = {str(path.relative_to(image)): path for path in _files(image)}
    changed = [name for name in ones.keys() & others.keys() if ones[name].read_bytes() != others[name].read_bytes()]
    return sorted([*changed, *(ones.keys() ^ others.keys())])
