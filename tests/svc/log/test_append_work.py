"""What a capture costs the log, counted in work and not in time: no more in an old log than in a new one."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID, uuid5

import pytest
import trio
from eventsourcing.sqlite import SQLiteConnection

from aggregates.capture.events import CapturePrompt
from aggregates.decide import decide, touched_streams
from aggregates.event import Context, Digester, Scope
from svc.actors.actors import Streams
from svc.log.codec import Codec
from svc.log.sqlite import SplitDatastore, SqliteRecorder
from svc.log.store import EventStore
from svc.log.vault import FileKeys, Vault

SCOPE = Scope(UUID(int=1), UUID(int=2))
SPACE = UUID(int=3)
NEW, OLD = 100, 6_000
CAPTURES = 40


class Counting(SplitDatastore):
    """Counts the steps of SQLite's machine, reads and writes alike."""

    steps = 0

    @contextmanager
    def get_connection(self, *, commit: bool) -> Iterator[SQLiteConnection]:
        with super().get_connection(commit=commit) as connection:
            raw: sqlite3.Connection = connection._sqlite_conn
            raw.set_progress_handler(self._step, 1)
            yield connection

    def _step(self) -> None:
        self.steps += 1


def capture(part: str, number: int) -> CapturePrompt:
    """Twelve to a session."""
    return CapturePrompt(
        organization_id=SCOPE.organization_id,
        developer_id=SCOPE.developer_id,
        prompt_id=uuid5(SPACE, f"{part} {number}"),
        agent_session_id=f"{part} {number // 12}",
        source="claude-code",
        text="Fix the crash in src/app.py",
        host_prompt_id=f"{part} {number}",
    )


class Log:
    def __init__(self, folder: Path, captures: int) -> None:
        self._file = folder / "events.db"
        self._datastore = Counting(self._file)
        recorder = SqliteRecorder(self._datastore)
        recorder.create_table()
        self.store = EventStore(recorder, Codec(Vault(FileKeys(folder / "keys"))))
        streams = Streams(self.store)
        for first in range(0, captures, 500):
            numbers = range(first, min(first + 500, captures))
            self._append(streams, [("old", number) for number in numbers])

    def _append(self, streams: Streams, named: Sequence[tuple[str, int]]) -> None:
        staged = []
        for part, number in named:
            command = capture(part, number)
            context = Context(1_790_000_000_000_000 + number, Digester(b"key"), redaction=True)
            staged += streams.stage(decide(command, streams.states(touched_streams(command)), context).events)
            streams.adopt()
        self.store.append(staged)

    def work_of_captures(self) -> tuple[int, int]:
        """(steps, bytes written) of captures, each by an actor that knows nothing yet."""
        assert self.store.sweep()
        self._datastore.steps = 0
        for number in range(CAPTURES):
            streams = Streams(self.store)
            trio.run(streams.load, touched_streams(capture("new", number)))
            self._append(streams, [("new", number)])
        return self._datastore.steps, self._file.with_name("events.db-wal").stat().st_size


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Log, Log]]:
    new, old = Log(tmp_path_factory.mktemp("new"), NEW), Log(tmp_path_factory.mktemp("old"), OLD)
    with closing(new.store), closing(old.store):
        yield new, old


def test_a_capture_costs_an_old_log_what_it_costs_a_new_one(logs: tuple[Log, Log]) -> None:
    """Sixty times as many events lie before it; it takes as many steps and pages."""
    (new_steps, new_bytes), (old_steps, old_bytes) = (log.work_of_captures() for log in logs)

    assert new_steps > CAPTURES
    assert old_steps == new_steps
    assert old_bytes <= new_bytes * 1.3
