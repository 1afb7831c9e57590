"""Nobody gets in by a page: forged requests, frames, borrowed, chosen and stolen cookies."""

from typing import Any

import httpx
from playwright.sync_api import Browser, Page

from tests.browser.house import Running

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ELSEWHERE = "http://127.0.0.1:1/"


def _cookie(cookies: list[Any]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in cookies)}


def test_a_key_signs_in_and_leads_back(running: Running, browser: Browser) -> None:
    """By another cookie than the browser had: nobody goes on with one that somebody chose. It ends with signing out."""
    context = browser.new_context(base_url=running.api)
    name = f"svc_session_{running.api.rpartition(':')[2]}"
    context.add_cookies([{"name": name, "value": "chosen-by-somebody", "url": running.api}])
    page = context.new_page()
    page.goto("/goals?days=90")
    for key, told in (("svc_" + "x" * 43, "unknown key"), (running.key, None)):
        page.get_by_label("Your key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        assert told is None or told in page.get_by_role("alert").inner_text().lower()
    assert page.url == f"{running.api}/goals?days=90"
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] != "chosen-by-somebody"
    stolen = _cookie([cookie])
    assert httpx.get(running.api, headers=stolen).status_code == 200
    page.get_by_role("button", name="Sign out").click()
    assert httpx.get(running.api, headers=stolen).status_code == 303
    context.close()


def test_a_page_from_elsewhere_presses_no_button_and_frames_no_page(
    running: Running, page: Page, cookies: list[Any]
) -> None:
    """A form of another origin, be it another port of this machine, and a request without any origin."""
    frame = f'<iframe src="{running.api}/" width="600" height="400"></iframe>'
    form = f'<form method="post" action="{running.api}/sign-out"><button>Win</button></form>'
    page.route(ELSEWHERE, lambda route: route.fulfill(content_type="text/html", body=frame + form))
    page.goto(ELSEWHERE, wait_until="load")
    assert all("How you work" not in (each.content() if each.url.startswith("http") else "") for each in page.frames)
    with page.expect_navigation():
        page.click("button")
    assert "may change nothing here" in page.inner_text("main")
    for site in ({"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://evil.example"}, {}):
        answer = httpx.post(f"{running.api}/sign-out", headers=FORM | _cookie(cookies) | site)
        assert answer.status_code == 403, site
    assert httpx.get(running.api, headers=_cookie(cookies)).status_code == 200
