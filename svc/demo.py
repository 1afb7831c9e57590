"""The bundled sample: about a month of two imaginary developers, as transcripts in the agent's own format.

Ana says what she wants, where, and how to check it. Ben types less and comes back more often.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from importlib import resources
from pathlib import Path

import msgspec

from svc.demo_transcript import Lines, Script, Transcript

DEVELOPERS = {"Ana": "ana", "Ben": "ben"}
"""Display name → the name of their scripts."""
_SETTLED = timedelta(minutes=45)
"""Sessions end so long before now, where the week is old enough: by then they are settled and judged."""
_BETWEEN = timedelta(minutes=12)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Scripts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    session: list[Script]


def write_transcripts(folder: Path, today: date, *, now_us: int) -> dict[str, Path]:
    """Write the sample transcripts, dated relative to `today`, into a folder; developer → their folder.

    The same `today` and `now_us` (microseconds since 1970, UTC) give the same bytes. No line is later than
    `now_us`, and the current week (from Monday, UTC) has sessions however young it is.
    """
    now = _EPOCH + timedelta(microseconds=now_us)
    monday = datetime.combine(today - timedelta(days=today.weekday()), time(), tzinfo=UTC)
    folders: dict[str, Path] = {}
    for developer, scripts in DEVELOPERS.items():
        folders[developer] = folder / scripts
        for transcript in _played(scripts, read_scripts(scripts), monday, now):
            _write(folders[developer], transcript)
    return folders


def read_scripts(name: str) -> Sequence[Script]:
    """The hand-written sessions of one developer, in the order of their time."""
    data = resources.files("svc").joinpath("demo_sessions", f"{name}.toml").read_bytes()
    scripts = msgspec.toml.decode(data, type=_Scripts).session
    return sorted(scripts, key=lambda script: (script.week, script.day, script.time))


def _played(name: str, scripts: Sequence[Script], monday: datetime, now: datetime) -> list[Transcript]:
    latest = now - _SETTLED if now - _SETTLED > monday + _SETTLED else max(monday, now - timedelta(seconds=1))
    ids = [f"{name}/{monday.date()}/{index}" for index in range(len(scripts))]
    planned = [
        Transcript(name, session_id, script, _planned(script, monday))
        for session_id, script in zip(ids, scripts, strict=True)
    ]
    late = [index for index, transcript in enumerate(planned) if transcript.end > latest]
    free_from = max([monday, *(each.end for each in planned if each.end <= latest)])
    spans = [planned[index].end - _planned(scripts[index], monday) + _BETWEEN for index in late]
    room = max(latest - free_from, timedelta(0))
    pace = min(1.0, room / sum(spans, timedelta(0))) if late else 1.0
    start = latest - sum(spans, timedelta(0)) * pace
    for index, span in zip(late, spans, strict=True):
        planned[index] = Transcript(name, ids[index], scripts[index], start, pace)
        start += span * pace
    return planned


def _planned(script: Script, monday: datetime) -> datetime:
    hours, minutes = script.time.split(":")
    day = timedelta(weeks=script.week, days=script.day)
    return monday + day + timedelta(hours=int(hours), minutes=int(minutes))


def _write(folder: Path, transcript: Transcript) -> None:
    cwd = str(transcript.lines[0]["cwd"])
    project = folder / "projects" / cwd.replace("/", "-")
    _write_lines(project / f"{transcript.session_id}.jsonl", transcript.lines)
    for agent_id, lines in transcript.sub_agents.items():
        _write_lines(project / transcript.session_id / "subagents" / f"agent-{agent_id}.jsonl", lines)


def _write_lines(file: Path, lines: Lines) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
