"""Importing transcripts: files in, the capture commands of a plugin and of telemetry out.

Running it again adds nothing, since every id comes from the lines' own ids. An exchange that is still being written is
left for the next run, its prompt apart.
"""

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from aggregates.telemetry.draft import BATCH_RECORDS_MAX, COUNTED, READER_VERSION, Exchange, NotTaken, Taken
from svc.connect.connections import NotAnswered, Server, decoded, said
from svc.hook.machine import KIB_BYTES, MIB_BYTES
from svc.importing.claude_code import CLAUDE_CODE
from svc.importing.codex import CODEX
from svc.importing.copilot import COPILOT
from svc.importing.exchange import HEAD_BYTES, Found, Memory, TornLine, by_beginning
from svc.importing.gemini import GEMINI
from svc.outward import Answer

QUIET_US = 30 * 60 * 1_000_000  # an exchange that was quiet for this long is taken as it stands
NEWEST_US = 30 * 86_400 * 1_000_000  # what began within so long is imported first
_NAMES = re.compile(rb"(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])")  # ids of sessions begin so, or end so where they are cut
FORMATS = {each.source: each for each in (CLAUDE_CODE, CODEX, GEMINI, COPILOT)}  # by the agent's name

_HELD = f"CREATE TABLE largest (name INTEGER PRIMARY KEY, {', '.join(COUNTED)})"
_LARGER = f"""
INSERT INTO largest VALUES (?, {", ".join("?" * len(COUNTED))}) ON CONFLICT (name) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in COUNTED)}
WHERE {" + ".join(f"excluded.{name} - largest.{name}" for name in COUNTED)} > 0
"""


class Refusal(msgspec.Struct, frozen=True):
    file: str
    what: str
    message: str


class Sent(NamedTuple):
    exchange: Exchange
    data: bytes  # the same as JSON
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
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))  # of those that were observed
    unfinished: int = 0  # exchanges that were still being written; the next run takes them
    repeated: int = 0  # prompts that an earlier run had from another session's file: what they caused is there
    created: int = 0  # prompts, responses and batches of records that are new
    corrected: int = 0  # those that count in place of what an earlier run had told
    known: int = 0  # those that had been there before
    refused: list[Refusal] = field(default_factory=list)

    def heard(self, sent: Iterable[Sent], found: Iterable[Taken], largest: sqlite3.Connection) -> None:
        """Count what became of each; of each request the largest account so far."""
        for (exchange, _, file, whole), taken in zip(sent, found, strict=True):
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
                tokens = (getattr(record, name) or 0 for name in COUNTED)
                largest.execute(_LARGER, (hash(record.record_id), *tokens))
            if exchange.answer is not None and exchange.answer.tokens and exchange.prompt is not None:
                stand_in = (exchange.answer.tokens.get(name, 0) for name in COUNTED)
                largest.execute(_LARGER, (hash(f"answer:{exchange.prompt.line_id}"), *stand_in))


PATH = "/v1/import"
BODY_BYTES_MAX = 256 * KIB_BYTES  # of several exchanges: about thirty, which are on disk within a second
EXCHANGE_BYTES_MAX = 3 * MIB_BYTES  # a longer one is sent in pieces: the server takes no body over 4 MiB
EXCHANGES_MAX = 500
ANSWER_SECONDS = 120.0  # a server under load lets others through first
TRIES = 8
WAIT_SECONDS_MAX = 60.0  # a server that asks for a longer pause is left alone, and the person told
_LATER = (408, 425, 429, 502, 503, 504)
Ask = Callable[[msgspec.Raw], Answer]


def intake(server: Server) -> Ask:
    """How it takes exchanges, with a developer's key."""
    return partial(server.asked, "POST", PATH, seconds=ANSWER_SECONDS)


class _Imported(msgspec.Struct):
    exchanges: list[Taken]


class Destination:
    """A server that takes exchanges. Raises `NotAnswered`, `KeyRefused`, and what `ask` raises."""

    def __init__(self, url: str, ask: Ask, **told: str) -> None:
        """`ask` sends a body; `told`: what each body tells beside its exchanges."""
        self._url, self._ask = url, ask
        self._head = msgspec.json.encode(told)[:-1]
        self._was_there = False

    def take(self, batch: Sequence[Sent]) -> list[Taken]:
        """What became of each."""
        if len(batch) == 1 and len(batch[0].data) > EXCHANGE_BYTES_MAX:
            return [self._in_pieces(batch[0].exchange)]
        return self._sent([each.data for each in batch])

    def _in_pieces(self, exchange: Exchange) -> Taken:
        """Batch by batch, at the places where the server would cut."""
        whole, piece = Taken(), exchange
        for start in range(0, max(1, len(exchange.drafts)), BATCH_RECORDS_MAX):
            piece = msgspec.structs.replace(piece, drafts=exchange.drafts[start : start + BATCH_RECORDS_MAX])
            (taken,) = self._sent([msgspec.json.encode(piece)])
            whole.created += taken.created
            whole.corrected += taken.corrected
            whole.known += taken.known
            whole.refused += taken.refused
            whole.repeated = taken.repeated
            if taken.repeated:
                break
            piece = msgspec.structs.replace(exchange, prompt=None, answer=None)
        return whole

    def _sent(self, exchanges: list[bytes]) -> list[Taken]:
        """What became of each. One that the server cannot take is refused by itself."""
        answer = self._answered(msgspec.Raw(b'%s,"exchanges":[%s]}' % (self._head, b",".join(exchanges))))
        if answer.status in (400, 413) and len(exchanges) > 1:
            half = len(exchanges) // 2
            return self._sent(exchanges[:half]) + self._sent(exchanges[half:])
        if answer.status in (400, 413):
            return [Taken(refused=[NotTaken("exchange", said(answer))])]
        if answer.status == 404:
            raise NotAnswered(f"{self._url} has no {PATH}: it is an older svc, or not the intake; upgrade it")
        found = decoded(self._url, answer, PATH, _Imported).exchanges
        if len(found) != len(exchanges):
            raise NotAnswered(f"{self._url} told of {len(found)} exchanges, and {len(exchanges)} were sent")
        return found

    def _answered(self, body: msgspec.Raw) -> Answer:
        """Asks again while the server is busy or away."""
        tries = 0
        while True:
            tries += 1
            wait_seconds = min(2.0**tries, WAIT_SECONDS_MAX)
            try:
                answer = self._ask(body)
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
                    raise NotAnswered(f"{self._url} asks for a pause of {wait_seconds:.0f} s: {said(answer)}")
            time.sleep(wait_seconds)


