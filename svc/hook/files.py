"""Files that only their owner may read, there as a whole or not at all."""

import os
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def private_folder(folder: Path) -> None:
    """Make it, and what is above it, where it is missing. Raises `OSError`."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=FOLDER_MODE)


def draft_file(folder: Path, data: bytes) -> Path:
    """A file in the folder that is on disk and has no lasting name yet. Raises `OSError`, and leaves none then."""
    draft = folder / f".draft-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def replace_file(path: Path, data: bytes) -> None:
    """Write the file at once. Raises `OSError`, and leaves the old one then."""
    draft = draft_file(path.parent, data)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """So that names in it outlive a power cut, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
