"""Signing in by a provider, and by a link in a mail: a browser keeps strict cookies back on the way from elsewhere."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.browser.house import Running, serving
from tests.support.process import svc
from tests.support.provider import CLIENT, SECRET, provider

ELSEWHERE = "http://mail.example/"


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


def test_a_link_in_a_mail_signs_in(running: Running, browser: Browser) -> None:
    link = svc("open", "--var", running.var, "--print").stdout.strip()
    context = browser.new_context()
    page: Page = context.new_page()
    page.route(ELSEWHERE, lambda route: route.fulfill(content_type="text/html", body=f'<a href="{link}">Come in</a>'))
    page.goto(ELSEWHERE)
    page.click("a")
    page.get_by_role("button", name="Sign in as").click()
    page.wait_for_url(re.compile(rf"{re.escape(running.api)}/(sign-in)?$"))
    assert page.url == f"{running.api}/"
    context.close()
