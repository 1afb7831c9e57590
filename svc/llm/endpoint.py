"""The client library, set up so that no answer is read beyond a bound. Loading it takes most of a second."""

import logging
from collections.abc import AsyncIterator

import openai
import trio
from httpx2 import AsyncByteStream, Response

from svc.llm import budget as bounds

_QUIET = ("openai", "httpx2", "httpcore2")


class BoundedStream(AsyncByteStream):
    """A body that ends one byte after the bound: so it is seen to be too large, and the rest is never read."""

    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = bounds.ANSWER_BYTES_MAX + 1
        chunks = aiter(self._stream)
        async for chunk in chunks:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                break
        with trio.CancelScope() as enough:  # each generator of the libraries ends by itself, as trio wants it
            enough.cancel()
            async for _ in chunks:
                pass

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound(response: Response) -> None:
    """Bound a body before anything of it is read: an answer, an error or a redirection.

    Compressed bodies are not asked for. One that comes all the same stays compressed, and is no JSON.
    """
    assert isinstance(response.stream, AsyncByteStream), "the client is asynchronous"
    response.stream = BoundedStream(response.stream)
    if "content-encoding" in response.headers:
        del response.headers["content-encoding"]


def client_of(url: str, key: str | None) -> openai.AsyncOpenAI:
    """Sends no key but the endpoint's own, and follows no redirection."""
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    client = openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        timeout=bounds.ATTEMPT_SECONDS,
        max_retries=bounds.RETRIES_MAX,
        default_headers={"Accept-Encoding": "identity"},
        http_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=bounds.ATTEMPT_SECONDS, event_hooks={"response": [bound]}
        ),
    )
    client.organization = client.project = client.admin_api_key = None
    return client
