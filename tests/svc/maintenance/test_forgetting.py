"""Forgetting a developer, and texts that grow old: the words are gone from every file, what was concluded stands."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import cast
from uuid import UUID

import msgspec
import pytest
import trio
from click.testing import CliRunner
from structlog.testing import capture_logs

from aggregates.capture.events import PromptCaptured, RecordsCaptured
from aggregates.decide import TOPICS
from aggregates.event import NewEvent, Scope, Words
from aggregates.ids import forget_stream
from aggregates.people.acts import ChangeDeveloper, ChangeOrganization
from aggregates.people.directory import Developer, Key, Membership
from aggregates.retained import ForgetOrdered
from aggregates.sub_sessions.sub_session import TitleEdited
from svc.cli import main
from svc.cli.access import Access, NotReached
from svc.cli.serving import give
from svc.log.opening import open_log
from svc.log.vault import Vault
from svc.maintenance.texts import TEXTS, open_orders
from svc.maintenance.verify import verify
from svc.process import Place
from tests.support.household import PLANTED, Household, Worked, damage, holding, household, no_progress, rebuilt
from tests.support.process import init

SECONDS = 60


async def forget(house: Household, scope: Scope) -> None:
    await house.service.send(ForgetOrdered(organization_id=scope.organization_id, developer_id=scope.developer_id))
    with trio.fail_after(SECONDS):
        while open_orders(house.service.store):
            await house.service.journal.wait_beyond(house.service.journal.head)
    await house.level()


async def test_whatever_was_concluded_stands_and_every_word_is_gone(tmp_path: Path) -> None:
    """Equal tables before, after, and built from the log without the words; neither text nor key in any file."""
    var = tmp_path / "var"
    async with household(var, demo=True) as house:
        await house.work()
        await house.work(house.other, "s2")
        await house.level()
        key = (var / "keys" / f"{house.owner.developer_id}.key").read_bytes()
        others_key = (var / "keys" / f"{house.other.developer_id}.key").read_bytes()
        before = house.tables()
        await forget(house, house.owner)
        assert house.tables() == before
        texts = [
            words
            for recorded in house.service.store.read_after(0, 10_000)
            for words in (getattr(recorded.event, "prompt", None), getattr(recorded.event, "title", None))
            if isinstance(recorded.event, PromptCaptured | TitleEdited) and words is not None
            if recorded.event.developer_id == house.owner.developer_id
        ]
        assert texts
        assert {words.text for words in texts} == {None}
    assert rebuilt(var, tmp_path / "again.db") == before
    assert holding(var, PLANTED.encode(), key) == []
    assert holding(var, others_key) == [f"keys/{house.other.developer_id}.key"]
    assert len([*(var / "keys").glob("*.key")]) == 1, "no key is made anew"


async def test_nothing_more_is_taken_from_who_was_forgotten(worked: Worked, tmp_path: Path) -> None:
    """Keys void, membership ended, name gone; others go on as before, and so may the person, from the beginning."""
    async with household(tmp_path / "var") as house:
        directory, mine = house.service.directory, house.owner.developer_id
        told = ChangeDeveloper(developer_id=mine, email="me@example.com", report_notices=("email",))
        await house.service.administer(told)
        await forget(house, house.owner)
        assert {key.revoked for key in directory.all(Key) if key.developer_id == mine} == {True}
        assert {each.active for each in directory.all(Membership) if each.developer_id == mine} == {False}
        found = [each for each in directory.all(Developer) if each.developer_id == mine]
        assert [(each.display_name, each.email, each.report_notices) for each in found] == [("Forgotten", None, ())]
        await house.prompt("Begin anew with src/b.py", house.owner, "s3")
        await house.prompt("Go on with src/c.py", house.other, "s2")
        await house.level()
        newest = house.service.store.read_after(0, 10_000)
        texts = [each.event.prompt.text for each in newest if isinstance(each.event, PromptCaptured)]
        assert texts[-2:] == ["Begin anew with src/b.py", "Go on with src/c.py"]
        await forget(house, house.owner)
        before = house.tables()
    assert rebuilt(tmp_path / "var", tmp_path / "again.db") == before


def order(var: Path, scope: Scope) -> None:
    given = ForgetOrdered(received_at_us=1, **msgspec.structs.asdict(scope))
    with closing(open_log(var)) as store:
        store.append([NewEvent(forget_stream(scope.developer_id), 1, given)])


@pytest.mark.parametrize("topic", ["forget.ordered", "developer.forgotten"])
async def test_a_damaged_order_hinders_no_other_and_is_named_once(worked: Worked, topic: str) -> None:
    """Nobody guesses whether it was carried out; it may be given again."""
    other = worked.other.developer_id
    if topic == "forget.ordered":
        order(worked.var, worked.other)
    else:
        async with household(worked.var) as house:
            await forget(house, house.other)
            await house.prompt("Begin anew with src/b.py", house.other, "s3")
    damage(worked.var, f"topic = '{topic}'")
    with capture_logs() as logs:
        async with household(worked.var) as house:
            await forget(house, house.owner)
            assert house.service.store.vault.keys.there() == {other}
            await forget(house, house.other)
            assert house.service.store.vault.keys.there() == frozenset()
    (line,) = [line for line in logs if "order it again" in line["event"]]
    assert (line["developer_id"], topic in line["reason"]) == (str(other), True)


@pytest.mark.parametrize("end", [b"", b"?"], ids=["cut off", "changed"])
async def test_a_text_that_cannot_be_opened_is_deleted_like_any_other(worked: Worked, end: bytes) -> None:
    position = damage(worked.var, "topic = 'prompt.captured'", lambda state: state[:-1] + end)
    async with household(worked.var) as house:
        await forget(house, house.owner)
        found = house.service.store.read_positions([position])[position].event
    assert isinstance(found, PromptCaptured)
    assert found.prompt == Words(None)


async def test_an_order_that_fails_holds_no_other_up(worked: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
    destroy = Vault.destroy

    def refusing(vault: Vault, developer_id: UUID) -> None:
        if developer_id == worked.owner.developer_id:
            raise OSError(30, "Read-only file system")
        destroy(vault, developer_id)

    monkeypatch.setattr(Vault, "destroy", refusing)
    for scope in (worked.owner, worked.other):
        order(worked.var, scope)
    async with household(worked.var) as house:
        with trio.fail_after(SECONDS):
            while [each.developer_id for each in open_orders(house.service.store)] != [worked.owner.developer_id]:
                await house.service.journal.wait_beyond(house.service.journal.head)
        assert house.service.store.vault.keys.there() == {worked.owner.developer_id}


class Folder:
    """`states`: of a build of the scores that had failed before the order, and in the same way."""

    def __init__(self, house: Household, states: tuple[str, ...]) -> None:
        self._service = house.service
        self._states = iter(states)

    def ask(self, method: str, _path: str, order: object = None) -> object:
        if method == "POST":
            wanted = msgspec.convert(order, ForgetOrdered, from_attributes=True)
            return trio.from_thread.run(self._service.send, wanted)
        state = next(self._states, None)
        return {"state": state, "done": 0, "of": 0} if state else msgspec.to_builtins(self._service.replay_status())


async def waited(house: Household, *states: str) -> str:
    """Once `svc forget` has ended its wait for the owner, one way or the other; what it said."""
    with trio.fail_after(SECONDS):
        try:
            folder = cast(Access, Folder(house, states))
            await trio.to_thread.run_sync(give, house.owner, folder, house.service.store, no_progress)
        except NotReached as error:
            return str(error)
    return ""


async def test_who_waits_is_told_that_the_scores_cannot_be_built_and_that_the_order_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sentence; the service goes on with it, and the next who asks sees it done."""
    with monkeypatch.context() as patched:
        patched.setattr("svc.maintenance.texts.RESTART_SECONDS_MAX", 0.02)
        patched.setattr("svc.cli.serving.POLL_SECONDS", 0.01)
        async with household(tmp_path / "var") as house:
            await house.prompt("Fix src/a.py")
            patched.setattr("svc.views.replay.build_in_thread", failing)
            said = await waited(house)
            assert await waited(house, "failed", "failed", "running", "failed") == said
            assert open_orders(house.service.store) != []
    async with household(tmp_path / "var") as house:
        assert await waited(house) == ""
    assert re.fullmatch(r"the scores could not be built anew.* tries again.*the order stands.*", said)


