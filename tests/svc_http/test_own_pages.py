"""What is one's own: Settings, a goal and what is said of it, and the words and files that pages are made of."""

import re
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

import svc_http.pages
from aggregates.event import Scope
from svc_http.pages.figures import STACKS, TABS
from svc_http.pages.words import KINDS
from svc_http.routes.people import digest_of
from tests.support.basics import ACME, ANA_SCOPE, BEN, NOW_US
from tests.support.facts import DAY, HOUR, MINUTE, SECOND, Log, edit, request, shell
from tests.support.tables import each_of
from tests.svc_http.browsing import ANAS, BENS, OPERATORS, core, press, signs_in, words, words_of, works as reaches
from tests.svc_http.house import Caller, House, bearer


@pytest.fixture
def api(house: House, api: Caller) -> Caller:
    """Ana's browser; Ben's and the operator's are open as well."""
    signs_in(house, BEN, "ben's")
    signs_in(house)
    house.operator_browsers.begin(digest_of("operator's"), house.now_us())
    return api.using(ANAS)


async def test_who_asks_to_be_forgotten_is_seen_until_they_take_it_back(api: Caller) -> None:
    """With the command to type, by the operator and by an owner; nothing else happens, but for the audit log."""
    command, asked, pages = f"svc forget {BEN}", "Nothing is deleted yet", [("/administration/people", ANAS)]
    pages += [("/administration/server", OPERATORS), ("/administration/people", OPERATORS)]
    assert (await press(api, "/settings/forget/back", BENS)).status == 404
    assert "Ask to be forgotten" in await words(api, "/settings", BENS)
    assert (await press(api, "/settings/forget", BENS)).headers["Location"] == "/settings?said=asked"
    assert [asked in await words(api, "/settings", each) for each in (BENS, ANAS)] == [True, False]
    assert [command in await words(api, *page) for page in pages] == [True] * 3
    again = await press(api, "/settings/forget", BENS)
    assert (again.status, b"asked for already" in again.body) == (409, True)
    assert (await press(api, "/settings/forget/back", BENS)).status == 303
    assert [command in await words(api, *page) for page in pages] == [False] * 3
    told = await words(api, "/administration/audit", ANAS)
    assert told.index("Ben asked no longer to be forgotten Ben") < told.index("Ben asked to be forgotten Ben")


async def test_all_time_is_summed_whole(house: House, api: Caller) -> None:
    """Also what lies before the days that are drawn; the pages and the API say the same."""
    for days in (300, 120, 1):
        reaches(house, ANA_SCOPE, at_us=NOW_US - days * DAY)
    house.passes(NOW_US)
    for period, requests in (("all", 3), ("30", 1)):
        assert f"Cost $0.0{requests} by list price" in await words(api, f"/?days={period}", ANAS)
        assert f"Requests with a price {requests} of {requests}" in await words(api, f"/cost?days={period}", ANAS)
    dates = "from_date=2020-01-01&to_date=2030-01-01"
    (found,) = (await api.get(f"/v1/score_v3/model-task?{dates}", bearer())).json["items"]
    assert (found["costUsd"], found["lowerBoundCostUsd"]) == (0.03, None)


async def test_home_tells_the_time_before_and_asks_about_the_undecided(house: House, api: Caller) -> None:
    """Bars lead to their goals; a word is shown with what it changes before it is said, and can be taken back."""
    for days in (35, 9, 8):
        reaches(house, ANA_SCOPE, at_us=NOW_US - days * DAY)
    log = Log(ANA_SCOPE, NOW_US - DAY)
    log.prompt("t", "Add a --json flag to src/cli.py and test it.", NOW_US - DAY)
    log.records("t", request(NOW_US - DAY), edit(NOW_US - DAY + SECOND))
    house.has_seen(log, NOW_US)
    page = await api.get("/")
    told = words_of(page)
    assert "2 of 2 decided goals reached; 1 undecided: the rate may be" in told
    assert "3 goals began: 2 reached, 1 undecided." in told
    assert "Cost $0.03 by list price; $0.01 in the 30 days before" in told
    assert "Time lost 0 s no failure was seen" in told
    assert "Were these reached? Add a --json flag to src/cli.py and test it." in told
    body = page.body.decode()
    assert 'href="/goals?from=2026-07-24&amp;to=2026-07-24" aria-label="24 Jul: 1 of 1 decided goal reached' in body
    asked = re.findall(r'href="(/goals/[0-9a-f-]+/say)\?days=30&amp;word=(\w+|not-reached)"', body)
    assert [word for _, word in asked] == ["reached", "not-reached"]
    goal = asked[0][0]
    assert "instead of undecided" in words_of(await api.get(f"{goal}?days=30&word=reached"))
    to = await said(api, f"{goal}?days=30", word="reached")
    assert to == f"{goal.removesuffix('/say')}?days=30&said=counts"
    assert "The goal was reached Take it back" in words_of(await api.get(to))
    assert "3 of 3 decided goals reached" in words_of(await api.get("/"))
    assert "Nothing in this time" in words_of(await api.get("/?from=2026-07-01&to=2026-07-02"))


