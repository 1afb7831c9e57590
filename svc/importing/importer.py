"""Importing transcripts: files in, the capture commands of a plugin and of telemetry out.

Running it again adds nothing, since every id comes from the lines' own ids. An exchange that is still being written is
left for the next run, its prompt apart.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from aggregates.event import Reply
from aggregates.telemetry.draft import BATCH_RECORDS_MAX, READER_VERSION, Exchange, NotTaken, Taken
from svc.connect.connections import NotAnswered, Server, accepted, said
from svc.hook.machine import KIB_BYTES, MIB_BYTES
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.codex import CODEX
from svc.importing.copilot import COPILOT
from svc.importing.exchange import Format, Memory, TornLine, of_review
from svc.importing.gemini import GEMINI
from svc.importing.lines import lines_of
from svc.outward import Answer

if TYPE_CHECKING:
    from aggregates.capture.events import AnyCapture
    from aggregates.telemetry.batches import Sender

QUIET_US = 30 * 60 * 1_000_000  # an exchange that was quiet for this long is taken as it stands
FORMATS = {each.source: each for each in (CLAUDE_CODE, CODEX, GEMINI, COPILOT)}  # by the agent's name
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


class Refusal(msgspec.Struct, frozen=True):
    file: str
    what: str
    message: str


class Sent(NamedTuple):
    exchange: Exchange
    file: str
    whole: bool  # of one that is still being written only the prompt is sent


@dataclass(slots=True)
class ImportReport:
    """What an import found, whether or not it was there before, and what of it was new."""

    files: int = 0
    lines: int = 0  # lines that are not blank, torn ones among them
    passed_over: dict[str, int] = field(default_factory=dict)  # what has no meaning here, or could not be used, by kind
    torn: list[TornLine] = field(default_factory=list)  # a file that could not be opened stands here as its line 0
    prompts: int = 0
    responses: int = 0
    requests: int = 0
    errors: int = 0  # requests that failed for good
    tool_calls: int = 0  # finished, refused or without a result
    records: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_TOKENS, 0))  # of those that were observed
    unfinished: int = 0  # exchanges that were still being written; the next run takes them
    repeated: int = 0  # prompts that an earlier run had from another session's file: what they caused is there
    created: int = 0  # prompts, responses and batches of records that are new
    corrected: int = 0  # those that count in place of what an earlier run had told
    known: int = 0  # those that had been there before
    refused: list[Refusal] = field(default_factory=list)

    def heard(self, waiting: deque[Sent], found: Iterable[Taken], largest: dict[str, tuple[int, ...]]) -> None:
        """Count what became of those that waited longest; of each request the largest account so far."""
        for taken in found:
            exchange, file, whole = waiting.popleft()
            self.created += taken.created
            self.corrected += taken.corrected
            self.known += taken.known
            for each in taken.refused:
                what = f"{each.what} {'in' if each.what == 'response' else 'of'} {exchange.agent_session_id}"
                self.refused.append(Refusal(file, what, each.message))
            if taken.repeated:
                self.repeated += 1
                continue
            self.unfinished += not whole
            self.responses += exchange.prompt is not None and exchange.answer is not None
            records = [draft.record for draft in exchange.drafts]
            self.records += len(records)
            self.errors += sum(record.kind == "error" for record in records)
            self.tool_calls += sum(record.kind in ("tool", "rejection") for record in records)
            for record in (record for record in records if record.kind == "request"):
                tokens = tuple(getattr(record, name) or 0 for name in _TOKENS)
                largest[record.record_id] = max(tokens, largest.get(record.record_id, tokens), key=sum)
            if exchange.answer is not None and exchange.answer.tokens and exchange.prompt is not None:
                stand_in = tuple(exchange.answer.tokens.get(name, 0) for name in _TOKENS)
                largest[f"answer:{exchange.prompt.line_id}"] = stand_in


class Log(NamedTuple):
    """Takes exchanges as commands, and answers what became of those that are on disk by now, in their order."""

    sender: "Sender"
    send: Callable[["AnyCapture"], Awaitable[Reply]]  # returns once it is on disk; waits where the actor is busy

    async def take(self, exchange: Exchange) -> list[Taken]:
        from aggregates.telemetry.batches import steps  # late: `svc import --help` waits for what stands above

        taken = Taken()
        for what, command in steps(exchange, self.sender):
            if not taken.heard(what, await self.send(command)):
                break
        return [taken]

    async def finish(self) -> list[Taken]:
        return []


PATH = "/v1/import"
BODY_BYTES_MAX = 256 * KIB_BYTES  # of several exchanges: about a hundred, which are on disk within a second
EXCHANGE_BYTES_MAX = 3 * MIB_BYTES  # a longer one is sent in pieces: the server takes no body over 4 MiB
EXCHANGES_MAX = 500
ANSWER_SECONDS = 120.0  # a server under load lets others through first
TRIES = 8
WAIT_SECONDS_MAX = 60.0  # a server that asks for a longer pause is left alone, and the person told
_LATER = (408, 425, 429, 502, 503, 504)


class _Imported(msgspec.Struct):
    exchanges: list[Taken]


class Elsewhere:
    """Another machine's server, over its intake, by a developer's key. Raises `NotAnswered`, `KeyRefused`."""

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
            whole.corrected += taken.corrected
            whole.known += taken.known
            whole.refused += taken.refused
            whole.repeated = taken.repeated
            if taken.repeated:
                break
            piece = replace(exchange, prompt=None, answer=None)
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

        asked, tries = ("POST", PATH, msgspec.Raw(body), ANSWER_SECONDS), 0
        while True:
            tries += 1
            wait_seconds = min(2.0**tries, WAIT_SECONDS_MAX)
            try:
                answer = await trio.to_thread.run_sync(self._server.asked, *asked)
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


async def import_into(
    destination: Log | Elsewhere,
    transcripts: Format,
    paths: Sequence[Path],
    progress: Callable[[int, int], None],
    *,
    now_us: int,
) -> ImportReport:
    """Import all files under folders, or single ones. Raises `FileNotFoundError`, and what the destination raises."""
    import trio

    report, seen = ImportReport(), Memory()
    waiting: deque[Sent] = deque()  # what became of these is not known yet
    passed_over, largest = Counter[str](), dict[str, tuple[int, ...]]()
    files = await trio.to_thread.run_sync(transcripts.files_under, paths)
    for file in files:
        if of_review(file):
            passed_over["session of svc review"] += 1
            continue
        root = next((path for path in paths if path in file.parents), file.parent)
        name = str(file.relative_to(root) if len(paths) == 1 else file)
        reader, lines_before = transcripts.reader(file, name, seen), report.lines
        exchanges = reader.read(lines_of(file, whole=file.suffix == transcripts.document))
        try:
            # Files are large and disks slow: they are read beside the loop.
            while exchange := await trio.to_thread.run_sync(next, exchanges, None):
                whole = exchange.finished or now_us - exchange.last_us >= QUIET_US
                sent = replace(exchange, reader_version=READER_VERSION)
                sent = sent if whole else replace(sent, answer=None, drafts=())
                report.prompts += sent.prompt is not None
                waiting.append(Sent(sent, name, whole))
                report.heard(waiting, await destination.take(sent), largest)
                report.lines = lines_before + reader.lines
                progress(report.files, len(files))
        except OSError as error:
            report.torn.append(TornLine(name, 0, error.strerror or str(error)))
        report.lines = lines_before + reader.lines
        report.torn += reader.torn
        passed_over += reader.passed_over
        report.files += 1
    report.heard(waiting, await destination.finish(), largest)
    report.passed_over, report.requests = dict(passed_over.most_common()), len(largest)
    for name, counts in zip(_TOKENS, zip(*largest.values(), strict=True), strict=False):
        report.tokens[name] = sum(counts)
    progress(report.files, len(files))
    return report
