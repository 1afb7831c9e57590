"""Waits that must not outlast the server: whoever asks it to stop ends them all at once."""

from collections.abc import Awaitable, Callable

import trio


class Waits:
    """Those who wait for something that may never come."""

    def __init__(self) -> None:
        self._waiting: set[trio.CancelScope] = set()
        self._ended = False

    def end(self) -> None:
        """Let all of them go; nobody waits here from now on."""
        self._ended = True
        for scope in self._waiting:
            scope.cancel()

    async def wait(self, wait: Callable[[], Awaitable[None]]) -> bool:
        """Whether it came; False once waiting has ended."""
        if self._ended:
            return False
        with trio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                await wait()
            finally:
                self._waiting.discard(scope)
        return not self._ended
