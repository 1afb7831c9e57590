"""Importing Codex's session files: what they say, what forks repeat, and the same figures counted another way."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aggregates.capture.events import PromptCaptured
from aggregates.telemetry.draft import Exchange
from tests.support import imported
from tests.support.imported import TEN_O_CLOCK_US, Actor, captured, records
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


GO, LS = prompted(1, "go"), call(2, "c1", "shell", command=["bash", "-lc", "ls"])
USED = usage(100, 0, 10)
COUNT, RECORD = tokens(2, USED), line("token_usage_record", 2, {"usage": USED, "response_id": "r"})
OF_COMPACTION = line("token_usage_record", 3, {"usage": usage(50, 0, 5), "response_id": "c"})
SLEPT = "Wall time: 5.0 seconds\nProcess running with session ID 7\nOutput:\n"
DECLINED = event("exec_command_end", 3, call_id="c1", status="declined", exit_code=-1, command=["ls"])
AS_ITEM = event("item_completed", 1, item={"type": "UserMessage", "content": [{"type": "text", "text": "go"}]})
WHOLE = (
    "fix the login | call_p1 apply_patch True 1000 2 | 400+600 > 50 | call_s1 exec_command False 2000 None"
    " | 400+600 > 50 | 400+600 > 50 | = 'Fixed 1.'"
)


def total(second: float, used: dict[str, int]) -> dict[str, Any]:
    return event("token_count", second, info={"total_token_usage": used})


def compacted(second: float) -> list[dict[str, Any]]:
    return [line("compacted", second, {"message": "so far"}), event("context_compacted", second)]


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
