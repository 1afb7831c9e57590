"""The bundled sample transcripts."""

import html
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

import httpx
import pytest

from aggregates.telemetry.draft import Exchange
from svc.cli.demo import write_transcripts
from svc.importing.claude_code import TranscriptReader
from svc.importing.exchange import Memory
from svc_http.pages.words import HABITS
from tests.support.process import environment

PAGES = ("", "goals", "habits", "cost")
FIGURES = (
    r"(\d+ of \d+ decided goals reached; \d+ undecided: the rate may be \d+–\d+ %(?: "
    r"\(too few goals to tell more\))?\.)"
    r".*: (\$[\d.]+) for \d+ goals\..* (\d+) goals of the last 30 days: (\d+) reached, (\d+) undecided"
)
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


def test_it_is_a_few_weeks_of_two_developers(tmp_path: Path) -> None:
    """Twenty to thirty sessions over four weeks, in two projects, with two models."""
    folders = written(tmp_path)
    assert list(folders) == ["Ana", "Ben"]
    found = exchanges(tmp_path)
    sessions = {exchange.agent_session_id for exchange in found}
    assert 20 <= len(sessions) <= 30
    weeks = {(microseconds(MONDAY) - exchange.last_us) // (7 * 86_400_000_000) for exchange in found}
    assert weeks == {-1, 0, 1, 2}
    records = [draft.record for exchange in found for draft in exchange.drafts]
    assert len({record.model for record in records} - {None}) == 2
    assert len({exchange.prompt.cwd for exchange in found if exchange.prompt}) == 4
    assert {record.ok for record in records if record.tool == "Bash"} == {True, False, None}
    kinds = {record.kind for record in records}
    assert {"request", "error", "tool", "rejection", "interruption", "session_start", "subagent"} <= kinds
    assert all(exchange.finished for exchange in found)


@pytest.mark.parametrize("hours", [2, 8, 34.1, 60, 167])
def test_each_developer_has_three_sessions_in_a_week_of_so_many_hours(tmp_path: Path, hours: float) -> None:
    """They end long enough before now to be judged."""
    now = MONDAY + timedelta(hours=hours)
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


def _words(page: str) -> str:
    shown = re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(shown).split())


def _looked_at(demo: "subprocess.Popen[str]") -> tuple[str, list[str]]:
    """What it prints up to its links, and the pages behind the first of them, which works once."""
    told = ""
    while "\nBen  http" not in told:
        line = demo.stdout.readline() if demo.stdout else ""
        assert line, "it ended before its links"
        told += line
    api, token = re.findall(r"^Ana  (\S+)/open/(\S+)$", told, re.MULTILINE)[0]
    with httpx.Client(base_url=api, headers={"Origin": api}) as browser:
        opened = [browser.post(f"/open/{token}").status_code for _ in range(2)]
        pages = [_words(browser.get(f"/{name}").text) for name in PAGES]
    assert (opened[0] < 400, opened[1] >= 400) == (True, True)
    return told, pages


@pytest.mark.process
def test_it_prints_what_its_pages_show_and_links_to_them() -> None:
    """The verdict, the cost, the counts and the rate of each habit; a link signs its developer in once."""
    command = [sys.executable, "-m", "svc", "demo", "--keep"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as demo:
        try:
            told, pages = _looked_at(demo)
        finally:
            demo.terminate()
    assert demo.returncode == 0
    home, goals, habits, cost = pages
    ana = " ".join(told.partition("Ben")[0].split())
    verdict, spent, begun, reached, undecided = re.findall(FIGURES, ana)[0]
    assert verdict in home
    assert (f"Cost {spent}" in home, f"{spent}" in cost) == (True, True)
    assert f"all {begun} reached {reached} undecided {undecided}" in goals
    rates = re.findall(r"about \d+ % of \d+", ana)
    assert len(rates) == len(HABITS)
    assert [each for each in rates if each not in habits] == []
