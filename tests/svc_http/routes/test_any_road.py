"""The same session, told by hooks, by telemetry or by an import: the same prompts, work and verdicts."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from aggregates.event import Scope
from svc.hook.captures import captured
from svc.hook.machine import Connection, OpenPrompt
from svc.importing.importer import FORMATS
from tests.support import chats, rollouts, transcripts
from tests.support.basics import ANA_SCOPE
from tests.support.facts import DIGESTER
from tests.support.imported import import_transcripts
from tests.support.otlp import TRACE, log, logs
from tests.svc_http.house import Caller, House
from tests.svc_http.routes.test_explain import explained, whats
from tests.svc_http.routes.test_reads import V3

START_US = 1_772_445_600_000_000
"""The time that the transcripts' helpers count from."""
DAY_US = 86_400_000_000
ASK = "Fix the crash in src/parser.py when the file is empty, and run pytest"
MORE = "Also handle a file that holds only white space"
NOTICE = "<task-notification>\nThe background build is done.\n</task-notification>"
MADE = (
    "Machine-made, so no prompt and no turn: the report of a background task (1 time). "
    "What was done about it belongs to the prompt before."
)
WORK = "It has {}, {} and 1 call that changed something."
FAILS = "the last check failed"
Road = Callable[[House, Caller, Path], Awaitable[None]]
SESSIONS = {"claude-code": transcripts.SESSION, "codex": rollouts.THREAD, "gemini": chats.SESSION}


def event(seconds: float, **attributes: object) -> dict[str, Any]:
    return log(attributes) | {"timeUnixNano": str(int(START_US + seconds * 1_000_000) * 1_000)}


async def exported(house: House, intake: Caller, service: str, *records: dict[str, Any]) -> None:
    house.clock_us = START_US + 60_000_000
    answer = await intake.post("/v1/logs", logs(*records, service=service))
    assert (answer.status, answer.json) == (200, {})


async def imported(house: House, agent: str, file: Path) -> None:
    house.clock_us = START_US + DAY_US
    scope = Scope(ANA_SCOPE.organization_id, ANA_SCOPE.developer_id)
    means: dict[str, Any] = {"scope": scope, "digester": DIGESTER, "now_us": house.clock_us}
    report = await import_transcripts(FORMATS[agent], file, house.send, lambda *_: None, **means)
    assert (report.refused, report.torn) == ([], [])


async def hooked(house: House, intake: Caller, agent: str, *calls: tuple[float, dict[str, Any]]) -> None:
    """Calls of a hook, each at its second."""
    remembered: dict[str, OpenPrompt] = {}
    for seconds, told in calls:
        at = START_US / 1_000_000 + seconds
        house.clock_us = int(at * 1_000_000)
        told = {"session_id": SESSIONS[agent], **told}
        found = captured(Connection(agent, "", ""), agent, told, remembered.get, at)
        if found is None:
            continue
        if found.prompt is not None:
            remembered[found.session] = found.prompt
        if found.letter is not None:
            assert (await intake.post(found.letter.path, found.letter.body)).status in (200, 201, 204)


# --- Claude Code: a failing check, a prompt typed meanwhile, the report of a background task ---------------

EDIT = {"file_path": "/shop/src/parser.py", "old_string": "a", "new_string": "a\nb"}
CHECK = {"command": "pytest -q"}


async def claude_by_hook(house: House, intake: Caller, folder: Path) -> None:
    """The second prompt, and the notification, bear the id of the turn that runs."""
    edited = {"tool_name": "Edit", "tool_use_id": "c1", "tool_input": EDIT, "prompt_id": "p1"}
    failed = {"tool_name": "Bash", "tool_use_id": "c2", "tool_input": CHECK, "prompt_id": "p1", "error": "Exit code 1"}
    await hooked(
        house,
        intake,
        "claude-code",
        (0, {"hook_event_name": "UserPromptSubmit", "prompt": ASK, "prompt_id": "p1"}),
        (2, {"hook_event_name": "PostToolUse", **edited}),
        (4, {"hook_event_name": "UserPromptSubmit", "prompt": MORE, "prompt_id": "p1"}),
        (6, {"hook_event_name": "PostToolUseFailure", **failed}),
        (8, {"hook_event_name": "UserPromptSubmit", "prompt": NOTICE, "prompt_id": "p1"}),
        (9, {"hook_event_name": "Stop", "last_assistant_message": "One test still fails.", "prompt_id": "p1"}),
    )