async def failing(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_who_interrupts_the_wait_is_told_that_the_order_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    made = init(tmp_path / "var")
    monkeypatch.setattr("svc.cli.serving.give", interrupted)
    done = CliRunner().invoke(main, ["forget", made["developer_id"], "--yes", "--var", str(tmp_path / "var")])
    assert (done.exit_code, "if the order was given, the order stands" in done.output) == (1, True)


DAY_US = 86_400_000_000
NEWER = "marigold-0815"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Household]:
    async with household(tmp_path / "var") as made:
        yield made


def stands(house: Household, before: dict[str, str]) -> None:
    """The tables are as before, those that serve and those that the log alone gives."""
    again = house.var.with_name("again.db")
    again.unlink(missing_ok=True)
    assert house.tables() == rebuilt(house.var, again) == before


async def set_days(house: Household, *, telemetry: int | None = None, text: int | None = None) -> None:
    command = ChangeOrganization(
        organization_id=house.owner.organization_id, retention_days_telemetry=telemetry, retention_days_text=text
    )
    await house.service.administer(command)


def states(var: Path) -> list[tuple[int, str, bytes]]:
    """Where each event stands, and its checksum."""
    query = "SELECT rowid, originator_id, substr(state, 3, 16) FROM stored_events"
    with closing(sqlite3.connect(var / "events.db")) as db:
        return db.execute(query).fetchall()


