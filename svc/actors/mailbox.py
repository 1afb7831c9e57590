"""Mailboxes: a command goes in, a reply comes back, and the sender may go away in between.

A request handler is cancelled when its client hangs up. It only posts a request and waits for the answer; the task
that owns the mailbox carries the command out whether anybody still waits or not.
"""

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar
from uuid import UUID

import trio

from svc.log.journal import Busy
from svc.log.store import Fence, current_fences, fenced

AHEAD_EVENTS_MAX = 256
"""Events of one developer that the views may lack; the next command waits for them. A quarter of a second of work."""

C = TypeVar("C")
R = TypeVar("R")


class Request(Generic[C, R]):
    """A command on its way, and in the end its reply or error."""

    def __init__(
        self, command: C, size_bytes: int = 0, on_settled: Callable[[int], None] = lambda _size_bytes: None
    ) -> None:
        self.command = command
        self.fences: tuple[Fence, ...] = current_fences()  # of who sent it: they hold for what it makes
        self.size_bytes = size_bytes
        self._on_settled = on_settled
        self._reply: R | None = None
        self._error: Exception | None = None
        self._settled = trio.Event()

    def answer(self, reply: R) -> None:
        self._reply = reply
        self._settle()

    def fail(self, error: Exception) -> None:
        if not self.settled:
            self._error = error
            self._settle()

    def _settle(self) -> None:
        self._settled.set()
        self._on_settled(self.size_bytes)

    @property
    def settled(self) -> bool:
        return self._settled.is_set()

    async def reply(self) -> R:
        await self._settled.wait()
        if self._error is not None:
            raise self._error
        assert self._reply is not None, "a request is settled with a reply or an error"
        return self._reply


class Mailbox(Generic[C, R]):
    """A bounded mailbox; its one reader carries commands out in order."""

    def __init__(self, commands_max: int, full: str) -> None:
        self._full = full
        self._send, self._receive = trio.open_memory_channel[Request[C, R]](commands_max)

    async def send(self, command: C) -> R:
        """Return once the command was carried out. Raises `Busy`, or its error."""
        request = Request[C, R](command)
        try:
            self._send.send_nowait(request)
        except trio.WouldBlock:
            raise Busy(self._full) from None
        return await request.reply()

    async def work_through(self, carry_out: Callable[[C], Awaitable[R]]) -> None:
        """Read until cancelled; an error is the outcome of its own command alone."""
        async for request in self._receive:
            try:
                with fenced(*request.fences):
                    request.answer(await carry_out(request.command))
            except Exception as error:
                request.fail(error)


class Waits:
    """Waits that end when the server stops."""

    def __init__(self) -> None:
        self._waiting: set[trio.CancelScope] = set()
        self._ended = False

    def end(self) -> None:
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


class Acknowledged:
    """The last positions each developer was told are on disk."""

    def __init__(self) -> None:
        self._positions: defaultdict[UUID, deque[int]] = defaultdict(partial(deque, maxlen=AHEAD_EVENTS_MAX))

    def note(self, developer_id: UUID, position: int) -> None:
        self._positions[developer_id].append(position)

    def position(self, developer_id: UUID) -> int:
        positions = self._positions.get(developer_id)
        return positions[-1] if positions else 0

    def oldest(self, developer_id: UUID) -> int:
        """What the views must hold before a developer is no longer too far ahead of them; 0 for most."""
        positions = self._positions.get(developer_id)
        return positions[0] if positions and len(positions) == AHEAD_EVENTS_MAX else 0
