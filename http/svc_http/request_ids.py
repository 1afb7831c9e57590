"""The name under which one request stands in the log and in its answer."""

from itertools import count
from uuid import uuid4

_PROCESS = uuid4().hex[:16]
_numbers = count(1)


def new_request_id() -> str:
    """32 hex digits: the process, then the request. They name and protect nothing, so none of them is drawn anew."""
    return f"{_PROCESS}{next(_numbers):016x}"
