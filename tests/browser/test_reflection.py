"""How one works, in the browser: what answers while one types, and what takes a while."""

from playwright.sync_api import Page


def test_a_prompt_is_graded_while_one_types(page: Page) -> None:
    page.goto("/habits")
    page.get_by_label("A prompt, as you would send it").press_sequentially("Fix the crash in src/a.py")
    page.locator("#graded").get_by_text("Read as a bug fix").wait_for(timeout=15_000)
    assert page.url.endswith("/habits")
