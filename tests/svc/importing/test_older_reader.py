"""What an older reader of session files made of them, and importing the same files again: as if it had never been."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from aggregates.capture.events import PromptAnswered, PromptCaptured
from aggregates.event import Digester, Scope
from aggregates.telemetry.batches import Sender
from aggregates.telemetry.draft import Exchange
from projections.derive.sessions import session_turns
from tests.support.basics import ANA, named
from tests.support.facts import Placed, project
from tests.support.imported import NEXT_DAY_US, TEN_O_CLOCK_US, Actor, run, take
from tests.support.transcripts import SESSION, call, raw, result, said, user


def second(number: int) -> int:
    return TEN_O_CLOCK_US + number * 1_000_000


def asked(text: str = "fix it") -> dict[str, Any]:
    return {"prompt": {"line_id": "u1", "text": text, "at_us": second(1)}}


def answered(text: str, at: int) -> dict[str, Any]:
    return asked() | {"answer": {"text": text, "at_us": second(at), "elapsed_ms": 1_000 * (at - 1)}}


def told(*records: dict[str, Any]) -> dict[str, Any]:
    started = {"record_id": f"session_start:{SESSION}", "at_us": second(1), "kind": "session_start"}
    return {"drafts": [{"record": each} for each in (started, *records)]}


def requested(at: int = 2, **fields: Any) -> dict[str, Any]:
    named = {"record_id": "request:msg_a1:req_a1", "request_id": "req_a1", "model": "claude-opus-4-6"}
    tokens = {"input_tokens": 3, "output_tokens": 7, "cache_read_tokens": 100, "cache_write_tokens": 20}
    return {"kind": "request", "at_us": second(at), **named, **tokens, **fields}


SHELL = {"record_id": "tool:t1", "at_us": second(2) + 1, "kind": "tool", "tool": "Shell", "call_id": "t1", "ok": True}
CALLED = [said("a1", 2, call("t1", "Bash", command="make")), result("r1", 5, "t1", "interrupted", error=True)]
STOPPED = user("u9", 4, "[Request interrupted by user]")

# By name: what an older importer sent of the session, what its file holds, and how many the report calls corrected.
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], int]] = {
    "another text": (asked("fix\ufeff it") | told(), [user("u1", 1, "fix it")], 1),
    "another's answer": (
        answered("Also there.", 4),
        [user("u1", 1, "fix it"), said("a1", 2, "Fixed."), user("u2", 3, "and there"), said("a2", 4, "Also there.")],
        1,
    ),
    "an answer that was stopped": (answered("I w", 2), [user("u1", 1, "fix it"), said("a1", 2, "I w"), STOPPED], 1),
    "a request that was refused": (
        asked() | told(requested(input_tokens=9, output_tokens=0)),
        [user("u1", 1, "fix it"), said("a1", 2, "No.", stop_reason="refusal", usage={"input_tokens": 9})],
        1,
    ),
    "a request and its call": (
        asked() | told(requested(input_tokens=4_000, model="claude-opus-4-5"), SHELL),
        [user("u1", 1, "fix it"), *CALLED],
        1,
    ),
    "a command for the shell": (asked("!ls") | told(), [user("u1", 1, "!ls"), user("u2", 2, "fix it")], 0),
    "nothing": (answered("Ok.", 2) | told(requested()), [user("u1", 1, "fix it"), said("a1", 2, "Ok.")], 0),
}


def shown(actor: Actor) -> list[Any]:
    events = dict(enumerate(actor.events, 1))
    db = project([Placed(number, event) for number, event in events.items()])
    found: list[Any] = []
    for turn in session_turns(db, SESSION, 0):
        prompt, answer = events.get(turn.position), events.get(turn.response_position or 0)
        assert isinstance(prompt, PromptCaptured)
        text = answer.response.text if isinstance(answer, PromptAnswered) and answer.response else None
        found.append((prompt.prompt.text, text, turn.elapsed_ms, turn.work.tool_calls, turn.last_activity_us))
    requests = "SELECT model, failed, input_tokens, output_tokens FROM requests WHERE superseded = 0 ORDER BY at_us"
    calls = "SELECT tool, ok, duration_ms FROM telemetry_records ORDER BY at_us"
    return [*found, *db.execute(requests), *db.execute(calls)]


@pytest.mark.parametrize("name", CASES)
async def test_a_newer_reader_corrects_what_an_older_one_told(tmp_path: Path, name: str) -> None:
    older, lines, corrected = CASES[name]
    (tmp_path / "s.jsonl").write_bytes(b"".join(raw(*lines, user("u8", 60, "and now?"))))
    old, fresh = Actor(NEXT_DAY_US), Actor(NEXT_DAY_US)
    sender = Sender(Scope(named("acme"), ANA), "claude-code", Digester(b"key"))
    await take(sender, old.send, msgspec.convert(older | {"agent_session_id": SESSION}, Exchange))
    for actor in (old, fresh):
        report = await run("claude-code", tmp_path, actor)
        assert report.refused == []
        assert report.corrected == (corrected if actor is old else 0)
        assert (await run("claude-code", tmp_path, actor)).created == 0
    assert shown(old) == shown(fresh)


async def test_an_account_that_is_read_as_before_stays_before_a_copy_that_is_not(tmp_path: Path) -> None:
    """A fork's file has less of the answer, and an older reader read it otherwise."""
    whole, part = said("a1", 2, "Fixed."), said("a1", 2, "Fi", sessionId="fork")
    part["message"]["usage"] = {"input_tokens": 3, "output_tokens": 1}
    (tmp_path / "fork.jsonl").write_bytes(b"".join(raw(user("c1", 1, "fix it", sessionId="fork"), part)))
    (tmp_path / "whole.jsonl").write_bytes(b"".join(raw(user("u1", 1, "fix it"), whole)))
    actor, sender = Actor(NEXT_DAY_US), Sender(Scope(named("acme"), ANA), "claude-code", Digester(b"key"))
    for session, tokens in ((SESSION, 7), ("fork", 0)):
        older = asked() | told(requested(output_tokens=tokens)) | {"agent_session_id": session}
        await take(sender, actor.send, msgspec.convert(older, Exchange))
    for name in ("fork", "whole", "fork", "whole"):
        report = await run("claude-code", tmp_path / f"{name}.jsonl", actor)
    assert (report.created, report.corrected) == (0, 0)
    assert ("claude-opus-4-6", 0, 3, 7) in shown(actor)


async def test_an_older_reader_corrects_nothing(tmp_path: Path) -> None:
    """Two machines import one session, and one of them has an older svc."""
    (tmp_path / "s.jsonl").write_bytes(b"".join(raw(user("u1", 1, "fix it"), said("a1", 2, "Fixed."))))
    actor = Actor(NEXT_DAY_US)
    await run("claude-code", tmp_path, actor)
    before, events = shown(actor), list(actor.events)
    prompt = {"line_id": f"{SESSION}:u1", "text": "fix it", "at_us": second(1)}
    late = {"agent_session_id": SESSION, "prompt": prompt, "answer": {"text": "No.", "at_us": second(9)}}
    sender = Sender(Scope(named("acme"), ANA), "claude-code", Digester(b"key"))
    await take(sender, actor.send, msgspec.convert(late, Exchange))
    assert (shown(actor), actor.events) == (before, events)
