"""Every page: nothing is wrong by axe, light and dark, narrow and wide; it is small, and asks nobody else."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.house import Running

AXE = (Path(__file__).parent / "axe-4.14.1.min.js").read_text(encoding="utf-8")
OPEN_PAGES = ["/sign-in", "/nothing-is-here"]
"""These need no sign-in."""
WIDTHS = (360, 768, 1440)
DARK = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""In the dark a page is the same but for its colours: axe's rules about these are asked again, at one width."""
USUAL = {"resultTypes": ["violations"], "preload": False}
REQUESTS_MAX = 6
PAGE_BYTES_MAX = 50 * 1024  # what one page may weigh on the wire


def violations(page: Page, options: dict[str, Any]) -> list[tuple[str, str]]:
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


def test_nothing_is_wrong_by_axe(running: Running, browser: Browser, cookies: list[Any], pages: list[str]) -> None:
    # Without motion colours change at once.
    context = browser.new_context(base_url=running.api, bypass_csp=True, reduced_motion="reduce")
    context.add_cookies(cookies)
    page, wrong = context.new_page(), list[tuple[object, ...]]()
    for path in [*pages, *OPEN_PAGES]:
        page.goto(path)
        page.evaluate(AXE)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            wrong += [(path, width, *each) for each in violations(page, USUAL)]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append((path, width, "it is wider than the window", ""))
        page.emulate_media(color_scheme="dark")
        wrong += [(path, "dark", *each) for each in violations(page, USUAL | DARK)]
        page.emulate_media(color_scheme="light")
    context.close()
    assert wrong == []


def test_each_is_small_and_asks_nobody_else(running: Running, context: BrowserContext, pages: list[str]) -> None:
    """With nothing kept from before."""
    page = context.new_page()
    asked, heard, sizes = list[str](), list[str](), list[float]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: heard.append(message.text))
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
    for path in pages:
        page.goto("about:blank")  # so that nothing of the one before is counted
        for each in (asked, heard, sizes):
            each.clear()
        page.goto(path)
        page.wait_for_function("document.readyState === 'complete'")
        assert [url for url in asked if not url.startswith(running.api)] == [], path
        assert len(asked) <= REQUESTS_MAX, (path, asked)
        assert 0 < sum(sizes) <= PAGE_BYTES_MAX, (path, sizes)
        assert heard == [], path


def test_pages_work_without_scripts(running: Running, browser: Browser, cookies: list[Any], pages: list[str]) -> None:
    context = browser.new_context(base_url=running.api, java_script_enabled=False)
    context.add_cookies(cookies)
    page = context.new_page()
    for path in pages:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert page.locator("h1").count() == 1, path
    context.close()


NOTES_STOPS = """stops = []; addEventListener('focusin', ({target: it}) =>
    stops.push([[...document.querySelectorAll('*')].indexOf(it), it.className, getComputedStyle(it).outlineStyle]))"""
"""Each element that gets the focus: its place in the page, its class, and what the line around it is like."""


def test_the_keyboard_alone_reaches_everything(page: Page, pages: list[str]) -> None:
    """As many stops as there are things to use, the skip link first, and each shows where it is."""
    for path in pages:
        page.goto(path)
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, textarea, "
            '[tabindex="0"]\')].filter(e => e.checkVisibility()).length'
        )
        page.evaluate(NOTES_STOPS)
        more = 3 * page.locator("input[type=date]").count()  # month, day, year and calendar are a stop each
        for _ in range(wanted + 1 + more):
            page.keyboard.press("Tab")
        stops = page.evaluate("stops")
        assert stops[0][1] == "skip", path
        assert len({place for place, _, line in stops if line != "none"}) >= wanted, path