async def claude_by_telemetry(house: House, intake: Caller, folder: Path) -> None:
    """The second prompt has an id of its own, its work that of the first."""

    def claude(seconds: float, name: str, turn: str = "p1", **attributes: object) -> dict[str, Any]:
        usual = {"session.id": transcripts.SESSION, "prompt.id": turn, "event.name": name}
        return event(seconds, **usual, **attributes)

    edited = {"tool_name": "Edit", "tool_use_id": "c1", "success": "true", "tool_input": json.dumps(EDIT)}
    failed = {"tool_name": "Bash", "tool_use_id": "c2", "success": "false", "tool_input": json.dumps(CHECK)}
    await exported(
        house,
        intake,
        "claude-code",
        claude(0, "user_prompt", prompt=ASK),
        claude(2, "tool_result", **edited),
        claude(4, "user_prompt", "p1", prompt=MORE),
        claude(6, "tool_result", error="Exit code 1\n1 failed", **failed),
        claude(8, "user_prompt", "p2", prompt=NOTICE),
        claude(9, "assistant_response", "p2", response="One test still fails."),
    )


async def claude_by_import(house: House, intake: Caller, folder: Path) -> None:
    """The second prompt stands there as an attachment, the notification as a line of another origin."""
    queued = {"type": "queued_command", "prompt": MORE, "commandMode": "prompt"}
    lines = transcripts.raw(
        transcripts.user("u1", 0, ASK, promptId="p1"),
        transcripts.said("a1", 1, transcripts.call("c1", "Edit", **EDIT)),
        transcripts.result("r1", 2, "c1"),
        transcripts.line("attachment", "q1", 4, attachment=queued),
        transcripts.said("a2", 5, transcripts.call("c2", "Bash", **CHECK)),
        transcripts.result("r2", 6, "c2", "Exit code 1\n1 failed", error=True),
        transcripts.user("n1", 8, NOTICE, origin={"kind": "task-notification"}),
        transcripts.said("a3", 9, "One test still fails.", stop_reason="end_turn"),
    )
    file = folder / f"{transcripts.SESSION}.jsonl"
    file.write_bytes(b"".join(lines))
    await imported(house, "claude-code", file)


# --- Codex: a patch through the shell, a failing check --------------------------------------------------

PATCH = f"cd /shop && apply_patch <<'EOF'\n{rollouts.PATCH}EOF\n"
FAILED = "Chunk ID: 27\nWall time: 2.0 seconds\nProcess exited with code 1\nOutput:\n1 failed\n"
PATCHED = "Success. Updated the following files:\nM src/login.py\n"
TITLE = "Generate a concise, single-line task title of at most 36 characters. User prompt: fix it"


async def codex_by_telemetry(house: House, intake: Caller, folder: Path) -> None:
    """Codex calls the failing check a success. Its title-making is a conversation of its own."""

    def codex(seconds: float, name: str, session: str = rollouts.THREAD, **attributes: object) -> dict[str, Any]:
        usual = {"conversation.id": session, "event.name": f"codex.{name}", "success": "true"}
        return event(seconds, **usual, **attributes) | {"traceId": TRACE}

    shell: dict[str, Any] = {"tool_name": "exec_command"}
    await exported(
        house,
        intake,
        "codex_cli_rs",
        codex(0, "user_prompt", prompt=ASK),
        codex(1, "user_prompt", rollouts.CHILD, prompt=TITLE),
        codex(2, "tool_result", call_id="c1", arguments=json.dumps({"cmd": PATCH}), output=PATCHED, **shell),
        codex(6, "tool_result", call_id="c2", arguments=json.dumps({"cmd": "pytest -q"}), output=FAILED, **shell),
    )


