"""The page Server begins with "All well" or "Not well"; Administration leads to what one may see."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from svc_http import ports
from svc_http.pages import administration
from svc_http.routes.people import digest_of
from tests.support.basics import BEN
from tests.support.facts import DAY
from tests.svc_http.browsing import ANAS, BENS, OPERATORS, enters, press, signs_in, words, words_of
from tests.svc_http.house import Caller, House
from tests.svc_http.test_links import NORA, member

CATALOG = ports.CatalogShown(
    revision=1, published_at="2026-08-01", refreshed_at="2026-08-01T00:00:00Z", stale=False, fault=None, models=3
)
BACKUPS = ports.BackupsShown(folder="b", kept=1, newest_at="2026-08-01", age_seconds=60, overdue=False, failures=0)


@pytest.fixture(autouse=True)
def _signed_in(house: House) -> None:
    signs_in(house)
    house.operator_browsers.begin(digest_of("operator's"), house.now_us())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "All well."),
        ({"log": ports.LogShown(head=1, writable=False, events=None)}, "Nothing can be stored"),
        ({"disk_free_bytes": 10**8}, "The disk is nearly full"),
        ({"missing_keys": ["x"]}, "The data key of 1 developer is missing"),
        ({"replay": ports.ReplayStatus(state="failed", message="<b>no</b>")}, "The last replay failed: <b>no</b>"),
        ({"catalog": None}, "There are no prices"),
        ({"catalog": replace(CATALOG, refreshed_at="2026-07-25T00:00:00Z")}, "The list prices were last"),
        ({"catalog": replace(CATALOG, stale=True, fault="prices.example: <b>no</b>")}, "All well."),
        ({"backups": replace(BACKUPS, newest_at=None, age_seconds=None)}, "There is no backup yet."),
        ({"backups": replace(BACKUPS, overdue=True)}, "The newest backup is overdue."),
        ({"backups": replace(BACKUPS, failures=1)}, "A backup failed"),
        ({"backups": None}, "All well, but no backups are made."),
    ],
)
async def test_whether_all_is_well_comes_first(
    api: Caller, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    status = House.status

    async def changed_status(self: House, *, by_kind: bool = True) -> ports.Status:
        return replace(await status(self, by_kind=by_kind), **{"catalog": CATALOG, "backups": BACKUPS, **changed})

    monkeypatch.setattr(House, "status", changed_status)
    answer = await api.using(OPERATORS).get("/administration/server")
    assert f"Server {'' if said.startswith('All well') else 'Not well. '}{said}" in words_of(answer)
    failed = "The last refresh failed, so these go on: prices.example: <b>no</b>" in words_of(answer)
    assert failed is ("stale=True" in str(changed)), "said with the prices: it keeps nothing from working"
    assert b"<b>no" not in answer.body


@pytest.mark.parametrize(("who", "to"), [(ANAS, "people"), (OPERATORS, "server")])
async def test_administration_leads_on(api: Caller, who: dict[str, str], to: str) -> None:
    answer = await api.using(who).get("/administration")
    assert (answer.status, answer.headers["Location"]) == (303, f"/administration/{to}")
    shown = (await api.using(who).get(f"/administration/{to}")).body.decode()
    assert ('aria-label="Administration"' in shown) is (who is ANAS)
    assert '<a href="/">Your own pages</a>' in shown or who is ANAS, "whose head has them all"
    assert ('"/administration/server"' in shown) is (who is OPERATORS), "no way that leads to a refusal"


async def test_the_operators_times_are_those_of_who_is_signed_in_there(house: House, api: Caller) -> None:
    signs_in(house, BEN, "ben's")
    both = {"Cookie": f"{OPERATORS['Cookie']}; {BENS['Cookie']}"}
    for cookies, zone in ((OPERATORS, "UTC"), (both, "Europe/Berlin")):
        shown = (await api.using(cookies).get("/administration/audit")).body.decode()
        assert f"Times are of {zone}." in shown


async def test_the_audit_log_tells_of_the_days_asked_for(house: House, api: Caller) -> None:
    """The page and its two files alike; the last day too. An empty date is none."""
    enters(house, "nora")
    await press(api, f"/administration/people/{member(BEN)}/role", ANAS, role="owner")
    house.clock_us += 2 * DAY
    await press(api, f"/administration/people/{member(NORA)}/role", ANAS, role="owner")
    reversed_days = await words(api, "/administration/audit?from=2026-08-02&to=2026-08-01", ANAS)
    assert "This time ends before it begins." in reversed_days
    days = {"from=2026-08-01&to=2026-08-01": ["Ben"], "from=2026-08-02&to=": ["Nora"], "from=2026-08-04": []}
    for asked, told in ({"": ["Ben", "Nora"]} | days).items():
        shown = await words(api, f"/administration/audit?{asked}", ANAS)
        files = [(await api.using(ANAS).get(f"/administration/audit.{end}?{asked}")).body for end in ("csv", "ndjson")]
        for name in ("Ben", "Nora"):
            assert [name in each for each in (shown, *(file.decode() for file in files))] == [name in told] * 3
    assert (await api.using(ANAS).get("/administration/audit.csv?from=soon")).status == 400


async def test_older_acts_have_pages(house: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administration, "ACTS_SHOWN", 1)
    for role in ("owner", "lead", "reader"):
        await press(api, f"/administration/people/{member(BEN)}/role", ANAS, role=role)
    at, seen = "/administration/audit?from=2026-08-01&to=2026-08-01", list[str]()
    while at:
        body = (await api.using(ANAS).get(at)).body.decode()
        seen += re.findall(r"\(role (\w+)\)", body)
        older = re.search(r'rel="next" href="([^"]+)"', body)
        at = "" if older is None else older[1].replace("&amp;", "&")
    assert seen[:3] == ["reader", "lead", "owner"]
    assert (await api.using(ANAS).get("/administration/audit?page=99")).status == 200


async def test_signing_out_oneself_is_no_act_of_administration(house: House, api: Caller) -> None:
    signs_in(house, BEN, "ben's")
    await press(api, "/settings/sign-out", BENS)
    assert "signed a browser out" not in await words(api, "/administration/audit", ANAS)
