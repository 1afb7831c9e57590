"""Sessions of agents and people, and the request bodies that tell of them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any, Literal
from uuid import UUID

import msgspec

from tests.support import otlp
from tests.support.catalogs import list_rate, lookup

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

Seen = Literal["plugin", "telemetry", "both"]
"""By whom a session is seen. A plugin alone tells tokens with its responses; else the requests of telemetry do."""

PRICED: dict[str, tuple[int, int]] = {"sim-large-1": (3, 15), "sim-small-1": (1, 4)}
"""Model → dollars per million tokens of input and of output, as the catalog has them."""
UNPRICED = "sim-mystery-1"

_GOALS = (
    "Fix the crash in src/parser.py when the file is empty, and add a test that shows it",
    "Add a page that lists the invoices of one customer, with a filter by month",
    "Why does the login take four seconds? Find the cause and explain it",
    "Refactor src/api.py so that the two handlers share their checks; do not change what they answer",
    "Rename the column created to created_at everywhere and run the tests",
    "Review the last change of the retry loop, especially what happens on a timeout",
)
_CORRECTIONS = ("no, that is still wrong, try again", "that did not work", "still broken, same error")
_TOOLS = ("Edit", "Read", "Bash", "Grep")


class Turn(msgspec.Struct, frozen=True):
    session: str
    name: str  # as the agent calls it; unique
    event_id: UUID
    at_us: int
    text: str
    cwd: str
    arc: int  # which goal of its session it belongs to, by the boundaries that were scripted
    answer: "Answered"


class Answered(msgspec.Struct, frozen=True):
    operation_id: str
    at_us: int
    text: str
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano: int | None


class Record(msgspec.Struct, frozen=True):
    nonce: str
    session: str
    at_us: int
    event: str
    turn: str  # the name of the prompt that it names
    text: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_nano: int | None = None  # what the agent says; None where the catalog has to
    tool: str | None = None
    ok: bool = True


class Session(msgspec.Struct, frozen=True):
    name: str
    seen: Seen
    turns: tuple[Turn, ...]
    records: tuple[Record, ...]

    @property
    def prompts(self) -> list[Turn]:
        """Those in which something was asked: a clear is nobody's prompt."""
        return [turn for turn in self.turns if not turn.text.startswith("/")]


def price_nano(model: str | None, at_input: int, at_output: int) -> int | None:
    if model not in PRICED:
        return None
    per_input, per_output = PRICED[model]
    return 1_000 * (per_input * at_input + per_output * at_output)


def session(chance: Random, name: str, start_us: int) -> Session:
    """A new one that begins then: one to four goals, each cleared away before the next."""
    seen: Seen = chance.choice(("plugin", "telemetry", "both", "both"))
    turns: list[Turn] = []
    records: list[Record] = []
    at_us = start_us
    for arc in range(chance.randint(1, 4)):
        texts = ["/clear"] if arc else []
        texts += [chance.choice(_GOALS)] + [chance.choice(_CORRECTIONS) for _ in range(chance.randint(0, 3))]
        for text in texts:
            turn = _turn(chance, name, len(turns), at_us, text, arc, seen)
            turns.append(turn)
            if seen != "plugin":
                records += _records(chance, turn)
            at_us += chance.randint(30, 300) * SECOND_US
    return Session(name, seen, tuple(turns), tuple(records))


def _turn(chance: Random, session: str, number: int, at_us: int, text: str, arc: int, seen: Seen) -> Turn:
    name = f"{session}-p{number}"
    marked = text if text.startswith("/") else f"{text} ({name})"
    tells = seen == "plugin" and not text.startswith("/")
    model = chance.choice((*PRICED, UNPRICED)) if tells else None
    asked, told = (chance.randint(1, 9_000), chance.randint(1, 900)) if tells else (None, None)
    cost_nano = chance.choice((None, chance.randint(1, 900) * 1_000)) if tells else None
    said = f"Done as asked in {name}. The tests pass."
    answer = Answered(f"op-{name}", at_us + 20 * SECOND_US, said, model, asked, told, cost_nano)
    event_id = UUID(int=chance.getrandbits(128), version=4)
    return Turn(session, name, event_id, at_us, marked, f"/home/dev/{session}/{arc}", arc, answer)


