"""The script that makes the environment: it says what it does, and takes no package without its hash."""

import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for both: making an environment takes seconds."""
    return tmp_path_factory.mktemp("project")


def test_nothing_to_install_takes_two_sentences(folder: Path) -> None:
    (folder / "empty.lock").write_text("")
    first, second = made(folder, "empty.lock"), made(folder, "empty.lock")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "making .venv" in first.stdout
    assert "installing 0 packages from empty.lock" in second.stdout
    assert "making .venv" not in second.stdout
    assert (folder / ".venv" / "bin" / "python").exists()


def test_what_cannot_be_installed_ends_with_what_pip_said(folder: Path) -> None:
    """Nobody has to search a log for the reason."""
    (folder / "open.lock").write_text("click==8.5.1\n")
    done = made(folder, "open.lock")
    assert done.returncode == 1
    assert "click==8.5.1" in done.stderr
    assert "pip ended with" in done.stderr
