"""Forgetting a developer: the words are gone from every file, whatever was concluded from them stands."""

import re
from io import StringIO
from pathlib import Path
from typing import cast
from uuid import UUID

import click
import msgspec
import pytest
import trio
from rich.console import Console

from aggregates.capture.events import PromptCaptured
from aggregates.decide import ForgetDeveloper
from aggregates.event import Scope
from aggregates.people.acts import ChangeDeveloper
from aggregates.people.directory import Developer, Key, Membership
from aggregates.sub_sessions.sub_session import TitleEdited
from svc.cli.access import Access, NotReached
from svc.cli.serving import carried_out, give
from svc.log.store import EventStore
from svc.maintenance.texts import open_orders
from svc.settings import Settings
from tests.support.household import PLANTED, Household, Worked, holding, household, rebuilt

SECONDS = 60


async def forget(house: Household, scope: Scope) -> None:
    order = ForgetDeveloper(organization_id=scope.organization_id, developer_id=scope.developer_id)
    await house.service.send(order)
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
        keys = directory.all(Key)
        assert {key.revoked for key in keys if key.developer_id == mine} == {True}
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


class Folder:
    """`states`: of a build of the scores that had failed before the order, and in the same way."""

    def __init__(self, house: Household, states: tuple[str, ...]) -> None:
        self.send = house.service.send
        self._service = house.service
        self._states = iter(states)

    async def ask(self, _method: str, _path: str) -> object:
        state = next(self._states, None)
        return {"state": state, "done": 0, "of": 0} if state else msgspec.to_builtins(self._service.replay_status())


async def waited(house: Household, *states: str) -> str:
    """Once `svc forget` has ended its wait for the owner, one way or the other; what it said."""
    console, ordered = Console(file=StringIO(), width=200, record=True), trio.Event()
    order = ForgetDeveloper(organization_id=house.owner.organization_id, developer_id=house.owner.developer_id)
    with trio.fail_after(SECONDS):
        try:
            await give(order, cast(Access, Folder(house, states)), house.service.store, console.status(""), ordered)
        except NotReached as error:
            console.print(f"ended: {error}")
    assert ordered.is_set()
    return console.export_text()


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
    assert re.fullmatch(r"ended: the scores could not be built anew.* tries again.*the order stands.*", said.strip())


async def failing(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_who_interrupts_the_wait_is_told_that_the_order_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before the order was given, nothing was done."""

    def interrupted(_main: object, *arguments: object) -> None:
        if was_ordered:
            cast(trio.Event, arguments[-1]).set()
        raise KeyboardInterrupt

    monkeypatch.setattr("svc.cli.common.run", interrupted)
    asked = Settings(var=str(tmp_path)), cast(EventStore, None), UUID(int=1)
    was_ordered = True
    with pytest.raises(click.ClickException, match="the order stands"):
        carried_out(*asked)
    was_ordered = False
    with pytest.raises(KeyboardInterrupt):
        carried_out(*asked)
