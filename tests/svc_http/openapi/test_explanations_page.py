"""`docs/generated/explanations.md` tells what the demo really gives. Other weights may change some lines of it."""

from tests.pages import written
from tests.support.explained import demo_page

STALE_LINES_MAX = 0.25
"""The share of the page that may differ before it must be written anew."""


async def test_the_page_tells_what_the_demo_gives() -> None:
    """Line by line, all but a few; the best is complete, the worst is not."""
    given = (await demo_page()).splitlines()
    lines = written("explanations").splitlines()
    stale = [line for line in lines if line and line not in given]
    assert len(stale) <= STALE_LINES_MAX * len(lines), "it has aged; python -m tests.pages explanations writes it anew"
    best, worst = (line for line in given if line.startswith("## "))
    assert best.endswith(", complete")
    assert worst.endswith(", not complete")
