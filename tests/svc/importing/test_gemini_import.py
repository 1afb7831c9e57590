"""Importing the Gemini CLI's session files, in both of their forms, and the same figures counted another way."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import imported
from tests.support.chats import SESSION, call, document, exchange, lines, message, said, tokens, user, write
from tests.support.imported import Actor, captured

DOCUMENT = "session-2026-03-02T10-00-7b8f1c2d.json"


run = partial(imported.run, "gemini")


GO, HI = user("u1", 0, "go"), said("g1", 1, "Hi.")
STARTED = {key: value for key, value in said("g1", 1, "").items() if key != "tokens"}
RUNNING = {**STARTED, "toolCalls": [call("c1", "read_file", 2, "executing", absolute_path="/a.py")]}
DONE = said("g1", 1, "", call("c1", "read_file", 3, absolute_path="/a.py"))
SHORTENED = [user("s1", 0, "<state_snapshot>"), said("s2", 0, "Got it.")]
NAMED = [{"text": "look at @a.py"}, {"text": "--- Content from referenced files ---"}]


def ended(status: str) -> tuple[dict[str, Any], ...]:
    return GO, said("g1", 1, "", call("c1", "write_file", 2, status, content="a\nb"))


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        # A message that is written again is one: first without its tokens and calls, then with them.
        ((GO, STARTED, {"$set": {"x": 1}}, RUNNING, DONE), ["go | 400+600 > 50 | None read_file True None None | …"]),
        # A call that has not ended has no outcome.
        (ended("success"), ["go | 400+600 > 50 | None write_file True None 2 | …"]),
        (ended("error"), ["go | 400+600 > 50 | None write_file False None None | …"]),
        (ended("cancelled"), ["go | 400+600 > 50 | rejection write_file | …"]),
        (ended("executing"), ["go | 400+600 > 50 | None write_file None None None | …"]),
        (ended("of tomorrow"), ["go | 400+600 > 50 | None write_file None None None | …"]),
        # A request without tokens is not guessed; what was cached is part of the input, thoughts are output.
        ((GO, said("g1", 1, "Hi.", tokens=None)), ["go | = 'Hi.' | …"]),
        ((GO, said("g1", 1, "Hi.", tokens=tokens(100, 0, 7, 3))), ["go | 100+0 > 10 | = 'Hi.' | …"]),
        # A cancelled request is an interruption; what comes after it stands apart.
        (
            (GO, message("info", "i1", 2, "Request cancelled."), said("g1", 3, "")),
            ["go | interruption", "400+600 > 50 | …"],
        ),
        # An error of the API is a failed request, another one is none.
        ((GO, message("error", "e1", 2, "[API Error: 429 Too Many Requests]")), ["go | error 429 | …"]),
        ((GO, message("error", "e1", 2, "[API Error: quota (Status: EXHAUSTED)]")), ["go | error | …"]),
        ((GO, message("error", "e2", 3, "Extension not found")), ["go | …"]),
        # The agent itself goes on at once.
        (
            (GO, said("g1", 5, "Half."), user("u2", 5.5, "Please continue."), user("u3", 60, "Please continue.")),
            ["go | 400+600 > 50 | = 'Half.'", "Please continue. | …"],
        ),
        # A prompt is what was typed, and not the files that were put into it.
        ((user("u1", 0, NAMED, displayContent=[{"text": "look at @a.py"}]),), ["look at @a.py | …"]),
        # A rewind and a compression take nothing back.
        (
            (GO, HI, {"$rewindTo": "u1"}, {"$set": {"messages": SHORTENED}}, user("u2", 9, "once more")),
            ["go | 400+600 > 50 | = 'Hi.'", "once more | …"],
        ),
        # What the agent put in is no prompt.
        ((user("u1", 0, "<state_snapshot>so far</state_snapshot>"),), ["prompt | …"]),
        ((user("u1", 0, [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]),), ["…"]),
        ((user("u1", 0, [{"functionResponse": {"name": "x", "response": {"output": "x"}}}]),), ["…"]),
        ((user("u1", 0, "System: Please continue."),), ["…"]),
        ((user("u1", 0, ""),), ["…"]),
    ],
)
def test_messages_become_exchanges(entries: tuple[dict[str, Any], ...], expected: list[str]) -> None:
    assert imported.exchanges_of("gemini", lines(*entries), "stem.jsonl") == expected


async def test_a_document_that_was_carried_on_as_lines_counts_once(tmp_path: Path) -> None:
    """A newer version that resumes an older session copies it, and leaves the document where it is."""
    actor = Actor()
    write(tmp_path, document(exchange(10)), DOCUMENT)
    first = await run(tmp_path, actor)
    write(tmp_path, lines(*exchange(10), *exchange(60, "thanks", 2)))
    second = await run(tmp_path, actor)
    assert (second.prompts, second.requests, second.known) == (2, 6, first.created)
    assert (await run(tmp_path, actor)).created == 0


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
