"""One question to an OpenAI-compatible endpoint over HTTP: what is tried again, and how much of an answer is read.

The HTTP library is imported when somebody first asks: most installations have no model.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import trio

from svc.llm import budget as bounds

if TYPE_CHECKING:
    import httpx

COMPLETIONS = "/chat/completions"
AGAIN_STATUS = frozenset({408, 409, 429})
"""With every 5xx: said of the moment, not of the question."""
PAUSE_SECONDS_FIRST = 0.5
"""Before the second attempt; twice that before the third."""
PAUSE_SECONDS_MAX = 8.0
WAIT_SECONDS_MAX = 60.0
"""A `Retry-After` beyond it is not followed."""


class Endpoint(msgspec.Struct, frozen=True):
    url: str
    model: str
    key: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"


class Body(msgspec.Struct, frozen=True):
    status: int
    content: bytes
    """At most one byte beyond the bound, so that a larger one is seen to be too large."""
    wait_seconds: float | None = None
    """How long the other side asks to be left alone."""


class EndpointClient:
    """Sends no key but the endpoint's own, and follows no redirection."""

    def __init__(self, endpoint: Endpoint) -> None:
        import httpx

        self._url = endpoint.url.rstrip("/") + COMPLETIONS
        self._failures = (httpx.HTTPError, httpx.InvalidURL)
        self._timeouts = httpx.TimeoutException
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {endpoint.key or 'none'}", "Accept-Encoding": "identity"},
            timeout=bounds.ATTEMPT_SECONDS,
            follow_redirects=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def asked(self, question: Mapping[str, Any]) -> Body:
        """The answer, whatever its status. Raises `TimeoutError` or `ConnectionError` where there is none."""
        content = msgspec.json.encode(question)
        for left in reversed(range(bounds.RETRIES_MAX + 1)):
            pause = min(PAUSE_SECONDS_FIRST * 2 ** (bounds.RETRIES_MAX - left), PAUSE_SECONDS_MAX)
            try:
                body = await self._attempt(content)
            except self._timeouts as error:
                if not left:
                    raise TimeoutError(str(error)) from error
            except self._failures as error:
                if not left:
                    raise ConnectionError(str(error)) from error
            else:
                if not left or not (body.status in AGAIN_STATUS or body.status >= 500):
                    return body
                pause = pause if body.wait_seconds is None else body.wait_seconds
            await trio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, content: bytes) -> Body:
        request = self._http.build_request(
            "POST", self._url, content=content, headers={"Content-Type": "application/json"}
        )
        answer = await self._http.send(request, stream=True)
        try:
            return Body(answer.status_code, await _read(answer), _wait_seconds(answer.headers.get("Retry-After")))
        finally:
            await answer.aclose()


async def _read(answer: "httpx.Response") -> bytes:
    """The body as it came, no further than its bound.

    Compressed bodies are not asked for. One that comes all the same stays compressed, and is no JSON.
    """
    most = bounds.ANSWER_BYTES_MAX + 1
    read = bytearray()
    chunks = answer.aiter_raw()
    async for chunk in chunks:
        read += chunk[: most - len(read)]
        if len(read) >= most:
            break
    with trio.CancelScope() as enough:  # each generator of the library ends by itself, as trio wants it
        enough.cancel()
        async for _ in chunks:
            pass
    return bytes(read)


def _wait_seconds(wanted: str | None) -> float | None:
    """What `Retry-After` asks for, in seconds; None where it asks for nothing that is followed."""
    try:
        seconds = float(wanted or "")
    except ValueError:
        return None
    return seconds if 0 < seconds <= WAIT_SECONDS_MAX else None
