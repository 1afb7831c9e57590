"""About how much memory a command takes while it is on its way."""

from aggregates.commands import (
    AnyCommand,
    CaptureMetrics,
    CapturePrompt,
    CaptureRecords,
    CaptureResponse,
    CompleteReport,
)

_COMMAND_BYTES = 500
_RECORD_BYTES = 250
_BYTES_PER_CHARACTER = 2


def rough_bytes(command: AnyCommand) -> int:
    """An estimate that is cheap, and never far below the truth for what is large."""
    return _COMMAND_BYTES + _BYTES_PER_CHARACTER * _characters(command) + _record_bytes(command)


def _characters(command: AnyCommand) -> int:
    match command:
        case CapturePrompt():
            return len(command.text) + len(command.metadata_json or "")
        case CaptureResponse():
            return len(command.content.response_text or "")
        case CaptureRecords():
            return len(command.words) + len(command.raw or "")
        case CaptureMetrics():
            return len(command.raw)
        case CompleteReport():
            return len(command.sections) + (len(command.prose.text) if command.prose is not None else 0)
        case _:
            return 0


def _record_bytes(command: AnyCommand) -> int:
    match command:
        case CaptureRecords():
            return _RECORD_BYTES * len(command.records)
        case CaptureMetrics():
            return _RECORD_BYTES * len(command.points)
        case _:
            return 0
