"""Nobody gets in by a page: forged requests, frames, other names, stored markup, borrowed and stolen cookies."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.house import Running
from tests.support.process import svc

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _cookie(cookies: list[Any]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in cookies)}


def test_a_link_opens_once(running: Running, browser: Browser, cookies: list[Any]) -> None:
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(running.link)
    assert answer is not None
    assert answer.status == 410
    assert "svc open" in page.inner_text("main")
    assert context.cookies() == []
    context.close()


def test_svc_open_prints_a_link_that_signs_in(running: Running, browser: Browser) -> None:
    link = svc("open", "--var", running.var, "--print").stdout.strip()
    assert link.startswith(running.api)
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    assert context.cookies() == []
    page.get_by_role("button", name="Sign in as Owner").click()
    page.wait_for_url(f"{running.api}/")
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    context.close()


def test_a_key_signs_in_and_leads_back(running: Running, browser: Browser) -> None:
    context = browser.new_context(base_url=running.api)
    page = context.new_page()
    page.goto("/goals?days=90")
    page.get_by_label("Your key").fill("svc_" + "x" * 43)
    page.get_by_role("button", name="Sign in").click()
    assert "unknown key" in page.get_by_role("alert").inner_text().lower()
    page.get_by_label("Your key").fill(running.key)
    page.get_by_role("button", name="Sign in").click()
    assert page.url == f"{running.api}/goals?days=90"
    context.close()


def test_a_page_from_elsewhere_presses_no_button(running: Running, page: Page, cookies: list[Any]) -> None:
    """A form of another origin, be it another port of this machine, and a request without any origin."""
    page.route("http://127.0.0.1:1/", lambda route: route.fulfill(content_type="text/html", body=_forged(running)))
    page.goto("http://127.0.0.1:1/")
    with page.expect_navigation():
        page.click("button")
    assert "may change nothing here" in page.inner_text("main")
    for site in ({"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://evil.example"}, {}):
        answer = httpx.post(f"{running.api}/sign-out", headers=FORM | _cookie(cookies) | site)
        assert answer.status_code == 403, site
    assert httpx.get(running.api, headers=_cookie(cookies)).status_code == 200


def _forged(running: Running) -> str:
    return f'<form method="post" action="{running.api}/sign-out"><button>Win</button></form>'


def test_no_frame_holds_a_page(running: Running, page: Page) -> None:
    body = f'<iframe src="{running.api}/" width="600" height="400"></iframe>'
    page.route("http://127.0.0.1:1/", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto("http://127.0.0.1:1/", wait_until="load")
    assert all("How you work" not in (frame.content() if frame.url.startswith("http") else "") for frame in page.frames)


def test_another_name_for_this_machine_opens_nothing(running: Running, cookies: list[Any]) -> None:
    answer = httpx.get(running.api, headers=_cookie(cookies) | {"Host": "rebound.example"})
    assert answer.status_code == 421


def test_a_cookie_that_somebody_chose_is_never_taken_on(running: Running, browser: Browser) -> None:
    """Signing in begins another one."""
    context = browser.new_context(base_url=running.api)
    name = f"svc_session_{running.api.rpartition(':')[2]}"
    context.add_cookies([{"name": name, "value": "chosen-by-somebody", "url": running.api}])
    page = context.new_page()
    page.goto("/")
    assert page.url.endswith("/sign-in")
    page.get_by_label("Your key").fill(running.key)
    page.get_by_role("button", name="Sign in").click()
    (cookie,) = context.cookies()
    assert cookie["value"] != "chosen-by-somebody"
    context.close()


def test_a_stolen_cookie_ends_with_its_sign_in(running: Running, browser: Browser) -> None:
    context: BrowserContext = browser.new_context(base_url=running.api)
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Your key").fill(running.key)
    page.get_by_role("button", name="Sign in").click()
    stolen = _cookie(list(context.cookies()))
    assert httpx.get(running.api, headers=stolen).status_code == 200
    page.get_by_role("button", name="Sign out").click()
    assert httpx.get(running.api, headers=stolen).status_code == 303
    context.close()


@pytest.mark.parametrize("to", ["//evil.example/", "https://evil.example/", "/\\evil.example"])
def test_signing_in_leads_nowhere_else(running: Running, to: str) -> None:
    answer = httpx.post(
        f"{running.api}/sign-in",
        data={"key": running.key, "next": to},
        headers={"Sec-Fetch-Site": "same-origin"},
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