def kept(house: Household) -> list[tuple[str, bool, bool]]:
    """Of each capture of words: its kind, whether its text is there, and whether its export is."""
    found = []
    for event in (one.event for each in house.service.store.pieces(0, open_words=True) for one in each.events):
        if isinstance(event, PromptCaptured):
            found.append((event.TOPIC, event.prompt.text is not None, False))
        elif isinstance(event, RecordsCaptured):
            export = event.raw is not None and event.raw.text is not None
            found.append((event.TOPIC, event.words.text is not None, export))
    return found


@pytest.mark.parametrize("days", [1, 30])
async def test_old_texts_go_and_every_figure_stands(house: Household, days: int) -> None:
    """Equal tables before and after, and from the log alone; the words are in no file; younger ones stay."""
    await house.work()
    await house.work(house.other, "s2")
    house.clock.advance(days * DAY_US + 1)
    await house.prompt(f"Write about {NEWER} in docs/a.md", session="s3")
    await house.level()
    before, stood = house.tables(), states(house.var)
    await set_days(house, text=days)
    assert await house.service.retention.apply() > 0
    await house.level()
    stands(house, before)
    assert states(house.var)[: len(stood)] == stood
    assert kept(house)[-1] == ("prompt.captured", True, False)
    assert {(text, export) for _, text, export in kept(house)[:-1]} == {(False, False)}
    assert await house.service.retention.apply() == 0
    assert holding(house.var, PLANTED.encode()) == []
    assert (await verify(Place(house.var), no_progress)).findings == []


