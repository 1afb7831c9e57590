"""Folders that commands make inside the data folder: gone with their command, or, if it was killed, with the next."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from svc.app import open_service
from svc.maintenance.scratch import LOCK, remove_left_over, scratch
from svc.settings import Settings

LEFT_OVER = ("verify-ab12_xyz", "check-00000000")
OTHERS = ("keys", "verify-me", "check-00000000.bak", "views-1-r1-1.db")

KILLED = """
import os, signal, sys
from pathlib import Path
from svc.maintenance.scratch import scratch
with scratch(Path(sys.argv[1]), "verify") as folder:
    (folder / "live.db").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(var: Path) -> set[str]:
    """What is in the folder, but for the lock."""
    return {path.name for path in var.iterdir()} - {LOCK}


@pytest.fixture(params=["anything", "files", "nothing"])
def lockable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the file system can lock: a network one locks no folders, others nothing at all."""
    lock = fcntl.flock

    def flock(handle: int, how: int) -> None:
        if request.param == "nothing":
            raise OSError(errno.ENOLCK, "No locks available")
        if request.param == "files" and stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    return str(request.param)


def test_whatever_can_be_locked_a_command_has_its_folder_and_what_others_left_is_cleared_or_named(
    tmp_path: Path, lockable: str
) -> None:
    """Nobody can tell who uses one where nothing can be locked: that is said, and none is deleted."""
    (tmp_path / LEFT_OVER[0]).mkdir()
    with structlog.testing.capture_logs() as logs:
        with scratch(tmp_path, "verify") as first:
            remove_left_over(tmp_path)
            assert first.is_dir()
        left = names(tmp_path)
    assert left == ({LEFT_OVER[0]} if lockable == "nothing" else set())
    assert [str(tmp_path / LEFT_OVER[0]) in line["folders"] for line in logs] == [True, True][: 2 * len(left)]


def test_a_folder_lives_as_long_as_its_command(tmp_path: Path) -> None:
    """Another command beside it leaves it alone."""
    with scratch(tmp_path, "verify") as first, scratch(tmp_path, "check") as second:
        remove_left_over(tmp_path)
        assert names(tmp_path) == {first.name, second.name}
    assert names(tmp_path) == set()


def test_what_a_killed_command_leaves_goes_with_the_next(tmp_path: Path) -> None:
    """Nothing else does, whatever it is called like."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = names(tmp_path)
    for name in (*LEFT_OVER, *OTHERS):
        (tmp_path / name).mkdir()
    with scratch(tmp_path, "check") as own:
        assert names(tmp_path) == {*OTHERS, own.name}
    assert left.startswith("verify-")


async def test_what_a_killed_command_leaves_goes_at_the_start(tmp_path: Path) -> None:
    """Of a server, or of any command that opens the folder."""
    (tmp_path / LEFT_OVER[0]).mkdir()
    async with open_service(Settings(var=str(tmp_path))):
        assert LEFT_OVER[0] not in names(tmp_path)
