"""What the commands that keep data say: whom they mean, and what to do next."""

from pathlib import Path

import click
import pytest
import trio
from click.testing import CliRunner, Result

from svc.cli.keeping import forget_
from tests.support.household import household


async def said(command: click.Command, *arguments: str | Path, typed: str | None = None) -> Result:
    """What a command says, which runs an event loop of its own."""
    texts = [str(each) for each in arguments]
    return await trio.to_thread.run_sync(lambda: CliRunner().invoke(command, texts, input=typed))


@pytest.fixture
async def var(tmp_path: Path) -> Path:
    """A folder of two, with the work of one."""
    async with household(tmp_path / "var") as house:
        await house.work(house.other)
        await house.level()
    return tmp_path / "var"


async def test_forgetting_names_the_person_before_and_after(var: Path) -> None:
    """By name, and by id, since two may have one name."""
    asked = await said(forget_, "Second", "--var", var, typed="n\n")
    assert asked.exit_code == 1
    question = asked.output.partition("Destroy all texts of ")[2]
    assert question.startswith("Second (")
    developer_id = question[len("Second (") :].partition(")")[0]
    assert f"Second ({developer_id}) for good? [y/N]" in asked.output
    done = await said(forget_, developer_id, "--yes", "--var", var)
    assert done.exit_code == 0, done.output
    assert f"the texts of Second ({developer_id}) are gone" in done.output
