"""The page of one goal, and the Markdown on it: whatever a text holds, it stays text, and a page stays small."""

import re
from datetime import UTC
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, strategies as st

from aggregates.ids import sign_in_stream
from projections.sub_sessions.detail import used
from projections.sub_sessions.turns import GoalTurns, ToolCall, ToolOutcome, TurnMarks
from svc_http.pages import charts, goals as goal_page
from svc_http.pages.markdown import Shown, excerpt, rendered
from svc_http.routes.people import digest_of
from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.facts import DAY, MINUTE, SECOND, Log, edit, request, shell
from tests.support.tables import each_of
from tests.svc_http.browsing import ANAS, press, signs_in, words_of
from tests.svc_http.house import Answer, Caller, House, bearer

PAGE_BYTES_MAX = 150_000  # before it is packed
HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>",
    "[click](javascript:alert(1)) ![x](https://e.vil/x.png) <https://e.vil> https://e.vil",
    "[a]: https://e.vil 'x'\n\n[a]",
    "\x1b[31mred\x1b]8;;https://e.vil\x07link\u202egnol\u2066x\u200f\u0000",
    '```"><b onclick=x>\n</code></pre><b>\n```',
    "| a | b |\n|---|---|\n| <b> | x |",
    '" onmouseover="alert(1)" x="',
    "&lt;b&gt; &#x3c;b&#x3e;",
    "[" * 20_000,
    "> " * 2_000 + "deep",
    "x" * 100_000,
    "a **b _c ~~d " * 2_000,
]
TAGS = {*["p", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "br", "mark"]}


