"""How tall, wordy and heavy each page is, beside what it was drawn for; over the demo's sessions, or some of one's own.

python -m tests.browser.measures [--transcripts FOLDER] [--pictures FOLDER]
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.browser.house import CHROMIUM, come_in, import_work, serving
from tests.support.process import svc

PAGES = ("/", "/goals", "/goals?outcome=not_counted", "/goals/", "/habits", "/cost", "/team", "/reports", "/settings")
"""The one that ends in a stroke is the goal of the most turns."""
WIDTHS = (1440, 768, 390)
HEIGHTS = {("/goals/", 1440): 3_400, ("/goals/", 390): 4_800, ("/habits", 1440): 1_400}
WORDS = {"/goals/": 550, "/settings": 200}
KILOBYTES = 50
FIRST_SCREEN = 844  # of a phone: the verdict of the first page and its first chart stand there


class Measured(NamedTuple):
    path: str
    width: int
    height: int
    words: int
    kilobytes: float
    chart: int | None  # where the first drawing ends

    @property
    def misses(self) -> Iterator[str]:
        if self.height > HEIGHTS.get((self.path, self.width), self.height):
            yield f"{HEIGHTS[self.path, self.width]} px"
        if self.words > WORDS.get(self.path, self.words):
            yield f"{WORDS[self.path]} words"
        if self.kilobytes > KILOBYTES:
            yield f"{KILOBYTES} kB"
        if self.path == "/" and self.width < 400 and (self.chart or 0) > FIRST_SCREEN:
            yield f"the first chart within {FIRST_SCREEN} px"


def measured(page: Page, path: str, width: int) -> Measured:
    page.set_viewport_size({"width": width, "height": 900})
    at = path
    if path == "/goals/":
        page.goto("/goals?days=all&sort=turns")
        at = page.locator(".goals tbody a").first.get_attribute("href") or path
    answer = page.goto(at)
    assert answer is not None
    assert answer.status == 200, (at, answer.status)
    chart = page.locator("svg.chart").first
    box = chart.bounding_box() if chart.count() else None
    return Measured(
        path,
        width,
        page.evaluate("document.documentElement.scrollHeight"),
        len(page.inner_text("main").split()),
        len(gzip.compress(answer.body())) / 1024,
        None if box is None else round(box["y"] + box["height"]),
    )


@click.command()
@click.option(
    "--transcripts", type=click.Path(exists=True, path_type=Path), help="Of Claude Code, in place of the demo."
)
@click.option("--pictures", type=click.Path(file_okay=False, path_type=Path), help="Where each page is drawn, too.")
def main(transcripts: Path | None, pictures: Path | None) -> None:
    table = Table("page", "width", "height", "words", "kB", "first chart ends", "misses")
    with serving() as running, sync_playwright() as playwright:
        if transcripts is None:
            import_work(running)
        else:
            svc("import", "claude-code", transcripts, "--var", running.var)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(base_url=running.api)
        come_in(page, running.link)
        for path in PAGES:
            for width in WIDTHS:
                found = measured(page, path, width)
                cells = (found.height, found.words, f"{found.kilobytes:.1f}", found.chart or "–")
                table.add_row(path, str(width), *map(str, cells), ", ".join(found.misses))
                for scheme in ("light", "dark") if pictures else ():
                    page.emulate_media(color_scheme=scheme)
                    name = re.sub(r"\W+", "-", path).strip("-") or "home"
                    page.screenshot(path=f"{pictures}/{name}-{scheme}-{width}.png", full_page=True)
        browser.close()
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
