"""Session files read and imported, whichever agent's."""

from pathlib import Path
from typing import Any
from uuid import UUID

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import Digester, Scope
from aggregates.records.record import Record
from aggregates.telemetry.exchanges import Exchange
from svc.importing.exchange import Memory, Reader
from svc.importing.importer import FORMATS, ImportReport, import_transcripts
from tests.support.captures import Actor
from tests.support.log import ANA, named

TEN_O_CLOCK_US = 1_772_445_600_000_000
NEXT_DAY_US = TEN_O_CLOCK_US + 86_400_000_000
SECOND = 1_000_000


async def run(
    agent: str, path: Path, actor: Actor, *, now_us: int = NEXT_DAY_US, developer: UUID = ANA
) -> ImportReport:
    scope = Scope(named("acme"), developer)
    return await import_transcripts(
        FORMATS[agent], path, actor.send, lambda _: None, scope=scope, digester=Digester(b"key"), now_us=now_us
    )


def reader_of(agent: str, name: str, seen: Memory | None = None) -> Reader:
    return FORMATS[agent].reader(Path(name), name, seen or Memory())


def read(agent: str, data: bytes, name: str, seen: Memory | None = None) -> list[Exchange]:
    return list(reader_of(agent, name, seen).read(data.splitlines(keepends=True)))


def records(exchanges: list[Exchange], *kinds: str) -> list[Record]:
    return [draft.record for each in exchanges for draft in each.drafts if draft.record.kind in kinds]


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
