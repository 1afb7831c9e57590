"""Transcripts of Claude Code, read into exchanges."""

from typing import Any

from aggregates.telemetry.draft import Exchange
from svc.importing.exchange import Memory
from tests.support import imported
from tests.support.imported import TEN_O_CLOCK_US, records
from tests.support.tables import each_of
from tests.support.transcripts import SESSION, call, line, raw, result, said, usage, user


def read(*lines: dict[str, Any] | bytes, seen: Memory | None = None) -> list[Exchange]:
    return imported.read("claude-code", b"".join(raw(*lines)), "stem.jsonl", seen)


# --- names that lines of exchanges.txt are made of -----------------------------------------------------------

FIRST_LAST = [said(f"a{n}", n, text, message_id="m", request_id="r") for n, text in ((1, "First."), (2, "Last."))]
GO, MAKE = user("u1", 0, "go"), call("t1", "Bash", command="make")
QUEUED = {"type": "queued_command", "prompt": "and the tests"}
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
STOPPED = user("u3", 2, [{"type": "text", "text": "[Request interrupted by user for tool use]"}])
SUMMARY = user("u2", 2, "This session is being continued from a previous conversation …", isCompactSummary=True)


def hook(start: str) -> dict[str, Any]:
    return {"hookEvent": "SessionStart", "hookName": f"SessionStart:{start}"}


def failed(text: str, **told: Any) -> dict[str, Any]:
    return said("a1", 1, text, model="<synthetic>", isApiErrorMessage=True, **told)


EDIT = call("t1", "Edit", file_path="/a", old_string="x", new_string="y")


# --- requests ----------------------------------------------------------------------------------------------


def test_a_request_counts_once_with_its_last_usage() -> None:
    (exchange,) = read(
        user("u1", 0, "go"),
        said("a1", 1, "Let me", message_id="m", request_id="r", usage=usage(output=1)),
        said("a2", 2, call("t1", "Read"), message_id="m", request_id="r", usage=usage(output=263, hour=5)),
        said("a3", 3, "Done", message_id="m", request_id="r2"),
    )
    first, second = records([exchange], "request")
    assert (first.output_tokens, first.input_tokens, first.cache_read_tokens) == (263, 3, 100)
    assert (first.cache_write_tokens, first.cache_write_1h_tokens) == (20, 5)
    assert (first.model, first.request_id, first.at_us) == ("claude-opus-4-6", "r", TEN_O_CLOCK_US + 2_000_000)
    assert second.cache_write_1h_tokens is None


def account(number: int, second: float, output: int, **fields: Any) -> dict[str, Any]:
    told = {"message_id": "m", "request_id": "r", "usage": usage(output=output)}
    return said(f"a{number}", second, "x", **told, **fields)


@each_of(
    [
        # The largest of one exchange, whichever line tells it; a model that took over tells a larger one.
        ([GO, account(1, 1, 900), account(2, 2, 1)], [(SESSION, 1, 900)]),
        ([GO, account(1, 1, 1), account(2, 2, 400, model="claude-sonnet-5")], [(SESSION, 2, 400)]),
        # A larger one after another prompt, or in another session's copy, stands in the place of the first.
        (
            [GO, account(1, 1, 3), line("attachment", "q", 2, attachment=QUEUED), account(2, 3, 480)],
            [(SESSION, 1, 3), (SESSION, 1, 480)],
        ),
        (
            [
                GO,
                account(1, 1, 3),
                account(2, 2, 4),
                user("o1", 9, "own", sessionId="copy"),
                account(3, 10, 8, sessionId="copy"),
            ],
            [(SESSION, 2, 4), (SESSION, 2, 8), ("copy", 10, 8)],
        ),
        (
            [GO, account(1, 1, 9), user("o1", 9, "own", sessionId="copy"), account(2, 1, 2, sessionId="copy")],
            [(SESSION, 1, 9), ("copy", 1, 2)],
        ),
    ]
)
def test_the_largest_account_of_a_request_counts(lines: list[Any], told: list[tuple[str, int, int]]) -> None:
    found = [(each.agent_session_id, record) for each in read(*lines) for record in records([each], "request")]
    assert [(session, (each.at_us - TEN_O_CLOCK_US) // 10**6, each.output_tokens) for session, each in found] == told
    assert {(each.record_id, each.request_id) for _, each in found} == {("request:m:r", "r")}


# --- sessions ----------------------------------------------------------------------------------------------


def test_a_sub_agents_requests_belong_to_the_prompt_that_spawned_it() -> None:
    (main,) = read(
        user("u1", 0, "go", promptId="p1"),
        said("a1", 1, call("t1", "Task", prompt="look")),
        user("s1", 2, "look", isSidechain=True),
        said("s2", 3, "Looked.", isSidechain=True, stop_reason="end_turn"),
        result("u2", 4, "t1"),
        said("a2", 5, "Done."),
    )
    assert [(r.prompt_id, r.sidechain) for r in records([main], "request")] == [
        ("p1", False),
        ("p1", True),
        ("p1", False),
    ]
    assert main.answer is not None
    assert main.answer.text == "Done."


@each_of(["", "new-"])
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
    assert (exchange.agent_session_id, exchange.prompt.line_id) == ("first", "first:u1")


def test_a_blank_id_of_a_line_is_none() -> None:
    (exchange,) = read(user(" ", 0, "go", sessionId=" ", promptId=" "))
    assert exchange.prompt is not None
    assert (exchange.agent_session_id, exchange.prompt.former_id) == ("stem", "stem:1")
    assert exchange.prompt.host_prompt_id is None


def test_a_file_that_changes_its_session_is_cut_there() -> None:
    """Each exchange belongs to the session that its lines name; a line that names none to the file's."""
    nameless = {key: value for key, value in user("u3", 5, "three").items() if key != "sessionId"}
    found = read(user("u1", 0, "one"), user("u2", 1, "two", sessionId="other"), nameless)
    assert [exchange.agent_session_id for exchange in found] == [SESSION, "other", "stem"]
