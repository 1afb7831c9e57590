"""How many product files a request goes through on its way to a figure."""

import subprocess
import sys

import pytest

from tests.test_layout import MOST, ROOT, check_most


@pytest.mark.parametrize("name", MOST["journeys"])
def test_a_request_goes_through_few_files(name: str) -> None:
    """In a process of its own: threads that other tests left behind cannot be traced."""
    command = [sys.executable, "-m", "tests.journey", name]
    *files, told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()
    assert any(line.endswith("log/journal.py") for line in files)
    check_most("journeys", {name: int(told.split()[0])})
