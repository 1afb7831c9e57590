"""Structured logs on standard error: one JSON object a line, or readable lines on a terminal.

No key, no prompt and no other text of a person is ever logged. What this program says in a log line is written by us;
what an exception says is not, since those of Python and of libraries quote the value they choke on. So an exception is
shown by its type and its places in the code, and its message only where it is one of ours or speaks of a file.
"""

import contextlib
import logging
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator

import structlog
from structlog.typing import EventDict, WrappedLogger

from aggregates.ids import plain
from svc_http.listener import REQUEST_ID

OWN_PACKAGES = ("svc", "svc_http", "aggregates", "projections")
SPEAKING = (OSError, sqlite3.Error, AssertionError)
"""Exceptions of others whose messages never hold what was sent: they name files, tables or our own sentences."""
CHAIN_MAX = 10
_counts: list[Callable[[str], object]] = []


class _Lines(structlog.PrintLogger):
    """Loses a line that cannot be written (a full disk, a closed pipe) instead of failing a request."""

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError):
            super().msg(message)

    log = debug = info = warn = warning = fatal = failure = err = error = critical = exception = msg


def set_up_logs(level: str) -> None:
    number = logging.getLevelNamesMapping()[level.upper()]
    rendered = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _request_id,
            _counted,
            structlog.processors.ExceptionRenderer(lambda exc_info: "\n".join(_told(exc_info[1]))),
            _plain,
            rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: _Lines(sys.stderr),
    )


def count_errors(count: Callable[[str], object]) -> None:
    """Tell of the message of each error line from now on; all messages are written in the code."""
    _counts[:] = [count]


def _request_id(_logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
    request_id = REQUEST_ID.get()
    return line if request_id is None else {**line, "request_id": request_id}


def _counted(_logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
    if line.get("level") in ("error", "critical"):
        for count in _counts:
            count(str(line.get("event")))
    return line


def _plain(_logger: WrappedLogger, _name: str, line: EventDict) -> EventDict:
    return {name: plain(value) if isinstance(value, str) else value for name, value in line.items()}


def _told(error: BaseException, depth: int = 0) -> Iterator[str]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and depth < CHAIN_MAX:
        yield from _told(cause, depth + 1)
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} in {frame.name}"
    ours = type(error).__module__.partition(".")[0] in OWN_PACKAGES
    said = f": {error}" if ours or isinstance(error, SPEAKING) else ""
    yield f"{type(error).__module__}.{type(error).__qualname__}{said}"
    if isinstance(error, BaseExceptionGroup) and depth < CHAIN_MAX:
        for each in error.exceptions:
            yield from _told(each, depth + 1)
