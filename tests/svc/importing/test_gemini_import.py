"""Importing the Gemini CLI's session files, in both of their forms, and the same figures counted another way."""

from functools import partial
from pathlib import Path
from typing import Any

from aggregates.capture.events import PromptCaptured
from tests.support import imported
from tests.support.chats import SESSION, call, exchange, lines, said, user, write
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


async def test_the_folder_is_where_the_agent_notes_it(tmp_path: Path) -> None:
    """Older ones noted none."""
    for noted in (None, "/home/ana/shop\n"):
        actor, file = Actor(), write(tmp_path, lines(*exchange(10)))
        if noted is not None:
            (file.parent.parent / ".project_root").write_text(noted)
        await run(tmp_path, actor)
        (asked,) = (each for each in actor.events if isinstance(each, PromptCaptured))
        assert (asked.cwd and asked.cwd.text) == (noted and noted.strip())


async def test_a_sub_agents_work_belongs_to_its_parents_session(tmp_path: Path) -> None:
    actor = Actor()
    write(tmp_path, lines(*exchange(10)))
    child = lines(user("s1", 12, "look"), said("s2", 13, "Seen."), session="sub-1", kind="subagent")
    write(tmp_path, child, f"{SESSION}/sub-1.jsonl")
    report = await run(tmp_path, actor)
    assert (report.files, report.prompts, report.requests) == (2, 1, 4)
    assert captured(actor)[f"{SESSION} request:s2"].sidechain


async def test_other_files_of_the_agent_are_left_alone(tmp_path: Path) -> None:
    """Its log of prompts repeats what the sessions hold."""
    write(tmp_path, b"[]", "../logs.json")
    write(tmp_path, b"{}", "notes.md")
    assert (await run(tmp_path, Actor())).files == 0
