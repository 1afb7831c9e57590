"""The script that makes the environment: it says what it does, and takes no package without its hash."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "deploy" / "environment.py"


def made(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it in this folder, with an index that does not exist and no uv."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), ".venv", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"},
    )


def test_nothing_to_install_takes_two_sentences(tmp_path: Path) -> None:
    """The environment is made once; the second time it is there."""
    (tmp_path / "empty.lock").write_text("")
    first, second = made(tmp_path, "empty.lock"), made(tmp_path, "empty.lock")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "making .venv" in first.stdout
    assert "installing 0 packages from empty.lock" in second.stdout
    assert "making .venv" not in second.stdout
    assert (tmp_path / ".venv" / "bin" / "python").exists()


def test_what_cannot_be_installed_ends_with_what_pip_said(tmp_path: Path) -> None:
    """Nobody has to search a log for the reason."""
    (tmp_path / "open.lock").write_text("click==8.5.1\n")
    done = made(tmp_path, "open.lock")
    assert done.returncode == 1
    assert "click==8.5.1" in done.stderr
    assert "pip ended with" in done.stderr
