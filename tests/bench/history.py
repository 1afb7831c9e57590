"""Write a long history into a log without a server: the mix of real sessions, through the real decoding and deciding.

A turn is seven events: a prompt, its answer and the answer's name by plugin, and four exports of some five log records,
as Claude Code sends them. A session is twelve turns and claims its name once. The last turn ends at the given time;
turns are three minutes apart.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import msgspec

from aggregates.capture.commands import CapturePrompt, CaptureResponse, ResponseContent
from aggregates.decide import AnyCommand, decide, touched_streams
from aggregates.event import Context, Scope
from aggregates.telemetry.batches import ExportContext
from aggregates.telemetry.envelope import split
from aggregates.telemetry.export import Export
from svc.actors.actors import Streams
from svc.log.codec import NewEvent
from svc.log.opening import open_log
from svc.log.store import EventStore
from svc.log.vault import Vault
from tests.bench.load import prompt_text
from tests.bench.telemetry import exported, pairs

TURN_EVENTS = 7
RECORDS_PER_EXPORT = (6, 5, 5, 5)
"""21 records a turn."""
COMMIT_EVENTS = 2_000

_NAMESPACE = UUID("5b1f0d52-5a0e-5d6b-9f0e-6d1f0f3a7b52")


class Mix(NamedTuple):
    """Whose the sessions are, and how long."""

    developers: int = 10
    """Who share the sessions in equal parts, the given developer among them."""
    session_turns: tuple[int, ...] = (12,)
    """How many turns sessions have, in turn."""
    turn_us: int = 180_000_000
    """From one turn to the next."""

    def session(self, turn: int) -> int:
        """The number of the session that a turn is of."""
        rounds, rest = divmod(turn, sum(self.session_turns))
        begun = sum(rest >= end for end in accumulate(self.session_turns))
        return rounds * len(self.session_turns) + begun


USUAL = Mix()


def write_history(var: Path, events: int, scope: Scope, end_us: int, mix: Mix = USUAL) -> Iterator[int]:
    """Append about so many events to the log of a folder that was set up; yields how many there are so far.

    One part of the sessions are the given developer's, the others those of further ones of the same organization.
    """
    store, vault = open_log(var)
    try:
        writer = _Writer(store, vault)
        turns = events // TURN_EVENTS
        for turn in range(turns):
            session = mix.session(turn)
            developer = session % mix.developers
            whose = scope if developer == 0 else Scope(scope.organization_id, uuid5(_NAMESPACE, f"dev {developer}"))
            at_us = end_us - (turns - turn) * mix.turn_us
            writer.write(_turn(turn, str(uuid5(_NAMESPACE, f"session {session}")), whose, vault, at_us), end_us)
            if writer.waiting >= COMMIT_EVENTS:
                yield writer.commit()
        yield writer.commit()
    finally:
        store.close()


class _Writer:
    """Decides and stores, many facts to a commit."""

    def __init__(self, store: EventStore, vault: Vault) -> None:
        self._store = store
        self._vault = vault
        self._streams = Streams(store)
        self._staged: list[NewEvent] = []
        self._written = 0

    @property
    def waiting(self) -> int:
        """Facts that are decided and not stored yet."""
        return len(self._staged)

    def write(self, commands: Sequence[tuple[int, AnyCommand]], end_us: int) -> None:
        """Decide commands, each received at its time."""
        for at_us, command in commands:
            context = Context(min(at_us, end_us), self._vault.digester(command.developer_id), redaction=True)
            decision = decide(command, self._streams.states(touched_streams(command)), context)
            self._staged += self._streams.stage(decision.events)
            self._streams.adopt()

    def commit(self) -> int:
        """Store what was decided; how many facts were stored in all."""
        self._store.append(self._staged)
        self._written += len(self._staged)
        self._staged = []
        return self._written


def _turn(turn: int, session: str, scope: Scope, vault: Vault, at_us: int) -> list[tuple[int, AnyCommand]]:
    """The commands of one turn, each with its time."""
    prompt_id = uuid5(_NAMESPACE, f"prompt {turn}")
    prompt = CapturePrompt(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        prompt_id=prompt_id,
        agent_session_id=session,
        source="claude-code",
        text=prompt_text(turn % 16, turn, 200 + turn * 37 % 900),
        host_prompt_id=str(prompt_id),
        submitted_at_us=at_us,
    )
    answer = CaptureResponse(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        prompt_id=prompt_id,
        content=ResponseContent(response_text="All tests pass now; the change is small.", elapsed_ms=90_000),
        response_operation_id=f"op {turn}",
        responded_at_us=at_us + 90_000_000,
    )
    exports = [
        (at, each)
        for number in range(len(RECORDS_PER_EXPORT))
        for at, each in _exports(turn, number, session, scope, vault, at_us)
    ]
    return [(at_us, prompt), *exports, (at_us + 90_000_000, answer)]


def _exports(
    turn: int, number: int, session: str, scope: Scope, vault: Vault, turn_us: int
) -> Iterator[tuple[int, AnyCommand]]:
    at_us = turn_us + 1_000_000 + number * 15_000_000
    body = msgspec.json.encode(exported(list(_records(turn, number, session, at_us))))
    means = ExportContext(scope, at_us, vault.digester(scope.developer_id), redaction=True)
    for made in Export("logs", means).commands(split(body, "logs")):
        yield at_us, made.command


def _records(turn: int, number: int, session: str, at_us: int) -> Iterator[dict[str, Any]]:
    kinds = ("api_request", "tool_decision", "tool_result")
    for index in range(RECORDS_PER_EXPORT[number]):
        name = kinds[index % len(kinds)]
        call = turn * 100 + number * 10 + index
        attributes = {
            "session.id": session,
            "prompt.id": str(uuid5(_NAMESPACE, f"prompt {turn}")),
            "event.name": name,
            "event.sequence": call,
            **_own(name, turn, call),
        }
        nanos = str((at_us + index * 2_000_000) * 1_000)
        yield {"timeUnixNano": nanos, "body": {"stringValue": f"claude_code.{name}"}, "attributes": pairs(attributes)}


def _own(name: str, turn: int, call: int) -> dict[str, Any]:
    match name:
        case "api_request":
            return {
                "model": "claude-opus-4-6",
                "input_tokens": 3,
                "output_tokens": 200 + turn % 300,
                "cache_read_tokens": 44_206,
                "cache_creation_tokens": 1_234,
                "cost_usd": 0.0829525,
                "duration_ms": 4_920,
                "request_id": f"req_{call:020d}",
            }
        case "tool_decision":
            return {"tool_name": "Edit", "tool_use_id": f"toolu_{call:020d}", "decision": "accept", "source": "config"}
        case _:
            given = {"file_path": f"src/parser_{turn % 40}.py", "old_string": "a\nb", "new_string": f"a\nb\nc{call}"}
            return {
                "tool_name": "Edit",
                "tool_use_id": f"toolu_{call - 1:020d}",
                "success": "true",
                "duration_ms": "1234",
                "tool_input": msgspec.json.encode(given).decode(),
            }
