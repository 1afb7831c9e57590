"""One prompt that several sessions tell: whose it is, and that it stays one when its words are gone."""

from typing import Any

from msgspec.structs import replace

from aggregates.capture.events import PromptCaptured
from aggregates.event import Scope
from aggregates.retained import RetainedWords, retain
from projections.derive.sessions import session_turns
from tests.support.facts import ANA, BEN, DIGESTER, FIX, MINUTE, MONDAY, SECOND, Log, Placed, edit, project, request


def told(scope: Scope, *sessions: str, **name: Any) -> list[Placed]:
    """The same ids and words in each session, with one call more in the second."""
    log = Log(scope)
    for place, session in enumerate(sessions):
        at_us, host = MONDAY + place * MINUTE, name.get("prompt_id")
        log.prompt(session, FIX, at_us, host_prompt_id=host, source="claude-code-transcript")
        calls = [edit(at_us + (2 + n) * SECOND, call_id=f"c{n * place}", **name) for n in range(2)]
        log.records(session, request(at_us + SECOND, request_id="r", **name), *calls)
    return log.facts


def figures(facts: list[Placed]) -> list[tuple[str, int, int]]:
    db = project([Placed(number, fact.event) for number, fact in enumerate(facts, 1)])
    turns = [turn for session in ("a1", "a2", "b1", "b2") for turn in session_turns(db, session, 0)]
    return [(turn.agent_session_id, turn.work.tool_calls, turn.work.usage[0].requests) for turn in turns]


def test_what_two_developers_tell_alike_never_mixes() -> None:
    hers, his = told(ANA, "a1", "a2", prompt_id="p"), told(BEN, "b1", "b2", prompt_id="p")
    mixed = [fact for pair in zip(hers, his, strict=True) for fact in pair]
    assert figures(mixed) == figures([*his, *hers]) == [("a1", 2, 1), ("b1", 2, 1)]


def test_a_prompt_stays_one_when_its_words_are_forgotten() -> None:
    """Of two transcripts that name no prompts its text is all there is beside the request."""
    facts = told(ANA, "a1", "a2")
    place, first = next((at, fact.event) for at, fact in enumerate(facts) if isinstance(fact.event, PromptCaptured))
    gone = RetainedWords(None, retain(place + 1, first, DIGESTER))  # type: ignore[arg-type]
    facts[place] = Placed(0, replace(first, prompt=gone))
    assert figures(facts) == [("a1", 2, 1)]
