"""Sessions written to train the boundary judge, of people and kinds of projects that the labelled ones are not.

`sessions/` holds them, a file for each kind of work. One prompt a line, with `\\n` for a new line; a blank
line parts sessions. `#` opens another goal, `-` goes on with the one before; the number after it says how many minutes
after the prompt before. After ` | ` stands what the agent did: the files it changed, `?` and a file it looked at, `$`
and a command; after ` => ` how its answer ended. All of them were made up for this; none is anybody's.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from svc.labelled import SessionItem, session_item

WRITTEN = "written:"
"""How the names of written sessions begin."""
_FOLDER = Path(__file__).parent / "sessions"
_LINE = re.compile(r"([#-])(\d+) (.+?)(?: \| (.*?))?(?: =>(?: (.*))?)?")
_START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def written_sessions() -> list[SessionItem]:
    """All of them, in the order of the files and of the lines."""
    texts = [text for path in sorted(_FOLDER.glob("*.txt")) for text in path.read_text("utf-8").strip().split("\n\n")]
    return [
        # Every third as an agent tells it that does not name its files.
        _session(f"{WRITTEN}{place}", text.splitlines(), paths=place % 3 != 2)
        for place, text in enumerate(texts)
    ]


def _session(name: str, lines: Sequence[str], *, paths: bool) -> SessionItem:
    """Raises ValueError for a line that is no prompt."""
    turns: list[dict[str, Any]] = []
    starts: list[int] = []
    at = _START
    for place, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"{name}: no prompt: {line}")
        kind, minutes, prompt, work, answer = found.groups()
        at += timedelta(minutes=int(minutes))
        starts += [place] if kind == "#" else []
        turns.append(
            {
                "prompt": prompt.replace("\\n", "\n"),
                "ts": at.isoformat(),
                "tools": [_tool(done, paths=paths) for done in (work or "").split(", ") if done],
                "response_end": answer or "",
            }
        )
    return session_item({"session": name, "turns": turns, "arcs": arcs_between([*starts, len(lines) + 1])})


def _tool(done: str, *, paths: bool) -> str:
    """A tool call as labelled sessions write it."""
    sign, _, rest = done.partition(" ")
    if sign == "$":
        return f"Bash {rest}"
    name, path = ("Read", rest) if sign == "?" else ("Edit", done)
    return f"{name} /srv/{path}" if paths else name


def arcs_between(bounds: Sequence[int]) -> list[dict[str, Any]]:
    """Arcs without a verdict, from each of the turns to the one before the next."""
    return [
        {"start": start, "end": after - 1, "intent": None, "goal_complete": None} for start, after in pairwise(bounds)
    ]