async def codex_by_import(house: House, intake: Caller, folder: Path) -> None:
    """Without the events that some versions keep beside the results."""
    lines = [
        rollouts.meta(),
        *rollouts.prompted(0, ASK),
        rollouts.call(2, "c1", "exec_command", cmd=PATCH),
        rollouts.output(2, "c1", PATCHED),
        rollouts.call(5, "c2", "exec_command", cmd="pytest -q"),
        rollouts.output(6, "c2", FAILED),
        rollouts.event("task_complete", 7, turn_id="t1", last_agent_message=None),
    ]
    await imported(house, "codex", rollouts.write(folder, lines))


# --- Gemini: an edit, a failing check, Esc ---------------------------------------------------------------


async def gemini_by_telemetry(house: House, intake: Caller, folder: Path) -> None:
    """A helper asked something before the prompt; Esc aborts the last request."""

    def gemini(seconds: float, name: str, **attributes: object) -> dict[str, Any]:
        return event(seconds, **{"session.id": chats.SESSION, "event.name": f"gemini_cli.{name}"}, **attributes)

    shell = {"function_name": "run_shell_command", "function_args": json.dumps({"command": "pytest -q"})}
    made = {"file_path": "/home/ana/shop/login.py", "old_string": "old", "new_string": "new\nmore"}
    edited = {"function_name": "replace", "function_args": json.dumps(made)}
    lines, ended = {"model_added_lines": 2, "model_removed_lines": 1}, {"exitCode": 1, "isError": True}
    aborted = {"error.message": "The operation was aborted.", "error.type": "AbortError"}
    await exported(
        house,
        intake,
        "gemini-cli",
        gemini(-1, "api_response", role="utility_summarizer", model="gemini-2.5-flash", input_token_count=7),
        gemini(0, "user_prompt", prompt=ASK),
        gemini(2, "tool_call", success=True, metadata=json.dumps(lines), **edited),
        gemini(5, "tool_call", success=True, metadata=json.dumps(ended), **shell),
        gemini(7, "api_error", role="main", **aborted),
    )


async def gemini_by_import(house: House, intake: Caller, folder: Path) -> None:
    *messages, _ = chats.exchange(0, ASK)
    stopped = chats.message("info", "i1", 7, "Request cancelled.")
    await imported(house, "gemini", chats.write(folder, chats.lines(*messages, stopped)))


async def seen(house: House, api: Caller, agent: str) -> dict[str, Any]:
    """What counts of the only session there is, and the verdict."""
    house.passes(START_US + 2 * DAY_US)
    rows = (await api.get(f"{V3}/realtime/sub-sessions")).json
    assert [row["agent_session_id"] for row in rows] == [SESSIONS[agent]]
    shown = await explained(api, SESSIONS[agent])
    prompts = (await api.get(f"{V3}/sub-sessions/{shown['score_v3_sub_session_id']}/prompts")).json
    return {
        "prompts": [each["prompt_text"] for each in prompts],
        "work": shown["floor"]["text"][1:2] + shown["floor"]["text"][3:],
        "for": whats(shown["outcome"]["evidence_for"]),
        "against": whats(shown["outcome"]["evidence_against"]),
        "complete": shown["outcome"]["goal_complete"],
    }


ROADS: dict[str, tuple[Road, ...]] = {
    "claude-code": (claude_by_hook, claude_by_telemetry, claude_by_import),
    "codex": (codex_by_telemetry, codex_by_import),
    "gemini": (gemini_by_telemetry, gemini_by_import),
}


@pytest.mark.parametrize(("agent", "road"), [(agent, road) for agent, roads in ROADS.items() for road in roads])
async def test_every_road_leads_to_the_same(
    agent: str, road: Road, tmp_path: Path, house: House, intake: Caller, api: Caller
) -> None:
    """The check failed, whatever the agent calls it."""
    await road(house, intake, tmp_path)
    found, is_claude = await seen(house, api, agent), agent == "claude-code"
    assert found["prompts"] == ([ASK, MORE] if is_claude else [ASK])
    work = ("2 such turns", "1 changed line") if is_claude else ("1 such turn", "3 changed lines")
    assert found["work"] == [WORK.format(*work), *([MADE] if is_claude else [])]
    assert FAILS in found["against"]
    assert not found["complete"]
