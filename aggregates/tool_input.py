"""What a tool was called with, brought to what records keep; the same for a transcript and for telemetry."""

from hashlib import blake2b
from typing import Any

import msgspec

COMMAND_BYTES_MAX = 8192


def input_key(tool: str, arguments: dict[str, Any]) -> str:
    """Equal for two calls of one tool with the same input, whatever the order of its members."""
    return f"{tool}\x1f{blake2b(msgspec.json.encode(arguments, order='sorted'), digest_size=16).hexdigest()}"


def bounded_command(command: str) -> str:
    """The beginning of a shell command; what decides what it does stands there."""
    return command.encode()[:COMMAND_BYTES_MAX].decode(errors="ignore")
