"""Pages on how one works: own figures only, in words that hold."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from aggregates.event import Scope
from aggregates.people.acts import ChangeDeveloper
from aggregates.people.directory import Developer
from aggregates.reports.events import ReportNoticeTried, ReportRequested
from aggregates.scores.grades import PEER_RANGES_MAX
from aggregates.times import Window
from projections.facts import reports as rows
from svc_http.pages import figures
from svc_http.pages.words import HABITS
from tests.projections.scores.test_throttle import failed
from tests.support.basics import ACME, ANA, ANA_SCOPE, NOW_US, carry_out
from tests.support.facts import DAY, HOUR, MINUTE, Log, edit, request
from tests.svc_http.browsing import ANAS, core, enters, press, signs_in, words_of, works as one_goal
from tests.svc_http.house import Caller, House, bearer
from tests.svc_http.workshop import Workshop


@pytest.fixture
def api(house: House, api: Caller) -> Caller:
    signs_in(house)
    return api.using(ANAS)


def works(house: House, *scopes: Scope, goals: int = 1) -> None:
    for place in range(goals):
        one_goal(house, *(scopes or (ANA_SCOPE,)), at_us=NOW_US - DAY + place * HOUR)
    house.passes(NOW_US)


# --- habits -------------------------------------------------------------------------------------------------------


async def test_habits_are_told_as_the_api_tells_them(house: House, api: Caller) -> None:
    """Seven rows with their shares; examples in one's own words, sure ones; no next habit from so few prompts."""
    works(house, goals=3)
    answer = await api.get("/habits?from=2026-07-01&to=2026-08-01")
    text, html = words_of(answer), answer.body.decode()
    found = (await api.get("/v1/score_v3/skill?from=2026-07-01&to=2026-08-01", bearer())).json
    called_for = {name: of for name, of in found["per_boolean_counts"].items() if of}
    for name, of in called_for.items():
        share = found["per_boolean"][name]
        assert f"about {share * 100:.0f} % of {of} prompts" in text, name
        assert f"about {share * 100:.0f} %" in html.partition(f">{HABITS[name]}<")[2], name
    assert ("<mark>src/parser.py</mark>" in html, html.count('class="spark"')) == (True, len(called_for))
    assert "Too little can be told of your prompts to name a next habit: 3 graded prompts." in text
    assert "Of your 3 decided goals of all time" in text
    assert "So far that holds of at most 3." in text
    assert ("Nothing can be told yet" in text, "no proof of a cause" in text) == (True, True)
    assert "12 weeks to 1 Aug" in text, "today, a Saturday, and not the end of its week"


def six_renames() -> Log:
    log = Log(ANA_SCOPE, NOW_US - DAY)
    for place in range(6):
        at_us = NOW_US - DAY + place * HOUR
        log.prompt(f"s{place}", f"Rename parse_{place} to read_{place} in src/parser.py, and nothing else.", at_us)
        log.records(f"s{place}", request(at_us), edit(at_us + MINUTE))
    return log


async def test_the_next_habit_comes_first_with_a_prompt_that_missed_it(house: House, api: Caller) -> None:
    log = six_renames()
    house.has_seen(log, NOW_US)
    text = words_of(await api.get("/habits"))
    assert text.index("Next habit: say how you will check it.") < text.index("A prompt that …")
    assert "The last that does not, Fri 31 Jul, 17:00 Rename parse_5 to read_5" in text
    assert "Verify that …”: name a test that passes" in text
    home = words_of(await api.get("/"))
    assert "Next habit, missed in the most prompts: a prompt that asks for a check" in home, "as on the first page"


async def test_a_prompt_is_reproached_only_with_what_it_calls_for(house: House, api: Caller) -> None:
    """To commit a fix calls for no cause, though the goal did; what a later prompt shows, no goal misses."""
    log, at_us = Log(ANA_SCOPE), NOW_US - DAY
    log.now_us = at_us
    asked = log.prompt("s", "Fix the crash in src/a.py when the file is empty.", at_us)
    log.records("s", request(at_us), edit(at_us + MINUTE))
    later = log.prompt("s", "Commit it and open a pull request.", at_us + 2 * MINUTE)
    log.records("s", request(at_us + 2 * MINUTE))
    log.answers_prompt("s", asked, "bug_fix", earned=("goal_explicit", "scope_bounded"))
    log.answers_prompt("s", later, "small_change", earned=("goal_explicit",))
    for minutes, prompt, earned in (
        (60, "Fix the crash in src/b.py", ()),
        (62, "Find out why it crashes; fix that.", ("root_cause_oriented",)),
    ):
        shown = log.prompt("t", prompt, at_us + minutes * MINUTE)
        log.records("t", request(at_us + minutes * MINUTE), edit(at_us + (minutes + 1) * MINUTE))
        log.answers_prompt("t", shown, "bug_fix", earned=earned)
    house.has_seen(log, NOW_US)
    cause = words_of(await api.get("/habits")).partition(HABITS["root_cause_oriented"])[2]
    assert "The last that does not, Fri 31 Jul, 12:00 Fix the crash in src/a.py" in cause.partition("about")[0]


