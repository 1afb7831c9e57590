"""The service without listeners, over a real folder: what was acknowledged is seen, and time settles things."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import trio
import trio.testing
from msgspec import structs
from trio.testing import MockClock, wait_all_tasks_blocked

from aggregates.capture.events import RecordsCaptured
from aggregates.event import Scope, Unavailable, Words
from aggregates.people.acts import ChangeDeveloper, PeopleAct
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Key
from aggregates.records.record import Record
from aggregates.times import Window
from projections.sub_sessions.listing import SubSession, realtime
from projections.telemetry.records import page
from svc.actors.actors import AHEAD_EVENTS_MAX
from svc.service import HEALTH_KEPT_SECONDS, KEY_USES_SECONDS, open_service
from svc.settings import Settings
from svc.views.projector import Ticker
from svc.views.views import POINTER
from tests.support.household import Household, household
from tests.support.otlp import claude, logs, taken

TEXT = "Fix src/a.py and run pytest"
MINUTE_US = 60 * 1_000_000


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Household]:
    async with household(tmp_path / "var") as made:
        yield made


async def edit(house: Household) -> None:
    at_us = house.clock.now_us()
    record = Record(record_id="r1", at_us=at_us, kind="tool", tool="Edit", ok=True, lines_added=20)
    owner = structs.asdict(house.owner) | {"agent_session_id": "s1", "source": "claude-code"}
    await house.service.send(RecordsCaptured(**owner, decoder_version=1, records=(record,), words=Words("")))


async def rows(house: Household) -> list[SubSession]:
    return await house.service.read(house.owner, realtime, 50, 0, None, None)


def ticker(house: Household) -> Ticker:
    return Ticker(house.service.journal, house.service.projector, house.clock.now_us)


async def test_a_read_is_never_behind_its_callers_own_writes(house: Household) -> None:
    for number in range(1, 21):
        await house.prompt(TEXT, session=f"s{number}")
        assert len(await rows(house)) == number


async def test_telemetry_of_an_older_decoder_is_read_anew(house: Household) -> None:
    """What it had not understood in an export is in the tables, and in what is read of the log for them."""
    (made,) = taken(logs(claude("api_request", {"input_tokens": 5}), claude("user_prompt", {"prompt": TEXT}))).commands
    assert isinstance(made, RecordsCaptured)
    bare = tuple(structs.replace(each, kind="other", input_tokens=None, text=None) for each in made.records)
    older = structs.replace(made, **structs.asdict(house.owner), decoder_version=1, records=bare, words=Words(""))
    await house.service.send(older)
    found = await house.service.read(house.owner, page, "logs", Window(0, 2**62), 9, 0)
    assert [each.input_tokens for each in found.records if each.event_name == "api_request"] == [5]
    assert [row.title for row in await rows(house)] == [TEXT]


async def test_an_address_that_is_not_ascii_is_told_by_the_status(house: Household) -> None:
    changed = ChangeDeveloper(received_at_us=1, developer_id=house.owner.developer_id, email="kim@straße.de")
    house.service.directory.apply(house.owner.developer_id, changed)
    assert "kim@straße.de" in [each.unusable_email for each in (await house.service.status()).developers]


async def test_half_an_hour_of_silence_settles_and_is_a_fact(house: Household) -> None:
    """Said once, when it is due, and judged; the next prompt that continues opens the same goal again."""
    await house.prompt(TEXT)
    await edit(house)
    assert [row.is_preview for row in await rows(house)] == [True]
    assert await ticker(house).poll() is False
    house.clock.advance(31 * MINUTE_US)
    assert await ticker(house).poll() is True
    with trio.fail_after(5):
        await house.service.projector.wait_for(house.service.store.head())
    (settled,) = await rows(house)
    assert await ticker(house).poll() is False
    await house.prompt("no, that is still wrong, try again")
    (again,) = await rows(house)
    assert (settled.is_preview, again.is_preview) == (False, True)
    assert (again.sub_session_id, again.turns) == (settled.sub_session_id, 2)


async def test_health_checks_share_a_write_each_second(
    house: Household, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    """A store that cannot be written is looked at each time: it may work again."""
    outcomes = [True, False, False, True]
    looks: list[bool] = []

    async def probe() -> bool:
        looks.append(outcomes[len(looks)])
        return looks[-1]

    monkeypatch.setattr(house.service.journal, "probe", probe)
    asked = [await house.service.store_is_writable() for _ in range(10)]
    assert (asked, looks) == ([True] * 10, [True])
    mock_clock.jump(HEALTH_KEPT_SECONDS)
    assert [await house.service.store_is_writable() for _ in range(4)] == [False, False, True, True]
    assert looks == outcomes


async def test_one_who_is_far_ahead_of_the_views_waits_for_them_beside_others(house: Household) -> None:
    await house.prompt(TEXT, house.other, "theirs")
    await house.level()
    for number in range(2 * AHEAD_EVENTS_MAX):
        await house.prompt(TEXT, session=f"s{number}")
        lag = house.service.journal.head - house.service.projector.position
        assert lag <= AHEAD_EVENTS_MAX + 3  # what one capture adds to it


async def test_the_day_of_a_keys_use_is_written_once_and_later_where_it_cannot_be_now(
    house: Household, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    service, tried = house.service, list[PeopleAct]()
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
        service.uses.note(key.id, house.clock.now_us())
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


@pytest.fixture
async def reopened(tmp_path: Path) -> AsyncIterator[Household]:
    """With a prompt in it, started again over tables that are built anew: whoever looks at once sees all of it."""
    async with household(tmp_path / "var") as first:
        await first.prompt("Fix src/a.py")
    (tmp_path / "var" / POINTER).unlink()
    async with household(tmp_path / "var") as again:
        assert (await again.service.standing(again.owner)).position == again.service.store.head()
        yield again


async def test_what_is_followed_moves_with_the_log_and_ends_with_the_server(reopened: Household) -> None:
    """A change wakes who waits for it, the same step again does not; after the end nobody waits."""
    service, scope = reopened.service, reopened.owner
    began = await service.standing(scope)
    with trio.move_on_after(0.05) as waited:
        await service.moved(began.steps)
    assert waited.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reopened.prompt, "Fix src/b.py")
        with trio.fail_after(5):
            assert await service.moved(began.steps)
    now = await service.standing(scope)
    assert now.position > began.position
    assert now.changed > began.steps
    assert (await service.standing(Scope(scope.organization_id, uuid4()))).changed == 0

    async def stopped_soon() -> None:
        await trio.testing.wait_all_tasks_blocked(0.01)
        service.stop_following()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stopped_soon)
        with trio.fail_after(5):
            assert not await service.moved(10**6)
    assert not await service.moved(0)


async def test_a_replay_is_a_change_for_everybody(reopened: Household) -> None:
    began = await reopened.service.standing(reopened.owner)
    reopened.service.start_replay()
    with trio.fail_after(10):
        assert await reopened.service.moved(began.steps)
    now = await reopened.service.standing(reopened.owner)
    assert (now.position, now.changed) == (began.position, now.steps)
