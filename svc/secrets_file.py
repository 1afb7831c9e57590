"""The internal secret: made at the first run, kept in a file that only its owner can read."""

import os
import secrets
from pathlib import Path

NAME = "internal-secret"
KEY_BYTES = 32


def new_key(prefix: str) -> str:
    """A key's text: the prefix and 43 URL-safe characters from 32 random bytes."""
    return f"{prefix}_{secrets.token_urlsafe(KEY_BYTES)}"


def internal_secret(var: Path) -> str:
    """The secret of this installation; made, mode 600, where there is none yet."""
    path = var / NAME
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return _make(path)


def _make(path: Path) -> str:
    secret = secrets.token_urlsafe(KEY_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(secret + "\n")
        handle.flush()
        os.fsync(handle.fileno())
    return secret
