"""Importing into another machine's server, over its intake, by a developer's key.

The server knows by its ids what it has: after a kill all is sent again, and nothing counts twice.
"""

import msgspec
from msgspec.structs import replace

from aggregates.telemetry.draft import BATCH_RECORDS_MAX, Exchange, NotTaken, Taken
from svc.connect.server import NotAnswered, Server, accepted, said
from svc.hook.machine import KIB_BYTES, MIB_BYTES
from svc.outward import Answer

PATH = "/v1/import"
BODY_BYTES_MAX = 256 * KIB_BYTES  # of several exchanges: about a hundred, which are on disk within a second
EXCHANGE_BYTES_MAX = 3 * MIB_BYTES  # a longer one is sent in pieces: the server takes no body over 4 MiB
EXCHANGES_MAX = 500
ANSWER_SECONDS = 120.0  # a server under load lets others through first
TRIES = 8
WAIT_SECONDS_MAX = 60.0  # a server that asks for a longer pause is left alone, and the person told
_LATER = (408, 425, 429, 502, 503, 504)


class Elsewhere:
    """A destination of imports. Raises `NotAnswered`, `KeyRefused`."""

    def __init__(self, server: Server, source: str) -> None:
        self._server = server
        self._source = source
        self._waiting: list[bytes] = []
        self._size_bytes = 0
        self._was_there = False

    async def take(self, exchange: Exchange) -> list[Taken]:
        data, found = msgspec.json.encode(exchange), []
        if self._size_bytes + len(data) > BODY_BYTES_MAX or len(self._waiting) >= EXCHANGES_MAX:
            found = await self.finish()
        if len(data) > EXCHANGE_BYTES_MAX and len(exchange.drafts) > BATCH_RECORDS_MAX:
            return [*found, await self._in_pieces(exchange)]
        self._waiting.append(data)
        self._size_bytes += len(data)
        return found

    async def finish(self) -> list[Taken]:
        waiting, self._waiting, self._size_bytes = self._waiting, [], 0
        return await self._sent(waiting) if waiting else []

    async def _in_pieces(self, exchange: Exchange) -> Taken:
        """Batch by batch, at the places where the server would cut."""
        whole, piece = Taken(), exchange
        for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
            piece = replace(piece, drafts=exchange.drafts[start : start + BATCH_RECORDS_MAX])
            (taken,) = await self._sent([msgspec.json.encode(piece)])
            whole.created += taken.created
            whole.known += taken.known
            whole.refused += taken.refused
            if taken.repeated:
                whole.repeated = True
                break
            piece = Exchange(exchange.agent_session_id)
        return whole

    async def _sent(self, exchanges: list[bytes]) -> list[Taken]:
        """What became of each. One that the server cannot take is refused by itself."""
        body = b'{"source":"%s","exchanges":[%s]}' % (self._source.encode(), b",".join(exchanges))
        answer = await self._answered(body)
        if answer.status in (400, 413) and len(exchanges) > 1:
            half = len(exchanges) // 2
            return await self._sent(exchanges[:half]) + await self._sent(exchanges[half:])
        if answer.status in (400, 413):
            return [Taken(refused=[NotTaken("exchange", said(answer))])]
        if answer.status == 404:
            raise NotAnswered(f"{self._server.url} has no {PATH}: it is an older svc, or not the intake; upgrade it")
        try:
            found = msgspec.json.decode(accepted(answer, PATH), type=_Imported).exchanges
        except msgspec.DecodeError as error:
            raise self._server.not_an_intake() from error
        if len(found) != len(exchanges):
            raise NotAnswered(f"{self._server.url} told of {len(found)} exchanges, and {len(exchanges)} were sent")
        return found

    async def _answered(self, body: bytes) -> Answer:
        """Asks again while the server is busy or away."""
        import trio

        for tries in range(1, TRIES + 1):
            wait_seconds = min(2.0**tries, WAIT_SECONDS_MAX)
            try:
                answer = await trio.to_thread.run_sync(
                    self._server.asked, "POST", PATH, msgspec.Raw(body), ANSWER_SECONDS
                )
            except NotAnswered:
                if tries == TRIES or not self._was_there:  # who has never answered is not waited for
                    raise
            else:
                self._was_there = True
                if answer.status not in _LATER:
                    return answer
                wanted = answer.headers.get("Retry-After", "")
                wait_seconds = float(wanted) if wanted.isdecimal() else wait_seconds
                if tries == TRIES or wait_seconds > WAIT_SECONDS_MAX:
                    raise NotAnswered(f"{self._server.url} asks for a pause of {wait_seconds:.0f} s: {said(answer)}")
            await trio.sleep(wait_seconds)
        raise AssertionError("the last try returns or raises")


class _Imported(msgspec.Struct):
    exchanges: list[Taken]
