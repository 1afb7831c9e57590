"""The bundled sample transcripts."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

import pytest

from aggregates.records.record import Record
from aggregates.telemetry.draft import Exchange
from svc.cli.demo import write_transcripts
from svc.importing.claude_code import TranscriptReader
from svc.importing.exchange import Memory

WEDNESDAY_NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000)


def written(folder: Path, now: datetime = WEDNESDAY_NOON) -> dict[str, Path]:
    return write_transcripts(folder, now_us=microseconds(now))


def exchanges(folder: Path) -> list[Exchange]:
    """Every exchange under a folder; no line is torn."""
    seen, found = Memory(), []
    for file in sorted(folder.rglob("*.jsonl"), key=lambda file: file.name.startswith("agent-")):
        reader = TranscriptReader(file, file.name, seen)
        with file.open("rb") as lines:
            found += list(reader.read(lines))
        assert reader.torn == []
    return found


def in_time(found: list[Exchange]) -> list[str]:
    """The sessions of exchanges as they follow each other."""
    ordered = sorted(found, key=lambda each: each.last_us)
    return [session for session, _ in groupby(ordered, lambda each: each.agent_session_id)]


def records(folder: Path) -> list[Record]:
    return [draft.record for exchange in exchanges(folder) for draft in exchange.drafts]


def test_it_is_a_few_weeks_of_two_developers(tmp_path: Path) -> None:
    """Twenty to thirty sessions over four weeks, in two projects, with two models."""
    folders = written(tmp_path)
    assert list(folders) == ["Ana", "Ben"]
    found = exchanges(tmp_path)
    sessions = {exchange.agent_session_id for exchange in found}
    assert 20 <= len(sessions) <= 30
    weeks = {(microseconds(MONDAY) - exchange.last_us) // (7 * 86_400_000_000) for exchange in found}
    assert weeks == {-1, 0, 1, 2}
    assert len({record.model for record in records(tmp_path)} - {None}) == 2
    assert len({exchange.prompt.cwd for exchange in found if exchange.prompt}) == 4


def test_it_holds_everything_that_can_happen(tmp_path: Path) -> None:
    """Failed and passed checks, commits, a refusal, an interruption, an API error, a sub-agent, a clear."""
    written(tmp_path)
    kinds = Counter(record.kind for record in records(tmp_path))
    assert {"request", "error", "tool", "rejection", "interruption", "session_start", "subagent"} <= set(kinds)
    commands = [draft.command or "" for exchange in exchanges(tmp_path) for draft in exchange.drafts]
    for expected in ("pytest", "npm test", "git commit", "gh pr create", "git revert", "git checkout --"):
        assert any(expected in command for command in commands)
    outcomes = {record.ok for record in records(tmp_path) if record.tool == "Bash"}
    assert outcomes == {True, False, None}
    assert {record.source for record in records(tmp_path) if record.kind == "session_start"} == {
        "startup",
        "clear",
    }
    prompts = [exchange.prompt.text for exchange in exchanges(tmp_path) if exchange.prompt]
    assert {"/clear", "! git status"} <= set(prompts)
    assert all(exchange.finished for exchange in exchanges(tmp_path))


def test_the_same_moment_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.jsonl"))
    assert files
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize(
    "now",
    [
        MONDAY + timedelta(hours=2),
        MONDAY + timedelta(hours=8),
        MONDAY + timedelta(days=1, hours=10, minutes=6),
        MONDAY + timedelta(days=2, hours=12),
        MONDAY + timedelta(days=6, hours=23),
    ],
    ids=["monday night", "monday morning", "tuesday", "wednesday", "sunday"],
)
def test_each_developer_has_three_sessions_in_a_week_of_two_hours(tmp_path: Path, now: datetime) -> None:
    """They end long enough before now to be judged."""
    for folder in written(tmp_path, now).values():
        found = exchanges(folder)
        assert len({each.agent_session_id for each in found if each.last_us >= microseconds(MONDAY)}) == 3
        assert microseconds(now) - max(each.last_us for each in found) >= 30 * 60 * 1_000_000


def test_sessions_that_are_moved_stay_apart_and_in_their_order(tmp_path: Path) -> None:
    """Just after midnight all of the last week lies in the week before."""
    moved = exchanges(written(tmp_path / "moved", MONDAY + timedelta(minutes=1))["Ben"])
    planned = exchanges(written(tmp_path / "planned", MONDAY + timedelta(days=6))["Ben"])
    assert max(each.last_us for each in moved) < microseconds(MONDAY)
    assert in_time(moved) == in_time(planned)
