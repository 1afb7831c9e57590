"""A reader that goes by positions alone, under writers of their own: what it misses or sees late."""

import subprocess
import sys
import time
from uuid import uuid4

import msgspec
import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from svc.log.postgres import open_recorder

WRITERS = 4
APPEND_EVENTS = 100
STATE = bytes(400)


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    events: int
    missed: int
    out_of_order: int
    gaps: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.events / self.seconds


def follow(store: str, events: int) -> Followed:
    """Read that many events while four processes write them, with conflicts in between."""
    recorder = open_recorder(store)
    start = recorder.max_notification_id() or 0
    each = events // WRITERS
    command = [sys.executable, "-m", "tests.cluster.follower", store, str(each)]
    began = time.perf_counter()
    writers = [subprocess.Popen(command) for _ in range(WRITERS)]
    position, seen, late, gaps = start, 0, 0, 0
    while seen < each * WRITERS:
        rows = recorder.select_after(position, 1_000, 16_000_000)
        for row in rows:
            late += row.id <= position
            gaps += row.id > position + 1
            position, seen = row.id, seen + 1
        if not rows and all(writer.poll() is not None for writer in writers):
            break
    seconds = time.perf_counter() - began
    assert all(writer.wait() == 0 for writer in writers)
    query = "SELECT count(*) AS there FROM {schema}.stored_events WHERE notification_id > %s"
    there = recorder.rows(query, [start])[0]["there"]
    recorder.close()
    return Followed(events=seen, missed=there - seen, out_of_order=late, gaps=gaps, seconds=seconds)


def write(store: str, events: int) -> None:
    """One writer; every twentieth append is refused, as a conflict is."""
    recorder = open_recorder(store)
    written = number = 0
    last: list[StoredEvent] = []
    while written < events:
        number += 1
        batch = [StoredEvent(uuid4(), 1, "time.passed", STATE) for _ in range(min(APPEND_EVENTS, events - written))]
        if number % 20 == 0:
            with pytest.raises(IntegrityError):
                recorder.insert_events([*batch, last[0]])
        recorder.insert_events(batch)
        written, last = written + len(batch), batch
    recorder.close()


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
