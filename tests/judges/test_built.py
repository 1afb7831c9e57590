"""The outcome judge on the written sub-sessions of `cases.txt` and `endings.txt`: facts in, rows out."""

import re
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid5

import pytest

from aggregates.decide import TimePassed
from aggregates.event import Scope
from tests.support.facts import ANA, DIGESTER, MONDAY, NAMESPACE, SECOND, Log, Placed, edit, project, request, shell

STEP_US, SETTLED_US = 20 * SECOND, 3_600 * SECOND
SAID = {"complete": True, "missed": False, "undecided": None}


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


def complete(*scripts: str) -> list[bool | None]:
    """Whether the first sub-session of each script, by a developer of its own, reached its goal; None: undecided."""
    developers = [uuid5(NAMESPACE, script) for script in scripts]
    events = [fact.event for each in zip(developers, scripts, strict=True) for fact in told(*each).facts]
    events.append(TimePassed(received_at_us=max(event.received_at_us for event in events) + SETTLED_US))
    with closing(project([Placed(place, event) for place, event in enumerate(events, 1)])) as db:
        goals = db.execute("SELECT developer_id, judged_goal_complete FROM sub_sessions ORDER BY started_us DESC")
        first = {UUID(developer_id): judged for developer_id, judged in goals}
    return [None if first[each] is None else bool(first[each]) for each in developers]


def told(developer_id: UUID, script: str) -> Log:
    """A developer's work as a script has it."""
    session = f"of {developer_id}"
    log = Log(Scope(ANA.organization_id, developer_id)).claim(session)
    prompt_id, tools = None, TOOLS["claude-code"]
    for place, line in enumerate(filter(str.strip, script.splitlines())):
        (step, _, rest), at_us = line.partition(" "), MONDAY + place * STEP_US
        if step == ">":
            prompt_id = log.prompt(session, rest, at_us)
        elif step == "as":
            tools = TOOLS[rest]
        elif step == "<" and prompt_id is not None:
            log.records(session, _asked(at_us)).answer(session, prompt_id, rest, at_us)
        else:
            asked = [_asked(at_us)] if step in ("edit", "unapplied", "read", "run", "fail", "call") else []
            seen = _observed(step, rest, at_us + 1)
            if step in ("unapplied", "read", "run", "fail", "call"):  # in the same words the same call again
                seen["input_digest"] = DIGESTER.number(f"{step in ('run', 'fail')} {rest}")
            named = {"tool": tools[str(seen["tool"])]} if "tool" in seen else {}
            log.records(session, *asked, seen | named)
    return log


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
    cases = [*CASES, *ENDINGS]
    judged = zip(cases, complete(*(case.script for case in cases)), strict=True)
    assert [case.rule for case, said in judged if said is not case.complete] == []


@pytest.mark.xfail(strict=True, reason="no rule hears it yet: docs/judges.md")
@pytest.mark.parametrize("case", UNHEARD, ids=[case.rule for case in UNHEARD])
def test_a_written_session_that_is_not_heard_yet(case: Case) -> None:
    assert complete(case.script) == [case.complete]


def test_there_are_enough_of_each_with_a_rule_of_its_own() -> None:
    counts = [sum(case.complete is said for case in CASES) for said in (False, None, True)]
    assert counts == [22, 18, 21]
    assert len({case.rule for case in CASES}) == len(CASES)
