"""Small file systems for a fault, and whether this machine can make them."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NotHere(Exception):
    """This machine does not allow it; the message says what it would take."""


@contextmanager
def small_disk(place: Path, size_mib: int) -> Iterator[Path]:
    """A file system of that size in memory, until the end of the block. Raises `NotHere`."""
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=700", "svc-faults", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotHere(f"a small disk takes the right to mount; try `unshare -rm` before it ({done.stderr.strip()})")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """No byte is left on a disk, however much is given free meanwhile."""
    filler = disk / "filler"
    try:
        fill(filler)
        yield
    finally:
        filler.unlink(missing_ok=True)


def fill(filler: Path) -> None:
    """Write until nothing more fits."""
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
