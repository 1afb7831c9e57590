"""A real server with a month of imagined work, and a real Chromium that looks at it."""

import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from playwright.sync_api import Locator, Page

from svc.cli.demo import write_transcripts
from tests.support.process import KEY, NOTHING, THIS_TREE, beside, svc

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Debian's; without one the tests of this folder are skipped, saying so."""
_LINK = re.compile(r"Open this once within \d+ minutes: (\S+)")
PAGES = [
    "/",
    "/?from=2016-01-01&to=2026-01-01",
    "/goals?days=all",
    "/goals?days=all&outcome=not_counted",
    "/habits?days=all",
    "/cost?days=all",
    "/reports",
    "/settings",
    *("/team?days=all", "/administration/server", "/administration/people", "/administration/audit"),
]


class Running(NamedTuple):
    var: Path
    link: str
    intake: str
    api: str
    key: str


@contextmanager
def serving(settings: Mapping[str, str] = NOTHING) -> Iterator[Running]:
    """`svc serve` over a new folder, as a newcomer starts it."""
    with tempfile.TemporaryDirectory(prefix="svc-browser-") as folder:
        var = Path(folder) / "var"
        with THIS_TREE.serving(var, told=settings) as server:
            told = beside(var, "log").read_text(encoding="utf-8")
            link, key = _LINK.search(told), KEY.search(told)
            assert link is not None, told
            assert key is not None, told
            yield Running(var, link[1], server.intake_url, server.api_url, key[0])
            server.stop(20)


def import_work(running: Running, name: str = "Ana") -> None:
    """What `svc import claude-code` reads on a newcomer's machine."""
    with tempfile.TemporaryDirectory(prefix="svc-transcripts-") as folder:
        written = write_transcripts(Path(folder), now_us=time.time_ns() // 1_000)
        svc("import", "claude-code", written[name], "--var", running.var)


def _administration(running: Running) -> httpx.Client:
    secret = (running.var / "internal-secret").read_text(encoding="utf-8").strip()
    return httpx.Client(base_url=f"{running.api}/v1/admin", headers={"X-Internal-Secret": secret})


def come_in(page: Page, link: str) -> None:
    page.goto(link)
    follow(page, page.get_by_role("button"))


def follow(page: Page, link_or_button: Locator) -> None:
    """Click, and wait for the page that it leads to: a click alone waits for no answer of the server."""
    with page.expect_navigation():
        link_or_button.click()


def cookie_header(cookies: list[Any]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in cookies)}


def operator_link(running: Running) -> str:
    with _administration(running) as admin:
        path: str = admin.post("/operator-links").json()["path"]
    return running.api + path


def form_team(running: Running) -> None:
    with _administration(running) as admin:
        (owner,) = admin.get("/memberships").json()
        team = admin.post("/teams", json={"organization_id": owner["organization_id"], "name": "Core"}).json()
        joined = admin.post("/team-memberships", json={"team_id": team["id"], "developer_id": owner["developer_id"]})
        assert joined.status_code == 201, joined.text
