"""What is one's own: who asks to be forgotten is seen by those who look after people, and may ask no longer."""

import msgspec
import pytest

from svc_http.routes.people import digest_of
from tests.support.people import BEN
from tests.svc_http.browsing import ANAS, BENS, OPERATORS, press, signs_in, words
from tests.svc_http.house import Caller, House


@pytest.fixture(autouse=True)
def _signed_in(house: House) -> None:
    signs_in(house, BEN, "ben's")
    signs_in(house)
    house.operators.begin(digest_of("operator's"), house.now_us())


async def test_who_asks_to_be_forgotten_is_seen_until_they_take_it_back(api: Caller) -> None:
    """With the command to type, by the operator and by an owner; nothing else happens, but for the audit log."""
    command, asked, pages = f"svc forget {BEN}", "Nothing is deleted yet", [("/operator/people", ANAS)]
    pages += [("/operator/server", OPERATORS), ("/operator/people", OPERATORS)]
    assert (await press(api, "/mine/forget/back", BENS)).status == 404
    assert "Ask to be forgotten" in await words(api, "/mine", BENS)
    assert (await press(api, "/mine/forget", BENS)).headers["Location"] == "/mine?said=asked#data"
    assert [asked in await words(api, "/mine", each) for each in (BENS, ANAS)] == [True, False]
    assert [command in await words(api, *page) for page in pages] == [True] * 3
    again = await press(api, "/mine/forget", BENS)
    assert (again.status, b"asked for already" in again.body) == (409, True)
    assert (await press(api, "/mine/forget/back", BENS)).status == 303
    assert [command in await words(api, *page) for page in pages] == [False] * 3
    told = await words(api, "/operator/audit", ANAS)
    assert told.index("Ben asked no longer to be forgotten Ben") < told.index("Ben asked to be forgotten Ben")


async def test_svc_is_offered_as_a_wheel_with_its_digest(api: Caller) -> None:
    """To whoever has the address: nothing of anybody is in it. The client that was there before is told as gone."""
    shown = await words(api, "/mine", BENS)
    assert "svc connect claude-code --url http" in shown
    path = "/client/svc-1-py3-none-any.whl"
    assert all(f"{program} install http://localhost{path}" in shown for program in ("uv tool", "pipx"))
    assert "codex: ~/.codex/config.toml [otel]" in shown
    answer = await api.get(path)
    assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, b"PK", "application/zip")
    assert f"SHA-256 of the wheel: {answer.headers['ETag'].strip(chr(34))}" in shown
    old, other = await api.get("/client/svc-client.pyz"), await api.get("/client/svc-0-py3-none-any.whl")
    assert (old.status, other.status) == (410, 404)
    assert all(path in each.body.decode() for each in (old, other))


@pytest.mark.parametrize(
    ("url", "only_here"),
    [
        *(
            (url, True)
            for url in ("http://127.0.0.1:4318", "http://[::1]:4318", "http://localhost", "http://x.localhost")
        ),
        *((url, False) for url in ("https://ingest.example", "http://10.0.0.7:4318")),
    ],
)
async def test_an_address_that_no_other_machine_reaches_is_called_so(
    house: House, api: Caller, url: str, only_here: bool
) -> None:
    house.settings = msgspec.structs.replace(house.settings, ingest_url=url)
    assert ("listens on its own machine only" in await words(api, "/mine", BENS)) is only_here


async def test_a_newcomer_reads_both_ways_to_begin(api: Caller) -> None:
    """On the machine of the server, and on one without svc."""
    shown = await words(api, "/", BENS)
    assert all(each in shown for each in ("svc import claude-code", "make a key", "svc connect claude-code"))


async def test_the_operators_pages_listen_to_no_developers_events(api: Caller) -> None:
    listens = ["live." in (await api.using(each).get("/operator/people")).body.decode() for each in (OPERATORS, ANAS)]
    assert listens == [False, True]
