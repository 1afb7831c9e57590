"""Every page: nothing is wrong by axe, light and dark, narrow and wide; it is small, short, and asks nobody else."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.house import Running, come_in, cookie_header, serving

AXE = (Path(__file__).parent / "axe-4.14.1.min.js").read_text(encoding="utf-8")
OPEN_PAGES = ["/sign-in", "/nothing-is-here"]
"""These need no sign-in."""
WIDTHS = (360, 768, 1440)
COLOURS = ("color-contrast", "link-in-text-block")
"""The dearest of axe's rules. They are asked at the last width, light and dark: colours are the same at any."""
USUAL = {"resultTypes": ["violations"], "preload": False}
NARROW = USUAL | {"rules": {rule: {"enabled": False} for rule in COLOURS}}
ASKED = {WIDTHS[0]: NARROW, WIDTHS[-1]: USUAL}  # between them only columns of lists go
HEIGHTS = {("/goals/", 1440): 3_400, ("/goals/", 360): 4_800, ("/habits", 1440): 1_400}
"""By how an address begins, and the width: how tall a page may be, whose reader looks for one thing."""
REQUESTS_MAX = 6
PAGE_BYTES_MAX = 50 * 1024  # what one page may weigh on the wire


FOUND = "asked => axe.run(document, asked).then(it => it.violations.map(it => [it.id, it.nodes[0].html.slice(0, 200)]))"
"""What is in order stays in the browser: to hand it over would take as long as to look for it."""


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
            if asked := ASKED.get(width):
                wrong += [(path, width, *each) for each in page.evaluate(FOUND, asked)]
            tall = page.evaluate("document.documentElement.scrollHeight")
            wrong += [
                (path, width, f"it is {tall} px tall", "")
                for (start, at), most in HEIGHTS.items()
                if path.startswith(start) and at == width and tall > most
            ]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append((path, width, "it is wider than the window", ""))
            if page.evaluate("[...document.querySelectorAll('.top nav')].some(it => it.scrollWidth > it.clientWidth)"):
                wrong.append((path, width, "its head is cut", ""))
        page.emulate_media(color_scheme="dark")
        wrong += [(path, "dark", *each) for each in page.evaluate(FOUND, USUAL | {"runOnly": COLOURS})]
        page.emulate_media(color_scheme="light")
    context.close()
    assert wrong == []


NOTES_STOPS = """stops = []; addEventListener('focusin', ({target: it}) =>
    stops.push([[...document.querySelectorAll('*')].indexOf(it), it.className, getComputedStyle(it).outlineStyle]))"""
"""Each element that gets the focus: its place in the page, its class, and what the line around it is like."""


def test_each_is_small_asks_nobody_else_and_is_used_by_the_keyboard_alone(
    running: Running, context: BrowserContext, pages: list[str]
) -> None:
    """With nothing kept from before. As many stops as things to use, the skip link first; each shows where it is. Of
    addresses that differ in their query one is walked through."""
    page = context.new_page()
    asked, heard, sizes, walked = list[str](), list[str](), list[float](), set[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: heard.append(f"{page.url}: {message.text}"))
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
    for path in pages:
        page.goto("about:blank")  # so that nothing of the one before is counted
        for each in (asked, sizes):
            each.clear()
        page.goto(path)
        page.wait_for_function("document.readyState === 'complete'")
        assert [url for url in asked if not url.startswith(running.api)] == [], path
        assert len(asked) <= REQUESTS_MAX, (path, asked)
        assert 0 < sum(sizes) <= PAGE_BYTES_MAX, (path, sizes)
        if (address := path.partition("?")[0]) in walked:
            continue
        walked.add(address)
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
    assert heard == []


def test_pages_are_whole_without_scripts(running: Running, cookies: list[Any], pages: list[str]) -> None:
    """What the server sends is the page: a browser that runs no script shows just this."""
    for path in pages:
        answer = httpx.get(running.api + path, headers=cookie_header(cookies))
        assert (answer.status_code, answer.text.count("<h1")) == (200, 1), path


def test_the_first_chart_stands_on_the_first_screen_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    assert page.evaluate("document.querySelector('svg.chart').getBoundingClientRect().bottom") <= 844


@pytest.mark.parametrize(
    ("path", "link", "told"),
    [
        ("/", "What is captured, and who sees it", "no screen, no keystrokes"),
        ("/team/lead", None, "A lead is a member like the others"),
    ],
)
def test_a_link_to_what_is_folded_opens_the_fold(page: Page, path: str, link: str | None, told: str) -> None:
    page.goto(path)
    if link is not None:
        page.get_by_role("contentinfo").get_by_role("link", name=link).click()
    expect(page.get_by_text(told)).to_be_visible()


def test_a_membership_ends_and_begins_again_by_a_question_each(browser: Browser) -> None:
    """Without the question open, no button is there to press by mistake."""
    with serving() as fresh:
        context = browser.new_context(base_url=fresh.api, viewport={"width": 390, "height": 844})
        page = context.new_page()
        come_in(page, fresh.link)
        page.goto("/administration/people")
        page.get_by_label("Name", exact=True).fill("Dana")
        page.get_by_role("button", name="Make a sign-in link").last.click()
        page.locator("summary", has_text="Change Dana").click()
        end = page.get_by_role("button", name="End the membership of Dana")
        expect(end).to_be_hidden()
        page.locator("summary", has_text="End the membership of Dana").click()
        end.click()
        expect(page.get_by_role("status")).to_contain_text("The membership of Dana has ended")
        page.locator("summary", has_text="1 ended membership").click()
        page.get_by_role("button", name="Take back in Dana").click()
        expect(page.get_by_role("status")).to_contain_text("Dana belongs to the organization again")
        expect(page.locator("summary", has_text="Change Dana")).to_be_visible()
        context.close()
