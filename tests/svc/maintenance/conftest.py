"""A folder with the work of two, made once; each test gets a copy of its own."""

import shutil
from pathlib import Path

import pytest
import trio

from tests.support.household import Worked, worked_by_two


@pytest.fixture(scope="session")
def _original(tmp_path_factory: pytest.TempPathFactory) -> Worked:
    return trio.run(worked_by_two, tmp_path_factory.mktemp("worked") / "var")


@pytest.fixture
def worked(_original: Worked, tmp_path: Path) -> Worked:
    shutil.copytree(_original.var, tmp_path / "var")
    return _original._replace(var=tmp_path / "var")
