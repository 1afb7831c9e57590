"""Actors decide, append, adopt and reply; nobody else writes, and nothing acknowledged is lost or doubled."""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import structlog
import trio
from eventsourcing.persistence import OperationalError, StoredEvent
from msgspec.structs import asdict
from trio.testing import MockClock, wait_all_tasks_blocked

from aggregates.capture.events import (
    CapturePrompt,
    CaptureResponse,
    ForeignSessionAttempted,
    PromptCaptured,
    ResponseContent,
    SessionClaimed,
)
from aggregates.decide import AnyCommand
from aggregates.event import Command, Decision, Done, Mendable, NewEvent, Reason, Refused, Scope
from aggregates.ids import prompt_stream
from aggregates.people.acts import ChangeMembership, CreateOrganization, StartMembership
from aggregates.people.directory import Organization
from aggregates.people.entry import Budgets
from svc.actors.actors import (
    ACTOR_BATCH_BYTES_MAX,
    ACTOR_IDLE_SECONDS,
    DECIDE_INLINE_BYTES_MAX,
    FLIGHT_BYTES_MAX,
    MAILBOX_COMMANDS_MAX,
    ActorContext,
    Actors,
)
from svc.actors.administration import Administration
from svc.log.codec import Codec, CorruptEvent
from svc.log.journal import JOURNAL_PROBE_INTERVAL_S, Busy, Journal
from svc.log.sqlite import EVENTS_FILE
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import FileKeys, Vault
from svc.maintenance.verify import verify
from svc.process import Place
from svc.service import open_service
from svc.serving import initialize
from svc.settings import Settings
from svc_http import ports as lane
from tests.support.basics import FixedClock, MemoryKeys, MemoryRecorder, open_memory_store, why
from tests.support.facts import ANA, BEN
from tests.support.household import damage, household, no_progress
from tests.svc.test_service import TEXT

EVENT = UUID(int=7)


class House:
    """Actors over a log in memory; time and threads are the test's own."""

    def __init__(self, nursery: trio.Nursery, recorder: MemoryRecorder | None = None) -> None:
        vault = Vault(MemoryKeys())
        self.store: EventStore = open_memory_store(Codec(vault), recorder)
        self.journal = Journal(self.store, threaded=False)
        self.budgets = Budgets({"cpu_seconds_per_minute": 60, "sessions_per_day": 100, "stored_megabytes_per_day": 1})
        means = ActorContext(self.store, self.journal, FixedClock(1), lambda _organization: True, self.budgets)
        self.actors = Actors(means)
        self._nursery = nursery

    async def open(self) -> "House":
        await self._nursery.start(self.journal.run)
        await self._nursery.start(self.actors.run)
        return self

    async def restart(self) -> None:
        """Actors that know nothing yet."""
        self.actors = Actors(self.actors._context)
        await self._nursery.start(self.actors.run)

    def events(self, kind: type) -> list[object]:
        everything = self.store.read_after(0, limit_events=10_000)
        return [recorded.event for recorded in everything if isinstance(recorded.event, kind)]


def prompt(text: str = "add a test", event: UUID = EVENT, scope: Scope = ANA) -> CapturePrompt:
    return CapturePrompt(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        prompt_id=prompt_stream(scope.developer_id, event),
        agent_session_id="s1",
        source="claude-code",
        text=text,
        client_event_id=event,
    )


def response(prompt_id: UUID, text: str = "done", operation: str = "op-1") -> CaptureResponse:
    return CaptureResponse(
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        prompt_id=prompt_id,
        content=ResponseContent(response_text=text),
        response_operation_id=operation,
    )


async def all_replies(house: House, commands: Sequence[AnyCommand]) -> list[object]:
    replies: dict[int, object] = {}

    async def send(number: int, command: AnyCommand) -> None:
        try:
            replies[number] = await house.actors.send(command)
        except Busy as busy:
            replies[number] = busy

    async with trio.open_nursery() as nursery:
        for number, command in enumerate(commands):
            nursery.start_soon(send, number, command)
    return [replies[number] for number in range(len(commands))]


