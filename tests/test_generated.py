"""The pages that the program prints are level with it; `python -m tests.pages` writes them."""

import pytest

from tests.pages import FOLDER, QUICK, SLOW, check


@pytest.mark.parametrize("name", QUICK)
def test_a_generated_page_is_level(name: str) -> None:
    check(name, QUICK[name]())


def test_there_is_no_other_page() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*QUICK, *SLOW}
