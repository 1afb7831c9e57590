"""One server and one Chromium for all tests of the folder; without a browser they are skipped, saying so."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from tests.browser.house import CHROMIUM, PAGES, Running, come_in, form_team, import_work, operator_link, serving

P = ParamSpec("P")
T = TypeVar("T")
THREAD = ThreadPoolExecutor(1)
"""Playwright's loop lives in a thread of its own: the others tests' is trio's."""


def there(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return THREAD.submit(do, *args, **kwargs).result()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" not in str(item.path):
            continue
        item.add_marker(pytest.mark.browser)
        if CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="no chromium on this machine: apt-get install chromium"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    names = signature(pyfuncitem.obj).parameters
    there(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    with serving() as running:
        yield running


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    manager = sync_playwright()
    yield there(manager.__enter__)
    there(manager.__exit__, None, None, None)


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    launched = there(playwright.chromium.launch, executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
    yield launched
    there(launched.close)


@pytest.fixture(scope="session")
def cookies(running: Running, browser: Browser) -> list[Any]:
    """Of the owner, who came by the first link and imported a month of work."""
    import_work(running)
    form_team(running)

    def signed_in() -> list[Any]:
        context = browser.new_context()
        page = context.new_page()
        come_in(page, running.link)
        come_in(page, operator_link(running))
        found = list(context.cookies())
        context.close()
        return found

    return there(signed_in)


@pytest.fixture(scope="session")
def pages(running: Running, browser: Browser, cookies: list[Any]) -> list[str]:
    """Every page that needs a sign-in, a report, a goal, and what is asked before a word about it among them."""

    def found() -> list[str]:
        context = browser.new_context(base_url=running.api)
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto("/goals?days=all&outcome=reached")
        goal = (page.locator(".goals tbody a").first.get_attribute("href") or "").partition("?")[0]
        page.goto("/reports")
        page.get_by_label("Period").select_option("weekly")
        page.get_by_role("button", name="Make a report").click()
        page.locator("main h2").first.wait_for(timeout=30_000)
        report = page.url.removeprefix(running.api)
        context.close()
        words = ("not-reached", "join", "kind&kind=review", "rename&title=Another")
        return [*PAGES, report, f"{goal}", *(f"{goal}/say?word={word}" for word in words)]

    return there(found)


@pytest.fixture
def context(running: Running, browser: Browser, cookies: list[Any]) -> Iterator[BrowserContext]:
    made = there(browser.new_context, base_url=running.api, viewport={"width": 1440, "height": 900})
    there(made.add_cookies, cookies)
    yield made
    there(made.close)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return there(context.new_page)
