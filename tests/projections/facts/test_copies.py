"""One prompt that several sessions tell: whose it is, and that it stays one when its words are gone."""

from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from aggregates.capture.events import PromptCaptured
from aggregates.event import Scope
from aggregates.retained import RetainedWords, retain_prompt
from projections.derive.sessions import session_turns
from tests.support.facts import ANA, BEN, DIGESTER, FIX, MINUTE, MONDAY, SECOND, Log, Placed, edit, project, request

FOREIGN = Scope(UUID(int=7), ANA.developer_id)


def told(scope: Scope, *sessions: str, named: bool = True) -> list[Placed]:
    """The same ids and words in each session, with one call more in each."""
    log = Log(scope)
    for place, session in enumerate(sessions):
        at_us = MONDAY + place * MINUTE
        name: dict[str, Any] = {"prompt_id": "p"} if named else {}
        log.prompt(session, FIX, at_us, host_prompt_id="p" if named else None, source="claude-code-transcript")
        asked = request(at_us + SECOND, request_id="r", **name)
        calls = [edit(at_us + (2 + n) * SECOND, call_id=f"c{n * place}", **name) for n in range(2)]
        log.records(session, *({**each, "record_id": f"{session}-{n}"} for n, each in enumerate((asked, *calls))))
    return log.facts


def figures(facts: list[Placed], *sessions: str) -> list[tuple[str, int, int]]:
    db = project([Placed(number, fact.event) for number, fact in enumerate(facts, 1)])
    turns = [turn for session in sessions for turn in session_turns(db, session, 0)]
    return [(turn.agent_session_id, turn.work.tool_calls, turn.work.usage[0].requests) for turn in turns]


@pytest.mark.parametrize("other", [BEN, FOREIGN], ids=["another developer", "another organization"])
def test_what_two_developers_tell_alike_never_mixes(other: Scope) -> None:
    hers, his = told(ANA, "a1", "a2"), told(other, "b1", "b2")
    names = "a1", "a2", "b1", "b2"
    alone = figures(hers, *names) + figures(his, *names)
    assert alone == [("a1", 2, 1), ("b1", 2, 1)]
    mixed = [fact for pair in zip(hers, his, strict=True) for fact in pair]
    assert figures(mixed, *names) == figures([*his, *hers], *names) == alone


@pytest.mark.parametrize("named", [True, False])
def test_a_prompt_stays_one_when_its_words_are_forgotten(named: bool) -> None:
    facts = told(ANA, "a1", "a2", named=named)
    place, first = next((at, fact.event) for at, fact in enumerate(facts) if isinstance(fact.event, PromptCaptured))
    standing = retain_prompt(place + 1, first.prompt, DIGESTER)
    assert standing is not None
    gone = [*facts[:place], Placed(0, replace(first, prompt=RetainedWords(None, standing))), *facts[place + 1 :]]
    assert len(figures(facts, "a1", "a2")) == 1
    assert figures(gone, "a1", "a2") == figures(facts, "a1", "a2")
