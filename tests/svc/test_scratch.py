"""Folders that commands make inside the data folder: gone with their command, or, if it was killed, with the next."""

import subprocess
import sys
from pathlib import Path

from svc.app import open_service
from svc.keeping.scratch import remove_left_over, scratch
from svc.settings import Settings

LEFT_OVER = ("verify-ab12_xyz", "check-00000000")
OTHERS = ("keys", "verify-me", "check-00000000.bak", "views-1-r1-1.db")

KILLED = """
import os, signal, sys
from pathlib import Path
from svc.keeping.scratch import scratch
with scratch(Path(sys.argv[1]), "verify") as folder:
    (folder / "live.db").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(var: Path) -> set[str]:
    """What is in the folder."""
    return {path.name for path in var.iterdir()}


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
