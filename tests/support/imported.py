"""Session files read and imported by a stand-in for a developer's actor, whichever agent's."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import msgspec
import trio

from aggregates.capture.events import AnyCapture, PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.decide import AnyCommand, StreamState, decide, evolve
from aggregates.event import Context, Digester, Event, Reply, Scope
from aggregates.records.record import Record
from aggregates.telemetry.batches import Sender
from aggregates.telemetry.draft import Exchange
from svc.importing.exchange import Format, Memory, Reader
from svc.importing.importer import FORMATS, Destination, ImportReport, Sent, import_into
from svc.outward import Answer
from svc_http.routes.capture import ImportBody, Imported, carried_out, made_of
from tests.support.basics import ANA, named

Send = Callable[[AnyCapture], Awaitable[Reply]]
Progress = Callable[[int, int], None]


class Actor:
    """Takes commands as the service does, and keeps the events."""

    def __init__(self, now_us: int = 1, digester: Digester | None = None) -> None:
        self._now_us = now_us
        self._digester = digester or Digester(b"key")
        self.events: list[Event] = []
        self._streams: dict[UUID, StreamState] = {}

    def copy(self) -> "Actor":
        """Another, who has taken the same."""
        made = Actor(self._now_us, self._digester)
        made.events, made._streams = self.events.copy(), self._streams.copy()
        return made

    async def send(self, command: AnyCommand) -> Reply:
        context = Context(now_us=self._now_us, digester=self._digester, redaction=True)
        decision = decide(command, self._streams, context)
        for stream, event in decision.events:
            self._streams[stream] = evolve(self._streams.get(stream), event)
            self.events.append(event)
        return decision.reply


TEN_O_CLOCK_US = 1_772_445_600_000_000
NEXT_DAY_US = TEN_O_CLOCK_US + 86_400_000_000
SECOND = 1_000_000


async def import_transcripts(
    transcripts: Format, path: Path, send: Send, progress: Progress, *, scope: Scope, digester: Digester, now_us: int
) -> ImportReport:
    destination = destination_of(Sender(scope, transcripts.source, digester), send)
    imports = partial(import_into, destination, transcripts.found([path]), progress, now_us=now_us)
    return await trio.to_thread.run_sync(imports)


def destination_of(sender: Sender, send: Send) -> Destination:
    """A server that carries commands out by `send`; to be asked in a thread."""

    async def send_all(commands: Sequence[AnyCommand]) -> list[Reply]:
        return [await send(cast(AnyCapture, each)) for each in commands]

    def ask(body: msgspec.Raw) -> Answer:
        made = made_of(msgspec.json.decode(body, type=ImportBody).exchanges, sender)
        taken = trio.from_thread.run(carried_out, made, send_all)
        return Answer(200, msgspec.json.encode(Imported(taken)), {})

    return Destination("the server", ask, source=sender.source)


async def take(sender: Sender, send: Send, exchange: Exchange) -> None:
    """One exchange by itself, as whoever reads otherwise may send it."""
    sent = [Sent(exchange, msgspec.json.encode(exchange), "", True)]
    await trio.to_thread.run_sync(destination_of(sender, send).take, sent)


async def run(
    agent: str,
    path: Path,
    actor: Actor,
    *,
    now_us: int = NEXT_DAY_US,
    developer: UUID = ANA,
    progress: Progress = lambda *_: None,
) -> ImportReport:
    means: dict[str, Any] = {"scope": Scope(named("acme"), developer), "digester": Digester(b"key"), "now_us": now_us}
    return await import_transcripts(FORMATS[agent], path, actor.send, progress, **means)


def reader_of(agent: str, name: str, seen: Memory | None = None) -> Reader:
    return FORMATS[agent].reader(Path(name), name, seen or Memory())


def read(agent: str, data: bytes, name: str, seen: Memory | None = None) -> list[Exchange]:
    return list(reader_of(agent, name, seen).read(data.splitlines(keepends=True)))


def records(exchanges: list[Exchange], *kinds: str) -> list[Record]:
    return [draft.record for each in exchanges for draft in each.drafts if draft.record.kind in kinds]


def exchanges_of(agent: str, data: bytes, name: str, *, tokens: bool) -> list[str]:
    """As `shown`, but for the bare beginning of a session."""
    return [line for exchange in read(agent, data, name) if (line := shown(exchange, tokens=tokens))]


def prompts(exchanges: list[Exchange]) -> list[str]:
    return [each.prompt.text for each in exchanges if each.prompt]


def captured(actor: Actor) -> dict[str, Record]:
    """Every record that was taken, by its session and id."""
    batches = [event for event in actor.events if isinstance(event, RecordsCaptured)]
    return {f"{batch.agent_session_id} {each.record_id}": each for batch in batches for each in batch.records}


def told(actor: Actor) -> list[Any]:
    """Prompts and answers, whenever they were taken."""
    asked = [(e.prompt_id, e.prompt.text) for e in actor.events if isinstance(e, PromptCaptured)]
    answers = [(e.prompt_id, e.response and e.response.text) for e in actor.events if isinstance(e, PromptAnswered)]
    return sorted([*asked, *answers], key=str)


def shown(exchange: Exchange, *, tokens: bool) -> str:
    """On one line: whose words they are, what was done about them, the answer, and whether more may come."""
    prompt, told = exchange.prompt, list[str]()
    for record in (draft.record for draft in exchange.drafts):
        under = f" for {record.prompt_id}" if prompt is None or record.prompt_id != prompt.host_prompt_id else ""
        if record.kind in ("tool", "subagent"):
            what = (record.tool or record.source, record.ok, record.duration_ms, record.lines_added)
            told.append(f"{record.call_id} {' '.join(map(str, what))}{under}")
        elif record.cost_usd_nano is not None:
            told.append(f"${record.cost_usd_nano / 1e9}")
        elif record.kind == "request" and tokens:
            told.append(f"{record.input_tokens}+{record.cache_read_tokens} > {record.output_tokens}")
        elif record.kind not in ("session_start", "request") or record.source:
            named = (record.kind, record.tool, record.status_code, record.source)
            told.append(" ".join(str(each) for each in named if each))
    if prompt is not None:
        told.insert(0, f"{prompt.text} ({prompt.host_prompt_id})" if prompt.host_prompt_id else prompt.text)
    if exchange.answer is not None:
        told.append(f"= {exchange.answer.text!r}")
    return " | ".join(told if exchange.finished else [*told, "…"])
