"""The naive model: dictionaries of what was acknowledged, and the answers that follow. It knows no turns, arcs or
tables, only what was sent, when the server first heard of it, and arithmetic."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from tests.sim.stories import MINUTE_US, Answered, Record, Session, Turn, price_nano

TRUSTED_AHEAD_US = 10 * MINUTE_US


class Divergence(AssertionError):
    """The service said something else than the model."""


def trusted(at_us: int, received_us: int) -> int:
    """The time that counts: one too far ahead of the server's is replaced by that of receipt."""
    return received_us if at_us > received_us + TRUSTED_AHEAD_US else at_us


class Usage(NamedTuple):
    requests: int
    input_tokens: int
    output_tokens: int
    cost_nano: int
    unpriced: int


class Ledger(msgspec.Struct):
    """What one developer has sent, each thing once: the times that count."""

    plugin: dict[str, int] = {}  # turn → when, as the plugin told
    log: dict[str, int] = {}  # turn → when, as the agent's log told
    answers: dict[str, int] = {}
    records: dict[str, int] = {}

    def prompts(self) -> dict[str, int]:
        """Turn → when it was, whoever told of it first in time."""
        names = self.plugin.keys() | self.log.keys()
        return {name: min(told[name] for told in (self.plugin, self.log) if name in told) for name in names}


class Person(msgspec.Struct):
    organization_id: str
    developer_id: str
    sessions: dict[str, Session] = {}
    turns: dict[str, Turn] = {}
    records: dict[str, Record] = {}
    cuts: set[tuple[str, ...]] = set()  # exports that were sent, by what was in them
    skewed: set[str] = set()  # sessions of which something came with a time that was not believed
    titles: dict[str, str] = {}  # turn that opened a sub-session → its last title by hand
    keys: list[str] = []
    ending: set[str] = set()  # keys that are being revoked: nobody knows whether they still open anything
    sent: Ledger = msgspec.field(default_factory=Ledger)
    sure: Ledger = msgspec.field(default_factory=Ledger)  # what was acknowledged

    def tell(self, session: Session) -> None:
        self.sessions[session.name] = session
        self.turns |= {turn.name: turn for turn in session.turns}
        self.records |= {record.nonce: record for record in session.records}

    def mark(self, ledger: Ledger, thing: Turn | Record, now_us: int) -> None:
        at_us = trusted(thing.at_us, now_us)
        if at_us != thing.at_us:
            self.skewed.add(thing.session)
        if isinstance(thing, Turn):
            ledger.plugin.setdefault(thing.name, at_us)
            return
        ledger.records.setdefault(thing.nonce, at_us)
        if thing.event == "user_prompt":
            ledger.log.setdefault(thing.turn, at_us)

    def agrees(self, records: Sequence[Record], now_us: int) -> bool:
        times = {record.nonce: trusted(record.at_us, now_us) for record in records}
        return all(self.sent.records.get(nonce, at_us) == at_us for nonce, at_us in times.items())

    def is_whole(self, session: Session) -> bool:
        """Whether all of it is acknowledged, each with its own time."""
        sure = self.sure
        return (
            session.name not in self.skewed
            and all(record.nonce in sure.records for record in session.records)
            and (session.seen == "telemetry" or all(turn.name in sure.plugin for turn in session.turns))
        )


# --- predictions ----------------------------------------------------------------------------------------------


def _usage(found: Sequence[Record | Answered]) -> Usage:
    costs = [
        price_nano(each.model, each.input_tokens or 0, each.output_tokens or 0)
        if each.cost_nano is None
        else each.cost_nano
        for each in found
    ]
    inputs, outputs = (sum(getattr(each, name) or 0 for each in found) for name in ("input_tokens", "output_tokens"))
    return Usage(len(found), inputs, outputs, sum(cost or 0 for cost in costs), costs.count(None))


def requests(person: Person, nonces: Iterable[str]) -> Usage:
    return _usage([record for nonce in nonces if (record := person.records[nonce]).event == "api_request"])


def answers(person: Person, names: Iterable[str]) -> Usage:
    return _usage([answer for name in names if (answer := person.turns[name].answer).input_tokens is not None])


def of_session(person: Person, name: str) -> Usage:
    """All that its sub-sessions must come to; nothing while no prompt of it is known."""
    session, sure = person.sessions[name], person.sure
    if not any(turn.name in sure.prompts() for turn in session.turns):
        return Usage(0, 0, 0, 0, 0)
    if session.seen == "plugin":
        return answers(person, (turn.name for turn in session.turns if turn.name in sure.answers))
    return requests(person, (record.nonce for record in session.records if record.nonce in sure.records))


def spent(person: Person, start_us: int, end_us: int) -> Usage:
    told = requests(person, within(person.sure.records, start_us, end_us))
    prompts = within(person.sure.plugin, start_us, end_us)
    alone = (name for name in prompts if person.sessions[person.turns[name].session].seen == "plugin")
    return added(told, answers(person, [name for name in alone if name in person.sure.answers]))


def added(*parts: Usage) -> Usage:
    return Usage(*map(sum, zip(*parts, strict=True)))


def within(told: dict[str, int], start_us: int, end_us: int) -> list[str]:
    return [name for name, at_us in told.items() if start_us <= at_us < end_us]


def same(what: str, said: object, expected: object) -> None:
    """Raises `Divergence`."""
    if said == expected:
        return
    if isinstance(said, list) and isinstance(expected, list):
        more = [each for each in said if each not in expected or said.count(each) > expected.count(each)]
        less = [each for each in expected if each not in said or expected.count(each) > said.count(each)]
        raise Divergence(f"{what}: the service says, as the model does not, {more!r}; it does not say {less!r}")
    if isinstance(said, dict) and isinstance(expected, dict):
        keys = [key for key in said.keys() | expected.keys() if said.get(key) != expected.get(key)]
        said, expected = [{key: each.get(key) for key in sorted(keys, key=str)} for each in (said, expected)]
    raise Divergence(f"{what}: the service says {said!r}, the model {expected!r}")
