"""A newcomer's way: start, link, import, score, goal, dispute, another figure. And what is hostile."""

import os
import re
import time
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.house import Running, come_in, follow, import_work, serving

PICTURES = Path(__file__).parent / "pictures"
WAY_SECONDS = 60
HOSTILE = '<script>document.title = "owned"</script><img src=x onerror=alert(1)>\u202egnp.exe \x1b[31m'
CJK = "検索結果を保存するときに文字化けする問題を直してください" * 3


def _reached(page: Page) -> int:
    found = re.search(r"(\d+) of \d+ decided goals? reached", page.inner_text("main"))
    assert found is not None, page.inner_text("main")
    return int(found[1])


def test_from_the_first_start_to_a_word_that_counts(browser: Browser) -> None:
    began = time.monotonic()
    with serving() as fresh:
        context = browser.new_context(base_url=fresh.api, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        come_in(page, fresh.link)
        assert "Nothing has arrived yet" in page.inner_text("main")
        import_work(fresh)
        page.goto("/")
        before = _reached(page)
        page.goto("/goals?outcome=reached")
        follow(page, page.locator(".goals tbody a").first)
        page.get_by_text("Say otherwise").click()
        page.get_by_role("button", name="Not reached").click()
        page.get_by_role("button", name="Say so").wait_for()
        assert "/say" not in page.url, "now and then are shown in place"
        assert str(before - 1) in page.locator("tbody").inner_text()
        follow(page, page.get_by_role("button", name="Say so"))
        assert "counts from now on" in page.get_by_role("status").inner_text()
        assert "What you said" in page.inner_text("main")
        page.goto("/")
        assert _reached(page) == before - 1
        page.goto("/goals?outcome=not_reached")
        follow(page, page.locator(".goals tbody a").first)
        follow(page, page.get_by_role("button", name="Take it back"))
        page.goto("/")
        assert _reached(page) == before
        context.close()
    assert time.monotonic() - began < WAY_SECONDS


def test_what_an_agent_sends_is_shown_and_never_obeyed(running: Running, page: Page) -> None:
    """Markup, control characters, a title of sixty CJK characters, four megabytes."""
    key = {"Authorization": f"Bearer {running.key}"}
    live = page.locator(".goals tbody tr")
    page.goto("/goals?outcome=going_on")
    others = live.count()  # of tests before this one
    for number, text in enumerate((HOSTILE, CJK, f"{HOSTILE} " + "x" * 3_900_000)):
        sent = {"prompt_text": text, "tool_session_id": f"hostile-{number}", "source": HOSTILE[:60]}
        answer = httpx.post(f"{running.intake}/v1/prompts", json=sent, headers=key)
        assert answer.status_code == 201, answer.text
        response = {"prompt_id": answer.json()["id"], "response_operation_id": str(number), "response_text": text}
        assert httpx.post(f"{running.intake}/v1/prompts/response", json=response, headers=key).status_code == 204
    httpx.get(f"{running.api}/v1/score_v3/score", headers=key)
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
    page.goto("/goals?outcome=going_on")
    assert live.count() == others + 3
    for place in range(3):
        page.goto("/goals?outcome=going_on")
        follow(page, page.locator(".goals tbody a").nth(place))
        assert page.title() != "owned"
        assert "\u202e" not in page.content()
        assert page.locator("main script, main img").count() == 0
        assert len(page.content()) < 100_000


def test_its_title_is_escaped_where_a_person_wrote_it(page: Page) -> None:
    page.goto("/goals?days=all")
    follow(page, page.locator(".goals tbody a").last)
    page.get_by_text("Say otherwise").click()
    page.get_by_label("Other title").fill("<b>bold</b> & 'quoted'")
    page.get_by_role("button", name="Rename").click()
    follow(page, page.get_by_role("button", name="Say so"))
    assert page.locator("h1").inner_text() == "<b>bold</b> & 'quoted'"


def test_keys_and_browsers_are_ones_own_to_end(running: Running, browser: Browser, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/settings")
    page.get_by_label("Name of a new key").fill('laptop <script>"')
    follow(page, page.get_by_role("button", name="Make a key"))
    key = page.locator(".key-text").inner_text()
    other = browser.new_context(base_url=running.api)
    there = other.new_page()
    there.goto("/sign-in")
    there.get_by_label("Your key").fill(key)
    follow(there, there.get_by_role("button", name="Sign in"))
    assert there.title() == "Home · svc"
    page.goto("/settings")
    page.locator("summary", has_text=f"Revoke {key[:12]}").click()
    follow(page, page.get_by_role("button", name=f"Revoke {key[:12]}"))
    assert "no longer works" in page.get_by_role("status").inner_text()
    there.goto("/goals")
    assert there.url == f"{running.api}/sign-in?next=/goals"
    other.close()


def test_a_page_that_stands_open_follows(running: Running, page: Page) -> None:
    """What arrives is shown without a reload."""
    page.goto("/")
    page.wait_for_timeout(300)
    key = {"Authorization": f"Bearer {running.key}"}
    sent = {"prompt_text": "Rename the flag --fast to --quick in cli.py", "tool_session_id": "seen-live"}
    assert httpx.post(f"{running.intake}/v1/prompts", json=sent, headers=key).status_code == 201
    page.get_by_role("link", name="Rename the flag --fast").wait_for(timeout=15_000)


def test_a_prompt_is_graded_while_one_types(page: Page) -> None:
    page.goto("/habits")
    page.get_by_label("A prompt, as you would send it").press_sequentially("Fix the crash in src/a.py")
    page.locator("#graded").get_by_text("Read as a bug fix").wait_for(timeout=15_000)
    assert page.url.endswith("/habits")


TAKEN: tuple[tuple[Literal["light", "dark"], int, str, str], ...] = (
    ("light", 1280, "home", "/"),
    ("light", 1280, "goal", "/goals?outcome=reached&days=all"),
    ("dark", 360, "home", "/"),
    ("dark", 360, "goals", "/goals?days=all"),
)
"""By the system's setting, the width, the name and the address; of a goal, its list's second."""


@pytest.mark.skipif(not os.environ.get("SVC_WRITE_PAGES"), reason="SVC_WRITE_PAGES=1 takes the pictures anew")
def test_the_pictures(browser: Browser) -> None:
    """Of a server with a month of work and nothing hostile."""
    with serving() as fresh:
        import_work(fresh)
        signed_in = browser.new_context(base_url=fresh.api)
        come_in(signed_in.new_page(), fresh.link)
        for scheme, width, name, path in TAKEN:
            context = browser.new_context(
                base_url=fresh.api, color_scheme=scheme, viewport={"width": width, "height": 860}
            )
            context.add_cookies(signed_in.cookies())  # type: ignore[arg-type]  # what is given is not what is taken
            page = context.new_page()
            page.goto(path)
            if name == "goal":
                page.locator(".goals tbody a").nth(1).click()
            page.screenshot(path=PICTURES / f"{name}-{scheme}.png")
            context.close()
        signed_in.close()
