"""Importing Codex's session files: what they say, what forks repeat, and the same figures counted another way."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aggregates.capture.events import PromptCaptured
from aggregates.telemetry.exchanges import Exchange
from tests.support import imported
from tests.support.captures import Actor
from tests.support.imported import TEN_O_CLOCK_US, captured, records
from tests.support.rollouts import (
    CHILD,
    THREAD,
    bare,
    call,
    event,
    item,
    line,
    message,
    meta,
    output,
    prompted,
    raw,
    tokens,
    turn,
    usage,
    write,
)

STEM = f"rollout-2026-03-02T10-00-00-{THREAD}"
run = partial(imported.run, "codex")


def read(*lines: dict[str, Any] | bytes, stem: str = STEM) -> list[Exchange]:
    return imported.read("codex", raw(lines), f"{stem}.jsonl")


def test_tokens_told_again_count_once_and_a_sum_alone_counts_by_its_difference() -> None:
    one, two = usage(100, 0, 10), usage(300, 100, 25)
    sums = [event("token_count", s, info={"total_token_usage": t}) for s, t in ((2, one), (3, two), (4, two))]
    limits = event("token_count", 5, info=None, rate_limits={"primary": {}})
    found = records(read(meta(), *prompted(1, "go"), *sums, limits), "request")
    assert [(r.input_tokens, r.cache_read_tokens, r.output_tokens) for r in found] == [(100, 0, 10), (100, 100, 15)]


@pytest.mark.parametrize("count_first", [True, False])
def test_a_response_told_by_a_count_and_by_a_record_is_one_request(count_first: bool) -> None:
    """Newer versions write both; of a remote compaction the record alone."""
    used = usage(100, 0, 10)
    told = [tokens(2, used), line("token_usage_record", 2, {"usage": used, "response_id": "r"})]
    compaction = line("token_usage_record", 3, {"usage": usage(50, 0, 5), "response_id": "c"})
    found = read(meta(), *prompted(1, "go"), *(told if count_first else reversed(told)), compaction)
    assert [r.output_tokens for r in records(found, "request")] == [10, 5]


@pytest.mark.parametrize(
    ("told", "ok"),
    [
        ('{"output":"broken","metadata":{"exit_code":2,"duration_seconds":0.1}}', False),
        ("Wall time: 5.0 seconds\nProcess running with session ID 7\nOutput:\n", None),
        ({"content": "broken", "success": False}, False),
        ("", None),
    ],
)
def test_a_commands_outcome_is_what_its_result_says(told: Any, ok: bool | None) -> None:
    found = read(
        meta(), *prompted(1, "go"), call(2, "c1", "shell", command=["bash", "-lc", "ls"]), output(3, "c1", told)
    )
    (tool,) = records(found, "tool")
    assert tool.ok is ok


@pytest.mark.parametrize(
    "ending",
    [
        output(3, "c1", "exec command rejected by user"),
        event("exec_command_end", 3, call_id="c1", status="declined", exit_code=-1, command=["ls"]),
    ],
)
def test_a_call_that_the_user_refused_is_a_rejection(ending: dict[str, Any]) -> None:
    found = read(meta(), *prompted(1, "go"), call(2, "c1", "shell", command=["ls"]), ending)
    assert [(r.tool, r.ok) for r in records(found, "rejection")] == [("shell", None)]


def test_an_aborted_turn_is_an_interruption_and_is_finished() -> None:
    """One that the user replaced by another prompt is none."""
    _, found, after = read(
        meta(),
        *prompted(1, "go"),
        call(2, "c1", "exec_command", cmd="sleep 90"),
        output(5, "c1", "aborted by user after 3.0s"),
        item("message", 5, **message("user", "<turn_aborted>\nThe user interrupted\n</turn_aborted>")),
        event("turn_aborted", 5, turn_id="t1", reason="interrupted"),
        *prompted(9, "rather this", "t2"),
        event("turn_aborted", 10, turn_id="t2", reason="replaced"),
    )
    assert [len(records([each], "interruption")) for each in (found, after)] == [1, 0]
    assert (found.finished, after.finished) == (True, True)


def test_a_compaction_told_by_a_line_and_by_an_event_is_one() -> None:
    told = [line("compacted", 2, {"message": "so far"}), event("context_compacted", 2)]
    again = [line("compacted", 8, {"message": "so far"}), event("context_compacted", 8)]
    found = read(meta(), *prompted(1, "go"), *told, tokens(3, usage(9, 0, 1)), *again)
    assert len(records(found, "compaction")) == 2


def test_what_comes_after_a_finished_turn_stands_apart() -> None:
    _, before, after = read(meta(), *turn(10), line("compacted", 60, {"message": ""}))
    assert (before.finished, after.prompt) == (True, None)
    assert read(meta(), *turn(10))[1] == before


def test_a_prompt_told_as_event_and_as_item_is_one() -> None:
    """Newer versions write either or both; an equal one later is another."""
    as_item = event("item_completed", 1, item={"type": "UserMessage", "content": [{"type": "text", "text": "go"}]})
    found = read(meta(), as_item, event("user_message", 1, message="go"), event("user_message", 60, message="go"))
    assert [each.prompt.text for each in found if each.prompt] == ["go", "go"]


def test_an_older_file_has_prompts_answers_and_calls_but_no_times_and_no_tokens() -> None:
    """They stand at the session's beginning, in their order, and no duration is made up."""
    found = read(
        *bare(
            item("message", 0, **message("user", "<environment_context>cwd</environment_context>")),
            item("message", 0, **message("user", "fix the login")),
            call(0, "c1", "shell", command=["bash", "-lc", "pytest -q"]),
            output(0, "c1", '{"output":"","metadata":{"exit_code":0}}'),
            item("message", 0, **message("assistant", "Done.")),
        )
    )
    (exchange,) = (each for each in found if each.prompt)
    assert exchange.prompt is not None
    assert exchange.answer is not None
    assert (exchange.answer.text, exchange.answer.elapsed_ms) == ("Done.", None)
    assert 0 < exchange.prompt.at_us - TEN_O_CLOCK_US < 100
    assert [(r.ok, r.duration_ms) for r in records(found, "tool")] == [(True, None)]
    assert records(found, "request") == []


