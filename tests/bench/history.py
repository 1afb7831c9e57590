"""Write a long history into a log without a server. A turn is seven events: a prompt, its answer and the answer's name
by plugin, and four exports of some five log records. A session is twelve turns, three minutes apart."""

from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import msgspec
from rich.progress import track

from aggregates.capture.events import CapturePrompt, CaptureResponse, ResponseContent
from aggregates.decide import AnyCommand, decide, touched_streams
from aggregates.event import Context, NewEvent, Scope
from aggregates.telemetry.batches import ExportContext
from aggregates.telemetry.envelope import split
from aggregates.telemetry.export import Export
from svc.actors.actors import Streams
from svc.log.opening import open_log
from svc.log.vault import Vault
from tests.support.process import THIS_TREE
from tests.support.work import api_request, export, prompt_text, record, tool_decision, tool_result

TURN_EVENTS = 7
RECORDS_PER_EXPORT = (6, 5, 5, 5)  # 21 records a turn
COMMIT_EVENTS = 2_000
_NAMESPACE = UUID("5b1f0d52-5a0e-5d6b-9f0e-6d1f0f3a7b52")
Timed = tuple[int, AnyCommand]


class Mix(NamedTuple):
    """Whose the sessions are, and how long."""

    developers: int = 10  # who share the sessions in equal parts, the owner among them
    session_turns: tuple[int, ...] = (12,)  # how many turns sessions have, in turn
    turn_us: int = 180_000_000  # from one turn to the next

    def session(self, turn: int) -> int:
        rounds, rest = divmod(turn, sum(self.session_turns))
        return rounds * len(self.session_turns) + sum(rest >= end for end in accumulate(self.session_turns))


USUAL = Mix()


def prepared(var: Path, events: int, end_us: int, mix: Mix = USUAL) -> str:
    """Set up a folder, and append about so many events to its log; the owner's key."""
    made = THIS_TREE.set_up(var)
    scope = Scope(UUID(made.organization_id), UUID(made.developer_id))
    with closing(open_log(var)) as store:
        streams, staged, turns = Streams(store), list[NewEvent](), events // TURN_EVENTS
        for turn in track(range(turns), f"writing {events:,} events", transient=True):
            session = mix.session(turn)
            mine = session % mix.developers == 0
            other = uuid5(_NAMESPACE, f"dev {session % mix.developers}")
            whose = scope if mine else Scope(scope.organization_id, other)
            at_us = end_us - (turns - turn) * mix.turn_us
            for sent_us, command in _turn(
                turn, str(uuid5(_NAMESPACE, f"session {session}")), whose, store.vault, at_us
            ):
                context = Context(min(sent_us, end_us), store.vault.digester(command.developer_id), redaction=True)
                decision = decide(command, streams.states(touched_streams(command)), context)
                staged += streams.stage(decision.events)
            if len(staged) >= COMMIT_EVENTS:
                store.append(staged)
                staged = []
        store.append(staged)
    return made.key


def _turn(turn: int, session: str, scope: Scope, vault: Vault, at_us: int) -> list[Timed]:
    """The commands of one turn, each with its time."""
    prompt_id = uuid5(_NAMESPACE, f"prompt {turn}")
    owner: dict[str, Any] = {"organization_id": scope.organization_id, "developer_id": scope.developer_id}
    prompt = CapturePrompt(
        prompt_id=prompt_id,
        agent_session_id=session,
        source="claude-code",
        text=prompt_text(turn % 16, turn, 200 + turn * 37 % 900),
        host_prompt_id=str(prompt_id),
        submitted_at_us=at_us,
        **owner,
    )
    answer = CaptureResponse(
        prompt_id=prompt_id,
        content=ResponseContent(response_text="All tests pass now; the change is small.", elapsed_ms=90_000),
        response_operation_id=f"op {turn}",
        responded_at_us=at_us + 90_000_000,
        **owner,
    )
    exports: list[Timed] = []
    for number in range(len(RECORDS_PER_EXPORT)):
        sent_us = at_us + 1_000_000 + number * 15_000_000
        body = msgspec.json.encode(export(_records(turn, number, session, sent_us)))
        means = ExportContext(scope, sent_us, vault.digester(scope.developer_id), redaction=True)
        exports += [(sent_us, made.command) for made in Export("logs", means).commands(split(body, "logs"))]
    return [(at_us, prompt), *exports, (at_us + 90_000_000, answer)]


def _records(turn: int, number: int, session: str, at_us: int) -> Iterator[dict[str, Any]]:
    kinds = ("api_request", "tool_decision", "tool_result")
    named = {"session.id": session, "prompt.id": str(uuid5(_NAMESPACE, f"prompt {turn}"))}
    for index in range(RECORDS_PER_EXPORT[number]):
        name, call = kinds[index % len(kinds)], turn * 100 + number * 10 + index
        told = {**named, "event.sequence": call, **_own(name, turn, call)}
        yield record(name, at_us + index * 2_000_000, told)


def _own(name: str, turn: int, call: int) -> dict[str, Any]:
    match name:
        case "api_request":
            return api_request(call, 200 + turn % 300)
        case "tool_decision":
            return tool_decision(call)
        case _:
            given = {"file_path": f"src/parser_{turn % 40}.py", "old_string": "a\nb", "new_string": f"a\nb\nc{call}"}
            return tool_result(call - 1, "Edit", given)
