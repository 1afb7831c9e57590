"""The command that a person is told to type next runs as it is told."""

import os
import sys
from pathlib import Path

import pytest

from svc.cli.serving import _welcome
from svc.process import typed
from svc.serving import Initialized
from svc.settings import Settings
from tests.support.basics import ANA, BEN


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a folder that is on no path."""
    path = tmp_path / "with blank" / "svc"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(path), "serve"])
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_a_program_on_no_path_is_named_by_its_own(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quoted for a shell; by its short name where that leads to it; by Python where it was started so."""
    assert typed("import", "codex") == f"'{script}' import codex"
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}/usr/bin")
    assert typed("import", "codex") == "svc import codex"
    monkeypatch.setattr(sys, "argv", ["/x/svc/__main__.py"])
    assert typed("import") == f"{sys.executable} -m svc import"


@pytest.mark.parametrize(("var", "told"), [("var", "import claude-code reads"), ("/srv/s", "--var /srv/s reads")])
def test_the_first_start_tells_a_command_that_runs(
    script: Path, var: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Initialized(organization_id=ANA, developer_id=BEN, key="svc_k", internal_secret_file="x")
    _welcome(Settings(var=var), made)
    shown = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert f"Next: '{script}' import claude-code" in shown
    assert told in shown
