"""`/v1/team/daily-summary`: counts whatever happens, and a narrative where there is one."""

import msgspec
import pytest

from aggregates.event import Refused, Scope
from aggregates.people.acts import AddTeamMember, ChangeDeveloper, ChangeOrganization, CreateTeam, PeopleAct
from aggregates.reports.prose import Narrative
from aggregates.scores.insights import NO_WORK
from aggregates.times import parse_instant
from projections.reports import TeamSummary
from tests.support.facts import DAY, HOUR, MONDAY, Log
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_KEY, ANA_SCOPE, BEN, BEN_KEY, EVE_KEY, NOW_US, carry_out
from tests.svc_http.house import Caller, House, bearer
from tests.svc_http.openapi.test_shapes import described

TEAM = named("core")
BEN_SCOPE = Scope(ACME, BEN)
SUMMARY = f"/v1/team/daily-summary?team_id={TEAM}&date=2026-01-05"
LOGIN = "Fix the failing login test in auth.py, the session cookie is lost"
ROUNDING = "Fix the rounding in invoice.py, totals are off by a cent"
WRITTEN = Narrative("The team fixed a bug.", MONDAY + 10 * HOUR, True, NO_WORK)


@pytest.fixture(autouse=True)
def _team(house: House) -> None:
    """Ana and Ben are in Core since before that Monday; two are enough for their organization."""
    members = [
        AddTeamMember(team_membership_id=named(f"{who} in core"), team_id=TEAM, developer_id=who) for who in (ANA, BEN)
    ]
    commands: list[PeopleAct] = [CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"), *members]
    commands.append(ChangeOrganization(organization_id=ACME, team_minimum=2))
    for command in commands:
        assert not isinstance(carry_out(house.directory, command, MONDAY - DAY), Refused)


def works(house: House, scope: Scope, session: str, text: str, at_us: int = MONDAY + 9 * HOUR) -> None:
    """A prompt, an edit, a check that passes, and the end of the day."""
    log = Log(scope)
    log.works(session, at_us, text)
    house.has_seen(log)
    house.passes(MONDAY + 20 * HOUR)


async def asked(caller: Caller, path: str = SUMMARY) -> TeamSummary:
    return msgspec.convert(described(await caller.get(path), "GET", path), TeamSummary)


async def test_counts_without_a_model(house: House, api: Caller) -> None:
    """They are the sums of what each member sees; the narrative is null, and so is all that is about it."""
    nothing = await asked(api)
    assert (nothing.members_active, nothing.sub_sessions, nothing.crushed, nothing.trivia) == (0, 0, 0, 0)
    works(house, ANA_SCOPE, "a", LOGIN)
    works(house, BEN_SCOPE, "b", ROUNDING, MONDAY + 11 * HOUR)
    works(house, BEN_SCOPE, "c", "/clear", MONDAY + 12 * HOUR)
    found = await asked(api)
    assert (found.members_active, found.sub_sessions, found.withheld) == (2, 3, None)
    assert found.by_intent is not None
    assert found.by_intent.bug_fix == 2
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
    """Two members were active; the narrative is not even asked for."""
    house.narrative = WRITTEN
    carry_out(house.directory, ChangeOrganization(organization_id=ACME, team_minimum=team_minimum), NOW_US)
    works(house, ANA_SCOPE, "a", LOGIN)
    works(house, BEN_SCOPE, "b", ROUNDING, MONDAY + 11 * HOUR)
    found = await asked(api)
    assert (found.members_active, found.sub_sessions) == (2, 2)
    assert found.narrative_status == ("written" if told else "withheld")
    outcome = (found.crushed, found.trivia, found.by_intent, found.narrative)
    assert [each is not None for each in outcome] == [told] * 4
    assert (found.withheld is None) == told == bool(house.narrations)


async def test_a_narrative(house: House, api: Caller) -> None:
    """It is shown with its source, its time, and whether it saw everything."""
    house.narrative = WRITTEN
    works(house, BEN_SCOPE, "b", "/clear", MONDAY + 11 * HOUR)
    works(house, ANA_SCOPE, "a", LOGIN)
    found = await asked(api)
    told = (found.narrative, found.narrative_status, found.narrative_source)
    assert told == ("The team fixed a bug.", "written", "llm")
    assert (found.generated_at, found.narrative_input_clipped) == ("2026-01-05T19:00:00Z", True)
    assert house.narrations[-1].work.members == (
        ("fixing a bug in signing in and permissions and tests with checks run",),
    )


async def test_day_and_language_are_as_asked_whatever_the_callers_profile_says(house: House, api: Caller) -> None:
    """Else today's of UTC, also where another zone has another date, and English: the summary is the team's."""
    house.clock_us = parse_instant("2026-01-05T23:00:00Z")
    carry_out(house.directory, ChangeDeveloper(developer_id=ANA, language="ko"), NOW_US)
    found = await asked(api, f"/v1/team/daily-summary?team_id={TEAM}&tz=Asia/Seoul")
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