async def test_work_that_is_old_is_shown_where_nothing_else_was_asked_for(house: House, api: Caller) -> None:
    reaches(house, ANA_SCOPE, at_us=NOW_US - 90 * DAY)
    house.passes(NOW_US)
    assert "1 of 1 decided goal reached" in words_of(await api.get("/"))
    assert "No goal began in the last 30 days. May has some" in words_of(await api.get("/?days=30"))


async def test_svc_is_offered_as_a_wheel_with_its_digest(api: Caller) -> None:
    """To whoever has the address: nothing of anybody is in it. The client that was there before is told as gone."""
    shown = await words(api, "/settings", BENS)
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


async def test_who_judged_is_said_and_ones_own_agent_offered_where_one_was_seen(house: House, api: Caller) -> None:
    offer = "svc connect claude-code --judge"
    reaches(house, ANA_SCOPE, at_us=NOW_US - DAY)
    house.passes(NOW_US)
    shown = await words(api, "/settings", ANAS)
    told = (await api.get("/v1/judge/verdicts", bearer())).json
    assert told == {"embedded": 2, "text_model": 0, "own_agent": 0}
    said = "goals: by svc itself {embedded}, a text model {text_model}, your own agent {own_agent}."
    assert said.format(**told) in shown
    assert [offer in await words(api, "/settings", each) for each in (ANAS, BENS)] == [True, False]


async def test_a_wrong_zone_is_told_beside_its_field_and_the_list_has_the_right_ones(house: House, api: Caller) -> None:
    wrong = await press(api, "/settings/profile", BENS, timezone="Mars/<b>Olympus", language="en")
    html = wrong.body.decode()
    assert (wrong.status, house.directory.timezone(BEN)) == (400, "Europe/Berlin")
    assert 'id="wrong-zone" role="alert">timezone: a time zone must be an IANA name' in html
    found = ["<option selected>Europe/Berlin" in html, "<option>Asia/Seoul" in html, "<b>O" in html]
    assert found == [True, True, False]
    saved = await press(api, "/settings/profile", BENS, timezone="Asia/Seoul", language="en")
    assert saved.headers["Location"] == "/settings?said=saved", "it lands where “Saved.” stands"
    audit = await words(api, "/administration/audit", OPERATORS)
    assert "changed the profile (timezone Asia/Seoul, language en) Ben" in audit
    assert "<option selected>Asia/Seoul</option>" in (await api.using(BENS).get("/settings")).body.decode()


async def test_what_cannot_be_undone_asks_once(house: House, api: Caller) -> None:
    """Folded, with what it does. A browser is told apart by when it signed in."""
    signs_in(house, BEN, "phone")
    core(house, ANA_SCOPE, Scope(ACME, BEN), at_us=NOW_US)
    folded = re.compile(r'<details class="once"><summary>(.*?)<.*?action="([a-z/-]+)')
    page = (await api.using(BENS).get("/settings")).body.decode()
    found = {label: action for label, action in folded.findall(page.replace("\n", ""))}
    stay, browser, key = "/settings/team-memberships/", "/settings/browsers/", "/settings/keys/"
    ends = {"Revoke": key, "Sign it out": browser, "Sign out everywhere": "/settings/sign-out", "Leave": stay}
    assert {label: action[: len(ends[label])] for label, action in found.items()} == ends
    assert "Leave" in dict(folded.findall((await api.using(BENS).get("/")).body.decode().replace("\n", "")))
    assert "since Sat 1 Aug, 14:00, seen 1 August" in await words(api, "/settings", BENS)


