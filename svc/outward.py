"""The one HTTP client: a request to a server takes so much time, and reads so many bytes, and no more."""

import os
import time
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import msgspec

if TYPE_CHECKING:
    import ssl


class Answer(NamedTuple):
    status: int
    content: bytes
    headers: Mapping[str, str]  # by any spelling of a name


def reason_in(content: bytes) -> str | None:
    """What an error of svc says; None of anybody else's."""
    try:
        found = msgspec.json.decode(content, type=dict[str, Any])
        return msgspec.convert(found.get("message") or found.get("reason"), str | None)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


class TooLarge(OSError):
    def __init__(self, bytes_max: int, status: int) -> None:
        super().__init__(f"the answer is larger than {bytes_max} bytes")
        self.status = status


class Wanted(TypedDict, total=False):
    headers: Mapping[str, str] | None
    content: bytes | None
    redirects_max: int


async def asked(method: str, url: str, seconds: float, bytes_max: int, **more: Unpack[Wanted]) -> Answer:
    """`answered` in a thread."""
    import trio  # a command that asks in its own thread needs none

    # httpx's asynchronous answers cannot be broken off half-way without a warning of trio.
    sent = partial(answered, method, url, seconds, bytes_max, **more)
    try:
        with trio.fail_after(seconds):
            return await trio.to_thread.run_sync(sent, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from error


def answered(
    method: str,
    url: str,
    seconds: float,
    bytes_max: int,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    redirects_max: int = 0,
    direct: bool = False,
    socket: str | None = None,
) -> Answer:
    """The answer, whatever its status. Raises `OSError`, whose words name no address.

    `direct`: as a hook reaches it, past any proxy, by the certificates that OpenSSL knows. `socket`: of this machine.
    """
    import httpx  # takes a tenth of a server's start, and most starts ask nobody

    by_tls = not url.startswith("http:") or redirects_max > 0
    read = bytearray()
    ends_at = time.monotonic() + seconds
    # A compressed answer may be a thousand times as long: it is not asked for, and stays as it came.
    plain = {"Accept-Encoding": "identity", **(headers or {})}
    try:
        with (
            httpx.Client(
                timeout=seconds,
                follow_redirects=redirects_max > 0,
                max_redirects=max(redirects_max, 1),
                trust_env=not direct,
                verify=trusted(direct=direct) if by_tls else False,
                transport=None if socket is None else httpx.HTTPTransport(uds=socket, verify=False),
            ) as client,
            client.stream(method, url, headers=plain, content=content) as answer,
        ):
            for piece in answer.iter_raw():
                read += piece
                if len(read) > bytes_max:
                    raise TooLarge(bytes_max, answer.status_code)
                if time.monotonic() > ends_at:
                    raise TimeoutError(f"no whole answer within {seconds:.0f} s")
            return Answer(answer.status_code, bytes(read), answer.headers)
    except httpx.TimeoutException as error:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from error
    except httpx.ConnectError as error:
        raise OSError("no connection could be made") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(f"the exchange failed: {type(error).__name__}") from error


def trusted(*, direct: bool = False) -> "ssl.SSLContext":
    """Whom requests of svc trust; `direct` as for `answered`."""
    return _trusted(direct, *map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))


@lru_cache(maxsize=4)  # reading all certificates takes 30 ms; a text model is asked again and again
def _trusted(direct: bool, *_where: str | None) -> "ssl.SSLContext":
    import ssl

    import httpx

    return ssl.create_default_context() if direct else httpx.create_ssl_context()
