"""What `svc upgrade --check` foretells of a folder, with the folder left as it was."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from svc.log.sqlite import EVENTS_FILE, FORM
from svc.maintenance.upgrading import look
from svc.views.views import POINTER
from tests.support.process import init, svc


@pytest.fixture
def var(tmp_path: Path) -> Path:
    """A folder that this version wrote."""
    init(tmp_path / "var")
    return tmp_path / "var"


def contents(var: Path) -> dict[str, str]:
    """Every file, but what SQLite lays beside a database while somebody reads it."""
    files = (path for path in var.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal")))
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_its_own_folder_stays_as_it_is(var: Path) -> None:
    """Nothing is built, and nothing is written by looking."""
    before = contents(var)
    found = look(var)
    assert (found.log, found.tables, found.changes_nothing) == ("kept", "kept", True)
    assert contents(var) == before


def test_tables_of_other_rules_are_built_anew(var: Path) -> None:
    """It says how long that may take."""
    (var / POINTER).write_text("views-1-r1-1.db\n")
    found = look(var)
    assert (found.tables, found.tables_version, found.log) == ("built anew", "1-r1", "kept")
    assert found.build_seconds_max >= 1


def test_a_log_of_another_form_is_refused_and_the_exit_code_says_so(var: Path) -> None:
    """Before anything is stopped."""
    with closing(sqlite3.connect(var / EVENTS_FILE)) as db:
        db.execute(f"PRAGMA user_version = {FORM + 1}")
    done = svc("upgrade", "--check", "--json", "--var", var, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["log"] == "refused"


def test_without_data_a_sentence_says_so(tmp_path: Path) -> None:
    """As everywhere."""
    done = svc("upgrade", "--check", "--var", tmp_path, check=False)
    assert "holds no data" in done.stderr