async def test_pages_without_figures_say_what_to_do(house: House, api: Caller) -> None:
    """And where the chosen time is empty, that the newest work is from another."""
    assert "svc import claude-code" in words_of(await api.get("/habits"))
    assert "No request was reported" in words_of(await api.get("/cost"))
    works(house)
    house.passes(NOW_US + 9 * DAY)
    assert "No prompt of this time was graded." in words_of(await api.get("/habits?days=7"))


@pytest.mark.parametrize("prompt", ["", "ok", "\u202e\x1b[31m", "<b>fix</b> the crash in src/a.py; run pytest"])
async def test_any_text_is_graded_and_none_is_stored(house: House, api: Caller, prompt: str) -> None:
    events = len(house.events)
    answer = await press(api, "/habits/grade", prompt=prompt)
    assert (answer.status, len(house.events), answer.headers["Cache-Control"]) == (200, events, "no-store")
    assert ("Read as a bug fix" in words_of(answer)) == ("crash" in prompt)
    assert not [each for each in ("\u202e", "<b>fix") if each in answer.body.decode()]


# --- time and limits ----------------------------------------------------------------------------------------------


async def test_time_lost_is_told_by_cause(house: House, api: Caller) -> None:
    log = Log(ANA_SCOPE, NOW_US)
    at_us = NOW_US - 3 * HOUR
    log.records("s", failed(at_us, 429), request(at_us + 30 * MINUTE), request(at_us + 31 * MINUTE))
    house.has_seen(log)
    text = words_of(await api.get("/cost"))
    assert "About 30 min: 1 of 3 requests failed." in text
    assert "Run fewer agents at once" in text
    assert "rate limit × 1 the provider refused a request for being one too many 30 min" in text
    assert "Only the newest" not in text
    log.records("t", failed(NOW_US - 2 * DAY))
    house.has_seen(log)
    text = words_of(await api.get("/cost?from=2026-07-30&to=2026-07-30"))
    assert "No waiting can be told: 1 of 1 request failed." in text, "and not that nothing held you up"


