"""Forgetting a developer: the words are gone from every file, whatever was concluded from them stands."""

from pathlib import Path

import trio

from aggregates.commands import ForgetDeveloper
from aggregates.events import PromptCaptured, TitleEdited
from aggregates.scope import Scope
from svc.keeping.forgetting import open_orders
from tests.support.household import PLANTED, Household, holding, household, rebuilt

SECONDS = 60


async def forget(house: Household, scope: Scope) -> None:
    """Order it, and wait until it is done."""
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


async def test_the_flags_that_rest_on_texts_stand_as_well(tmp_path: Path) -> None:
    """Five prompts alike within a minute are a storm; it is still one when nobody can compare them any more."""
    async with household(tmp_path / "var") as house:
        await house.work()
        await house.level()
        with house.service.projector.readers.reading() as db:
            flags = db.execute("SELECT kind FROM flags").fetchall()
        assert ("auto_retry_storm",) in flags
        await forget(house, house.owner)
        with house.service.projector.readers.reading() as db:
            assert db.execute("SELECT kind FROM flags").fetchall() == flags


async def test_nothing_more_is_taken_from_who_was_forgotten(tmp_path: Path) -> None:
    """Keys void, membership ended, name gone; others go on as before, and so may the person, from the beginning."""
    async with household(tmp_path / "var") as house:
        await house.work()
        await house.work(house.other, "s2")
        await forget(house, house.owner)
        directory = house.service.directory
        mine = str(house.owner.developer_id)
        keys = directory.keys()
        assert {key.revoked for key in keys if key.developer_id == mine} == {True}
        assert {each.active for each in directory.memberships() if each.developer_id == mine} == {False}
        assert [each.display_name for each in directory.developers() if each.developer_id == mine] == ["Forgotten"]
        await house.prompt("Begin anew with src/b.py", house.owner, "s3")
        await house.prompt("Go on with src/c.py", house.other, "s2")
        await house.level()
        newest = house.service.store.read_after(0, 10_000)
        texts = [each.event.prompt.text for each in newest if isinstance(each.event, PromptCaptured)]
        assert texts[-2:] == ["Begin anew with src/b.py", "Go on with src/c.py"]
        await forget(house, house.owner)
        before = house.tables()
    assert rebuilt(tmp_path / "var", tmp_path / "again.db") == before


async def test_forgetting_twice_changes_nothing(tmp_path: Path) -> None:
    """What stands is told once."""
    async with household(tmp_path / "var") as house:
        await house.work()
        await forget(house, house.owner)
        before, told = house.tables(), _told(house)
        await forget(house, house.owner)
        assert (house.tables(), _told(house)) == (before, told)


async def test_no_key_is_made_for_who_was_forgotten(tmp_path: Path) -> None:
    """Building the tables anew needs none."""
    var = tmp_path / "var"
    async with household(var) as house:
        await house.work()
        await forget(house, house.owner)
    rebuilt(var, tmp_path / "again.db")
    assert list((var / "keys").glob("*.key")) == []


def _told(house: Household) -> list[int]:
    return [each.position for each in house.service.store.read_topics_after(["standing.sealed"], 0, 1_000)]