async def test_prompts_that_were_graded_together_stay_so(house: Household) -> None:
    """Whichever of their texts goes first, also where the rest of the log is read anew."""
    await house.prompt("Fix the crash in src/parser.py when the file is empty.")
    house.clock.advance(DAY_US // 2)
    await house.prompt("It must return an empty list, and the tests must pass.")
    await house.level()
    before = house.tables()
    with house.service.projector.readers.reading() as views:
        assert views.execute("SELECT count(*), count(joined) FROM prompts").fetchone() == (2, 1)
    await set_days(house, text=1)
    for later_us in (DAY_US // 2 + 1, DAY_US):
        house.clock.advance(later_us)
        assert await house.service.retention.apply() == 1
    await house.level()
    stands(house, before)


async def with_a_clock_ahead(house: Household) -> dict[str, str]:
    """Work, a prompt while the clock is 40 days ahead, and one when it is right again; a month later. The tables."""
    await house.work()
    house.clock.advance(40 * DAY_US)
    await house.prompt(f"Write about {NEWER} in docs/a.md")
    house.clock.advance(-40 * DAY_US)
    await house.prompt(f"Then describe {PLANTED} in docs/b.md")
    await house.level()
    before = house.tables()
    await set_days(house, text=30)
    house.clock.advance(31 * DAY_US)
    return before


async def test_a_clock_that_ran_ahead_keeps_nothing_that_came_later(house: Household) -> None:
    """What it stamped goes when that time is old, and whatever was concluded stands, however texts alternate."""
    before = await with_a_clock_ahead(house)
    assert await house.service.retention.apply() > 0
    await house.level()
    assert [text for _, text, _ in kept(house)[-2:]] == [True, False]
    assert {text for _, text, _ in kept(house)[:-2]} == {False}
    stands(house, before)
    house.clock.advance(40 * DAY_US)
    assert [await house.service.retention.apply() for _ in range(2)] == [1, 0]
    assert {text for _, text, _ in kept(house)} == {False}
    stands(house, before)
    assert holding(house.var, PLANTED.encode(), NEWER.encode()) == []


@pytest.mark.parametrize("damaged", [False, True])
async def test_a_process_that_begins_anew_finds_what_was_too_young(tmp_path: Path, damaged: bool) -> None:
    """What one has looked at is remembered in no file, and how far it came only in the log."""
    async with household(tmp_path / "var") as house:
        await with_a_clock_ahead(house)
        await house.service.retention.apply()
    if damaged:
        damage(tmp_path / "var", "topic = 'words.expired'")
    async with household(tmp_path / "var") as house:
        house.clock.advance(80 * DAY_US)
        assert await house.service.retention.apply() == 1
        assert {text for _, text, _ in kept(house)} == {False}


async def test_a_server_looks_through_young_texts_a_part_at_a_time(
    house: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads no more than it may in one round, begins where it ended, and so comes to what is old behind them."""
    monkeypatch.setattr("svc.log.store.PIECE_EVENTS", 1)
    house.clock.advance(40 * DAY_US)
    await house.work()
    house.clock.advance(-40 * DAY_US)
    await house.prompt(f"Then describe {PLANTED} in docs/b.md")
    await house.level()
    await set_days(house, text=30)
    house.clock.advance(31 * DAY_US)
    assert [await house.service.retention.apply(young_max=4) for _ in range(4)] == [0, 0, 1, 0]


async def test_not_even_the_sealed_bytes_of_an_old_text_are_left(house: Household) -> None:
    """Its key still lives, for younger texts: so no page, no free page and no write-ahead log may hold it."""
    await house.prompt(f"{PLANTED} " + " ".join(str(number**3) for number in range(5_000)))
    with closing(sqlite3.connect(house.var / "events.db")) as db:
        states = db.execute("SELECT state FROM stored_events WHERE topic = 'prompt.captured'").fetchall()
    sealed = states[0][0][-10_000:]
    pieces = [sealed[start : start + 64] for start in range(0, len(sealed) - 64, 997)]
    assert len(holding(house.var, *pieces)) > 0
    house.clock.advance(2 * DAY_US)
    await set_days(house, text=1)
    assert await house.service.retention.apply() == 1
    assert holding(house.var, *pieces) == []


async def test_exports_go_and_the_texts_stay_and_without_a_term_both(house: Household) -> None:
    """The retention of telemetry takes exports as received, nothing else."""
    await house.work()
    house.clock.advance(5_000 * DAY_US)
    before = kept(house)
    assert ("telemetry.logs-captured", True, True) in before
    assert await house.service.retention.apply() == 0
    for days in (1, 0):
        await set_days(house, text=days)
    assert await house.service.retention.apply() == 0
    await set_days(house, telemetry=7)
    assert await house.service.retention.apply() == 1
    assert kept(house) == [(topic, text, False) for topic, text, _ in before]


async def test_who_is_forgotten_after_a_retention_keeps_their_figures(house: Household) -> None:
    """What was told of old texts, and what is told of the younger ones, stand side by side."""
    await house.work()
    house.clock.advance(2 * DAY_US)
    await house.work(session="s9")
    await house.level()
    await set_days(house, text=1)
    assert await house.service.retention.apply() > 0
    before = house.tables()
    await forget(house, house.owner)
    stands(house, before)
    assert holding(house.var, PLANTED.encode()) == []


def test_whatever_holds_words_has_a_term() -> None:
    """A new field of words belongs to the texts, or to the exports."""
    fields = [field for event in TOPICS.values() for field in msgspec.structs.fields(event)]
    words = {field.name for field in fields if Words in (field.type, *getattr(field.type, "__args__", ()))}
    assert words == {*TEXTS, "raw"}
