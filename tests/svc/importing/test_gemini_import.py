"""Importing the Gemini CLI's session files, in both of their forms, and the same figures counted another way."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aggregates.telemetry.exchanges import Exchange
from tests.support import imported
from tests.support.captures import Actor
from tests.support.chats import SESSION, call, document, exchange, lines, message, said, tokens, user, write
from tests.support.imported import captured, records
from tests.support.transcripts import at

DOCUMENT = "session-2026-03-02T10-00-7b8f1c2d.json"


run = partial(imported.run, "gemini")


def read(*entries: dict[str, Any] | bytes) -> list[Exchange]:
    return imported.read("gemini", lines(*entries), "stem.jsonl")


async def test_a_document_that_was_carried_on_as_lines_counts_once(tmp_path: Path) -> None:
    """A newer version that resumes an older session copies it, and leaves the document where it is."""
    actor = Actor()
    write(tmp_path, document(exchange(10)), DOCUMENT)
    first = await run(tmp_path, actor)
    write(tmp_path, lines(*exchange(10), *exchange(60, "thanks", 2)))
    second = await run(tmp_path, actor)
    assert (second.prompts, second.requests, second.known) == (2, 6, first.created)
    assert (await run(tmp_path, actor)).created == 0


def test_a_message_that_is_written_again_is_one() -> None:
    """First without its tokens and calls, then with them."""
    start = said("g1", 1, "")
    del start["tokens"]
    running = {**start, "toolCalls": [call("c1", "read_file", 2, "executing", absolute_path="/a.py")]}
    done = said("g1", 1, "", call("c1", "read_file", 3, absolute_path="/a.py"))
    found = read(user("u1", 0, "go"), start, {"$set": {"lastUpdated": at(1)}}, running, done)
    assert [r.output_tokens for r in records(found, "request")] == [50]
    assert [r.ok for r in records(found, "tool")] == [True]


@pytest.mark.parametrize(
    ("status", "kind", "ok"),
    [
        ("success", "tool", True),
        ("error", "tool", False),
        ("cancelled", "rejection", None),
        ("executing", "tool", None),
        ("awaiting_approval", "tool", None),
        ("of tomorrow", "tool", None),
    ],
)
def test_a_call_is_what_its_status_says(status: str, kind: str, ok: bool | None) -> None:
    found = read(user("u1", 0, "go"), said("g1", 1, "", call("c1", "write_file", 2, status, content="a\nb")))
    (record,) = records(found, "tool", "rejection")
    assert (record.kind, record.ok, record.lines_added) == (kind, ok, 2 if ok else None)


def test_a_request_without_tokens_is_not_guessed() -> None:
    (found,) = read(user("u1", 0, "go"), said("g1", 1, "Hi.", tokens=None))[-1:]
    assert found.answer is not None
    assert records([found], "request") == []


def test_cached_tokens_are_part_of_the_input_and_thoughts_are_output() -> None:
    found = read(user("u1", 0, "go"), said("g1", 1, "Hi.", tokens=tokens(100, 0, 7, 3)))
    assert [(r.input_tokens, r.cache_read_tokens, r.output_tokens) for r in records(found, "request")] == [(100, 0, 10)]


def test_a_cancelled_request_is_an_interruption_and_ends_its_exchange() -> None:
    *_, cancelled, after = read(
        user("u1", 0, "go"), message("info", "i1", 2, "Request cancelled."), said("g1", 3, "late")
    )
    assert [r.kind for r in records([cancelled], "interruption")] == ["interruption"]
    assert cancelled.finished
    assert after.prompt is None


@pytest.mark.parametrize(
    ("text", "status"),
    [("[API Error: quota exceeded (Status: RESOURCE_EXHAUSTED)]", None), ("[API Error: 429 Too Many Requests]", 429)],
)
def test_an_error_of_the_api_is_a_failed_request(text: str, status: int | None) -> None:
    other = message("error", "e2", 3, "Extension not found")
    found = read(user("u1", 0, "go"), message("error", "e1", 2, text), other)
    assert [r.status_code for r in records(found, "error")] == [status]


@pytest.mark.parametrize(
    "content",
    [
        "<state_snapshot>so far</state_snapshot>",
        [{"text": "This is the Gemini CLI. We are setting up the context for our chat. Today is"}],
        [{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "x"}}}],
        "System: Please continue.",
        "",
    ],
)
def test_what_the_agent_put_in_is_no_prompt(content: Any) -> None:
    assert [each.prompt for each in read(user("u1", 0, content)) if each.prompt] == []


def test_the_agents_own_going_on_is_no_prompt_and_a_persons_is() -> None:
    found = read(
        user("u1", 0, "go"),
        said("g1", 5, "Half."),
        user("u2", 5.5, "Please continue."),
        said("g2", 9, "Rest."),
        user("u3", 60, "Please continue."),
    )
    assert [each.prompt.text for each in found if each.prompt] == ["go", "Please continue."]


def test_a_prompt_is_what_was_typed_and_not_the_files_that_were_put_into_it() -> None:
    sent = [{"text": "look at @a.py"}, {"text": "--- Content from referenced files ---"}]
    (found,) = read(user("u1", 0, sent, displayContent=[{"text": "look at @a.py"}]))[-1:]
    assert found.prompt is not None
    assert found.prompt.text == "look at @a.py"


def test_a_rewind_and_a_compression_take_nothing_back() -> None:
    """The tokens are spent; the messages that stand for shortened ones are none of their own."""
    shortened = [user("s1", 0, "<state_snapshot>"), said("s2", 0, "Got it.")]
    found = read(*exchange(10), {"$rewindTo": "u1"}, {"$set": {"messages": shortened}}, *exchange(100, "once more", 2))
    assert len(records(found, "request")) == 6
    assert [each.prompt.text for each in found if each.prompt] == ["fix the login", "once more"]


async def test_a_sub_agents_work_belongs_to_its_parents_session(tmp_path: Path) -> None:
    actor = Actor()
    write(tmp_path, lines(*exchange(10)))
    child = lines(user("s1", 12, "look"), said("s2", 13, "Seen."), session="sub-1", kind="subagent")
    write(tmp_path, child, f"{SESSION}/sub-1.jsonl")
    report = await run(tmp_path, actor)
    assert (report.files, report.prompts, report.requests) == (2, 1, 4)
    assert captured(actor)[f"{SESSION} request:s2"].sidechain


async def test_an_unreadable_message_of_a_document_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    actor = Actor()
    write(tmp_path, document([*exchange(10), {"id": 5}, *exchange(60, "thanks", 2)]), DOCUMENT)
    report = await run(tmp_path, actor)
    assert (report.prompts, report.lines, [each.line for each in report.torn]) == (2, 9, [5])


async def test_other_files_of_the_agent_are_left_alone(tmp_path: Path) -> None:
    """Its log of prompts repeats what the sessions hold."""
    write(tmp_path, b"[]", "../logs.json")
    write(tmp_path, b"{}", "notes.md")
    assert (await run(tmp_path, Actor())).files == 0
