"""One request to another server: in a thread, within so much time, with so many bytes of an answer, and no further."""

import time
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import trio


class Answer(NamedTuple):
    status: int
    content: bytes


async def asked(
    method: str,
    url: str,
    *,
    seconds: float,
    bytes_max: int,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    """The answer, whatever its status; no redirection is followed. Raises `OSError`, whose words name no address."""
    sent = partial(_answered, method, url, seconds, bytes_max, headers or {}, content)
    try:
        with trio.fail_after(seconds):
            return await trio.to_thread.run_sync(sent, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from error


def _answered(
    method: str, url: str, seconds: float, bytes_max: int, headers: Mapping[str, str], content: bytes | None
) -> Answer:
    import httpx  # takes a tenth of a server's start, and most starts ask nobody

    # In a thread: httpx's asynchronous answers cannot be broken off half-way without a warning of trio.
    read = bytearray()
    ends_at = time.monotonic() + seconds
    try:
        with (
            httpx.Client(timeout=seconds, follow_redirects=False) as client,
            client.stream(method, url, headers=headers, content=content) as answer,
        ):
            for piece in answer.iter_bytes():
                read += piece
                if len(read) > bytes_max:
                    raise OSError(f"the answer is larger than {bytes_max} bytes")
                if time.monotonic() > ends_at:
                    raise TimeoutError(f"no whole answer within {seconds:.0f} s")
            return Answer(answer.status_code, bytes(read))
    except httpx.ConnectError as error:
        raise OSError("no connection could be made") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(f"the exchange failed: {type(error).__name__}") from error