async def test_a_retry_after_a_restart_finds_what_is_there(nursery: trio.Nursery) -> None:
    """An actor that knows nothing inserts first, is refused by the log, looks, and answers."""
    house = await House(nursery).open()
    await house.actors.send(prompt())
    await house.restart()
    assert await house.actors.send(prompt()) == Done(False, prompt_stream(ANA.developer_id, EVENT))
    assert why(await house.actors.send(prompt(text="something else"))) is Reason.CONFLICT


async def test_a_burst_with_a_conflict_inside_lands_all_the_others(nursery: trio.Nursery) -> None:
    house = await House(nursery).open()
    await house.actors.send(prompt(event=UUID(int=3)))
    await house.restart()
    replies = await all_replies(house, [prompt(event=UUID(int=number)) for number in range(1, 6)])
    assert sorted(isinstance(reply, Done) and reply.created for reply in replies) == [False, True, True, True, True]
    assert len(house.events(PromptCaptured)) == 5
    assert len(house.events(SessionClaimed)) == 1


async def test_a_session_of_another_developer_is_refused_and_flagged_once(nursery: trio.Nursery) -> None:
    """The other's capture is not kept, however often it is tried; the attempt is, once."""
    house = await House(nursery).open()
    await house.actors.send(prompt())
    for number in (1, 2):
        reply = await house.actors.send(prompt(event=UUID(int=number), scope=BEN))
        assert why(reply) is Reason.FOREIGN_SESSION
    assert len(house.events(PromptCaptured)) == 1
    assert len(house.events(ForeignSessionAttempted)) == 1


async def test_a_response_finds_its_prompt_in_the_log(nursery: trio.Nursery) -> None:
    """Answering loads the prompt's stream; a different answer later is a conflict."""
    house = await House(nursery).open()
    await house.actors.send(prompt())
    prompt_id = prompt_stream(ANA.developer_id, EVENT)
    assert await house.actors.send(response(prompt_id)) == Done(True, prompt_id)
    assert await house.actors.send(response(prompt_id)) == Done(False, prompt_id)
    assert why(await house.actors.send(response(prompt_id, text="other", operation="op-2"))) is Reason.CONFLICT
    assert why(await house.actors.send(response(uuid4(), operation="op-3"))) is Reason.NOT_FOUND


async def test_the_sender_may_go_and_the_capture_stays(nursery: trio.Nursery) -> None:
    house = await House(nursery).open()
    with trio.CancelScope() as scope:
        scope.cancel()
        await house.actors.send(prompt())
    assert scope.cancelled_caught
    await house.actors.send(prompt(event=UUID(int=8)))
    assert len(house.events(PromptCaptured)) == 2


async def test_a_full_mailbox_is_refused_at_once(nursery: trio.Nursery) -> None:
    """More commands than a mailbox holds: the rest hears so immediately, and nothing is half done."""
    house = await House(nursery).open()
    replies = await all_replies(house, [prompt(event=UUID(int=each)) for each in range(MAILBOX_COMMANDS_MAX + 50)])
    busy = sum(isinstance(reply, Busy) for reply in replies)
    assert busy > 0
    assert len(house.events(PromptCaptured)) + busy == len(replies)