def _records(chance: Random, turn: Turn) -> list[Record]:
    """What the agent's log tells of a turn, within its first seconds."""

    def named(event: str, seconds: float, **fields: Any) -> Record:
        at_us = turn.at_us + round(seconds * SECOND_US)
        nonce = f"{turn.name}-{len(found)}"
        return Record(nonce, turn.session, at_us, event, turn.name, **fields)

    found: list[Record] = []
    found.append(named("user_prompt", 0.5, text=turn.text))
    if turn.text.startswith("/"):
        return found
    for number in range(chance.randint(0, 3)):
        model = chance.choice((*PRICED, *PRICED, UNPRICED))
        said = chance.randint(1, 900) * 1_000 if model == UNPRICED or chance.random() < 0.5 else None
        if model == UNPRICED and chance.random() < 0.2:
            said = None
        counts = {"input_tokens": chance.randint(1, 9_000), "output_tokens": chance.randint(1, 900)}
        found.append(named("api_request", 2 + 3 * number, model=model, cost_nano=said, **counts))
    for number in range(chance.randint(0, 2)):
        tool = chance.choice(_TOOLS)
        found.append(named("tool_result", 3 + 3 * number, tool=tool, ok=chance.random() < 0.8))
    if chance.random() < 0.1:
        found.append(named("api_error", 15, model="sim-large-1"))
    return found


def cuts(chance: Random, records: tuple[Record, ...]) -> list[tuple[Record, ...]]:
    if not records:
        return []
    edges = sorted({0, len(records), *(chance.randrange(len(records)) for _ in range(chance.randint(0, 5)))})
    return [records[start:end] for start, end in pairwise(edges)]


NANO = 1_000_000_000


def iso(at_us: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).isoformat()


def prompt(turn: Turn, text: str | None = None) -> dict[str, Any]:
    return {
        "prompt_text": text or turn.text,
        "tool_session_id": turn.session,
        "client_event_id": str(turn.event_id),
        "host_prompt_id": turn.name,
        "submitted_at": iso(turn.at_us),
        "cwd": turn.cwd,
    }


def response(turn: Turn, text: str | None = None) -> dict[str, Any]:
    answer = turn.answer
    return {
        "client_event_id": str(turn.event_id),
        "response_operation_id": answer.operation_id,
        "responded_at": iso(answer.at_us),
        "response_text": text or answer.text,
        "model": answer.model,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": None if answer.cost_nano is None else answer.cost_nano / NANO,
    }


def logs(records: Iterable[Record]) -> dict[str, Any]:
    return otlp.logs(*map(_log, records))


def catalog() -> dict[str, Any]:
    rates = {
        name: {"input": dollars[0], "output": dollars[1], "cache_read": 0, "cache_write_5m": 0}
        for name, dollars in PRICED.items()
    }
    return {"exact_lookups": [lookup(name, list_rates=[list_rate(rate=each)]) for name, each in rates.items()]}


def _log(record: Record) -> dict[str, Any]:
    attributes: dict[str, Any] = {"session.id": record.session, "prompt.id": record.turn, "sim.nonce": record.nonce}
    attributes |= {"prompt": record.text, "model": record.model, "tool_name": record.tool}
    attributes |= {"input_tokens": record.input_tokens, "output_tokens": record.output_tokens}
    attributes["cost_usd"] = None if record.cost_nano is None else record.cost_nano / NANO
    if record.event == "api_request":
        attributes["request_id"] = f"req-{record.nonce}"
    if record.tool is not None:
        attributes |= {"tool_use_id": f"call-{record.nonce}", "success": "true" if record.ok else "false"}
    told = {name: value for name, value in attributes.items() if value is not None}
    return otlp.claude(record.event, told, timeUnixNano=str(record.at_us * 1_000))
