"""Where prices come from: the installed price data, its newest edition on the network, a file, or an address."""

import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import httpx
import msgspec
import trio

from aggregates.prices.decide import CatalogDocument, PublishCatalog
from aggregates.times import iso
from svc.limits import CATALOG_FETCH_SECONDS, CATALOG_REDIRECTS_MAX, CATALOG_SOURCE_BYTES_MAX

PACKAGE = "genai-prices"
"""The setting for the maintained data, which is installed with this program."""
_T = TypeVar("_T")
_DOCUMENT = msgspec.json.Decoder(CatalogDocument)


class CatalogUnusable(Exception):
    """No catalog can be had from a source; the message says from which and why."""


class CatalogSource:
    """One setting: `genai-prices`, an address, or the path of a file."""

    def __init__(self, setting: str, *, network: bool) -> None:
        self.setting = setting
        self._network = network
        """Whether the maintained data may be asked for its newest edition; an address is always asked."""

    @property
    def is_local(self) -> bool:
        """Whether its prices can be had without the network."""
        return not self.setting.startswith(("http://", "https://"))

    async def at_start(self, held: str | None, now_us: int) -> PublishCatalog | None:
        """What a start publishes; `held` is the source of the newest valid revision. Raises `CatalogUnusable`."""
        if not self.is_local:
            return None
        if self.setting != PACKAGE:
            return await read_file(Path(self.setting))
        other_edition = held is None or (held.startswith(f"{PACKAGE} ") and held != packaged_source())
        return await _packaged(now_us) if other_edition else None

    async def newest(self, now_us: int) -> PublishCatalog:
        """What a refresh publishes. Raises `CatalogUnusable`."""
        if self.setting != PACKAGE:
            return await (read_file(Path(self.setting)) if self.is_local else fetch(self.setting))
        if not self._network:
            return await _packaged(now_us)
        return await fetch(await _in_thread(PACKAGE, _package_url))


def packaged_source() -> str:
    """The name and edition of the installed data."""
    return f"{PACKAGE} {version(PACKAGE)}"


async def read_file(path: Path) -> PublishCatalog:
    """The catalog in a file. Raises `CatalogUnusable`."""
    return await _in_thread(str(path), lambda: PublishCatalog(document=decoded(_content(path)), source=path.name))


async def fetch(url: str) -> PublishCatalog:
    """The catalog at an address. Raises `CatalogUnusable`."""
    shown = url
    try:
        # No user name, password or token of an address goes into the log or a message.
        shown = str(httpx.URL(url).copy_with(username=None, password=None, query=None, fragment=None))
        with trio.fail_after(CATALOG_FETCH_SECONDS):
            content = await trio.to_thread.run_sync(_fetched, url, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        raise CatalogUnusable(f"{shown}: no answer within {CATALOG_FETCH_SECONDS:.0f} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise CatalogUnusable(f"{shown}: {_why(error)}") from error
    return await _in_thread(shown, lambda: PublishCatalog(document=decoded(content), source=shown))


def decoded(content: bytes) -> CatalogDocument:
    """A catalog document, or the maintained data's own form, which is a list. Raises `ValueError`."""
    if not content.lstrip().startswith(b"["):
        return _DOCUMENT.decode(content)
    from svc.jobs.price_data import compiled, parsed

    return CatalogDocument(exact_lookups=compiled(parsed(msgspec.json.decode(content, type=list[object]))))


def _fetched(url: str) -> bytes:
    # In a thread: httpx's asynchronous answers cannot be broken off half-way without a warning of trio.
    content = bytearray()
    ends_at = time.monotonic() + CATALOG_FETCH_SECONDS
    with (
        httpx.Client(
            follow_redirects=True, max_redirects=CATALOG_REDIRECTS_MAX, timeout=CATALOG_FETCH_SECONDS
        ) as client,
        client.stream("GET", url) as answer,
    ):
        answer.raise_for_status()
        for piece in answer.iter_bytes():
            content += piece
            if len(content) > CATALOG_SOURCE_BYTES_MAX:
                raise OSError(f"the answer is larger than {CATALOG_SOURCE_BYTES_MAX} bytes")
            if time.monotonic() > ends_at:
                raise OSError("the answer took too long")
    return bytes(content)


def _why(error: Exception) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"answered {error.response.status_code}"
    return f"{error or type(error).__name__}"


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(CATALOG_SOURCE_BYTES_MAX + 1)
    if len(content) > CATALOG_SOURCE_BYTES_MAX:
        raise ValueError(f"larger than {CATALOG_SOURCE_BYTES_MAX} bytes")
    return content


async def _packaged(now_us: int) -> PublishCatalog:
    def make() -> PublishCatalog:
        from svc.jobs.price_data import compiled, data_date_us, packaged

        data = packaged()
        document = CatalogDocument(exact_lookups=compiled(data), published_at=iso(data_date_us(data, now_us)))
        return PublishCatalog(document=document, source=packaged_source())

    return await _in_thread(PACKAGE, make)


def _package_url() -> str:
    from genai_prices.update_prices import DEFAULT_UPDATE_URL

    return DEFAULT_UPDATE_URL


async def _in_thread(source: str, work: Callable[[], _T]) -> _T:
    # The price data are imported in there, not above: they cost 0.3 s and 30 MiB, which most commands need not pay.
    try:
        return await trio.to_thread.run_sync(work)
    except OSError as error:
        raise CatalogUnusable(f"{source}: {error.strerror or error}") from error
    except Exception as error:
        # Whatever foreign data makes the parser raise: what cannot be read is not published, and nothing else breaks.
        raise CatalogUnusable(f"{source} holds no usable catalog: {error or type(error).__name__}") from error
