"""The coach: what it says of a prompt, when it is silent, and that it is in nobody's way."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from svc import hook
from svc.hook.coach import PROMPT_CHARACTERS_MAX, advice
from tests.support.process import environment
from tests.support.tables import table

START = Path(hook.__file__).with_name("start.py")
UNCHECKED = "Add a button to src/list.py that exports the list as csv"
CHECKED = f"{UNCHECKED}, then run pytest tests/test_list.py and show that it passes"
PATIENT = "import sys, svc.hook.coach as c; c.COACH_SECONDS = 60.0; c.coach(sys.argv[1:])"
"""With time enough, for a busy machine."""


def told(prompt: str, session: str = "s1", **more: object) -> dict[str, Any]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt, **more}


def test_a_habit_that_is_surely_missed_is_named_with_what_to_write(tmp_path: Path) -> None:
    line = advice(tmp_path, told(UNCHECKED))
    assert line is not None
    assert line.startswith("svc: in this prompt no words of its own were found for a test")
    assert "Name a check" in line
    assert "\n" not in line


PRICE, HEADER = "Add a column to src/list.py with the price", "no, do that in the header as well"


@table(
    ("prompts", "spoken"),
    {
        "a check is named": ([CHECKED], [False]),
        "thanks": (["thanks"], [False]),
        "a command": (["/clear"], [False]),
        "a command of the shell": (["!ls"], [False]),
        "a question asks for no check": (["where is the login?"], [False]),
        "of another language nothing is known": (["fais un bouton bleu pour la page d'accueil"], [False]),
        "what is too long": (["x" * 99_999], [False]),
        "a session hears of a habit once": ([UNCHECKED, PRICE], [True, False]),
        "what an earlier prompt asked for stands": ([CHECKED, PRICE], [False, False]),
        "what leans on the prompt before is let be": (["where is the login?", HEADER], [False, False]),
    },
)
def test_what_is_spoken_of(tmp_path: Path, prompts: list[str], spoken: list[bool]) -> None:
    assert [advice(tmp_path, told(prompt)) is not None for prompt in prompts] == spoken


def test_another_session_and_a_helper_are_another_matter(tmp_path: Path) -> None:
    assert advice(tmp_path, told(UNCHECKED, agent_id="a1")) is None
    assert [advice(tmp_path, told(UNCHECKED, session)) is not None for session in ("s1", "s2")] == [True, True]


def test_no_words_are_kept(tmp_path: Path) -> None:
    """Names of habits, in a file whose name tells nobody which session it is."""
    advice(tmp_path, told(UNCHECKED, "my-session"))
    (kept,) = tmp_path.iterdir()
    assert "my-session" not in kept.name
    known = json.loads(kept.read_text())
    assert known["heard"] == ["verification_requested"]
    assert set(known) == {"earned", "heard"}
    assert kept.stat().st_mode & 0o077 == 0


def ran(text: str, home: Path, program: list[str]) -> str:
    """What the process prints; it ends with 0 and no word on standard error."""
    done = subprocess.run(
        [sys.executable, *program],
        input=text,
        text=True,
        capture_output=True,
        env=environment() | {"HOME": str(home), "XDG_STATE_HOME": ""},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_line_is_for_the_person_and_not_for_the_model(tmp_path: Path) -> None:
    """Claude Code shows a `systemMessage`; plain text, and `additionalContext`, it would give to the model."""
    shown = json.loads(ran(json.dumps(told(UNCHECKED)), tmp_path, ["-c", PATIENT, "claude-code"]))
    assert list(shown) == ["systemMessage"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "no json", '{"prompt": 1}', json.dumps(told("x" * (PROMPT_CHARACTERS_MAX + 1)))]
)
def test_whatever_goes_wrong_the_prompt_goes_on(tmp_path: Path, text: str) -> None:
    assert ran(text, tmp_path, ["-I", str(START), "coach", "claude-code"]) == ""


def test_where_nothing_can_be_remembered_the_prompt_goes_on(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("no folder")
    assert ran(json.dumps(told(UNCHECKED)), tmp_path, ["-c", PATIENT, "claude-code"]) == ""


def test_one_that_takes_too_long_gives_up(tmp_path: Path) -> None:
    """An agent waits for it; here the input never ends."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(START), "coach", "claude-code"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment() | {"HOME": str(tmp_path)},
    )
    assert process.wait(30) == 0
    assert process.communicate()[0] == b""


def test_the_coach_loads_no_turns_no_secrets_and_no_network() -> None:
    """A person waits for it. Counted, for a clock would tell the day."""
    code = "import sys; from svc.hook.coach import looked_at; looked_at('Fix it', first=True); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    names = set(done.stdout.split())
    assert "aggregates.judging.prompt" in names
    slow = {"aggregates.turns.turn", "aggregates.reading.redaction", "aggregates.judging.outcome", "http.client"}
    assert names & {*slow, "socket", "ssl", "click", "trio", "rapidfuzz"} == set()
