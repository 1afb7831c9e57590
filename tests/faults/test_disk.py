"""The model of a disk that loses unsynced writes, the trace behind it, and how a log is compared with what was sent."""

import random
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from tests.faults.disk import Call, Disk, NotUnderstood, calls_in
from tests.faults.load import NEVER, Capture, Ledger

SECTOR = 4


class Traced:
    """What a program did to a folder, one call a second, in strace's own words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def pwrite(self, file: str, data: bytes, offset: int) -> None:
        size = str(len(data))
        self.call("pwrite64", file, f'"{escaped(data)}"', size, str(offset), result=size)

    def call(self, name: str, *arguments: str, result: str = "0") -> None:
        second = len(self.lines)
        self.lines.append(f"7 {second}.000000 {name}({', '.join(arguments)}) = {result} <0.500000>")

    def open(self, name: str, flags: str = "O_RDWR|O_CREAT", number: int = 3) -> str:
        file = f"{number}<{self.hex(name)}>"
        self.call("openat", "AT_FDCWD<\\x2f>", f'"{self.hex(name)}"', flags, "0644", result=file)
        return file

    def hex(self, name: str) -> str:
        return escaped(str(self.folder / name if name else self.folder).encode())

    def calls(self) -> list[Call]:
        trace = self.folder.with_name("trace")
        trace.write_text("".join(f"{line}\n" for line in self.lines))
        return calls_in(trace, self.folder)


def escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    for folder in ("var", "before"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log").write_bytes(b"AAAABBBB")
    return Traced(tmp_path / "var")


def image(traced: Traced, survival: float, seed: int = 0) -> dict[str, bytes]:
    disk = Disk(traced.folder.with_name("before"), traced.folder)
    disk.take(traced.calls())
    target = traced.folder.with_name(f"image-{survival}-{seed}")
    disk.image(target, random.Random(seed), survival, SECTOR)
    return {path.name: path.read_bytes() for path in target.iterdir()}


def test_what_was_synced_lasts_and_nothing_else_needs_to(traced: Traced) -> None:
    log = traced.open("log")
    traced.pwrite(log, b"CCCC", 0)
    traced.call("fdatasync", log)
    traced.pwrite(log, b"DDDDEEEE", 4)
    assert image(traced, 0.0) == {"log": b"CCCCBBBB"}
    assert image(traced, 1.0) == {"log": b"CCCCDDDDEEEE"}


def test_a_write_is_torn_at_any_sector(traced: Traced) -> None:
    traced.pwrite(traced.open("log"), b"CCCCDDDDEEEE", 0)
    seen = {image(traced, 0.5, seed)["log"] for seed in range(60)}
    assert seen == {b"".join(sectors) for sectors in product((b"AAAA", b"CCCC"), (b"BBBB", b"DDDD"), (b"", b"EEEE"))}


def test_a_new_name_lasts_once_its_folder_was_synced(traced: Traced) -> None:
    """Before that, the file may be gone, however well it was synced itself."""
    new = traced.open("new")
    traced.pwrite(new, b"words", 0)
    traced.call("fsync", new)
    assert {tuple(sorted(image(traced, 0.0, seed))) for seed in range(20)} == {("log",), ("log", "new")}
    traced.call("fsync", f"4<{traced.hex('')}>")
    assert {tuple(sorted(image(traced, 0.0, 100 + seed))) for seed in range(20)} == {("log", "new")}


def test_names_that_were_moved_get_there_in_their_order(traced: Traced) -> None:
    """A draft takes the place of a file: one or the other is there, and never neither."""
    draft = traced.open("draft")
    traced.call("write", draft, f'"{escaped(b"new")}"', "3", result="3")
    traced.call("fsync", draft)
    traced.call("rename", f'"{traced.hex("draft")}"', f'"{traced.hex("log")}"')
    seen = [image(traced, 0.0, seed) for seed in range(40)]
    assert {each["log"] for each in seen} == {b"AAAABBBB", b"new"}


def test_a_sync_speaks_for_what_was_over_when_it_began(traced: Traced) -> None:
    log = traced.open("log")
    traced.lines += [
        f"7 5.000000 fdatasync({log} <unfinished ...>",
        f'8 5.100000 pwrite64({log}, "{escaped(b"CCCC")}", 4, 0) = 4 <0.100000>',
        "7 5.900000 <... fdatasync resumed>) = 0 <0.900000>",
    ]
    assert image(traced, 0.0) == {"log": b"AAAABBBB"}


def test_a_call_within_which_a_process_was_killed_ends_at_its_death(traced: Traced) -> None:
    """strace writes it in three ways; none of these syncs promises anything."""
    log = traced.open("log")
    traced.pwrite(log, b"CCCC", 0)
    traced.lines += [
        f"7 2.000000 fsync({log}) = ?",
        f"8 3.000000 fsync({log} <unfinished ...>",
        f"9 3.500000 fsync({log} <unfinished ...>",
        "9 3.600000 <... fsync resumed>) = ?",
        *(f"{thread} 4.000000 +++ killed by SIGKILL +++" for thread in (7, 8, 9)),
    ]
    ended = [(call.ended, call.interrupted) for call in traced.calls()]
    assert ended == [(0.5, False), (1.5, False), *[(4.0, True)] * 3]
    assert image(traced, 0.0) == {"log": b"AAAABBBB"}


def test_a_write_that_a_kill_interrupted_comes_before_those_of_the_next_process(traced: Traced) -> None:
    """The page cache is coherent: what the next process wrote there and synced lasts."""
    log = traced.open("log")
    traced.lines += [
        f'7 2.000000 pwrite64({log}, "{escaped(b"CCCC")}", 4, 0 <unfinished ...>',
        "7 3.000000 +++ killed by SIGKILL +++",
        f'8 4.000000 pwrite64({log}, "{escaped(b"DDDD")}", 4, 0) = 4 <0.100000>',
        f"8 5.000000 fdatasync({log}) = 0 <0.100000>",
    ]
    assert {image(traced, 0.5, seed)["log"] for seed in range(20)} == {b"DDDDBBBB"}


def test_what_the_model_does_not_know_is_not_passed_over(traced: Traced) -> None:
    """An image that may be wrong proves nothing."""
    traced.call("copy_file_range", "5<\\x2f>", "NULL", traced.open("log"), "NULL", "10", "0", result="10")
    with pytest.raises(NotUnderstood, match="copy_file_range"):
        image(traced, 1.0)


@pytest.mark.parametrize(
    ("acknowledged_at", "marks", "flaw"),
    [
        (1.0, {"record 1": 1, "record 2": 1}, None),
        (NEVER, {}, None),
        (NEVER, {"record 1": 1, "record 2": 1}, None),
        (1.0, {}, "acknowledged and not in the log"),
        (1.0, {"record 1": 1}, "only half in the log"),
        (NEVER, {"record 1": 1}, "only half in the log"),
        (1.0, {"record 1": 1, "record 2": 2}, "in the log more than once"),
        (1.0, {"record 1": 1, "record 2": 1, "record 3": 1}, "in the log and never sent"),
    ],
)
def test_every_way_to_differ_is_seen(acknowledged_at: float, marks: dict[str, int], flaw: str | None) -> None:
    """What was not acknowledged may be there or not, but whole."""
    ledger = Ledger()
    ledger.note(Capture("/v1/logs", "key", b"", frozenset({"record 1", "record 2"}), acknowledged_at))
    found = ledger.compare(Counter(marks))
    assert any(flaw in each for each in found.flaws) if flaw else found.flaws == []