async def test_a_wrong_address_is_told_to_a_browser_in_plain_words(api: Caller) -> None:
    for path, status in (("/nope", 404), ("/settings/sign-out", 405), ("/goals/nope", 404)):
        answer = await api.using(ANAS | {"Accept": "text/html"}).get(path)
        machine = [each in answer.body for each in (b"oute", b"GET", b"POST")]
        assert (answer.status, b'<a href="/">' in answer.body, machine) == (status, True, [False] * 3), path
        assert b'aria-label="Pages"' in answer.body, "the menu of who is signed in"
    lost = [
        (await api.using(each | {"Accept": "text/html"}).get("/administration/no")).body for each in (OPERATORS, {})
    ]
    assert [(b"Audit log</a>" in each, b"<nav" in each) for each in lost] == [(True, True), (False, False)]


async def test_a_browser_that_was_signed_out_asks_no_more_for_events(api: Caller) -> None:
    """A page that stands open asks for them by itself; a redirect would be an error to it."""
    assert (await api.using({"Accept": "text/event-stream"}).get("/live")).status == 204


async def test_an_address_that_no_other_machine_reaches_is_called_so(house: House, api: Caller) -> None:
    urls = {"http://127.0.0.1:4318": True, "http://[::1]": True, "http://x.localhost": True, "http://10.0.0.7": False}
    for url, only_here in urls.items():
        house.settings = msgspec.structs.replace(house.settings, ingest_url=url)
        assert ("listens on its own machine only" in await words(api, "/settings", BENS)) is only_here, url


async def test_the_operators_pages_listen_to_no_developers_events(api: Caller) -> None:
    listens = [
        "live." in (await api.using(each).get("/administration/people")).body.decode() for each in (OPERATORS, ANAS)
    ]
    assert listens == [False, True]


TURNS = ("Add a --json flag to src/cli.py and test it.", "Now sort its keys too.", "And document it in the README.")


async def said(api: Caller, path: str, **fields: str) -> str:
    """Where the button leads."""
    answer = await press(api, path, None, **fields)
    assert answer.status == 303, answer
    return str(answer.headers["Location"])


def works(house: House, turns: int) -> None:
    log = Log(ANA_SCOPE, NOW_US - DAY)
    for place in range(turns):
        at_us = NOW_US - DAY + place * 4 * MINUTE
        capture_id = log.prompt("s", TURNS[place % 3], at_us, name=str(place))
        log.records("s", request(at_us), edit(at_us + SECOND), shell(at_us + MINUTE, "pytest -q"), request(at_us + 90))
        if place:
            log.corrects_gap("s", capture_id, False)
    house.has_seen(log, NOW_US)


async def goals_of(api: Caller) -> list[str]:
    return re.findall(r"/goals/[0-9a-f-]{36}", (await api.get("/goals")).body.decode())


async def test_a_split_is_shown_before_it_is_said_and_taken_back_where_it_stands(house: House, api: Caller) -> None:
    works(house, 3)
    (goal,) = await goals_of(api)
    stored = len(house.events)
    shown = words_of(await api.get(f"{goal}/say?word=split&turn=2"))
    assert "It becomes 2 goals: reached, reached. Now it counts as reached." in shown
    assert "Goals reached 1 2" in shown
    assert len(house.events) == stored

    second = await said(api, f"{goal}/say", word="split", turn="2")
    assert len(await goals_of(api)) == 2
    page = words_of(await api.get(second))
    assert "Another goal begins here from now on" in page
    assert "What you said Another goal begins at this turn" in page
    await said(api, f"{second.partition('?')[0]}/back", field="boundary")
    assert await goals_of(api) == [goal]


async def test_a_word_that_moves_nothing_says_so(house: House, api: Caller) -> None:
    """And one that counts says whose it is: nobody but oneself can say so, so no person in general did."""
    works(house, 1)
    (goal,) = await goals_of(api)
    for word in ("reached", "not-again"):
        shown = words_of(await api.get(f"{goal}/say?word={word}"))
        assert "It will count as reached, as it does now." in shown
        assert "The rate of the last 30 days stays: 1 of 1 decided goal reached" in shown
    before = words_of(await api.get(f"{goal}/say?word=reached&from=2026-08-01&to=2026-08-01"))
    assert "stays; the goal began before" in before or "No goal counts yet" in before
    assert "No figure changes by a title" in words_of(await api.get(f"{goal}/say?word=rename&title=Another"))
    page = words_of(await api.get(await said(api, f"{goal}/say", word="not-reached")))
    assert "Your word counts from now on, in every figure of yours; the comparison with colleagues ignores it." in page
    assert "You said that it was not reached; that counts." in page
    assert "person" not in page
    assert "Why so judged Your word counts. Without it, the judge went by this: For" in page


