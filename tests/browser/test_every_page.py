"""Every page: nothing is wrong by axe, light and dark, narrow and wide; it is small, and asks nobody else."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from svc_http.pages.rendering import PAGE_BYTES_MAX
from tests.browser.house import Running

AXE = (Path(__file__).parent / "axe-4.14.1.min.js").read_text(encoding="utf-8")
OPEN_PAGES = ["/sign-in", "/nothing-is-here"]
"""These need no sign-in."""
WIDTHS = (360, 768, 1440)
REQUESTS_MAX = 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wrong_by_axe(
    running: Running, browser: Browser, cookies: list[Any], pages: list[str], scheme: Any
) -> None:
    context = browser.new_context(base_url=running.api, color_scheme=scheme, bypass_csp=True)
    context.add_cookies(cookies)
    page, wrong = context.new_page(), []
    for path in [*pages, *OPEN_PAGES]:
        page.goto(path)
        page.evaluate(AXE)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            wrong += [(path, width, each["id"], each["nodes"][0]["html"][:200]) for each in found]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append((path, width, "it is wider than the window", ""))
    context.close()
    assert wrong == []


class Watched:
    """What a page asked for and said while it was loaded, with nothing kept from before."""

    def __init__(self, context: BrowserContext, path: str) -> None:
        self.asked: list[str] = []
        self.heard: list[str] = []
        self.bytes = 0.0
        page = context.new_page()
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.heard.append(message.text))
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on("Network.loadingFinished", self._count)
        page.goto(path)
        page.wait_for_function("document.readyState === 'complete'")
        page.close()

    def _count(self, told: Any) -> None:
        self.bytes += told["encodedDataLength"]


def test_each_is_small_and_asks_nobody_else(running: Running, context: BrowserContext, pages: list[str]) -> None:
    for path in pages:
        watched = Watched(context, path)
        assert [url for url in watched.asked if not url.startswith(running.api)] == [], path
        assert len(watched.asked) <= REQUESTS_MAX, (path, watched.asked)
        assert 0 < watched.bytes <= PAGE_BYTES_MAX, (path, watched.bytes)
        assert watched.heard == [], path


def test_every_page_works_without_scripts(
    running: Running, browser: Browser, cookies: list[Any], pages: list[str]
) -> None:
    context = browser.new_context(base_url=running.api, java_script_enabled=False)
    context.add_cookies(cookies)
    page = context.new_page()
    for path in pages:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert page.locator("h1").count() == 1, path
    context.close()


def test_the_keyboard_alone_reaches_everything(page: Page, pages: list[str]) -> None:
    """As many stops as there are things to use, the skip link first, and each shows where it is."""
    for path in pages:
        page.goto(path)
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, textarea, "
            '[tabindex="0"]\')].filter(e => e.checkVisibility()).length'
        )
        stops = set()
        more = 3 * page.locator("input[type=date]").count()  # month, day, year and calendar are a stop each
        for number in range(wanted + 1 + more):
            page.keyboard.press("Tab")
            stop = page.evaluate(
                "(() => { const e = document.activeElement; const all = [...document.querySelectorAll('*')];"
                " return [all.indexOf(e), e.className, getComputedStyle(e).outlineStyle]; })()"
            )
            if stop[0] >= 0 and stop[2] != "none":
                stops.add(stop[0])
            if number == 0:
                assert stop[1] == "skip", path
        assert len(stops) >= wanted, path
