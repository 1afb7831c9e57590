"""Transcripts of Claude Code as files: sessions that go on, fork or are compacted, and lines that cannot be read."""

import pytest

from svc.importing.exchange import Memory
from tests.support.transcripts import SESSION, call, result, said, user
from tests.svc.importing.test_claude_code import read, records

# --- sessions ----------------------------------------------------------------------------------------------


def test_a_sub_agents_requests_belong_to_the_prompt_that_spawned_it() -> None:
    """In the same file, and in a file of its own by the prompt's id."""
    seen = Memory()
    (main,) = read(
        user("u1", 0, "go", promptId="p1"),
        said("a1", 1, call("t1", "Task", prompt="look")),
        user("s1", 2, "look", isSidechain=True),
        said("s2", 3, "Looked.", isSidechain=True, stop_reason="end_turn"),
        result("u2", 4, "t1"),
        said("a2", 5, "Done."),
        seen=seen,
    )
    assert [(r.prompt_id, r.sidechain) for r in records(main, "request")] == [
        ("p1", False),
        ("p1", True),
        ("p1", False),
    ]
    assert main.answer is not None
    assert main.answer.text == "Done."
    (apart,) = read(
        user("s3", 2, "look", isSidechain=True, promptId="p1"),
        said("s4", 3, "Looked.", isSidechain=True, stop_reason="end_turn"),
        seen=seen,
    )
    assert apart.prompt is None
    assert apart.agent_session_id == SESSION
    assert [record.prompt_id for record in records(apart, "request")] == ["p1"]
    assert apart.finished


@pytest.mark.parametrize("prefix", ["", "new-"])
def test_lines_that_a_fork_repeats_count_once(prefix: str) -> None:
    """By line id, or, where these are new, by message, call, and time with text."""
    original = [user("u1", 0, "go"), said("a1", 1, "x", call("t1", "Read")), result("u2", 2, "t1"), user("u3", 3, "on")]
    seen = Memory()
    assert len(read(*original, seen=seen)) == 2
    copied = [{**each, "sessionId": "fork", "uuid": prefix + each["uuid"]} for each in original]
    again = read(*copied, user("own", 9, "other way", sessionId="fork"), seen=seen)
    assert [exchange.prompt.text for exchange in again if exchange.prompt] == ["other way"]
    assert not [draft for exchange in again for draft in exchange.drafts if draft.record.kind != "session_start"]


def test_a_fork_that_says_where_it_comes_from_counts_for_the_original() -> None:
    """Its lines keep the first session and the first id, whichever file is read."""
    fork = {"sessionId": "first", "messageUuid": "u1"}
    (exchange,) = read(user("copy", 0, "go", forkedFrom=fork))
    assert exchange.prompt is not None
    assert (exchange.agent_session_id, exchange.prompt.line_id) == ("first", "u1")


def test_a_file_that_changes_its_session_is_cut_there() -> None:
    """Each exchange belongs to the session that its lines name; a line that names none to the file's."""
    nameless = {key: value for key, value in user("u3", 5, "three").items() if key != "sessionId"}
    found = read(user("u1", 0, "one"), user("u2", 1, "two", sessionId="other"), nameless)
    assert [exchange.agent_session_id for exchange in found] == [SESSION, "other", "stem"]


# --- lines that cannot be read -----------------------------------------------------------------------------


def test_half_an_emoji_does_not_tear_a_line() -> None:
    """Tools cut their output anywhere; most JSON readers take what then stands there."""
    half = b'{"type":"user","uuid":"u","timestamp":"2026-03-02T10:00:00Z","message":{"content":"see \\ud83d"}}'
    (exchange,) = read(half)
    assert exchange.prompt is not None
    assert exchange.prompt.text == "see �"
