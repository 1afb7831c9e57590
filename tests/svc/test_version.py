"""The version is that of the tag, wherever the program was built: clone, source archive, folder without git."""

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from svc import NEXT

ROOT = Path(__file__).parents[2]


def built(folder: Path) -> str:
    found: str = runpy.run_path(str(folder / "deploy" / "version.py"))["version"]()
    return found


def git(folder: Path, *arguments: str) -> None:
    """As somebody, on no signature."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("deploy/version.py", "svc/__init__.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_folder_without_git_is_of_the_next_version_unreleased(folder: Path) -> None:
    """As the source tree of an image is."""
    assert built(folder) == f"{NEXT}.dev0"


def test_a_source_archive_tells_its_version(folder: Path) -> None:
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: x\nVersion: 3.2.1\nSummary: y\n")
    assert built(folder) == "3.2.1"


def test_a_clone_counts_the_commits_since_the_tag(folder: Path) -> None:
    """Without any tag all of them; at a tag it is the tag's own."""
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    assert built(folder).startswith(f"{NEXT}.dev1+g")
    git(folder, "tag", "not-a-version")
    git(folder, "tag", "v0.9.0rc1")
    assert built(folder) == "0.9.0rc1"
    git(folder, "commit", "--allow-empty", "-m", "second")
    assert built(folder).startswith(f"{NEXT}.dev1+g")
