"""What teams see of themselves: a day's counts, with a narrative where there is one; and what they spent."""

from typing import Any

import msgspec
import pytest

from aggregates.event import Scope
from aggregates.people.acts import ChangeDeveloper, ChangeOrganization, EndTeam
from aggregates.reports.prose import Narrative
from aggregates.scores.insights import NO_WORK
from aggregates.times import parse_instant
from projections.reports import OUTCOMES, TeamSummary
from tests.support.basics import ACME, ANA, ANA_KEY, ANA_SCOPE, BEN, BEN_KEY, EVE_KEY, NOW_US
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, Log, request
from tests.svc_http.browsing import CORE, carried_out, core
from tests.svc_http.house import Caller, House, bearer
from tests.svc_http.openapi.test_shapes import described

BEN_SCOPE = Scope(ACME, BEN)
SUMMARY = f"/v1/team/daily-summary?team_id={CORE}&date=2026-01-05"
LOGIN = "Fix the failing login test in auth.py, the session cookie is lost"
ROUNDING = "Fix the rounding in invoice.py, totals are off by a cent"
WRITTEN = Narrative("The team fixed a bug.", MONDAY + 10 * HOUR, True, NO_WORK)


@pytest.fixture(autouse=True)
def _team(house: House) -> None:
    """Ana and Ben are in Core since before that Monday; two are enough for their organization."""
    core(house, ANA_SCOPE, BEN_SCOPE, at_us=MONDAY - DAY)
    carried_out(house, ChangeOrganization(organization_id=ACME, team_minimum=2), at_us=MONDAY - DAY)


def works(house: House, scope: Scope, session: str, text: str, at_us: int = MONDAY + 9 * HOUR) -> None:
    """A prompt, an edit, a check that passes, and the end of the day."""
    log = Log(scope)
    log.works(session, at_us, text)
    house.has_seen(log, MONDAY + 20 * HOUR)


async def asked(caller: Caller, path: str = SUMMARY) -> TeamSummary:
    return msgspec.convert(described(await caller.get(path), "GET", path), TeamSummary)


async def test_counts_without_a_model(house: House, api: Caller) -> None:
    """They are the sums of what each member sees; the narrative is null, and so is all that is about it."""
    nothing = await asked(api)
    assert (nothing.members_active, nothing.sub_sessions, nothing.crushed, nothing.trivia) == (0, 0, 0, 0)
    works(house, ANA_SCOPE, "a", LOGIN)
    works(house, BEN_SCOPE, "b", ROUNDING, MONDAY + 11 * HOUR)
    works(house, BEN_SCOPE, "c", "thanks", MONDAY + 12 * HOUR)
    found = await asked(api)
    assert (found.members_active, found.sub_sessions, found.withheld) == (2, 3, None)
    assert found.by_intent is not None
    assert found.by_intent["bug_fix"] == 2
    assert sum(getattr(found, name) for name in OUTCOMES) == found.sub_sessions
    assert (found.narrative, found.structured_narrative, found.narrative_source, found.generated_at) == (None,) * 4
    assert found.narrative_input_clipped is False
    assert house.narrations[-1].work == NO_WORK, "nothing is prepared for nobody"
    of_one = "/v1/score_v3/today-summary?date=2026-01-05"
    days = [(await api.using(bearer(key)).get(of_one)).json for key in (ANA_KEY, BEN_KEY)]
    sums = [sum(day[name] for day in days) for name in ("crushed_count", "trivia_count")]
    assert [found.crushed, found.trivia] == sums
    assert (await api.using(bearer(EVE_KEY)).get(SUMMARY)).status == 404, "she is in no such team"


