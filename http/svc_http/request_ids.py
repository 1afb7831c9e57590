"""The name under which one request stands in the log and in its answer."""

import random

_BITS = 128


def new_request_id() -> str:
    """32 hex digits. They name, they protect nothing: no randomness of the operating system is spent on them."""
    return f"{random.getrandbits(_BITS):032x}"
