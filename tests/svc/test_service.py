"""The service without listeners, over a real folder: what was acknowledged is seen, and time settles things."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from aggregates.capture.events import CapturePrompt, CaptureRecords
from aggregates.event import Done, Scope, Unavailable
from aggregates.people.acts import ChangeDeveloper, PeopleAct
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Key
from aggregates.records.record import Record
from projections.sub_sessions.listing import RealtimeRow, realtime
from svc.actors.actors import AHEAD_EVENTS_MAX, Actors
from svc.service import HEALTH_KEPT_SECONDS, KEY_USES_SECONDS, RunningService, open_service
from svc.serving import initialize
from svc.settings import Settings
from svc.views.projector import Ticker
from tests.support.memory import FixedClock

NOW_US = 1_780_000_000 * 1_000_000
MINUTE_US = 60 * 1_000_000


class Running:
    """A service, its one developer, and a clock that only the test moves."""

    def __init__(self, service: RunningService, scope: Scope, clock: FixedClock) -> None:
        self.service = service
        self.scope = scope
        self.clock = clock

    async def prompt(self, text: str = "Fix src/a.py and run pytest", session: str = "s1") -> None:
        reply = await self.service.send(
            CapturePrompt(
                organization_id=self.scope.organization_id,
                developer_id=self.scope.developer_id,
                prompt_id=uuid4(),
                agent_session_id=session,
                source="claude-code",
                text=text,
            )
        )
        assert isinstance(reply, Done)

    async def edit(self, session: str = "s1") -> None:
        record = Record(record_id="r1", at_us=self.clock.now_us(), kind="tool", tool="Edit", ok=True, lines_added=20)
        await self.service.send(
            CaptureRecords(
                organization_id=self.scope.organization_id,
                developer_id=self.scope.developer_id,
                agent_session_id=session,
                source="claude-code",
                decoder_version=1,
                records=(record,),
                words="",
            )
        )

    async def rows(self) -> list[RealtimeRow]:
        return await self.service.read(self.scope, realtime, 50, 0, None, None)

    def ticker(self) -> Ticker:
        return Ticker(self.service.journal, self.service.projector, self.clock.now_us)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    clock = FixedClock(NOW_US)
    async with open_service(Settings(var=str(tmp_path / "var")), clock=clock) as service:
        made = await initialize(service, tmp_path / "var")
        assert made is not None
        yield Running(service, Scope(made.organization_id, made.developer_id), clock)


async def test_a_read_is_never_behind_its_callers_own_writes(running: Running) -> None:
    """Twenty captures, each followed at once by a read that shows it."""
    for number in range(1, 21):
        await running.prompt(session=f"s{number}")
        assert len(await running.rows()) == number


async def test_an_address_that_is_not_ascii_is_told_by_the_status(running: Running) -> None:
    changed = ChangeDeveloper(received_at_us=NOW_US, developer_id=running.scope.developer_id, email="kim@straße.de")
    running.service.directory.apply(running.scope.developer_id, changed)
    assert [each.unusable_email for each in (await running.service.status()).developers] == ["kim@straße.de"]


async def test_half_an_hour_of_silence_settles_and_is_a_fact(running: Running) -> None:
    """Before it is due nothing is said; then it is said once, and what was a preview is judged."""
    await running.prompt()
    await running.edit()
    assert [row.is_preview for row in await running.rows()] == [True]
    assert await running.ticker().poll() is False
    running.clock.advance(31 * MINUTE_US)
    assert await running.ticker().poll() is True
    with trio.fail_after(5):
        await running.service.projector.wait_for(running.service.store.head())
    assert [row.is_preview for row in await running.rows()] == [False]
    assert await running.ticker().poll() is False


async def test_activity_after_the_silence_opens_the_same_goal_again(running: Running) -> None:
    """Settled is not closed: the next prompt that continues makes it a preview again, under the same id."""
    await running.prompt()
    await running.edit()
    await running.rows()
    running.clock.advance(31 * MINUTE_US)
    assert await running.ticker().poll() is True
    await running.service.projector.wait_for(running.service.store.head())
    settled = (await running.rows())[0]
    await running.prompt("no, that is still wrong, try again")
    again = (await running.rows())[0]
    assert (settled.is_preview, again.is_preview) == (False, True)
    assert (again.sub_session_id, again.turns) == (settled.sub_session_id, 2)


async def test_health_checks_share_a_write_each_second(
    running: Running, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    """A store that cannot be written is looked at each time: it may work again."""
    outcomes = [True, False, False, True]
    looks: list[bool] = []

    async def probe() -> bool:
        looks.append(outcomes[len(looks)])
        return looks[-1]

    monkeypatch.setattr(running.service.journal, "probe", probe)
    asked = [await running.service.store_is_writable() for _ in range(10)]
    assert (asked, looks) == ([True] * 10, [True])
    mock_clock.jump(HEALTH_KEPT_SECONDS)
    assert [await running.service.store_is_writable() for _ in range(4)] == [False, False, True, True]
    assert looks == outcomes


async def test_one_who_is_far_ahead_of_the_views_waits_for_them_beside_others(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Actors, "are_alone", False)
    await running.service.projector.wait_for(running.service.journal.head)
    for number in range(2 * AHEAD_EVENTS_MAX):
        await running.prompt(session=f"s{number}")
        lag = running.service.journal.head - running.service.projector.position
        assert lag <= AHEAD_EVENTS_MAX + 3  # what one capture adds to it
    monkeypatch.undo()
    assert running.service.actors.are_alone, "who sends alone need not wait: nobody else looks"


async def test_the_day_of_a_keys_use_is_written_once_and_later_where_it_cannot_be_now(
    running: Running, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    service, tried = running.service, list[PeopleAct]()
    administer, answered = service.administer, trio.Event()

    async def tries(command: PeopleAct) -> PeopleReply:
        tried.append(command)
        try:
            if len(tried) == 1:
                raise Unavailable("the disk is full")
            return await administer(command)
        finally:
            answered.set()

    monkeypatch.setattr(service, "administer", tries)
    (key,) = service.directory.all(Key)
    for _ in range(3):
        service.uses.note(key.id, running.clock.now_us())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(service.note_uses)
        for _ in range(2):
            await wait_all_tasks_blocked()
            answered = trio.Event()
            mock_clock.jump(KEY_USES_SECONDS)
            await answered.wait()
        await wait_all_tasks_blocked()
        mock_clock.jump(KEY_USES_SECONDS)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    (known,) = service.directory.all(Key)
    assert (known.last_used_on, len(tried)) == ("2026-05-28", 2)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells which files a process has open")
async def test_a_service_that_ends_by_an_error_leaves_no_file_open(tmp_path: Path) -> None:
    settings = Settings(var=str(tmp_path / "var"))
    with pytest.RaisesGroup(ValueError):
        async with open_service(settings):
            assert any(path.name.startswith("views-") for path in _open_files(tmp_path))
            raise ValueError
    assert _open_files(tmp_path) == []


def _open_files(folder: Path) -> list[Path]:
    links = (each for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return [path for path in (each.readlink() for each in links) if path.is_relative_to(folder)]
