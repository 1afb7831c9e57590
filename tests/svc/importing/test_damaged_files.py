"""Files that were damaged, linked or locked: what is whole is read, what is not is named, no answer changes hands."""

import os
from pathlib import Path
from typing import Any

import pytest

from svc.importing.importer import FORMATS
from svc.importing.lines import lines_of
from tests.support import chats, rollouts
from tests.support.imported import Actor, prompts, reader_of, records, run
from tests.support.tables import beside, each_of
from tests.support.transcripts import raw, said, usage, user
from tests.svc.importing import test_copilot_import as copilot

ONE, FIRST, TWO, LAST = raw(
    user("u1", 0, "one"),
    said("a1", 1, "First.", stop_reason="end_turn"),
    user("u2", 10, "two"),
    said("a2", 11, "Last.", stop_reason="end_turn"),
)
BOM, ALL = b"\xef\xbb\xbf", [ONE, FIRST, TWO, LAST]
HALF = TWO[: len(TWO) // 2]


def bare(line: bytes) -> bytes:
    return line.rstrip(b"\n")


@each_of(
    [
        ([BOM + ONE, FIRST, BOM + TWO, LAST], ["one", "two"], ["First.", "Last."], [], {}),
        ([bare(each) + b"\r\n" for each in ALL], ["one", "two"], ["First.", "Last."], [], {}),
        ([bare(ONE) + bare(FIRST) + TWO, LAST], ["one", "two"], ["First.", "Last."], [], {}),
        ([ONE, bare(FIRST) + b" \0\0" + TWO, LAST], ["one", "two"], ["First.", "Last."], [], {"NUL bytes": 1}),
        ([ONE, FIRST, b"\0" * 500 + TWO, b"\0" * 9], ["one", "two"], ["First."], [], {"NUL bytes": 2}),
        # A torn flush before a whole object, and behind one.
        ([ONE, FIRST, HALF + TWO, LAST], ["one", "two"], ["First.", "Last."], [3], {}),
        ([ONE, bare(FIRST) + HALF + TWO, LAST], ["one", "two"], ["First.", "Last."], [2], {}),
        ([ONE, FIRST, TWO, LAST[:-9]], ["one", "two"], ["First."], [4], {}),
        # Whose an answer is after a prompt that was lost, nobody knows.
        ([ONE, FIRST, HALF + b"\n", LAST], ["one"], ["First."], [3], {}),
        ([ONE, FIRST, HALF + b"\0\0\0\n", LAST], ["one"], ["First."], [3], {"NUL bytes": 1}),
        ([ONE, FIRST, HALF + LAST], ["one"], ["First."], [3], {}),
        ([ONE, FIRST[:-40] + b"\n", FIRST], ["one"], ["First."], [2], {}),
        # Latin-1, and a NUL within a text.
        (
            [ONE, FIRST, TWO.replace(b"two", b"tw\xf6"), LAST],
            ["one", "tw\ufffd"],
            ["First.", "Last."],
            [],
            {"bytes that are no UTF-8": 1},
        ),
        ([ONE, FIRST, TWO.replace(b"two", b"t\0o"), LAST], ["one", "to"], ["First.", "Last."], [], {"NUL bytes": 1}),
        # A number that JSON does not know costs itself.
        (
            [ONE, FIRST, TWO, LAST.replace(b'"output_tokens": 7', b'"output_tokens": NaN')],
            ["one", "two"],
            ["First.", "Last."],
            [],
            {"unusable output_tokens": 1},
        ),
    ]
)
def test_what_is_whole_is_read_and_the_rest_is_named(
    lines: list[bytes], asked: list[str], answers: list[str], torn: list[int], passed_over: dict[str, int]
) -> None:
    reader = reader_of("claude-code", "s.jsonl")
    found = list(reader.read(lines))
    assert prompts(found) == asked
    assert [each.answer.text for each in found if each.answer] == answers
    assert [each.line for each in reader.torn] == torn
    assert reader.passed_over == passed_over


@each_of(
    [
        (
            *("codex", f"rollout-{rollouts.THREAD}.jsonl"),
            [
                rollouts.event("user_message", 1, message="one"),
                rollouts.event("user_message", 9, message=5),
                rollouts.event("agent_message", 10, message="Whose?"),
            ],
        ),
        (
            *("gemini", "s.jsonl"),
            [
                chats.user("u1", 1, "one"),
                {**chats.user("u2", 9, "x"), "timestamp": "soon"},
                chats.said("g1", 10, "Whose?"),
            ],
        ),
        (
            *("copilot", "x/events.jsonl"),
            [copilot.asked(1, "one"), copilot.asked(9, "x", timestamp=5), copilot.said(10, "Whose?")],
        ),
    ]
)
def test_an_answer_to_a_lost_prompt_is_nobodys(agent: str, name: str, lines: list[Any]) -> None:
    reader = reader_of(agent, name)
    found = list(reader.read(rollouts.raw(lines).splitlines(keepends=True)))
    assert [(each.prompt.text, each.answer) for each in found if each.prompt] == [("one", None)]
    assert [each.line for each in reader.torn] == [2]


@each_of([(-4, None), ("31", 31), (12.0, 12), (None, None), ("many", None), ([7], None), (10**30, None), (True, None)])
def test_a_number_that_cannot_be_one_costs_itself(told: Any, input_tokens: int | None) -> None:
    reader = reader_of("claude-code", "s.jsonl")
    (exchange,) = reader.read(raw(user("u1", 0, "one"), said("a1", 1, "Done.", usage=usage() | {"input_tokens": told})))
    (request,) = records([exchange], "request")
    assert (request.input_tokens, request.output_tokens, reader.torn) == (input_tokens, 7, [])
    assert reader.passed_over == ({} if told is None or input_tokens else {"unusable input_tokens": 1})


@each_of(
    [
        *((told, None, "usage") for told in ([7], "many", "7", 600, 1e5)),
        *((usage() | {"cache_creation": told}, 7, "cache_creation") for told in ([7], 600, 1e5)),
    ]
)
def test_an_account_that_cannot_be_one_costs_itself(told: Any, output_tokens: int | None, name: str) -> None:
    reader = reader_of("claude-code", "s.jsonl")
    (exchange,) = reader.read(raw(user("u1", 0, "one"), said("a1", 1, "Done.", usage=told)))
    assert [each.output_tokens for each in records([exchange], "request")] == [output_tokens]
    assert (reader.torn, reader.passed_over) == ([], {f"unusable {name}": 1})


async def test_links_to_folders_are_followed_and_no_file_is_read_twice(tmp_path: Path) -> None:
    """Not in circles, nor out of a pipe; what leads nowhere is named."""
    for name in ("home/projects", "elsewhere/shop"):
        (tmp_path / name).mkdir(parents=True)
    folder = tmp_path / "home/projects"
    (tmp_path / "elsewhere/shop/s.jsonl").write_bytes(ONE + FIRST)
    for name, target in (
        ("shop", "elsewhere/shop"),
        ("again", "elsewhere/shop"),
        ("loop", "home"),
        ("lost.jsonl", "no"),
    ):
        (folder / name).symlink_to(tmp_path / target)
    os.mkfifo(folder / "pipe.jsonl")
    report = await run("claude-code", folder, Actor())
    assert (report.prompts, report.lines) == (1, 2)
    assert [(each.file, each.line, each.reason) for each in report.torn] == [
        ("lost.jsonl", 0, "No such file or directory")
    ]


def test_a_file_of_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes((ONE + FIRST).decode().encode("utf-16"))
    with pytest.raises(OSError, match="UTF-16: convert it with `iconv"):
        next(lines_of(tmp_path / "s.jsonl"))


@beside("variable", "there", "looked_at")
def test_sessions_lie_in_several_homes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, there: list[str], looked_at: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", variable)
    for home in there:
        (Path(home).expanduser() / "projects").mkdir(parents=True)
    assert FORMATS["claude-code"].folders == [Path(home).expanduser() / "projects" for home in looked_at]
