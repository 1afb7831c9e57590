"""The bundled sample: about a month of two imaginary developers, as transcripts in Claude Code's own format.

Ana says what she wants, where, and how to check it. Ben types less and comes back more often. Their transcripts were
written for one week, and are dated anew when they are laid down.
"""

from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

DEVELOPERS = {"Ana": "ana", "Ben": "ben"}  # display name → the name of their file in `sessions/`
_MONDAY = datetime(2026, 8, 17, tzinfo=UTC)  # of the last week of the sample
_SETTLED = timedelta(minutes=45)
"""How long before now the last session ends, at the latest: by then it is settled and judged."""
_BETWEEN = timedelta(minutes=12)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Line = dict[str, Any]  # a line of a transcript


def write_transcripts(folder: Path, *, now_us: int) -> dict[str, Path]:
    """Lay the sample down, dated relative to `now_us` (since 1970, UTC); developer → their folder.

    The last week becomes the present one. Its sessions that would lie ahead of now are moved to before now.
    """
    now = _EPOCH + timedelta(microseconds=now_us)
    weeks = timedelta(weeks=(now - _MONDAY) // timedelta(weeks=1))
    for name in DEVELOPERS.values():
        latest = now - _SETTLED
        for session in reversed(_sessions(name)):
            shift = min(weeks, latest - max(map(_time, session)))
            latest = _time(session[0]) + shift - _BETWEEN
            _write(folder / name, session, shift)
    return {developer: folder / name for developer, name in DEVELOPERS.items()}


def _sessions(name: str) -> list[list[Line]]:
    """The sessions of one developer, in the order of their time; a sub-agent's lines stand behind its session's."""
    raw = resources.files(__name__).joinpath("sessions", f"{name}.jsonl").read_bytes()
    lines = map(msgspec.json.decode, raw.splitlines())
    return [list(session) for _, session in groupby(lines, lambda line: line["sessionId"])]


def _write(folder: Path, session: list[Line], shift: timedelta) -> None:
    """A sub-agent has a file of its own beside the session's."""
    folder.mkdir(parents=True, exist_ok=True)
    for agent_id, lines in groupby(session, lambda line: line.get("agentId")):
        name = f"agent-{agent_id}" if agent_id else session[0]["sessionId"]
        dated = [{**line, "timestamp": (_time(line) + shift).isoformat(timespec="milliseconds")} for line in lines]
        (folder / f"{name}.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in dated))


def _time(line: Line) -> datetime:
    return datetime.fromisoformat(line["timestamp"])
