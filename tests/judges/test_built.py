"""The outcome judge on the written sub-sessions of `cases.txt` and `endings.txt`: facts in, rows out."""

import re
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.facts import DIGESTER, MONDAY, SECOND, Log, edit, project, request, shell

STEP_US, SETTLED_US = 20 * SECOND, 3_600 * SECOND
SAID = {"complete": True, "missed": False, "undecided": None}
_SESSION = "built"


class Case(NamedTuple):
    """One script and what its first sub-session is; None: it must be undecided."""

    rule: str
    complete: bool | None
    script: str


def _cases(name: str) -> list[Case]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    found = re.findall(r"^== (\w+): (.*)\n((?:(?!== ).*\n)*)", text, re.MULTILINE)
    return [Case(rule, SAID[said], script) for said, rule, script in found]


CASES, ENDINGS, UNHEARD = map(_cases, ("cases.txt", "endings.txt", "unheard.txt"))
TOOLS = {  # of a script, as agents call them
    "claude-code": {"Edit": "Edit", "Bash": "Bash", "Read": "Read", "Grep": "Grep"},
    "codex": {"Edit": "apply_patch", "Bash": "exec_command", "Read": "shell", "Grep": "shell"},
    "gemini": {"Edit": "replace", "Bash": "run_shell_command", "Read": "read_file", "Grep": "search_file_content"},
    "copilot": {"Edit": "apply_patch", "Bash": "bash", "Read": "view", "Grep": "grep"},
    "opencode": {"Edit": "edit", "Bash": "bash", "Read": "read", "Grep": "grep"},
}


def first_is_complete(script: str) -> bool | None:
    """Whether the first sub-session of a script reached its goal, an hour later; None: undecided."""
    steps = [line.partition(" ") for line in script.splitlines() if line.strip()]
    log = Log().claim(_SESSION)
    prompt_id, at_us, tools = None, MONDAY, TOOLS["claude-code"]
    for place, (step, _, rest) in enumerate(steps):
        at_us = MONDAY + place * STEP_US
        if step == ">":
            prompt_id = log.prompt(_SESSION, rest, at_us)
        elif step == "as":
            tools = TOOLS[rest]
        elif step == "<" and prompt_id is not None:
            log.records(_SESSION, _asked(at_us)).answer(_SESSION, prompt_id, rest, at_us)
        else:
            asked = [_asked(at_us)] if step in ("edit", "unapplied", "read", "run", "fail", "call") else []
            seen = _observed(step, rest, at_us + 1)
            if step in ("unapplied", "read", "run", "fail", "call"):  # in the same words the same call again
                seen["input_digest"] = DIGESTER.number(f"{step in ('run', 'fail')} {rest}")
            named = {"tool": tools[str(seen["tool"])]} if "tool" in seen else {}
            log.records(_SESSION, *asked, seen | named)
    with closing(project(log.passes(at_us + SETTLED_US).facts)) as db:
        (complete,) = db.execute("SELECT judged_goal_complete FROM sub_sessions ORDER BY started_us LIMIT 1").fetchone()
    return None if complete is None else bool(complete)


def _asked(at_us: int) -> dict[str, object]:
    return request(at_us, model="m", output_tokens=9)


def _observed(step: str, rest: str, at_us: int) -> dict[str, object]:
    """What telemetry says of a step. Raises KeyError for a step that there is none of."""
    told: dict[str, dict[str, object]] = {
        "edit": edit(at_us, rest) | {"lines_removed": 2},
        "unapplied": edit(at_us, rest, ok=False),
        "read": {"kind": "tool", "tool": "Read", "ok": True, "path": rest},
        "run": shell(at_us, rest),
        "fail": shell(at_us, rest, ok=False),
        "call": {"kind": "tool", "tool": "Grep", "ok": True},
        "error": {"kind": "error", "status_code": 529},
        "stop": {"kind": "interruption"},
        "refuse": {"kind": "rejection"},
        "clear": {"kind": "session_start", "source": "clear"},
        "end": {"kind": "session_end", "source": "exit"},
    }
    return {"at_us": at_us, **told[step]}


def test_a_written_session_is_judged_as_its_rule_says() -> None:
    """Each holds one way in which a goal is reached or missed."""
    wrong = [case.rule for case in [*CASES, *ENDINGS] if first_is_complete(case.script) is not case.complete]
    assert wrong == []


@pytest.mark.xfail(strict=True, reason="no rule hears it yet: docs/judges.md")
@pytest.mark.parametrize("case", UNHEARD, ids=[case.rule for case in UNHEARD])
def test_a_written_session_that_is_not_heard_yet(case: Case) -> None:
    assert first_is_complete(case.script) is case.complete


def test_there_are_enough_of_each_with_a_rule_of_its_own() -> None:
    counts = [sum(case.complete is said for case in CASES) for said in (False, None, True)]
    assert counts == [22, 18, 21]
    assert len({case.rule for case in CASES}) == len(CASES)
