"""The one period of all pages: what an address asks for, what it is called, and the bars that are drawn of it."""

from datetime import date
from zoneinfo import ZoneInfo

import pytest
from werkzeug.datastructures import MultiDict

from aggregates.times import Window, local_date, midnight_us
from svc_http.pages.door import new_address
from svc_http.pages.period import Period, drawn
from svc_http.pages.words import SAID
from svc_http.records import Asked, asked_of, span_of
from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.facts import DAY
from tests.support.tables import beside
from tests.svc_http.browsing import ANAS, signs_in, words_of, works as reaches
from tests.svc_http.house import Caller, House

TODAY, OLDEST = date(2026, 8, 1), date(2024, 2, 10)
KYIV = ZoneInfo("Europe/Kyiv")


@beside()
def test_an_address_asks_for_days(query: dict[str, str], name: str, first: str, last: str) -> None:
    asked = Asked(name, date.fromisoformat(first), date.fromisoformat(last))
    assert asked_of(MultiDict(query), TODAY, OLDEST) == asked


@beside()
def test_what_is_no_time_is_told_in_a_sentence(query: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        asked_of(MultiDict(query), TODAY, OLDEST)


@beside()
def test_a_command_and_a_tool_ask_for_the_same_days(given: dict[str, str], first: str, last: str, told: str) -> None:
    """And for any number of days."""
    assert span_of(given, TODAY) == ({"from": first, "to": last}, told)


@beside()
def test_a_chart_has_at_most_sixty_bars_that_make_up_the_period(
    begun: str, oldest_day: str | None, unit: str, bars: int, labels: list[str]
) -> None:
    """From the first goal on, whole days of the zone, none twice and none left out."""
    first, oldest = date.fromisoformat(begun), None if oldest_day is None else date.fromisoformat(oldest_day)
    window = Window(midnight_us(first, KYIV), midnight_us(date(2026, 8, 2), KYIV))
    oldest_us = None if oldest is None else midnight_us(oldest, KYIV) + 1
    newest_us = window.end_us - 1
    period = Period(window, "", "range", "", "", first, TODAY, TODAY, [], None, oldest_us, newest_us, None)
    found = drawn(period, KYIV)
    assert (found.unit, len(found.windows), list(found.labels[:2])) == (unit, bars, labels)
    begin = max(first, oldest or first)
    edges = [each.start_us for each in found.windows] + [found.windows[-1].end_us]
    assert edges == [midnight_us(begin, KYIV), *(each.end_us for each in found.windows)]
    assert found.queries[0].startswith(f"from={begin}&to=")
    assert found.queries[-1].endswith(f"&to={local_date(window.end_us - 1, KYIV)}")


async def test_the_period_goes_along_and_says_where_goals_are(house: House, api: Caller) -> None:
    signs_in(house)
    for days in (400, 100, 1):
        reaches(house, ANA_SCOPE, at_us=NOW_US - days * DAY)
    house.passes(NOW_US)
    browser = api.using(ANAS)
    page = (await browser.get("/goals?days=90&outcome=reached&page=1")).body.decode()
    assert 'href="/cost?days=90"' in page
    assert 'href="/goals?days=7&amp;outcome=reached"' in page
    assert "since 27 June 2025" in page
    assert [f"days={month}&amp;" in page for month in ("2026-07", "2026-06", "2026-04", "2025-06")] == [
        *(True, False, True, True)
    ]
    empty = words_of(await browser.get("/goals?from=2026-05-01&to=2026-05-31"))
    assert "No goal began in 1 May to 31 May. April has some" in empty
    wrong = await browser.get("/habits?from=2026-05-01&to=2026-04-01")
    assert (wrong.status, b"it ends before it begins. Shown are the last 30 days." in wrong.body) == (400, True)


async def test_old_addresses_lead_to_the_new_ones(api: Caller) -> None:
    for old in SAID["moved"]:
        path = f"{old}people" if old.endswith("/") else old
        answer = await api.get(f"{path}?days=7")
        assert (answer.status, answer.headers["Location"]) == (308, new_address(path, "days=7"))
    assert new_address("/operator/people/x", "") == "/administration/people/x"
    assert new_address("/not-counted", "days=7") == "/goals?outcome=not_counted&days=7"