# --- forks and sub-agents ----------------------------------------------------------------------------------


def restamped(lines: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    return [{**each, "timestamp": meta(seconds)["timestamp"]} for each in lines]


@pytest.mark.parametrize("parent_there", [True, False])
@pytest.mark.parametrize("stamped_anew", [True, False])
async def test_what_a_fork_repeats_counts_for_the_original_only(
    tmp_path: Path, parent_there: bool, stamped_anew: bool
) -> None:
    """By content where the original is there, else by the times."""
    actor = Actor()
    original = [meta(), *turn(10)]
    if parent_there:
        write(tmp_path, [*original, *turn(50, "and the logout", 3, spent=3)])
    copy = restamped(original, 200) if stamped_anew else original
    own = turn(230, "another way", 2, spent=3)
    write(tmp_path, [meta(200, CHILD, forked_from_id=THREAD), *copy, *own], CHILD)
    await run(tmp_path, actor)
    of_child = [record for key, record in captured(actor).items() if key.startswith(CHILD)]
    assert [r.kind for r in of_child].count("request") == 3
    assert [r.kind for r in of_child].count("tool") == 2
    texts = [e.prompt.text for e in actor.events if isinstance(e, PromptCaptured) and e.agent_session_id == CHILD]
    assert texts == ["another way"]


def test_a_sub_agents_file_has_requests_and_calls_but_no_prompts() -> None:
    """Its session is its own, as in telemetry; where its own lines begin, it says itself."""
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    copied = [{**each, "ordinal": number} for number, each in enumerate(turn(10), 1)]
    own = [{**each, "ordinal": 100 + number} for number, each in enumerate(turn(60, "look", 2))]
    head = meta(60, CHILD, source=source, subagent_history_start_ordinal=100)
    found = read(head, *copied, *own, stem=f"rollout-x-{CHILD}")
    assert [each.prompt for each in found] == [None]
    assert {each.agent_session_id for each in found} == {CHILD}
    assert [r.sidechain for r in records(found, "request")] == [True] * 3
    assert [r.source for r in records(found, "session_start")] == ["subagent"]


def test_a_fork_whose_own_head_is_torn_is_named_by_its_file() -> None:
    copy = restamped([meta(), *turn(10)], 200)
    found = read(b'{"timestamp":"2026-03-02T10:03:2\n', *copy, *turn(230, "another way", 2), stem=f"r-{CHILD}")
    assert {each.agent_session_id for each in found} == {CHILD}
    assert [each.prompt.text for each in found if each.prompt] == ["another way"]


# --- lines that cannot be read, cuts, an independent count -------------------------------------------------


async def test_a_packed_file_is_named_as_one_that_was_not_read(tmp_path: Path) -> None:
    file = write(tmp_path, [meta()])
    file.rename(file.with_name(file.name + ".zst"))
    report = await run(tmp_path, Actor())
    assert [(each.line, "zstd" in each.reason) for each in report.torn] == [(0, True)]
