"""Settings: defaults, then the file, then the environment, then flags; every mistake is a sentence. What is told to be
typed next runs as it is told."""

import os
import sys
from pathlib import Path

import pytest

from svc.cli.serving import _welcome
from svc.process import typed
from svc.serving import Initialized
from svc.settings import CONFIG_FILE, Settings, SettingsError, listening_address, load_settings, unknown_variables
from tests.support.basics import ANA, BEN
from tests.support.tables import beside


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of settings in a working folder of its own; it is not there yet."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / CONFIG_FILE


def test_a_later_source_wins(config: Path) -> None:
    config.write_text('var = "from-file"\nintake = "127.0.0.1:1"\napi = "127.0.0.1:2"\n')
    environment = {"SVC_INTAKE": "127.0.0.1:3", "SVC_API": "127.0.0.1:4", "SVC_CAPTURE_PROMPTS": "false"}
    settings = load_settings({"api": "127.0.0.1:5", "log_level": None}, environment)
    assert (settings.var, settings.intake, settings.api) == ("from-file", "127.0.0.1:3", "127.0.0.1:5")
    assert (settings.log_level, settings.capture_prompts) == (Settings().log_level, False)


@beside("flags", "said")
def test_a_wrong_setting_is_named(config: Path, flags: dict[str, str] | str, said: str) -> None:
    """A text stands in the file; a misspelt setting must not be silently without effect."""
    if isinstance(flags, str):
        config.write_text(flags)
    with pytest.raises(SettingsError, match=said):
        load_settings({} if isinstance(flags, str) else flags, {})


def test_the_value_of_a_variable_is_not_repeated() -> None:
    """It may be a secret."""
    with pytest.raises(SettingsError, match=r"^SVC_LLM_DAILY_TOKENS cannot be used: expected `int`, got `str`$"):
        load_settings({}, {"SVC_LLM_DAILY_TOKENS": "hush"})


def test_a_variable_that_only_looks_like_a_setting_is_told_by_name() -> None:
    """Not those of tests, of deployments, of the plugins, or of anybody else."""
    others = {"SVC_REAL_DATA": "x", "SVC_FUZZ_TIMES": "9", "SVC_WRITE_PAGES": "1", "SVC_KEY": "k", "HOME": "/"}
    assert unknown_variables(others | {"SVC_VAR": "var", "SVC_LLM_KEY": "k"}) == []
    assert unknown_variables(others | {"SVC_NOSUCH": "hush", "SVC_INTAK": "hush"}) == ["SVC_INTAK", "SVC_NOSUCH"]


def test_addresses() -> None:
    """IPv6 hosts stand in brackets."""
    assert listening_address("[::1]:80") == ("::1", 80)
    assert listening_address("localhost:0") == ("localhost", 0)


def test_a_working_folder_that_may_not_be_looked_into_holds_no_settings(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when an operator types `sudo -u svc svc status` in a folder of their own."""
    config.write_text('var = "another\'s"\n')

    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", refused)
        assert load_settings({}, {}) == Settings()
    assert load_settings({}, {}).var == "another's"


def test_a_setting_of_former_versions_is_told_and_ignored(config: Path) -> None:
    """In the file and in the environment, with what there is instead; the rest of the file counts."""
    config.write_text('projector = "process"\nlog_level = "debug"\n')
    warned: list[str] = []
    environment = {"SVC_PROJECTOR": "process"}
    assert load_settings({}, environment, warned.append).log_level == "debug"
    assert [warning.partition(" is gone")[0] for warning in warned] == [
        "svc.toml: the setting projector",
        "SVC_PROJECTOR in the environment",
    ]
    assert all("docs/cluster.md" in warning for warning in warned)
    assert unknown_variables(environment) == []


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
