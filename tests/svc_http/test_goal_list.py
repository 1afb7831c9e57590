"""The list of goals: what came out how, narrowed, in any order, page by page; and whatever else an address asks."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from aggregates.event import Words
from aggregates.reading.verdicts import KIND_GROUPS
from svc_http import ports
from svc_http.pages import charts
from svc_http.pages.words import KINDS, kind_shown
from tests.support.basics import ANA_SCOPE, BEN, NOW_US
from tests.support.facts import DAY, HOUR, SECOND, Log, edit, request, shell
from tests.svc_http.browsing import ANAS, BENS, press, signs_in, words_of
from tests.svc_http.house import Answer, Caller, House, bearer

HOSTILE = "<img src=x>\u202e'\""
SHOP: dict[str, Any] = {"cwd": Words("/home/ana/shop"), "cwd_digest": 7}
WANTED = (
    "Add a --json flag to src/page0.py and test it.",
    "Fix the crash of src/page1.py on an empty list, and run the tests.",
    "Rename load() in src/page2.py to read(), then run the tests.",
    "Write a test of src/page3.py for names with spaces.",
    "thanks",
)


@pytest.fixture
def api(house: House, api: Caller) -> Caller:
    """Three reached, the latest first the dearest; one undecided, one that does not count."""
    signs_in(house)
    log = Log(ANA_SCOPE, NOW_US - DAY)
    for place in range(5):
        at_us = NOW_US - (place + 1) * DAY
        log.prompt(f"s{place}", WANTED[place], at_us, **(SHOP if place == 3 else {}))
        done = [request(at_us + n) for n in range(place + 1)]
        if place < 4:
            done.append(edit(at_us + SECOND))
        if place < 3:
            done += [shell(at_us + 2 * SECOND, "pytest -q"), request(at_us + 90)]
        log.records(f"s{place}", *done)
    house.has_seen(log, NOW_US + HOUR)
    return api.using(ANAS)


def titles(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    link = r'<a href="/goals/[0-9a-f-]+(?:\?[^"]*)?(?:#turn-1)?">[^<]*?(?:page)?(\d|thanks)'
    return re.findall(link, answer.body.decode())


async def test_tabs_count_every_outcome_and_add_up(api: Caller) -> None:
    told = words_of(await api.get("/goals?outcome=reached"))
    assert "all 5 reached 3 undecided 1 not reached 0 repeated 0 going on 0 not counted 1" in told


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("", ["0", "1", "2", "3", "thanks"]),
        ("order=asc", ["thanks", "3", "2", "1", "0"]),
        ("outcome=reached", ["0", "1", "2"]),
        ("outcome=not_counted", ["thanks"]),
        ("sort=cost&outcome=reached", ["2", "1", "0"]),
        ("sort=cost&outcome=reached&order=asc", ["0", "1", "2"]),
        ("intent_class=review", []),
        ("agent=none", []),
        (f"agent={quote(HOSTILE)}", []),
        ("overridden=true", []),
    ],
)
async def test_goals_are_narrowed_and_sorted(api: Caller, asked: str, shown: list[str]) -> None:
    answer = await api.get(f"/goals?{asked}")
    assert titles(answer) == shown
    assert HOSTILE not in answer.body.decode()
    assert ("No goal fits" in words_of(answer)) == (not shown)


async def test_a_kind_that_is_filtered_by_stands_in_its_column(api: Caller) -> None:
    """Or its group, or nothing: no more than is told."""
    kinds = {*(goal["intent_class"] for goal in (await api.get("/v1/score_v3/goals", bearer())).json["goals"])}
    for kind in kinds - {"unclassified"}:
        body = (await api.get(f"/goals?intent_class={kind}")).body.decode()
        rows = re.findall(r'<td class="roomy">([^<]*)</td>', body)[::4]
        assert rows
        group = next(name for name, kinds in KIND_GROUPS.items() if kind in kinds)
        assert {*rows} <= {KINDS[kind], kind_shown(group), "–"}


@pytest.mark.parametrize("sort", ["turns", "duration", "grade", "tokens"])
async def test_a_narrow_screen_keeps_the_figure_that_the_list_is_sorted_by(api: Caller, sort: str) -> None:
    """What is roomy gives way there: four figures and no more, but the one asked for."""
    counts = [(await api.get(f"/goals?{asked}")).body.decode().count('"n roomy"') for asked in ("", f"sort={sort}")]
    assert counts == [4 * 6, 3 * 6], "of a head and five goals"


@pytest.mark.parametrize(("bars", "left_out"), [(5, 0), (6, 3), (16, 4)])
def test_few_bars_have_each_a_name_on_a_narrow_screen_too(bars: int, left_out: int) -> None:
    drawn = charts.bars("Goals", [charts.Bar(f"{n} Nov", [("reached", 1)], "1 goal") for n in range(bars)], str)
    assert (len(re.findall(r'class="roomy">[^<]', drawn)), 'class="axis even"' in drawn) == (left_out, bars < 6)


@pytest.mark.parametrize("asked", ["outcome=live", "intent_class=poem", "sort=luck", "order=up", "cursor=x"])
async def test_what_no_list_has_is_refused(api: Caller, asked: str) -> None:
    name = asked.partition("=")[0]
    answer = await api.get(f"/goals?{asked}")
    assert (answer.status, f"{name} must be" in answer.body.decode()) == (400, True), answer.body


async def test_more_follows_where_it_ended(api: Caller) -> None:
    page = await api.get("/goals?limit=2&sort=cost")
    seen = titles(page)
    while found := re.search(r'rel="next" href="([^"]+)"', page.body.decode()):
        assert "sort=cost" in found[1]
        page = await api.get(found[1].replace("&amp;", "&") + "&limit=2")
        seen += titles(page)
    assert sorted(seen) == ["0", "1", "2", "3", "thanks"]


async def test_what_does_not_count_says_why(api: Caller) -> None:
    told = words_of(await api.get("/goals?outcome=not_counted"))
    assert "No turn of it does more than navigate. A prompt that asks for something, and an answer, would have" in told
    assert "No answer was seen at its end." in words_of(await api.get("/goals?outcome=undecided"))


async def test_words_are_found_without_standing_in_an_address(api: Caller) -> None:
    """With the sentence that has them, and how far back it looked; what narrows the list narrows the search."""
    at, page = await finds(api, "?days=30", "NAMES with space")
    told = words_of(page)
    assert titles(page) == ["3"]
    assert "1 goal; looked back to Mon 27 Jul, 12:00." in told
    assert "Turn 1, prompt: Write a test of src/page3.py for names with spaces." in told
    assert "space" not in str(re.findall(r'(?:href|action)="[^"]*"', page.body.decode())) + at
    for query, words in (("?outcome=reached", "names with spaces"), ("", "(.*)+$ [a-z")):
        assert "Nothing found" in words_of((await finds(api, query, words))[1])
    _, bounded = await finds(api, "?from=2026-07-30&to=2026-08-01", "nowhere")
    assert "all time may hold more ( look there )" in words_of(bounded)
    assert (await press(api, "/goals/search?days=7", words=" ")).headers["Location"] == "/goals?days=7"
    _, hostile = await finds(api, "", HOSTILE)
    assert (hostile.status, HOSTILE in hostile.body.decode()) == (200, False)
    assert (await press(api, "/goals/search", words="x" * 501)).status == 400


async def finds(api: Caller, query: str, words: str) -> tuple[str, Answer]:
    """The address of what was found, and its page."""
    sent = await press(api, f"/goals/search{query}", words=words)
    assert sent.status == 303, sent
    return sent.headers["Location"], await api.get(sent.headers["Location"])


async def test_a_search_shows_what_narrows_it_and_takes_it_off(api: Caller) -> None:
    """Words in quotes are found as the words themselves."""
    at, page = await finds(api, "?outcome=reached&agent=codex&overridden=true", '"names" with “spaces”')
    told = words_of(page)
    assert "Nothing found" in told
    assert "only reached ( not only reached ), codex ( not only codex ), that you corrected (" in told
    assert "All goals" not in told
    for name, asked in (("outcome", "reached"), ("agent", "codex"), ("overridden", "true")):
        less = at.replace(f"{name}={asked}&", "")
        assert f'href="{less.replace("&", "&amp;")}"' in page.body.decode()
        at_last, page = less, await api.get(less)
        at = at_last
    assert titles(page) == ["3"]


async def test_a_filter_shows_though_nothing_has_it(api: Caller) -> None:
    """And `unknown` is offered as a project where there is work of none."""
    body = (await api.get("/goals?project=%3Cb%3Ex&agent=nobody")).body.decode()
    assert '<option value="&lt;b&gt;x" selected>&lt;b&gt;x</option>' in body
    assert '<option value="nobody" selected>nobody</option>' in body
    assert '<option value="unknown">unknown</option>' in body


async def test_a_project_is_called_by_its_name(api: Caller) -> None:
    """Its key tells nobody anything, also where nothing fits."""
    (key,) = re.findall(r'<option value="(\w+)">shop<', (await api.get("/goals")).body.decode())
    _, page = await finds(api, f"?project={key}", "nowhere")
    assert "Nothing found; looked back to Tue 28 Jul, 12:00, only shop ( not only shop )" in words_of(page)
    assert f'<option value="{key}" selected>shop<' in (await api.get(f"/goals?project={key}&days=7")).body.decode()


async def test_the_list_and_its_time_go_along_with_a_goal(api: Caller) -> None:
    body = (await api.get("/goals?days=90&outcome=reached&sort=cost")).body.decode()
    led = re.search(r'href="(/goals/[0-9a-f-]{36}\?[^"]*)"', body)
    assert led is not None
    goal = (await api.get(led[1].replace("&amp;", "&"))).body.decode()
    assert '<a href="/goals?days=90&amp;outcome=reached&amp;sort=cost">Goals</a>' in goal
    dearest = re.findall(r'href="/goals/[0-9a-f-]{36}(.*?)"', (await api.get("/cost?days=90")).body.decode())
    assert {*dearest} == {"?days=90"}


async def test_what_was_found_has_an_address_of_its_browser(api: Caller, house: House) -> None:
    """So one may come back to it, and choose another period; nobody else sees it, and a lost one leads to all goals."""
    at, page = await finds(api, "?days=30", "names with spaces")
    assert titles(await api.get(at)) == titles(page) == ["3"]
    assert at.replace("days=30", "days=90").replace("&", "&amp;") in page.body.decode(), "a period keeps the search"
    assert titles(await api.get(at.replace("days=30", "days=all"))) == ["3"]
    signs_in(house, BEN, "ben's")
    theirs = await api.using(BENS).get(at)
    for place in range(ports.SEARCHES_MAX):
        assert (await api.get(at)).status == 200
        await finds(api, "", f"word {place}")
    for lost in (theirs, await api.get(at)):
        assert (lost.status, lost.headers["Location"]) == (303, "/goals?days=30&said=search-gone")
    assert (await api.get("/goals/search?days=90")).headers["Location"] == "/goals?days=90"


async def test_a_hit_leads_to_its_turn_unfolded_with_the_words_marked(api: Caller) -> None:
    """And from there back to what was found."""
    at, page = await finds(api, "?days=30", "names with spaces")
    led = re.search(r'href="(/goals/[0-9a-f-]{36}\?[^"]*)"', page.body.decode())
    assert led is not None
    to = led[1].replace("&amp;", "&")
    assert to.endswith("&open=1#turn-1")
    goal = (await api.get(to.partition("#")[0])).body.decode()
    assert "<mark>names</mark> <mark>with</mark> <mark>spaces</mark>" in goal
    assert f'<a href="{at.replace("&", "&amp;")}">What was found</a>' in goal
