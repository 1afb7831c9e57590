"""What the pages tell people to type, open or set is there, and those that the program prints are level with it."""

import re
from pathlib import Path

import click
import pytest

from svc.cli import main
from svc.settings import ENVIRONMENT_PREFIX, Settings
from tests.pages import FOLDER, QUICK, SLOW, check
from tests.support.process import ROOT
from tests.support.tables import each_of

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_COMMAND = re.compile(r"(?m)(?:^|[`/]|[|] |svc )svc ([a-z][a-z-]+)((?: [a-z][a-z-]+)?)")
NO_SETTINGS = {"SVC_KEY", "SVC_URL", "SVC_API_URL", "SVC_HOST"} | {
    *("SVC_REAL_DATA", "SVC_FUZZ_TIMES", "SVC_WRITE_PAGES", "SVC_AGENTS_BIN"),
}
"""What other things than a server read."""


def code(page: Path) -> str:
    found = "\n".join(_CODE.findall(page.read_text()))
    return re.sub(r"(?m)(?:^|\s)#\s.*$", "", found)


@each_of(PAGES)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, _, anchor in re.findall(r"\]\((?!https:)([^)#\s:]*)(#?)([^)\s]*)\)(?<!//)", page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), target
        headings = re.findall(r"(?m)^#+ (.*)$", file.read_text()) if anchor else []
        slugs = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, anchor


@each_of(PAGES)
def test_every_command_that_is_named_is_one(page: Path) -> None:
    context = click.Context(main)
    for name, following in _COMMAND.findall(code(page)):
        command = main.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group) and following:
            assert command.get_command(context, following.strip()) is not None, (name, following)


@each_of(PAGES)
def test_every_target_of_make_that_is_named_is_one(page: Path) -> None:
    """`make lint types` names two."""
    targets = set(re.findall(r"(?m)^([a-z][a-z-]*):", (ROOT / "Makefile").read_text()))
    for named in re.findall(r"(?:^|[`\n]|&& |sudo )make ([a-z][a-z -]*)", code(page)):
        assert set(named.split()) <= targets


@each_of(PAGES)
def test_every_setting_that_is_named_is_one(page: Path) -> None:
    """By its name in the environment."""
    named = set(re.findall(r"\bSVC_[A-Z_]+", page.read_text()))
    assert named - NO_SETTINGS <= {ENVIRONMENT_PREFIX + name.upper() for name in Settings.__struct_fields__} | {"SVC_"}


@pytest.mark.parametrize("name", QUICK)
def test_a_generated_page_is_level(name: str) -> None:
    check(name, QUICK[name]())


def test_there_is_no_other_page() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*QUICK, *SLOW}