@pytest.mark.parametrize(("team_minimum", "told"), [(2, True), (3, False)])
async def test_how_a_day_of_few_came_out_is_not_told(house: House, api: Caller, team_minimum: int, told: bool) -> None:
    """Two members were active; else the narrative is not even asked for."""
    house.narrative = WRITTEN
    carried_out(house, ChangeOrganization(organization_id=ACME, team_minimum=team_minimum))
    works(house, ANA_SCOPE, "a", LOGIN)
    works(house, BEN_SCOPE, "b", ROUNDING, MONDAY + 11 * HOUR)
    found = await asked(api)
    assert (found.members_active, found.sub_sessions) == (2, 2)
    assert found.narrative_status == ("written" if told else "withheld")
    outcome = (found.crushed, found.trivia, found.by_intent, found.narrative)
    assert [each is not None for each in outcome] == [told] * 4
    assert (found.withheld is None) == told == bool(house.narrations)
    if told:
        assert (found.narrative, found.narrative_source) == ("The team fixed a bug.", "llm")
        assert (found.generated_at, found.narrative_input_clipped) == ("2026-01-05T19:00:00Z", True)
        assert "fixing a bug in signing in" in str(house.narrations[-1].work.members)


async def test_day_and_language_are_as_asked_whatever_the_callers_profile_says(house: House, api: Caller) -> None:
    """Else today's of UTC, also where another zone has another date, and English: the summary is the team's."""
    house.clock_us = parse_instant("2026-01-05T23:00:00Z")
    carried_out(house, ChangeDeveloper(developer_id=ANA, language="ko"))
    found = await asked(api, f"/v1/team/daily-summary?team_id={CORE}&tz=Asia/Seoul")
    assert (found.date, found.timezone, found.language) == ("2026-01-05", "Asia/Seoul", "en")
    told = [(await asked(api, f"{SUMMARY}&lang={lang}")).language for lang in ("ko", "ko-KR", "en", "fr")]
    assert told == ["ko", "ko", "en", "en"]


async def test_the_day_of_a_developer(house: House, api: Caller) -> None:
    """The same model, for one's own day only."""
    house.narrative = msgspec.structs.replace(WRITTEN, text="You fixed a bug.")
    works(house, ANA_SCOPE, "a", LOGIN)
    works(house, BEN_SCOPE, "b", "Add a payment page", MONDAY + 11 * HOUR)
    shown = (await api.get("/v1/score_v3/today-summary?date=2026-01-05")).json
    assert shown["narrative"] == "You fixed a bug."
    (wanted,) = house.narrations
    assert (wanted.kind, wanted.about, len(wanted.work.members)) == ("today", str(ANA), 1)
    assert "payments" not in str(wanted.work)


# --- cost: members only, exact where everything was read ------------------------------------------------------

MIDNIGHT = NOW_US - 12 * HOUR  # it is Saturday noon
COST = f"/v1/team/cost?team_id={CORE}"
CENT = 10_000_000


def spends(house: House, scope: Scope, at_us: int, **fields: Any) -> None:
    """A prompt, answered by one request for a cent."""
    log = Log(scope, at_us)
    session = f"{scope.developer_id}-{at_us}"
    log.prompt(session, "Fix src/parser.py and run pytest", at_us)
    log.records(session, request(at_us + MINUTE, **fields))
    house.has_seen(log)


async def test_what_a_team_spent(house: House, api: Caller) -> None:
    """The dearest member first, beside the window before; of a team that has ended nobody is a member any more."""
    spends(house, ANA_SCOPE, NOW_US - DAY)
    spends(house, BEN_SCOPE, MIDNIGHT - HOUR, cost_usd_nano=3 * CENT)  # Friday evening is Saturday in Tokyo
    spends(house, ANA_SCOPE, NOW_US - 7 * DAY, cost_usd_nano=8 * CENT)
    found = (await api.get(COST)).json
    named = ("developerId", "displayName", "costUsd", "share", "totalTokens")
    assert [[each[name] for name in named] for each in found["members"]] == [
        [str(BEN), "Ben", 0.03, 0.75, 120],
        [str(ANA), "Ana", 0.01, 0.25, 120],
    ]
    assert (found["rollup"]["costUsd"], found["prevCostUsd"], found["costRankingAvailable"]) == (0.04, 0.08, True)
    assert found["readCoverage"]["reason"] == found["prevReadCoverage"]["reason"] == "complete"
    assert (found["pricingCoverage"]["pricedRequests"], found["pricingCoverage"]["ratio"]) == (2, 1.0)
    for query, spent in (("window=monthly", 0.0), ("window=daily&tz=%20", 0.0), ("window=daily&tz=Asia/Tokyo", 0.03)):
        assert (await api.get(f"{COST}&{query}")).json["rollup"]["costUsd"] == spent, query
    carried_out(house, EndTeam(team_id=CORE))
    assert (await api.get(COST)).status == 404