async def test_a_word_that_keeps_the_rate_tells_what_else_moves(house: House, api: Caller) -> None:
    """And nothing is offered that is so already: no word, and no kind."""
    works(house, 1)
    (goal,) = await goals_of(api)
    body = (await api.get(goal)).body.decode()
    assert re.findall(r'name="word" value="(not-reached|reached|again|not-again)"', body) == ["not-reached", "again"]
    assert body.count("<option value=") == len(KINDS) - 1
    await said(api, f"{goal}/say", word="not-reached")
    shown = words_of(await api.get(f"{goal}/say?word=again"))
    moved = "It will count as repeated instead of not reached, also where goals and costs are told by outcome."
    assert moved in shown
    assert "The rate of the last 30 days stays: 0 of 1 decided goal reached" in shown


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [("word=split&turn=1", "one turn"), ("word=kind&kind=poem", "kind must be"), ("word=praise", "word must be")],
)
async def test_what_cannot_be_said_is_refused_with_a_reason(house: House, api: Caller, asked: str, wrong: str) -> None:
    works(house, 1)
    (goal,) = await goals_of(api)
    answer = await api.get(f"{goal}/say?{asked}")
    assert (answer.status, wrong in answer.body.decode()) == (400, True), answer


PAGES = Path(svc_http.pages.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"


def test_htmx_is_the_file_of_its_makers() -> None:
    """As npm has it."""
    (script,) = (PAGES / "static").glob("htmx-*.js")
    assert sha256(script.read_bytes()).hexdigest() == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"


@each_of(["captured", "lead"])
def test_pages_and_docs_tell_it_in_the_same_words(name: str) -> None:
    told = (PAGES / "templates" / "texts" / f"{name}.md").read_text(encoding="utf-8").strip()
    assert told in (DOCS / "your-scores.md").read_text(encoding="utf-8")


# --- Cost: tabs and stacks as links, any time, any name -----------------------------------------------------------

CENT = 10_000_000
LONG = (
    "Add a test to src/b.py that opens the file twice, reads from both ends, closes one of them and looks at the other"
)
NASTY = "<b>o</b>\u202epus" + "x" * 900


@pytest.fixture
def spent(house: House, api: Caller) -> Caller:
    """The browser of somebody who spent five cents, four of them on a model with a name that nobody would give."""
    log = Log(ANA_SCOPE)
    log.works("a", NOW_US - DAY, "Fix src/parser.py and run pytest", cost_usd_nano=4 * CENT, model=NASTY)
    log.works("b", NOW_US - DAY + HOUR, LONG, cost_usd_nano=CENT, model="opus")
    log.works("c", NOW_US - DAY + 2 * HOUR, "Add a test to src/c.py", cost_usd_nano=None, model="opus")
    house.has_seen(log, NOW_US)
    return api


@pytest.mark.parametrize("by", TABS)
@pytest.mark.parametrize("stack", STACKS)
async def test_every_tab_tells_the_same_whole(spent: Caller, by: str, stack: str) -> None:
    answer = await spent.get(f"/cost?days=7&by={by}&stack={stack}")
    html, text = answer.body.decode(), words_of(answer)
    assert "Cost at least $0.05 On goals not reached or repeated" in text
    assert "Requests with a price 2 of 3" in text
    assert "1 request has no price" in text
    assert "Add a test to src/b.py that opens the file twice, reads from…" in text, "a title that was cut says so"
    assert "2 goals" not in text, "the head of the column names what it counts"
    assert f'by={by}&amp;stack={stack}#by" aria-current="true"' in html
    assert not [each for each in ("<b>o", "\u202e", "x" * 200) if each in html]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("days=2019-03", 200, "No request was reported"),
        ("from=2010-01-01&to=2026-08-01", 200, "By day"),
        ("from=2031-01-01&to=2031-02-01", 400, "has not come yet"),
        ("from=2026-07-20&to=2026-07-01", 400, "ends before it begins"),
        ("by=hour", 400, "must be one of"),
        ("stack=<b>", 400, "must be one of"),
    ],
)
async def test_any_time_is_answered(spent: Caller, query: str, status: int, said: str) -> None:
    answer = await spent.get(f"/cost?{query}")
    assert (answer.status, said in answer.body.decode()) == (status, True)
