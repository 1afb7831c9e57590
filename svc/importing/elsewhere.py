"""Importing into another machine's server, over its intake, by a developer's key.

What the server has said is on disk is noted in a file until the import is done, so that one that was killed does not
send it again. The file only saves time: the server knows by its ids what it has.
"""

import time
from hashlib import blake2b
from pathlib import Path
from typing import Self

import msgspec

from aggregates.telemetry.exchanges import BATCH_RECORDS_MAX, Exchange, NotTaken, Taken
from svc.connect.server import NotAnswered, Server, accepted, said
from svc.hook.machine import FILE_MODE, KIB_BYTES, MIB_BYTES, private_folder, state_folder
from svc.importing.importer import Heard
from svc.outward import Answer

PATH = "/v1/import"
BODY_BYTES_MAX = 256 * KIB_BYTES
"""Of several exchanges in one request: about a hundred, which are on disk within a second."""
EXCHANGE_BYTES_MAX = 3 * MIB_BYTES
"""A longer exchange is sent in pieces: the server takes no body over 4 MiB."""
EXCHANGES_MAX = 500
ANSWER_SECONDS = 120.0
"""How long a request may take: a server under load lets others through first."""
TRIES = 8
WAIT_SECONDS_MAX = 60.0
"""A server that asks for a longer pause is left alone, and the person told."""
NOTED_MAX = 200_000
NOTED_SECONDS_MAX = 86_400.0
"""Older notes are not believed: the server may be another one since, or restored."""
_LATER = (408, 425, 429, 502, 503, 504)


class Notes:
    """Which exchanges a server has acknowledged in an import that is not done yet: a line for each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts: dict[str, int] = {}
        try:
            if time.time() - path.stat().st_mtime > NOTED_SECONDS_MAX:
                path.unlink()
            for line in path.read_text("ascii").split("\n")[:-1]:  # a torn last line is none
                digest, _, count = line.partition(" ")
                self._counts[digest] = int(count)
        except (OSError, ValueError):
            self._counts = {}

    @classmethod
    def of(cls, url: str, key: str, source: str, path: Path) -> Self:
        what = "\0".join((url, key, source, str(path.resolve())))
        folder = state_folder() / "imports"
        private_folder(folder)
        return cls(folder / blake2b(what.encode(), digest_size=16).hexdigest())

    def known(self, digest: str) -> int | None:
        """How many commands of the exchange the server has; None where that is not known."""
        return self._counts.get(digest)

    def add(self, found: dict[str, int]) -> None:
        if len(self._counts) + len(found) > NOTED_MAX:
            return
        self._counts |= found
        with self._path.open("a", encoding="ascii") as file:
            self._path.chmod(FILE_MODE)
            file.writelines(f"{digest} {count}\n" for digest, count in found.items())

    def done(self) -> None:
        self._path.unlink(missing_ok=True)


class Elsewhere:
    """A destination of imports. Raises `NotAnswered`, `KeyRefused`; what was acknowledged before stays noted."""

    def __init__(self, server: Server, source: str, notes: Notes) -> None:
        self._server = server
        self._source = source
        self._notes = notes
        self._waiting: list[tuple[bytes, Heard]] = []
        self._size_bytes = 0
        self._was_there = False

    async def take(self, exchange: Exchange, heard: Heard) -> None:
        data = msgspec.json.encode(exchange)
        if self._size_bytes + len(data) > BODY_BYTES_MAX or len(self._waiting) >= EXCHANGES_MAX:
            await self._flush()
        if len(data) > EXCHANGE_BYTES_MAX and len(exchange.drafts) > BATCH_RECORDS_MAX:
            heard(await self._in_pieces(exchange))
            return
        self._waiting.append((data, heard))
        self._size_bytes += len(data)

    async def finish(self) -> None:
        await self._flush()
        self._notes.done()

    async def _in_pieces(self, exchange: Exchange) -> Taken:
        """Batch by batch, at the places where the server would cut."""
        whole = Taken()
        for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
            drafts = exchange.drafts[start : start + BATCH_RECORDS_MAX]
            first = start == 0
            piece = Exchange(
                exchange.agent_session_id,
                exchange.prompt if first else None,
                exchange.answer if first else None,
                drafts,
            )
            (taken,) = await self._sent([msgspec.json.encode(piece)])
            whole.created += taken.created
            whole.known += taken.known
            whole.refused += taken.refused
            if taken.repeated:
                whole.repeated = True
                break
        return whole

    async def _flush(self) -> None:
        waiting, self._waiting, self._size_bytes = self._waiting, [], 0
        digests = [blake2b(data, digest_size=16).hexdigest() for data, _ in waiting]
        new = [data for (data, _), digest in zip(waiting, digests, strict=True) if self._notes.known(digest) is None]
        answers = iter(await self._sent(new) if new else ())
        noted: dict[str, int] = {}
        for (_, heard), digest in zip(waiting, digests, strict=True):
            known = self._notes.known(digest)
            taken = next(answers) if known is None else Taken(known=known)
            if known is None and not taken.refused:
                noted[digest] = taken.created + taken.known
            heard(taken)
        self._notes.add(noted)

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
