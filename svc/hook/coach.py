"""One call of the coach: it grades a prompt as it is sent, and tells the person of a habit that is surely missed.

On this machine alone, and only for who asked for it: `svc connect claude-code --coach`. Whatever goes wrong, it says
nothing and the prompt goes on. A session hears of each habit once.
"""

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from svc.hook.captures import clean
from svc.hook.machine import connection_folder, forget_old, private_folder, replace_file, session_file
from svc.hook.main import INPUT_BYTES_MAX, ended_in

if TYPE_CHECKING:
    from aggregates.reading.verdicts import BooleanName

COACH_SECONDS = 0.25  # when it gives up; idle, it takes less than a tenth, Python's start included
PROMPT_CHARACTERS_MAX = 32_768  # of a longer prompt nothing is said: most of it is pasted


def coach(arguments: list[str]) -> NoReturn:
    """`AGENT`, the hook's JSON on standard input. Ends the process, always with 0."""

    def speak() -> None:
        told = json.loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
        line = advice(connection_folder(arguments[0]) / "coach", told)
        if line is not None:
            # For the person's eyes: text by itself, and `additionalContext`, would go to the model.
            sys.stdout.write(json.dumps({"systemMessage": line}))
            sys.stdout.flush()

    ended_in(COACH_SECONDS, speak)


def advice(folder: Path, told: dict[str, Any]) -> str | None:
    """The line about the first habit that is surely missed, and was not told of yet. Raises `OSError`."""
    text, session = clean(told.get("prompt")), clean(told.get("session_id"))
    if text is None or session is None or told.get("agent_id") is not None or len(text) > PROMPT_CHARACTERS_MAX:
        return None
    path, earned, heard = session_file(folder, session), set[str](), set[str]()
    first = not path.exists()
    if first:
        forget_old(folder)
    else:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            known = json.loads(path.read_bytes())
            earned, heard = set(known["earned"]), set(known["heard"])
    shown, missed = looked_at(text, first=first)
    new = [name for name in missed if name not in heard and (name not in earned or name == "goal_explicit")]
    private_folder(folder)
    remembered = {"earned": sorted(earned | set(shown)), "heard": sorted(heard | set(new[:1]))}
    replace_file(path, json.dumps(remembered).encode())
    if not new:
        return None
    from aggregates.judging.prompt import HABIT_WORDS

    return f"svc: in this prompt {HABIT_WORDS[new[0]].missed}. {HABIT_WORDS[new[0]].how}"


def looked_at(text: str, *, first: bool) -> tuple[list["BooleanName"], list["BooleanName"]]:
    """What a prompt surely shows and misses, whatever was answered before it, as the embedded judge says."""
    from aggregates.event import Digester
    from aggregates.judging.prompt import LEANS, judge_prompt
    from aggregates.reading.reading import read_prompt
    from aggregates.reading.readings import ResponseReading

    reading = read_prompt(text, Digester(b""))
    answers = None, ResponseReading(characters=1), ResponseReading(characters=1, asks=True)
    rubrics = [judge_prompt(reading, None)] if first else [judge_prompt(reading, (None, each)) for each in answers]
    earned = {name: None for rubric in rubrics for name in rubric.earned}
    if not first and reading.shows(*LEANS):
        return list(earned), []
    return list(earned), [name for name in rubrics[0].missed if all(name in each.missed for each in rubrics)]