class Seen(HTMLParser):
    """The tags and attributes of a piece of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)

    handle_startendtag = handle_starttag


def is_harmless(html: str) -> bool:
    """Only what formats, and of attributes only what this program itself writes, or the number of a list."""
    seen = Seen(html)
    usual = {"title", "class", "start"}
    values = all(
        (value or "").isdigit()
        if name == "start"
        else name == "title" or re.fullmatch(r"heading-of-text|language-.*", value or "", re.S)
        for name, value in seen.attributes
    )
    return seen.tags <= TAGS and {name for name, _ in seen.attributes} <= usual and values


PIECES = [*"<>[]()!*_`~#-+|&;:/=\"' \n\t\\1x", "\u202e", "http://", "<b ", "```", "&lt;"]
MARKS = st.lists(st.sampled_from(PIECES), max_size=200).map("".join)


@given(st.one_of(MARKS, st.text(max_size=300)), st.text(max_size=40))
def test_no_text_becomes_an_element_or_an_attribute(text: str, quote: str) -> None:
    assert is_harmless(rendered(text, {"goal_explicit": quote, "plan_first": text[:20]}))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_stay_texts(text: str) -> None:
    html = rendered(text, {"goal_explicit": text[:60]})
    assert is_harmless(html)
    assert len(html) < 64_000
    assert not set("\x1b\u202e\u2066\u200f\0") & set(html + excerpt(text, 100))
    assert len(excerpt(text, 100)) <= 101


@each_of(
    [
        ("# Plan\n- a\n- b", {}, '<p class="heading-of-text">Plan</p>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n'),
        ("see [x](y) and ![z](w)", {}, "<p>see [x](y) and ![z](w)</p>\n"),
        ("run **all** tests", {"plan_first": "run all"}, "<p><M>run </M><strong><M>all</M></strong> tests</p>\n"),
        ("fix it\nnow", {"plan_first": "it now"}, "<p>fix <M>it</M><br>\n<M>now</M></p>\n"),
        ("fix <it>", {"plan_first": "<it>"}, "<p>fix <M>&lt;it&gt;</M></p>\n"),
        ("a b c", {"plan_first": "a b", "goal_explicit": "b c"}, "<p><M>a b</M> c</p>\n"),
        ("`code` only", {"plan_first": "code"}, "<p><code>code</code> only</p>\n"),
    ]
)
def test_markdown_with_marks(text: str, quotes: dict[str, str], html: str) -> None:
    """Words that show a habit are marked within each tag; of two that overlap the first."""
    found = re.sub(r'<mark title="[^"]*">', "<M>", rendered(text, quotes)).replace("</mark>", "</M>")
    assert found == html


def test_a_long_part_is_shown_once() -> None:
    plan = "\n".join(f"{number}. Step {number} of the plan, with some words." for number in range(20))
    shown = Shown()
    assert shown.new_in(plan, 1) == plan
    assert shown.new_in(f"Go on with it:\n{plan}\nPlease.", 3).split("\n") == [
        *("Go on with it:", "", "*… 20 lines as in turn 1*", "", "Please."),
    ]
    assert shown.new_in("Please.", 4) == "Please."


# --- the page -----------------------------------------------------------------------------------------------------


@pytest.fixture
def api(house: House, api: Caller) -> Caller:
    signs_in(house)
    return api.using(ANAS)


def works(house: House, texts: list[str], *records: dict[str, Any], answer: str = "Done.") -> str:
    """One goal of a turn for each text, the records in the last one; its address."""
    log = Log(ANA_SCOPE, NOW_US - DAY)
    first = None
    for place, text in enumerate(texts):
        at_us = NOW_US - DAY + place * 4 * MINUTE
        capture_id = log.prompt("s", text, at_us, name=str(place))
        log.answer("s", capture_id, answer, at_us + MINUTE)
        told = (
            records
            if place == len(texts) - 1 and records
            else (edit(at_us + SECOND), shell(at_us + 90 * SECOND, "pytest -q"))
        )
        log.records("s", request(at_us), *told)
        if place:
            log.corrects_gap("s", capture_id, False)
        first = first or capture_id
    house.has_seen(log, NOW_US)
    return f"/goals/{first}"


def html_of(answer: Answer) -> str:
    assert answer.status == 200, answer
    return answer.body.decode()


ASK = "Fix the crash in src/parser.py when the file is empty; run pytest before you stop."


async def test_a_goal_at_a_glance(house: House, api: Caller) -> None:
    """What it took, the verdict, a bar for each turn, and of each turn what was done; all is unfolded by one link."""
    goal = works(house, [ASK, "Now sort its keys too."])
    page = await api.get(goal)
    text, html = words_of(page), html_of(page)
    told = (await api.get(f"/v1/score_v3/sub-sessions/{goal[7:]}/turns", bearer())).json
    used = told["used"]
    assert f"{used['input_tokens']} tokens in, {used['output_tokens']} out, 0 from the cache, 0 into it" in text
    detail = (await api.get(f"/v1/score_v3/sub-sessions/{goal[7:]}", bearer())).json
    dearest = f"Dearest: turn 1 , ${told['course'][0]['cost_usd']:.2f}"
    assert f"the median of your newest goals: ${detail['median_cost_usd']:.2f}. {dearest}" in text
    assert used["input_tokens"] == sum(each["used"]["input_tokens"] for each in told["turns"]) == 200
    assert "reached its goal" in text
    assert "1 change in 1 file · 2 tools · 1 check" in text
    assert "app.py +24 −2" in text
    assert 'aria-label="Turn 2, 12:04, 2 min, check passed"' in html
    assert (html.count('<details class="long answer">'), "?all=1&amp;page=1#turns" in html) == (2, True)
    everything = html_of(await api.get(f"{goal}?all"))
    assert everything.count('<details class="long answer" open>') == 2
    assert "Fold all" in everything


PLACES = ("", "?all", "?turn=1")


async def every_view(house: House, api: Caller, words: str) -> list[str]:
    """With these words in every place: a prompt, an answer, a file, a command, the name of a tool."""
    at_us = NOW_US - DAY + SECOND
    told = edit(at_us, path=f"src/{words}.py"), shell(at_us + SECOND, f"echo {words}", tool=f"T{words[:200]}")
    goal = works(house, [words], *told, answer=words)
    return [html_of(await api.get(f"{goal}{place}")) for place in PLACES]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_hostile_words_in_every_place(house: House, api: Caller, text: str) -> None:
    """The page has no other tags and attributes than with harmless ones, leads nowhere else, and stays small."""
    usual, found = Seen(""), Seen("")
    for seen, words in ((usual, "# a\n1. *b*\n- `c`\n> d\n"), (found, text)):
        for html in await every_view(house, api, words):
            assert not set("\x1b\u202e\u2066\u200f\0") & set(html)
            assert len(html) <= PAGE_BYTES_MAX
            seen.feed(html)
    assert found.tags <= usual.tags | TAGS
    assert {name for name, _ in found.attributes} <= {name for name, _ in usual.attributes} | {"title", "start"}
    leads = {value or "" for name, value in found.attributes if name in ("href", "src", "action", "hx-get")}
    assert all(re.match(r"[/?#](?!/)", each) for each in leads), leads


async def test_a_goal_of_very_many_turns_comes_by_pages(house: House, api: Caller) -> None:
    """Its course says how many are not drawn; each bar leads to the page that has its turn."""
    goal = works(house, [f"{ASK} {number}" for number in range(120)])
    first, second = [html_of(await api.get(f"{goal}?all&page={page}")) for page in (1, 2)]
    assert ('id="turn-25"' in first, 'id="turn-26"' in first, 'id="turn-26"' in second) == (True, False, True)
    assert '?all=1&amp;page=2#turn-26"' in first, "that all is unfolded is carried along"
    assert '?all=1&amp;page=2"' in first
    assert ("25 of 120 turns" in second, "20 later turns not drawn" in second) == (True, True)
    assert '<option value="25">turn 26</option>' in second, "a split counts from the goal's beginning"
    assert max(len(first), len(second)) <= PAGE_BYTES_MAX
    assert (await api.get(f"{goal}?turn=121")).status == 404


async def test_the_period_goes_along_with_every_link_and_button(house: House, api: Caller) -> None:
    goal = works(house, [f"{ASK} {number}" for number in range(30)])
    page = html_of(await api.get(f"{goal}?days=90&all"))
    leads = re.findall(r'(?:href|action)="(/goals/[^"#]+\?[^"#]*|/goals\?[^"#]*)', page)
    assert len(leads) > 3
    assert all("days=90" in each for each in leads), leads
    hidden = '<input type="hidden" name="days" value="90">'
    assert page.count(hidden) == page.count('method="get"'), "what one says is weighed in the same time"
    preview = html_of(await api.get(f"{goal}/say?word=not-reached&days=90&all=1"))
    assert '/say?days=90&amp;all=1" class="row"' in preview
    assert preview.count("?days=90&amp;all=1") == 3
    said = await press(api, f"{goal}/say?days=90&all=1", word="not-reached")
    assert said.headers["Location"].endswith("?days=90&all=1&said=counts")
    assert '/back?days=90"' in html_of(await api.get(f"{goal}?days=90"))
    back = await press(api, f"{goal}/back?days=90", field="completion")
    assert back.headers["Location"].endswith("?days=90&said=back")


async def test_a_turn_that_is_looked_for_is_unfolded_where_the_words_stand(house: House, api: Caller) -> None:
    """On the page of turns that has it, though the words are far behind in a text that was shown before."""
    answer = "\n".join(f"line {number} of many" for number in range(1_000)) + "\nThe needle is here."
    goal = works(house, [f"{ASK} {number}" for number in range(30)], answer=answer)
    name = house.searches.keep(sign_in_stream(digest_of("ana's")), "Needles")
    page = html_of(await api.get(f"{goal}?open=28&search={name}"))
    assert ('id="turn-26"' in page, page.count('<details class="long answer" open>')) == (True, 1)
    assert page.count("The <mark>needle</mark> is here.") == 1


async def test_where_nobody_can_tell_nothing_is_said_of_what_may_have_been_run(house: House, api: Caller) -> None:
    log, at_us, told = Log(ANA_SCOPE), NOW_US - DAY, dict[Any, str]()
    log.now_us = at_us
    for session in ("s", "t"):
        shown = [shell(at_us + 2 * SECOND, "ruff check .")] * (session == "t")
        first = log.prompt(session, "In README.md, section Install, put `pipx install x` for `pip install x`.", at_us)
        told[first] = "svc cannot tell whether its goal was reached"
        log.records(session, request(at_us), edit(at_us + SECOND, path="README.md"), *shown)
        log.answer(session, first, "I replaced it.", at_us + MINUTE)
        log.answer(session, log.prompt(session, "ok", at_us + 2 * MINUTE), "Anything else?", at_us + 3 * MINUTE)
    house.has_seen(log, NOW_US)
    assert all([said in words_of(await api.get(f"/goals/{first}")) for first, said in told.items()])
    assert "What was seen says too little." in words_of(await api.get("/goals?outcome=undecided"))


def test_bars_of_the_course_are_as_wide_as_turns_took_and_a_stop_is_one_tick() -> None:
    marks: dict[str, Any] = {
        "cost_usd": None,
        "started_at": "2026-01-01T09:00:00Z",
        "ended_at": "2026-01-01T09:00:00Z",
        "is_answered": True,
    }
    told = [
        TurnMarks(number=1, duration_seconds=24, marks=["check failed", "refused", "interrupted"], **marks),
        TurnMarks(number=2, duration_seconds=3, marks=["check passed"], **marks),
    ]
    goal = GoalTurns(
        score_v3_sub_session_id="a",
        total_turns=2,
        used=used(()),
        course=told,
        course_not_shown=0,
        turns=[],
        next_offset=None,
    )
    drawn = charts.course(goal, str, UTC).drawn
    wide, narrow = (float(each) for each in re.findall(r'class="priced"[^>]* width="([\d.]+)"', drawn))
    assert (6 < wide / narrow < 8, wide + narrow > 595) == (True, True), "with no gap that looks like idle time"
    assert (drawn.count('<line class="failed"'), drawn.count('<line class="passed"')) == (2, 1)


async def test_every_check_is_a_tick_and_no_time_is_made_up_for_a_turn_without_times(house: House, api: Caller) -> None:
    log = Log(ANA_SCOPE, NOW_US - DAY)
    asked = log.prompt("s", ASK, log.now_us)
    checks = [
        shell(log.now_us + at, each) for at, each in enumerate(("pytest -q", "pytest", "mypy", "ruff check ."), 3)
    ]
    log.records("s", edit(log.now_us + 2), *checks, shell(log.now_us + 9, "pytest", ok=False))
    house.has_seen(log, NOW_US)
    page = html_of(await api.get(f"/goals/{asked}"))
    assert "5 checks, 1 failed" in page
    assert (page.count('<line class="passed"'), page.count('<line class="failed"')) == (4, 1)
    assert re.search(r"Turn 1, [\d:]+, –", page)
    assert "0 s<" not in page


def test_tools_stand_in_time_order_and_those_that_went_wrong_stay() -> None:
    def call(command: str, outcome: ToolOutcome = "ok") -> ToolCall:
        return ToolCall(name="Bash", file=None, command=command, outcome=outcome, duration_ms=1_000)

    calls = goal_page._grouped([call("a"), call("b"), call("b"), call("a"), call("c", "failed"), call("a")])
    assert [(each["about"], each["times"], each["seconds"]) for each in calls] == [
        *(("a", 1, 1), ("b", 2, 2), ("a", 1, 1), ("c", 1, 1), ("a", 1, 1)),
    ]
    assert [each["about"] for each in goal_page._kept(calls, 3)] == ["a", "b", "c"]


async def test_a_turn_of_very_many_tools_says_what_it_leaves_out(house: House, api: Caller) -> None:
    at_us = NOW_US - DAY + SECOND
    told = [shell(at_us + number, f"make step-{number}", ok=number != 1_999) for number in range(2_000)]
    goal = works(house, [ASK], *told)
    page, alone = html_of(await api.get(goal)), html_of(await api.get(f"{goal}?turn=1"))
    assert "2\u202f000 tools, 1 failed" in page
    assert (page.count("<li>Bash"), "and 1\u202f988 more:" in page) == (12, True)
    assert (alone.count("<li>Bash"), "and 1\u202f500 more" in alone) == (500, True)
    assert max(len(page), len(alone)) <= PAGE_BYTES_MAX


async def test_a_very_long_prompt_is_cut_and_its_turn_has_more(house: House, api: Caller) -> None:
    goal = works(house, [f"{ASK}\n" + "\n".join(f"line {number} of many" for number in range(6_000))])
    page, alone = html_of(await api.get(goal)), html_of(await api.get(f"{goal}?turn=1"))
    assert ("line 100 of" in page, "line 1000 of" in page, "more characters" in page) == (True, False, True)
    assert ("line 1500 of" in alone, "the API has them all" in alone) == (True, True)


async def test_the_texts_of_a_page_have_a_bound(house: House, api: Caller) -> None:
    """What no longer fits stands with its beginning, and a link to its turn."""
    goal = works(house, [f"Prompt {number} " + f"word{number} " * 600 for number in range(20)])
    page = html_of(await api.get(f"{goal}?all"))
    assert "Show turn 20 by itself" in page
    assert "Show turn 2 by itself" not in page
    assert len(page) <= PAGE_BYTES_MAX


@pytest.mark.parametrize("word", ["join", "split&turn=7"])
async def test_what_cannot_be_said_is_told_in_place(house: House, api: Caller, word: str) -> None:
    """htmx shows no answer that is an error."""
    goal = works(house, [ASK, ASK])
    asked = f"{goal}/say?word={word}"
    assert (await api.get(asked)).status == 400
    told = await api.using(ANAS | {"HX-Request": "true"}).get(asked)
    assert "That cannot be said" in words_of(told)
