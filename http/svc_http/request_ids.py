"""The name under which one request stands in the log and in its answer."""

from contextvars import ContextVar
from itertools import count
from uuid import uuid4

_PROCESS = uuid4().hex[:16]
_numbers = count(1)

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is answered just now, also in the threads and tasks that it started: every line that they log
carries it."""


def new_request_id() -> str:
    """32 hex digits: the process, then the request. They name and protect nothing, so none of them is drawn anew."""
    return f"{_PROCESS}{next(_numbers):016x}"
