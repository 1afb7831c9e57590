"""Who holds a folder is said by name, and what to do about it."""

import os
from pathlib import Path

import msgspec
import pytest

from svc.log.folder import RUNNING, FolderInUse, Running, held, note_running


def test_a_folder_that_a_server_holds_names_the_server(tmp_path: Path) -> None:
    """Process and addresses: with several folders nobody knows which one it is."""
    with held(tmp_path):
        note_running(tmp_path, "http://127.0.0.1:4318", "http://127.0.0.1:8318")
        said = rf"process id {os.getpid()} \(intake=http://127.0.0.1:4318 api=http://127.0.0.1:8318\): stop it first"
        with pytest.raises(FolderInUse, match=said), held(tmp_path):
            pass


def test_a_folder_that_a_command_holds_is_waited_for(tmp_path: Path) -> None:
    for _ in range(2):
        with held(tmp_path), pytest.raises(FolderInUse, match="another svc process: wait until"), held(tmp_path):
            pass
        (tmp_path / RUNNING).write_bytes(msgspec.json.encode(Running(2**22 + 1, "http://a", "http://b")))
