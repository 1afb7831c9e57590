"""A long replay has its log read by a second process: the tables are the same, whatever that process meets."""

import sqlite3
from pathlib import Path

import pytest

from aggregates.event import Event
from projections.facts.facts import Batch
from svc.log.sqlite import EVENTS_FILE, open_log
from svc.views import replay as building
from svc.views.replay import batches_ahead, build_views, digests
from tests.support.facts import MINUTE, MONDAY, Log, request, shell
from tests.support.log import new

BATCH_EVENTS = 3


def _facts() -> list[Event]:
    """Prices before and after a request, neighbours that are alike, and a time that no column takes."""
    log = Log()
    log.prompt("s1", "Fix the crash in src/parser.py when the input is empty, please", MONDAY)
    log.publishes(1)
    log.records("s1", request(MONDAY + 1, model="claude-sonnet-4-5"), shell(MONDAY + 2, "pytest -q"))
    log.prompt("s1", "Fix the crash in src/parser.py when the input is empty, please!", MONDAY + MINUTE // 2)
    log.lines("s1", MONDAY + MINUTE, 3.0, start_us=2**63)
    log.publishes(2, input_dollars=6)
    log.records("s1", request(MONDAY + 2 * MINUTE, model="claude-sonnet-4-5"))
    log.prompt("s1", "Now write the tests for it", MONDAY + 3 * MINUTE)
    log.records("s1", request(MONDAY + 4 * MINUTE, model="claude-sonnet-4-5"))
    return [fact.event for fact in log.facts]


@pytest.fixture
def var(tmp_path: Path) -> Path:
    """A folder with a log of these facts."""
    store, _ = open_log(tmp_path)
    for number, event in enumerate(_facts()):
        store.append([new(f"stream {number}", event=event)])
    store.close()
    return tmp_path


def _read(var: Path) -> list[Batch]:
    with batches_ahead(var, BATCH_EVENTS, len(_facts())) as batches:
        return list(batches)


def _built(var: Path, path: Path) -> dict[str, str]:
    build_views(var, path, BATCH_EVENTS, None)
    db = sqlite3.connect(path)
    try:
        assert db.execute("SELECT count(*) FROM requests").fetchone() == (3,)
        (reason,) = db.execute("SELECT reason FROM failed WHERE position = 6").fetchone()
        assert reason.startswith("OverflowError")
        return digests(db)
    finally:
        db.close()


def test_the_tables_are_those_of_one_process(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices, failures and likeness are the same, though the facts of a batch are not at hand where it is stored."""
    alone = _built(var, var / "alone.db")
    monkeypatch.setattr(building, "READ_AHEAD_EVENTS_MIN", 1)
    assert _built(var, var / "ahead.db") == alone


def test_what_cannot_be_read_is_left_to_the_builder(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch with the corrupt event is not told, nor anything after it; the builder names that event and goes on."""
    with sqlite3.connect(var / EVENTS_FILE) as log:
        log.execute("UPDATE stored_events SET state = x'00' WHERE rowid = 9")
    assert [batch.position for batch in _read(var)] == [3, 6]
    alone = _built(var, var / "alone.db")
    monkeypatch.setattr(building, "READ_AHEAD_EVENTS_MIN", 1)
    assert _built(var, var / "ahead.db") == alone
