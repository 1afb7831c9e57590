"""Who gets in by a page and who does not: keys, a provider, links in mails; forged requests, frames, stolen cookies."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.house import Running, cookie_header, follow, serving
from tests.support.process import svc
from tests.support.provider import CLIENT, SECRET, provider

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ELSEWHERE = "http://127.0.0.1:1/"


def test_a_key_signs_in_and_leads_back(running: Running, browser: Browser) -> None:
    """By another cookie than the browser had: nobody goes on with one that somebody chose. It ends with signing out."""
    context = browser.new_context(base_url=running.api)
    name = f"svc_session_{running.api.rpartition(':')[2]}"
    context.add_cookies([{"name": name, "value": "chosen-by-somebody", "url": running.api}])
    page = context.new_page()
    page.goto("/goals?days=90")
    for key, told in (("svc_" + "x" * 43, "unknown key"), (running.key, None)):
        page.get_by_label("Your key").fill(key)
        follow(page, page.get_by_role("button", name="Sign in"))
        assert told is None or told in page.get_by_role("alert").inner_text().lower()
    assert page.url == f"{running.api}/goals?days=90"
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] != "chosen-by-somebody"
    stolen = cookie_header([cookie])
    assert httpx.get(running.api, headers=stolen).status_code == 200
    page.locator(".top .menu summary").click()
    follow(page, page.get_by_role("button", name="Sign out"))
    assert httpx.get(running.api, headers=stolen).status_code == 303
    context.close()


def test_a_page_from_elsewhere_presses_and_frames_nothing(running: Running, page: Page, cookies: list[Any]) -> None:
    """A form of another origin, be it another port of this machine, and a request without any origin."""
    frame = f'<iframe src="{running.api}/" width="600" height="400"></iframe>'
    form = f'<form method="post" action="{running.api}/sign-out"><button>Win</button></form>'
    page.route(ELSEWHERE, lambda route: route.fulfill(content_type="text/html", body=frame + form))
    page.goto(ELSEWHERE, wait_until="load")
    assert all(
        "Skip to the content" not in (each.content() if each.url.startswith("http") else "") for each in page.frames
    )
    follow(page, page.locator("button"))
    assert "may change nothing here" in page.inner_text("main")
    for site in ({"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://evil.example"}, {}):
        answer = httpx.post(f"{running.api}/sign-out", headers=FORM | cookie_header(cookies) | site)
        assert answer.status_code == 403, site
    assert httpx.get(running.api, headers=cookie_header(cookies)).status_code == 200


MAIL = "http://mail.example/"


def test_the_button_leads_there_and_back(tmp_path: Path, browser: Browser) -> None:
    """To the page that one wanted to see, signed in, with nothing left of the way."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with provider() as there:
        told = {"SVC_OIDC_ISSUER": there.issuer, "SVC_OIDC_CLIENT_ID": CLIENT, "SVC_OIDC_NAME": "Acme"}
        with serving(told | {"SVC_OIDC_CLIENT_SECRET_FILE": str(secret)}) as running:
            svc("developer", "set", "Owner", "--email", "ana@example.com", "--var", running.var)
            there.person = {"sub": "ana", "email": "ana@example.com", "email_verified": True}
            there.waits = True  # somebody presses a button over there, so the way back begins there
            context = browser.new_context(base_url=running.api)
            page = context.new_page()
            page.goto("/goals")
            page.get_by_role("button", name="Sign in with Acme").click()
            page.get_by_role("link", name="Yes, it is me").click()
            page.wait_for_url("**/goals")
            assert "Owner" in page.inner_text("header")
            assert [each["name"][:11] for each in context.cookies()] == ["svc_session"]
            context.close()


@pytest.mark.usefixtures("cookies")  # the owner has come in by the first link: another one ends it
def test_a_link_in_a_mail_signs_in(running: Running, browser: Browser) -> None:
    link = svc("open", "--var", running.var, "--print").stdout.strip()
    context = browser.new_context()
    page: Page = context.new_page()
    page.route(MAIL, lambda route: route.fulfill(content_type="text/html", body=f'<a href="{link}">Come in</a>'))
    page.goto(MAIL)
    follow(page, page.locator("a"))
    follow(page, page.get_by_role("button", name="Sign in as"))
    assert page.url == f"{running.api}/"
    context.close()
