"""Backfills over the real store: worked through piece by piece, gone on with after a restart, changing no figure."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import trio
from eventsourcing.persistence import OperationalError, StoredEvent

from aggregates.capture.commands import CapturePrompt
from aggregates.command import Refused
from aggregates.event import Scope
from aggregates.people.records import Membership
from aggregates.reports.backfill import Backfill, StartBackfill
from aggregates.reports.events import BackfillAdvanced, BackfillCompleted
from projections.facts.repricing import next_piece
from svc.app import open_service
from svc.jobs import backfills
from svc.log.folder import FixedClock
from svc.log.sqlite import SqliteRecorder
from svc.service import RunningService
from svc.serving import initialize
from svc.settings import Settings
from svc.views.replay import digests
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY

SESSIONS = 25
SECONDS_MAX = 30


class Office:
    """A service with some sub-sessions, a minute apart."""

    def __init__(self, service: RunningService, scope: Scope) -> None:
        self.service = service
        self.scope = scope

    async def works(self) -> None:
        """Each prompt opens a sub-session of its own."""
        for number in range(SESSIONS):
            prompt = CapturePrompt(
                organization_id=self.scope.organization_id,
                developer_id=self.scope.developer_id,
                prompt_id=UUID(int=number),
                agent_session_id=f"session-{number}",
                source="claude-code",
                text=f"Fix src/a{number}.py and run pytest",
                submitted_at_us=MONDAY + number * MINUTE,
            )
            await self.service.send(prompt)
        await self.level()

    async def level(self) -> None:
        """The views hold everything."""
        await self.service.projector.wait_for(self.service.store.head())

    async def asks(self) -> Backfill:
        """For all of the day."""
        command = StartBackfill(
            backfill_id=uuid4(),
            organization_id=self.scope.organization_id,
            developer_id=None,
            from_us=MONDAY - HOUR,
            to_us=MONDAY + DAY,
            sub_sessions=SESSIONS,
        )
        reply = await self.service.start_backfill(command)
        assert not isinstance(reply, Refused)
        return reply

    async def comes_to(self, done: int) -> Backfill:
        """The newest, once so many are done."""
        while (found := self.service.backfills()[0]).done < done:
            await trio.lowlevel.checkpoint()
        return found

    def pieces(self) -> list[BackfillAdvanced]:
        """As the log has them."""
        events = [each.event for each in self.service.store.read_topics([BackfillAdvanced.TOPIC])]
        return [event for event in events if isinstance(event, BackfillAdvanced)]

    async def tables(self) -> dict[str, str]:
        """A digest of each table of conclusions."""
        await self.level()
        found = await self.service.read_all(lambda reader: digests(reader.db))
        return {name: digest for name, digest in found.items() if name != "bookmark"}


@asynccontextmanager
async def office(var: Path) -> AsyncIterator[Office]:
    """A service over a folder, which is set up where it is new."""
    with trio.fail_after(SECONDS_MAX):
        async with open_service(Settings(var=str(var)), clock=FixedClock(MONDAY + DAY)) as service:
            made = await initialize(service, var)
            (membership,) = service.directory.all(Membership)
            scope = Scope(membership.organization_id, membership.developer_id)
            found = Office(service, scope)
            if made is not None:
                await found.works()
            yield found


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten at a time, without a pause."""
    monkeypatch.setattr(backfills, "BACKFILL_PIECE_SUB_SESSIONS", 10)
    monkeypatch.setattr(backfills, "BACKFILL_PAUSE_SECONDS", 0.0)


async def test_every_sub_session_is_judged_again_once_and_nothing_changes(tmp_path: Path) -> None:
    """The same facts under the same rules give the same tables; the log says how far it came."""
    async with office(tmp_path / "var") as house:
        before = await house.tables()
        await house.asks()
        done = await house.comes_to(SESSIONS)
        assert (done.completed, done.done) == (True, SESSIONS)
        assert [piece.sub_sessions for piece in house.pieces()] == [10, 10, 5]
        assert await house.tables() == before
        assert (await house.service.read_all(lambda r: r.db.execute("SELECT count(*) FROM failed").fetchone())) == (0,)


async def test_what_was_damaged_is_made_whole(tmp_path: Path) -> None:
    """A verdict that stands wrong in the tables, for whatever reason, is judged anew; that of another day is not."""
    async with office(tmp_path / "var") as house:
        before = await house.tables()
        (path,) = (tmp_path / "var").glob("views-*.db")
        await trio.to_thread.run_sync(_spoil, path)
        assert await house.tables() != before
        await house.asks()
        await house.comes_to(SESSIONS)
        assert await house.tables() == before


def _spoil(path: Path) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE sub_sessions SET earned = 0, intent = 'plan', goal_complete = 1 - goal_complete")
    db.close()


async def test_a_restart_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No piece is done twice, and none is left out."""
    monkeypatch.setattr(backfills, "BACKFILL_PAUSE_SECONDS", 3600.0)
    async with office(tmp_path / "var") as house:
        begun = await house.asks()
        await house.comes_to(10)
        assert len(house.pieces()) == 1
    monkeypatch.setattr(backfills, "BACKFILL_PAUSE_SECONDS", 0.0)
    async with office(tmp_path / "var") as house:
        done = await house.comes_to(SESSIONS)
        assert (done.backfill_id, done.completed) == (begun.backfill_id, True)
        pieces = house.pieces()
        assert [piece.to_us for piece in pieces[:-1]] == [piece.from_us for piece in pieces[1:]]
        assert (pieces[0].from_us, pieces[-1].to_us) == (begun.from_us, begun.to_us)
        assert sum(piece.sub_sessions for piece in pieces) == SESSIONS
        assert len(house.service.store.read_topics([BackfillCompleted.TOPIC])) == 1
    async with office(tmp_path / "var") as house:
        await house.asks()
        assert len(house.service.backfills()) == 2, "it is over, so another one may begin"


async def test_a_piece_that_was_written_although_the_disk_said_otherwise_is_not_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its place in the stream would be taken, and the backfill would stand still until a restart."""
    insert, lied = SqliteRecorder.insert_events, list[bool]()

    def lying(self: SqliteRecorder, stored_events: Sequence[StoredEvent], **options: Any) -> Sequence[int] | None:
        positions = insert(self, stored_events, **options)
        if not lied and any(event.topic == BackfillAdvanced.TOPIC for event in stored_events):
            lied.append(True)
            raise OperationalError("disk I/O error")
        return positions

    monkeypatch.setattr(SqliteRecorder, "insert_events", lying)
    async with office(tmp_path / "var") as house:
        await house.asks()
        done = await house.comes_to(SESSIONS)
        assert (lied, done.completed) == ([True], True)
        assert sum(piece.sub_sessions for piece in house.pieces()) == SESSIONS


async def test_a_piece_ends_where_the_next_sub_session_starts(tmp_path: Path) -> None:
    """And the last one at the end of the range."""
    async with office(tmp_path / "var") as house:
        owner = house.scope.organization_id
        piece = await house.service.read_all(lambda r: next_piece(r, owner, None, MONDAY, MONDAY + DAY, 10))
        assert (piece.to_us, piece.sub_sessions) == (MONDAY + 10 * MINUTE, 10)
        last = await house.service.read_all(lambda r: next_piece(r, owner, None, piece.to_us, MONDAY + DAY, 50))
        assert (last.to_us, last.sub_sessions) == (MONDAY + DAY, SESSIONS - 10)