def import_into(
    destination: Destination, sessions: Sequence[Found], progress: Callable[[int, int], None], *, now_us: int
) -> ImportReport:
    """Raises what the destination raises."""
    report = ImportReport()
    batches = _batches(_read(newest_first(sessions, now_us), now_us, report))
    # Many requests are held until the end: in a file of no name, which SQLite takes away.
    with ThreadPoolExecutor(1) as reading, closing(sqlite3.connect("", isolation_level=None)) as largest:
        largest.execute("PRAGMA journal_mode = OFF")
        largest.execute(_HELD)
        ahead = reading.submit(next, batches, None)
        while batch := ahead.result():
            # One body further, beside the loop: files are large and disks slow.
            ahead = reading.submit(next, batches, None)
            report.heard(batch, destination.take(batch), largest)
            progress(report.files, len(sessions))
        sums = ", ".join(f"ifnull(sum({name}), 0)" for name in COUNTED)
        report.requests, *tokens = largest.execute(f"SELECT count(*), {sums} FROM largest").fetchone()
    report.tokens = dict(zip(COUNTED, tokens, strict=True))
    report.passed_over = dict(Counter(report.passed_over).most_common())
    progress(report.files, len(sessions))
    return report


def _read(parts: Iterable[Sequence[Found]], now_us: int, report: ImportReport) -> Iterator[Sent]:
    """The exchanges of all sessions; each part is read as if it were imported by itself."""
    passed_over = Counter[str]()
    for seen, each in ((seen, each) for part in parts for seen in (Memory(),) for each in part):
        if (opened := each.open(seen)) is None:
            passed_over["session of svc review"] += 1
            continue
        (reader, exchanges), name, lines_before = opened, each.name, report.lines
        try:
            for exchange in exchanges:
                whole = exchange.finished or now_us - exchange.last_us >= QUIET_US
                sent = msgspec.structs.replace(exchange, reader_version=READER_VERSION)
                sent = sent if whole else msgspec.structs.replace(sent, answer=None, drafts=())
                report.prompts += sent.prompt is not None
                yield Sent(sent, msgspec.json.encode(sent), name, whole)
        except OSError as error:
            report.torn.append(TornLine(name, 0, error.strerror or str(error)))
        report.lines = lines_before + reader.lines
        report.torn += reader.torn
        passed_over += reader.passed_over
        report.passed_over = passed_over
        report.files += 1


def _batches(found: Iterable[Sent]) -> Iterator[list[Sent]]:
    """As many as one body may hold."""
    batch, size_bytes = list[Sent](), 0
    for sent in found:
        if batch and (size_bytes + len(sent.data) > BODY_BYTES_MAX or len(batch) >= EXCHANGES_MAX):
            yield batch
            batch, size_bytes = [], 0
        batch.append(sent)
        size_bytes += len(sent.data)
    if batch:
        yield batch


def newest_first(sessions: Sequence[Found], now_us: int) -> list[list[Found]]:
    """What began lately, with all that may belong to it, and then the others; each in its order, as an archive's.

    A file belongs to another where both name the same: a parent, a fork, a sub-agent, the same session.
    """
    files = {each.name: each.file for each in sessions if each.file is not None}
    names = {name: _names(file) for name, file in files.items()}
    more = lately = {name for name, file in files.items() if by_beginning(file)[0] >= now_us - NEWEST_US}
    while more:
        theirs = {told for name in more for told in names[name]}
        more = {name for name in names.keys() - lately if not theirs.isdisjoint(names[name])}
        lately = lately | more
    return [[each for each in sessions if (each.name in lately) == wanted] for wanted in (True, False)]


def _names(file: Path) -> set[bytes]:
    """Those in a file's name, and in its first line."""
    told = "/".join(file.parts[-3:]).encode()
    with suppress(OSError), file.open("rb") as stream:
        told += b" " + stream.readline(HEAD_BYTES)
    return {*_NAMES.findall(told)}