async def test_too_many_bytes_on_their_way_are_refused_and_freed_again(nursery: trio.Nursery) -> None:
    """The bound is on what is in flight, not on what was ever sent."""
    house = await House(nursery).open()
    large = "x " * (FLIGHT_BYTES_MAX // 4)
    with pytest.raises(Busy):
        await house.actors.send(prompt(text=large))
    for number in range(20):
        await house.actors.send(prompt(text="y" * 1_000_000, event=UUID(int=number)))
    assert len(house.events(PromptCaptured)) == 20


async def test_large_captures_at_once_are_appended_one_by_one(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together they would never fit into the journal."""
    house = await House(nursery).open()
    appended: list[int] = []
    append = house.journal.append

    async def counted(events: Sequence[NewEvent]) -> Sequence[int]:
        prompts = [each.event for each in events if isinstance(each.event, PromptCaptured)]
        appended.append(sum(len(each.prompt.text or "") >= ACTOR_BATCH_BYTES_MAX for each in prompts))
        return await append(events)

    monkeypatch.setattr(house.journal, "append", counted)
    large = [prompt("x " * ACTOR_BATCH_BYTES_MAX, uuid4()) for _ in range(3)]
    small = [prompt(f"small {number}", uuid4()) for number in range(3)]
    replies = await all_replies(house, [*large, *small])
    assert all(isinstance(reply, Done) for reply in replies)
    assert max(appended) == 1


class Lying(MemoryRecorder):
    """Stores what it is given, and says so many times that this failed."""

    lies = 1

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: object) -> Sequence[int] | None:
        positions = super().insert_events(stored_events)
        if self.lies:
            self.lies -= 1
            raise OperationalError("disk I/O error")
        return positions


async def test_a_retry_of_what_was_written_after_all_says_where_it_stands(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """The retry writes nothing, and yet its sender's next read must show the capture."""
    house = await House(nursery, Lying()).open()
    with pytest.raises(StoreUnavailable):
        await house.actors.send(prompt())
    assert house.actors.acknowledged(ANA.developer_id) == 0
    mock_clock.jump(JOURNAL_PROBE_INTERVAL_S)
    assert await house.actors.send(prompt()) == Done(False, prompt_stream(ANA.developer_id, EVENT))
    assert house.actors.acknowledged(ANA.developer_id) == house.store.head()
    assert house.journal.head == house.store.head() > 0


async def test_an_idle_actor_goes_and_comes_back(nursery: trio.Nursery, mock_clock: MockClock) -> None:
    house = await House(nursery).open()
    await house.actors.send(prompt())
    assert len(house.actors._actors) == 1
    mock_clock.jump(ACTOR_IDLE_SECONDS + 1)
    await wait_all_tasks_blocked()
    assert len(house.actors._actors) == 0
    assert await house.actors.send(prompt()) == Done(False, prompt_stream(ANA.developer_id, EVENT))


async def test_a_stop_does_not_wait_for_a_long_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large text is looked through in a thread, which changes nothing and is left behind."""
    begun, held, left = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: object) -> Decision:
        begun.set()
        held.wait()
        left.set()
        return Decision((), Done(True))

    monkeypatch.setattr("svc.actors.actors.decide", slow)
    async with trio.open_nursery() as nursery:
        house = await House(nursery).open()
        nursery.start_soon(house.actors.send, prompt("x" * (DECIDE_INLINE_BYTES_MAX + 1)))
        await trio.to_thread.run_sync(begun.wait)
        nursery.cancel_scope.cancel()
    assert not left.is_set()
    held.set()
    with trio.fail_after(10):  # a loop that is over by then would keep the lane from every later test
        while lane._SHORT.borrowed_tokens + lane._LONG.borrowed_tokens:
            await trio.lowlevel.checkpoint()


# --- budgets ---------------------------------------------------------------------------------------------


async def test_what_was_stored_counts_once_and_deciding_every_time(nursery: trio.Nursery) -> None:
    """A capture that was known takes processor time, and neither a session nor room on the disk."""
    house = await House(nursery).open()

    def used() -> dict[str, float]:
        return {each.name: each.used for each in house.budgets.shown(1) if each.used_by == str(ANA.developer_id)}

    assert isinstance(await house.actors.send(prompt("x" * 10_000)), Done)
    first = used()
    assert first["sessions_per_day"] == 0.01
    assert 0.023 < first["stored_megabytes_per_day"] < 0.024, "10,000 characters, and the rows of two events"
    await house.actors.send(prompt("x" * 10_000))
    second = used()
    assert second.pop("cpu_seconds_per_minute") > first.pop("cpu_seconds_per_minute") > 0
    assert second == first


# --- people -------------------------------------------------------------------------------------------------


async def test_what_was_decided_although_it_was_said_to_have_failed_is_known_to_the_next_decision(
    nursery: trio.Nursery,
) -> None:
    """Else the directory and the log would differ until a restart, and every further change of the same be refused."""
    disk, organization = Lying(), CreateOrganization(organization_id=UUID(int=1), name="One")
    disk.lies = 9
    store = open_memory_store(Codec(Vault(MemoryKeys())), disk)
    journal = Journal(store, threaded=False)
    administration = Administration(store, journal, FixedClock(1))
    await nursery.start(journal.run)
    with pytest.raises(StoreUnavailable):
        await administration.send(organization)
    assert administration.directory.all(Organization) == []
    disk.lies = 0
    assert isinstance(await administration.send(organization), Refused)
    assert [each.name for each in administration.directory.all(Organization)] == ["One"]
    another = CreateOrganization(organization_id=UUID(int=2), name="Two")
    assert isinstance(await administration.send(another), Organization)
    again = Administration(store, journal, FixedClock(1)).directory
    assert [each.name for each in again.all(Organization)] == ["One", "Two"]


async def test_a_new_command_is_decided_by_what_is_there(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, stream = await House(nursery).open(), prompt().prompt_id
    await house.actors.send(prompt())
    await house.restart()
    monkeypatch.setattr("svc.actors.actors.required_streams", lambda _command: (stream,))
    monkeypatch.setattr("svc.actors.actors.touched_streams", lambda _command: (stream,))
    monkeypatch.setattr("svc.actors.actors.decide", lambda _, known, _context: Decision((), Done(stream in known)))
    assert await house.actors.send(Command(**asdict(ANA))) == Done(True)  # type: ignore[arg-type]


def spoil(var: Path, column: str, position: int) -> None:
    with closing(sqlite3.connect(var / EVENTS_FILE)) as db, db:
        db.execute(f"UPDATE stored_events SET {column} WHERE rowid = {position}")


async def test_a_corrupt_prompt_is_named_to_who_answers_it_and_takes_no_other_capture_along(tmp_path: Path) -> None:
    async with household(tmp_path) as house:
        prompt_id = await house.prompt(TEXT)
    position = damage(tmp_path, "topic = 'prompt.captured'")
    async with household(tmp_path) as house, trio.open_nursery() as nursery:
        nursery.start_soon(house.prompt, TEXT, None, "s2")
        answer = ResponseContent(response_text="done")
        response = CaptureResponse(**asdict(house.owner), prompt_id=prompt_id, content=answer)
        with pytest.raises(CorruptEvent, match=f"position {position} "):
            await house.service.send(response)


@pytest.mark.parametrize("damaged", ["state = x''", "originator_id = 'abababababababababababababababab'"])
async def test_a_corrupt_event_about_people_shuts_out_whom_it_is_about(tmp_path: Path, damaged: str) -> None:
    """Nobody else. Once it is said which, also where it stands as if about another; they may be taken in again."""
    async with household(tmp_path) as house:
        (_, told) = house.service.store.read_topics([StartMembership.TOPIC])
        await house.service.administer(ChangeMembership(membership_id=told.stream_id, role="lead"))
    spoil(tmp_path, damaged, position := told.position)
    for is_in in (False, True):
        with structlog.testing.capture_logs() as logs:
            async with open_service(Settings(var=str(tmp_path))) as service:
                members = [service.directory.membership(scope) is not None for scope in (house.owner, house.other)]
                assert members == [True, is_in]
                await service.administer(StartMembership(**asdict(house.other)))
                assert service.directory.membership(house.other) is not None
        (reason,) = [line["reason"] for line in logs if "event about people" in line["event"]]
        assert f"position {position} (stream " in reason


@pytest.mark.parametrize("damaged", ["originator_version = 7", "originator_id = 'no id'"])
async def test_a_start_that_cannot_tell_whom_an_event_is_about_ends_and_says_what_to_do(
    tmp_path: Path, damaged: str
) -> None:
    settings = Settings(var=str(tmp_path))
    async with open_service(settings) as service:
        await initialize(service, tmp_path)
        (position,) = [each.position for each in service.store.read_topics([StartMembership.TOPIC])]
    damage(tmp_path, "topic = 'credential.issued'")
    async with open_service(settings) as service:
        assert await initialize(service, tmp_path) is None, "a key was issued, though it is lost"
    spoil(tmp_path, damaged, position)
    with pytest.raises(CorruptEvent, match=rf"position {position} \(stream .*svc verify.*restore"):
        async with open_service(settings):
            pass
    FileKeys(tmp_path / "keys").list_made([uuid4()])
    assert {each.part for each in (await verify(Place(tmp_path), no_progress)).findings} >= {"log", "keys"}
    assert issubclass(CorruptEvent, Mendable), "shown as one sentence"