# --- week by week ---------------------------------------------------------------------------------------------

TREND = f"/v1/team/trend?team_id={CORE}&from=2026-01-07&to=2026-01-13"
OUTCOMES_OF_A_WEEK = ("reached", "undecided", "notReached", "repeated", "goingOn", "notCounted")


async def test_weeks_add_up_and_days_of_few_are_not_told(house: House, api: Caller) -> None:
    """Whole weeks that touch the range. Two were at work on Monday, one on Tuesday, and one in the other week."""
    works(house, ANA_SCOPE, "a", LOGIN)
    works(house, BEN_SCOPE, "b", ROUNDING, MONDAY + 11 * HOUR)
    works(house, BEN_SCOPE, "c", "thanks", MONDAY + 12 * HOUR)
    works(house, BEN_SCOPE, "d", LOGIN, MONDAY + DAY + HOUR)
    works(house, BEN_SCOPE, "e", ROUNDING, MONDAY + 7 * DAY + HOUR)
    house.passes(MONDAY + 9 * DAY)
    found = described(await api.get(TREND), "GET", TREND)
    first, second = found["weeks"]
    assert (found["isPartial"], first["weekStart"], second["weekStart"]) == (False, "2026-01-05", "2026-01-12")
    assert (first["begun"], first["membersActive"], first["onOtherDays"]) == (4, 2, 1)
    assert sum(first[name] for name in OUTCOMES_OF_A_WEEK) + first["onOtherDays"] == first["begun"]
    assert (second["begun"], second["onOtherDays"], second["membersActive"]) == (1, 1, 1)
    assert {second[name] for name in (*OUTCOMES_OF_A_WEEK, "unclassified")} == {None}
    carried_out(house, ChangeOrganization(organization_id=ACME, team_minimum=3))
    assert (await api.get(TREND)).json["weeks"][0]["reached"] is None


async def test_a_week_costs_what_team_cost_says(house: House, api: Caller) -> None:
    spends(house, ANA_SCOPE, NOW_US - DAY)
    spends(house, BEN_SCOPE, MIDNIGHT - HOUR, cost_usd_nano=3 * CENT)
    spends(house, ANA_SCOPE, NOW_US - 7 * DAY, cost_usd_nano=8 * CENT)
    *_, before, now = (await api.get(f"/v1/team/trend?team_id={CORE}")).json["weeks"]
    cost = (await api.get(COST)).json
    assert (now["costUsd"], before["costUsd"]) == (cost["rollup"]["costUsd"], cost["prevCostUsd"]) == (0.04, 0.08)
    assert now["requestCount"] == cost["rollup"]["requestCount"]
    spends(house, ANA_SCOPE, NOW_US - HOUR, cost_usd_nano=None)
    now = (await api.get(f"/v1/team/trend?team_id={CORE}")).json["weeks"][-1]
    assert (now["costUsd"], now["lowerBoundCostUsd"]) == (None, 0.04)


async def test_a_trend_is_of_members_and_of_a_range_that_can_be_shown(house: House, api: Caller) -> None:
    assert (await api.using(bearer(EVE_KEY)).get(TREND)).status == 404, "she is in no such team"
    for words, status in (
        ("from=2036-01-01&to=2036-02-01", 200),
        ("from=2016-01-01&to=2026-01-01", 200),
        ("from=1970-01-01&to=9000-01-01", 400),
        ("from=2026-02-01&to=2026-01-01", 400),
    ):
        answer = await api.get(f"/v1/team/trend?team_id={CORE}&{words}")
        assert answer.status == status, words
        if status == 200:
            assert {week["begun"] for week in answer.json["weeks"]} == {0}
