"""Where prices come from: bounded in bytes and time, and whatever is wrong there becomes a sentence."""

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aggregates.times import parse_instant
from svc.cli.access import REMOTE_TIMEOUT_SECONDS
from svc.jobs import catalog as catalog_sources
from svc.jobs.catalog import CATALOG_FETCH_SECONDS, PACKAGE, CatalogSource, fetch, packaged_source, read_file
from svc_http.ports import NotRefreshed
from tests.support.catalogs import document, lookup
from tests.support.listening import Handler, listening

NOW_US = parse_instant("2026-11-20")
GOOD = msgspec.json.encode(document(lookup("served")))
RAW: list[dict[str, Any]] = [
    {
        "id": "maker",
        "name": "Maker",
        "api_pattern": "x",
        "model_match": {"starts_with": "m-"},
        "models": [{"id": "m-1", "match": {"equals": "m-1"}, "prices": {"input_mtok": 1, "output_mtok": 2}}],
    }
]


class Web:
    """A web server with some pages, good and bad."""

    def __init__(self) -> None:
        self.place = ""
        self.ends = threading.Event()
        self.asked: list[str] = []

    def url(self, path: str) -> str:
        return f"http://user:pass@{self.place}{path}"


@pytest.fixture
def web() -> Iterator[Web]:
    found = Web()
    pages = {"/good": GOOD, "/raw": json.dumps(RAW).encode(), "/bomb": gzip.compress(b" " * 100_000), "/text": b"hello"}
    more = {"/moved": {"Location": "/good"}, "/bomb": {"Content_Encoding": "gzip"}}

    class Pages(Handler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            found.asked.append(self.path)
            if path == "/slow":
                found.ends.wait(60)
                self.close_connection = True
                return
            self.answer({"/moved": 302, "/gone": 500}.get(path, 200), pages.get(path, b""), **more.get(path, {}))

    with listening(Pages) as url:
        found.place = url.removeprefix("http://")
        yield found
        found.ends.set()


async def test_a_catalog_is_fetched_or_read(web: Web, tmp_path: Path) -> None:
    """Over a redirect, too; no credentials and no query are kept with it. The maintained data's form is understood."""
    for path in ("/good?token=secret", "/moved?token=secret"):
        found = await fetch(web.url(path))
        assert found.document.exact_lookups[0].external_model_id == "served"
        assert found.source == f"http://{web.place}{path.partition('?')[0]}"
    raw = await fetch(web.url("/raw"))
    assert [each.external_model_id for each in raw.document.exact_lookups] == ["m-1"]
    (tmp_path / "prices.json").write_bytes(GOOD)
    found = await read_file(tmp_path / "prices.json")
    assert (found.source, found.document.exact_lookups[0].external_model_id) == ("prices.json", "served")


BAD = {"/gone": "answered 500", "/text": "no usable catalog", "/bomb": "no usable catalog", "/slow": "no answer within"}


@pytest.mark.parametrize(("path", "why"), BAD.items())
async def test_a_fetch_that_fails_says_why(web: Web, path: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the credentials of the address; what is packed is not unpacked, and nobody is waited for too long."""
    monkeypatch.setattr("svc.jobs.catalog.CATALOG_SOURCE_BYTES_MAX", 50_000)
    if path == "/slow":
        monkeypatch.setattr("svc.jobs.catalog.CATALOG_FETCH_SECONDS", 0.05)
    with pytest.raises(NotRefreshed, match=why) as caught:
        await fetch(web.url(path))
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/none", "http://[::1", "https://"])
async def test_an_address_that_leads_nowhere_says_so(url: str) -> None:
    with pytest.raises(NotRefreshed):
        await fetch(url)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no usable catalog"),
        (b"{}", "missing required field `exact_lookups`"),
        (b'{"exact_lookups": [{"external_model_id": 1}]}', r"at `\$.exact_lookups\[0\]"),
        (b"[[[", "no usable catalog"),
        (b'["text"]', "no usable catalog"),
        (b'[{"id": "x"}]', "no usable catalog"),
        (b'[{"id": "x", "name": "x", "api_pattern": "x", "models": [{"id": 1}]}]', "no usable catalog"),
        (b"\xff\xfe", "no usable catalog"),
        (b" " * 60_000, "larger than 50000 bytes"),
        (None, "No such file"),
    ],
)
async def test_a_file_that_is_no_catalog_says_so(
    tmp_path: Path, content: bytes | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc.jobs.catalog.CATALOG_SOURCE_BYTES_MAX", 50_000)
    if content is not None:
        (tmp_path / "prices.json").write_bytes(content)
    with pytest.raises(NotRefreshed, match=why) as caught:
        await read_file(tmp_path / "prices.json")
    assert "prices.json" in str(caught.value)


async def test_a_start_needs_no_network_and_does_not_undo_what_is_newer(tmp_path: Path) -> None:
    """Installed data where nothing is held, or another edition of them; a file always; an address never."""
    installed = CatalogSource(PACKAGE, network=True)
    first = await installed.at_start(None, NOW_US)
    assert first is not None
    assert first.source == packaged_source()
    assert first.document.published_at is not None
    assert first.document.published_at < "2026-11-20"
    assert await installed.at_start(packaged_source(), NOW_US) is None
    assert await installed.at_start("my-prices.json", NOW_US) is None
    assert await installed.at_start(f"{PACKAGE} 0.0.1", NOW_US) == first
    (tmp_path / "prices.json").write_bytes(GOOD)
    assert await CatalogSource(str(tmp_path / "prices.json"), network=True).at_start("anything", NOW_US) is not None
    assert await CatalogSource("https://prices.example/", network=True).at_start(None, NOW_US) is None


async def test_a_refresh_asks_the_network_only_where_it_may(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maintained data have a newest edition; without the network the installed one is the newest."""
    monkeypatch.setattr(catalog_sources, "_package_url", lambda: web.url("/raw"))
    newest = await CatalogSource(PACKAGE, network=True).newest(NOW_US)
    assert len(newest.document.exact_lookups) == 1
    offline = await CatalogSource(PACKAGE, network=False).newest(NOW_US)
    assert offline.source == packaged_source()
    assert web.asked == ["/raw"]
    assert len((await CatalogSource(web.url("/good"), network=False).newest(NOW_US)).document.exact_lookups) == 1


def test_a_command_sees_why_a_fetch_failed() -> None:
    assert CATALOG_FETCH_SECONDS < REMOTE_TIMEOUT_SECONDS
