"""Importing Codex's session files: what they say, what forks repeat, and the same figures counted another way."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aggregates.capture.events import PromptAnswered, PromptCaptured
from aggregates.telemetry.batches import Sender
from aggregates.telemetry.draft import Exchange
from projections.derive.sessions import session_turns
from svc.importing.importer import FORMATS
from tests.support import imported
from tests.support.facts import ANA, DIGESTER, Placed, project
from tests.support.imported import NEXT_DAY_US, SECOND, TEN_O_CLOCK_US, Actor, captured, import_transcripts, records
from tests.support.rollouts import (
    CHILD,
    THREAD,
    bare,
    call,
    completed,
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
MEANS: dict[str, Any] = {"scope": ANA, "digester": DIGESTER, "now_us": NEXT_DAY_US}
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
CHANGED = completed("FileChange", 3, id="f", changes={"a.py": {"type": "add", "content": "a\nb\n"}})
ASKED = completed("McpToolCall", 4, id="m", server="hub", tool="ask", result={"content": [], "isError": False})
WRITTEN = item("message", 1, **message("user", "<environment_context>cwd</environment_context>"))


def total(second: float, used: dict[str, int]) -> dict[str, Any]:
    return event("token_count", second, info={"total_token_usage": used})


def ran(**fields: Any) -> dict[str, Any]:
    took = {"secs": 2, "nanos": 0}
    return completed("CommandExecution", 4, **{"id": "e", "command": ["ls"], "duration": took, **fields})


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
    ((prompt, answer),) = ((each.prompt, each.answer) for each in found if each.prompt and each.answer)
    assert (answer.text, answer.elapsed_ms) == ("Done.", None)
    assert 0 < prompt.at_us - TEN_O_CLOCK_US < 100
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
    of_child = [record.kind for key, record in captured(actor).items() if key.startswith(CHILD)]
    assert (of_child.count("request"), of_child.count("tool")) == (3, 2)
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


# --- one thread in several files ---------------------------------------------------------------------------


def segment(number: int, end: int, *, ordinals: bool, base: int | None = None) -> list[dict[str, Any]]:
    """Goes on from another file, or from a place in it, and tells the last count again; its ordinals go on too."""
    based = {"thread_id": SEGMENTS[number - 1 if base is None else base], "end_ordinal_exclusive": end}
    again = [tokens(100 * number + 1, usage(1000, 600, 50, 10), usage(3000, 1800, 150, 30))]
    own = turn(100 * number + 10, "go on", number + 1, spent=3)
    lines = [meta(100 * number, history_base=based), *again, *own] if number else [meta(), *turn(10, "go on")]
    return [{**each, "ordinal": end + place} if ordinals else each for place, each in enumerate(lines)]


SEGMENTS = [THREAD, f"{THREAD[:-1]}a", f"{THREAD[:-1]}b"]


async def told_by(actor: Actor) -> tuple[int, int, int]:
    """The thread's prompts, its output and its calls that ended, of what is in the log."""
    db = project([Placed(number, event) for number, event in enumerate(actor.events, 1)])
    counted = "SELECT sum(output_tokens) FROM requests WHERE superseded = 0"
    (ended,) = db.execute("SELECT count(*) FROM telemetry_records WHERE kind = 'tool' AND ok IS NOT NULL").fetchone()
    turns = session_turns(db, THREAD, 0)
    assert sum(each.work.tool_calls for each in turns) == ended
    return len(turns), db.execute(counted).fetchone()[0], ended


@pytest.mark.parametrize("ordinals", [True, False])
@pytest.mark.parametrize("base", [None, 0])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 1, 2, 0)])
async def test_a_thread_is_one_in_however_many_files_it_stands(
    tmp_path: Path, order: tuple[int, ...], base: int | None, ordinals: bool
) -> None:
    """Resumed, or reverted and gone on from the first file; read at once, or one by one, in any order and twice."""
    files = []
    for number, name in enumerate(SEGMENTS):
        named = THREAD if number == 0 else f"{THREAD}_{name}"
        lines = segment(number, 0 if number == 0 else 30, ordinals=ordinals, base=base and 0)
        files.append(write(tmp_path, lines, named))
    at_once, one_by_one = Actor(), Actor()
    await run(tmp_path, at_once)
    for number in order:
        report = await run(files[number], one_by_one)
        assert report.refused == []
    await run(tmp_path, one_by_one)
    assert await told_by(at_once) == (3, 450, 6)
    assert (await told_by(one_by_one))[::2] == (3, 6)


async def test_a_turn_that_ends_in_another_file_has_its_answer(tmp_path: Path) -> None:
    actor, lines = Actor(), [meta(), *turn(10)]
    write(tmp_path, lines[:9])
    write(tmp_path, lines[9:], f"{THREAD}_{SEGMENTS[1]}")
    await run(tmp_path, actor)
    assert [e.response and e.response.text for e in actor.events if isinstance(e, PromptAnswered)] == ["Fixed 1."]


async def test_what_an_older_reader_took_is_not_taken_again(tmp_path: Path) -> None:
    """It named lines by their numbers, and lost those of a second file that had a number twice."""
    file, actor = write(tmp_path, [meta(), *turn(10), *turn(100, "and the logout", 2, spent=3)]), Actor()
    for each in imported.read("codex", file.read_bytes(), file.name):
        await imported.take(Sender(ANA, "codex", DIGESTER), actor.send, as_of_old(each))
    old = await told_by(actor)
    report = await import_transcripts(FORMATS["codex"], tmp_path, actor.send, lambda *_: None, **MEANS)
    assert (await told_by(actor), report.refused) == (old, [])
    assert old == (2, 300, 4)


def as_of_old(exchange: Exchange) -> Exchange:
    prompt = exchange.prompt and replace(exchange.prompt, line_id=exchange.prompt.former_id, former_id=None)
    named = [(each, each.record.former_id or each.record.record_id) for each in exchange.drafts]
    drafts = [replace(each, record=replace(each.record, record_id=old, former_id=None)) for each, old in named]
    return replace(exchange, prompt=prompt, drafts=tuple(drafts))


@pytest.mark.parametrize("status", ["failed", "declined"])
async def test_a_call_that_was_quiet_ends_as_a_later_import_tells(tmp_path: Path, status: str) -> None:
    """Wherever its lines are cut."""

    async def calls(*ends: int) -> list[tuple[object, ...]]:
        actor = Actor()
        for end in ends:
            write(tmp_path, lines[:end])
            await run(tmp_path, actor, now_us=TEN_O_CLOCK_US + 4000 * SECOND)
        db = project([Placed(number, event) for number, event in enumerate(actor.events, 1)])
        return db.execute("SELECT tool, ok, duration_ms FROM telemetry_records WHERE kind = 'tool'").fetchall()

    lines = [meta(), *turn(10)]
    for each in lines:
        if each["payload"].get("type") == "patch_apply_end":
            each["payload"] |= {"success": False, "status": status}
    whole = await calls(len(lines))
    failed = {"failed": [("apply_patch", 0)], "declined": []}[status]
    assert [each[:2] for each in whole] == [*failed, ("exec_command", 0)]
    assert {end for end in range(5, len(lines)) if await calls(end, len(lines)) != whole} == set()


# --- lines that cannot be read, cuts, an independent count -------------------------------------------------


async def test_a_packed_file_is_named_as_one_that_was_not_read(tmp_path: Path) -> None:
    file = write(tmp_path, [meta()])
    file.rename(file.with_name(file.name + ".zst"))
    report = await run(tmp_path, Actor())
    assert [(each.line, "zstd" in each.reason) for each in report.torn] == [(0, True)]