async def test_of_very_many_the_newest_are_told(house: House, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(ANA_SCOPE, NOW_US)
    log.prompt("s", "Fix the crash in src/parser.py", NOW_US - 4 * HOUR)
    house.has_seen(log.records("s", *(request(NOW_US - hours * HOUR) for hours in (3, 2, 1))))
    assert "Nothing held you up." in words_of(await api.get("/cost"))
    monkeypatch.setattr(figures, "REQUESTS_MAX", 2)
    text = words_of(await api.get("/cost"))
    assert "Time lost 0 s in the newest 2 requests" in text
    assert "Only the newest 2 requests of this time were looked at." in text


# --- one's own place ----------------------------------------------------------------------------------------------


async def test_alone_one_is_compared_with_ones_own_past(house: House, api: Caller) -> None:
    """Looking again is no further range; and where the day's ranges are spent, one's own past is shown all the same."""
    works(house, goals=3)
    for number in range(PEER_RANGES_MAX + 5):
        house.passes(NOW_US + number)
        text = words_of(await api.get("/team"))
    assert "The last 30 days: 3 of 3 decided goals reached" in text
    assert "You are in no team with others" in text
    assert "A lead cannot see anybody else's prompts" in text
    for number in range(PEER_RANGES_MAX - 1):
        assert house.peer_ranges.admits(ANA, Window(number, number + 1), NOW_US)
    assert "come back after midnight" in words_of(await api.get("/team?days=7"))
    assert words_of(await api.get("/team")) == text


async def test_a_group_of_five_is_told_what_can_be_worked_out(house: House, api: Caller) -> None:
    people = core(house, ANA_SCOPE, *(enters(house, f"peer {n}") for n in range(4)), at_us=NOW_US - 9 * DAY)
    works(house, *people[1:4])
    assert "with fewer than 4 who have a goal" in words_of(await api.get("/team"))
    works(house, *people[4:])
    assert "rate: 4. You have no rate, so you are outside of it." in words_of(await api.get("/team"))
    works(house, *people[:1])
    answer = await api.get("/team")
    assert "at or above that of 4 of 4 colleagues" in words_of(answer)
    assert "give all four rates of the others away" in words_of(answer)
    assert not [each for each in people[1:] if str(each.developer_id) in answer.body.decode()]


# --- reports ------------------------------------------------------------------------------------------------------


async def test_a_report_is_asked_for_made_read_and_deleted(house: Workshop, api: Caller) -> None:
    works(house, goals=3)
    asked = await press(api, "/reports", period="daily", date="2026-07-31")
    at = asked.headers["Location"]
    waiting = await api.get(at)
    assert "It is waiting" in words_of(waiting)
    assert 'hx-trigger="every 2s"' in waiting.body.decode()
    await house.works()
    text = words_of(await api.get(at))
    assert "3 of 3 decided goals reached; the rate may be" in text
    assert "Only you can read it" in words_of(await api.get("/reports"))
    assert "31 July 2026" in words_of(await api.get("/reports"))
    page = (await api.get(at)).body.decode()
    assert re.search(r'<details class="once"><summary>Delete this report<.*?gone for good', page)
    await press(api, f"{at}/delete")
    assert "No report yet" in words_of(await api.get("/reports"))
    assert (await api.get(at)).status == 404


async def test_a_report_says_of_a_month_what_the_pages_say(house: Workshop, api: Caller) -> None:
    """The score, what does not count, the habits, and the one to train: that which six miss, not one of one."""
    log = six_renames()
    planned = log.prompt("plan", "Add a queue to src/queue.py; run pytest.", NOW_US - DAY + 6 * HOUR)
    log.records("plan", request(NOW_US - DAY + 6 * HOUR), edit(NOW_US - DAY + 6 * HOUR + MINUTE))
    log.answers_prompt("plan", planned, "feature", earned=("verification_requested",))
    log.prompt("small", "What does src/a.py do?", NOW_US - DAY + 7 * HOUR)
    house.has_seen(log, NOW_US)
    at = (await press(api, "/reports", period="monthly", date="2026-07-31")).headers["Location"]
    await house.works()
    told = words_of(await api.get(at))
    home, habits = [words_of(await api.get(f"{page}?days=2026-07")) for page in ("/", "/habits")]
    skill = (await api.get("/v1/score_v3/skill?from=2026-07-01&to=2026-07-31", bearer())).json
    assert skill["worst_pillar"] == "plan_first"
    for said in ("decided; 7 undecided: the rate may be 0–", "8 goals began: 7 undecided, 1 not counted."):
        assert (said in home, said in told) == (True, True), said
    assert "missed in the most prompts: a prompt that asks for a check" in home
    assert "What to practise A prompt that asks for a check" in told
    assert "All 8 goals" in told, "however many of them are listed"
    led = re.findall(r'href="/goals/[0-9a-f-]{36}(.*?)"', (await api.get(at)).body.decode())
    assert {*led} == {"?from=2026-07-01&amp;to=2026-07-31"}
    shares = re.findall(r"about \d+ % of \d+ prompts?", habits.partition("Shown")[2])
    assert (len(shares), re.findall(r"about \d+ % of \d+ prompts?", told)) == (6, shares)


async def test_a_report_says_where_it_is_cut_and_what_its_words_mean(house: Workshop, api: Caller) -> None:
    """Asked for within its month; the next one has not begun, and one of a time without work has no advice."""
    for back in range(21):
        one_goal(house, ANA_SCOPE, at_us=NOW_US - DAY - back * HOUR)
    house.passes(NOW_US)
    at = (await press(api, "/reports", period="monthly", date="2026-07-31")).headers["Location"]
    await house.works()
    answer = await api.get(at)
    told, tokens = words_of(answer), (await api.get("/v1/score_v3/cost?from=2026-07-01&to=2026-07-31", bearer())).json
    assert "July 2026 How" in told
    assert "The newest 20 of 21 goals" in told
    assert b'<a href="/goals?from=2026-07-01&amp;to=2026-07-31">All 21 goals</a>' in answer.body
    await press(api, "/settings/profile", timezone="America/Los_Angeles", language="en")  # it keeps the days of then
    assert "July 2026 How" in words_of(moved := await api.get(at))
    assert b"from=2026-07-01" in moved.body
    await press(api, "/settings/profile", timezone="Europe/Berlin", language="en")
    assert "At work leaves out breaks of more than 5 minutes" in told
    assert f"{tokens['total']['output_tokens']} out," in told
    empty, going_on = [
        (await press(api, "/reports", period="monthly", date=f"2026-{month}-01")).headers["Location"]
        for month in ("03", "08")
    ]
    await house.works()
    assert "What to practise" not in words_of(await api.get(empty))
    assert "August 2026 so far How" in words_of(await api.get(going_on))
    assert re.search(
        "August 2026 so far, asked for Sat 1 Aug, .* July 2026, asked for", words_of(await api.get("/reports"))
    )
    refused = await press(api, "/reports", period="monthly", date="2027-03-01")
    assert (refused.status, b"No month with such a day has begun" in refused.body) == (400, True)
    assert b'value="monthly" selected' in refused.body


async def test_a_report_tells_what_was_not_reached_from_what_does_not_count(house: Workshop, api: Caller) -> None:
    log = Log(ANA_SCOPE, NOW_US - DAY)
    missed = log.prompt("missed", "Fix the crash in src/a.py when the file is empty.", NOW_US - DAY)
    log.records("missed", request(NOW_US - DAY), edit(NOW_US - DAY + MINUTE)).corrects_goal("missed", missed, False)
    log.prompt("small", "What does src/a.py do?", NOW_US - DAY + HOUR)
    log.records("small", request(NOW_US - DAY + HOUR))
    house.has_seen(log, NOW_US)
    at = (await press(api, "/reports", period="daily", date="2026-07-31")).headers["Location"]
    await house.works()
    text = words_of(await api.get(at))
    assert "bug fix not reached" in text
    assert "question not counted" in text
    assert "not reached, or not counted" not in text


async def test_a_report_is_cancelled_while_it_waits(house: Workshop, api: Caller) -> None:
    """And an empty one says so."""
    at, kept = [(await press(api, "/reports", period=each)).headers["Location"] for each in ("weekly", "monthly")]
    assert (await press(api, f"{at}/delete")).status == 409
    await press(api, f"{at}/cancel")
    assert "It was cancelled" in words_of(await api.get(at))
    await house.works()
    assert "Prompts No prompt was graded." in words_of(await api.get(kept))


async def test_an_old_report_shows_what_it_has(house: Workshop, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays as it was once made."""
    address = (await press(api, "/reports", period="daily")).headers["Location"]
    await house.works()
    coached = b'"coaching":{"items":[{"label":"Checks","habit":"It names none.","share":0.5,"promptCount":4}]}'
    tasks = b'"taskTime":{"items":[{"subSessionId":"a","title":"Old","intentClass":"plan","activeSeconds":3}]}'
    made: Callable[..., Any] = rows.report
    old = Raw(b'{"score":{"crushed_count":1},' + coached + b"," + tasks + b"}")
    monkeypatch.setattr(rows, "report", lambda *asked: replace(made(*asked), sections=old))
    text = words_of(await api.get(address))
    assert "No goal counts yet" in text
    assert "Checks It names none. About 50 % of 4 prompts showed it." in text
    assert "Old – undecided 3 s All goals –" in text


async def test_reports_come_by_themselves_where_one_wants_them(house: House, api: Caller) -> None:
    """Nothing is offered that the server cannot do, none is chosen at first, and what was not asked stays."""

    async def chosen(*channels: str, **fields: str) -> tuple[object, object]:
        house.settings = replace(house.settings, channels=channels)
        await press(api, "/reports/schedule", None, **fields)
        developer = house.directory.get(Developer, ANA)
        assert developer is not None
        return developer.report_schedules, developer.report_notices

    assert await chosen(weekly="yes", monthly="yes") == (("weekly", "monthly"), ())
    shown = await api.get("/reports")
    assert (shown.body.decode().count(" checked"), "tell me so" in words_of(shown)) == (2, False)
    assert await chosen("email", "webhook", email="yes", weekly="yes") == (("weekly",), ("email",))
    shown = await api.get("/reports")
    assert "When a report is finished, tell me so by e-mail webhook" in words_of(shown)
    assert "your own address, which is not known here yet" in words_of(shown)
    await press(api, "/reports", period="daily", date="2026-07-31")
    (asked,) = [each for each in house.events if isinstance(each, ReportRequested)]
    assert asked.notices == ("email",)
    assert await chosen() == ((), ("email",)), "the mail server is away for a day"
    assert await chosen("email", "webhook") == ((), ())


async def test_a_report_says_what_came_of_telling(house: Workshop, api: Caller) -> None:
    """By each channel what happened last, and when it goes on."""
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, report_notices=("email", "webhook")))
    at = (await press(api, "/reports", period="daily", date="2026-07-31")).headers["Location"]
    await house.works()
    assert "told" not in words_of(await api.get(at))
    (asked,) = [each for each in house.events if isinstance(each, ReportRequested)]
    about: dict[str, Any] = {"organization_id": ACME, "developer_id": ANA, "report_id": asked.report_id}
    await house.send(ReportNoticeTried(**about, channel="email"))
    for _ in range(2):
        await house.send(ReportNoticeTried(**about, channel="webhook", problem="refused", status=503))
    said = words_of(await api.get(at))
    assert "You were told by e-mail on Sat 1 Aug, 12:00." in said
    assert "Telling you by webhook failed 2 times; the next try is on Sat 1 Aug, 12:05." in said
    await house.send(ReportNoticeTried(**about, channel="webhook", problem="gone", status=410))
    assert "Telling you by webhook was given up after 3 tries." in words_of(await api.get(at))
