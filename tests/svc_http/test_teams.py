"""What a team's page tells, what sums over people give away, as docs/security.md says, and one's rate beside peers'."""

import re
from collections.abc import Sequence

import pytest

from aggregates.event import Scope
from aggregates.people.acts import ChangeDeveloper, ChangeOrganization, RemoveTeamMember
from aggregates.people.directory import Key, Team, TeamMembership
from aggregates.scores.grades import PEER_RANGES_MAX, compare
from aggregates.times import US_PER_DAY
from svc_http.pages.words import STATES
from svc_http.routes.people import digest_of
from tests.support.basics import ACME, ANA, ANA_SCOPE, BEN, NOW_US
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY, SECOND, Log
from tests.support.tables import each_of
from tests.svc_http.browsing import (
    ANAS,
    CORE,
    OPERATORS,
    carried_out,
    core,
    enters,
    in_core,
    press,
    signs_in,
    words,
    words_of,
    works,
)
from tests.svc_http.house import Answer, Caller, House
from tests.svc_http.test_links import Cookie, cookie_in, let_in, make_key, member, path_in

BEN_SCOPE = Scope(ACME, BEN)
BEGAN = NOW_US - 30 * DAY


@pytest.fixture
def people(house: House) -> Sequence[Scope]:
    """Ana, Ben and Cleo are in Core."""
    signs_in(house)
    return core(house, ANA_SCOPE, BEN_SCOPE, enters(house, "cleo", at_us=BEGAN), at_us=BEGAN)


async def _page(api: Caller, path: str = "/team") -> Answer:
    return await api.using(ANAS).get(path)


def _rows(answer: Answer, label: str) -> list[list[str]]:
    """The cells of a table's rows, without the head's."""
    text = answer.body.decode().partition(f'aria-label="{label}"')[2].partition("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", each) for each in text.partition("<tbody>")[2].split("</tr>")]
    return [each for each in rows if each]


def _totals(answer: Answer) -> dict[str, int]:
    found = re.findall(r"<dt>([^<]*)</dt><dd>(\d+)</dd>", answer.body.decode())
    return {name: int(number) for name, number in found}


async def test_a_day_is_told_from_the_minimum_on(house: House, api: Caller, people: Sequence[Scope]) -> None:
    """Three were at work on the one day, two on the other: the figures add up to what was begun, with their words."""
    works(house, *people, at_us=NOW_US - 2 * DAY)
    works(house, *people[:2], at_us=NOW_US - DAY)
    house.passes(NOW_US)
    answer = await _page(api, "/team?days=7")
    totals = _totals(answer)
    assert (totals.pop("Goals begun"), totals["Reached"], totals["Not told"]) == (5, 3, 2)
    assert {*totals} == {*(each.capitalize() for each in STATES.values()), "Not told"}
    assert sum(totals.values()) == 5
    assert [row[1:10] for row in _rows(answer, "goals a week")] == [["3", "5", "3", "0", "0", "0", "0", "0", "2"]]
    trend = (await api.get(f"/v1/team/trend?team_id={CORE}&from=2026-07-26&to=2026-08-01")).json
    assert (trend["total"]["begun"], trend["total"]["reached"], trend["total"]["onOtherDays"]) == (5, 3, 2)
    carried_out(house, ChangeOrganization(organization_id=ACME, team_minimum=4))
    answer = await _page(api, "/team?days=7")
    assert _totals(answer) == {"Goals begun": 5, "Not told": 5}
    assert "at least 4 members were at work" in answer.body.decode()


async def test_cost_is_each_members_and_has_its_coverage(house: House, api: Caller, people: Sequence[Scope]) -> None:
    assert "of any member from the day they joined on: Ana, Ben, Cleo." in words_of(await _page(api))
    works(house, ANA_SCOPE, at_us=NOW_US - DAY)
    answer = await _page(api, f"/team?team={CORE}&days=7")
    requests = {row[0]: row[3] for row in _rows(answer, "Cost by member")}
    assert requests == {"Ana": "1 request", "Ben": "0 requests", "Cleo": "0 requests"}
    assert "1 of 1" in answer.body.decode()


async def test_a_calendar_month_is_told_whole(house: House, api: Caller, people: Sequence[Scope]) -> None:
    """The one before, and the one that runs up to today; none before these. Cost and Time too."""
    for at_us in (NOW_US - 40 * DAY, NOW_US - 3 * DAY, NOW_US):
        works(house, ANA_SCOPE, at_us=at_us)
    house.passes(NOW_US)
    for month, label, days in (("2026-07", "July", ["27 Jul"]), ("2026-08", "August", ["27 Jul"])):
        answer = await _page(api, f"/team?days={month}")
        assert f'aria-current="true">{label}</a>' in answer.body.decode()
        assert [row[0] for row in _rows(answer, "goals a week")] == days
        assert f'aria-current="true">{label}</a>' in (await _page(api, f"/cost?days={month}")).body.decode()


async def test_all_figures_are_of_the_same_whole_weeks(house: House, api: Caller, people: Sequence[Scope]) -> None:
    """The week of 20 July is no part of the last seven days, that of 27 July is not over; Saturday is 1 August."""
    for days in (14, 8, 6, 5, 1):
        works(house, *people[:2], at_us=NOW_US - days * DAY)
    house.passes(NOW_US)
    answer = await _page(api, "/team?days=7")
    told, weeks = words_of(answer), _rows(answer, "goals a week")
    assert "All figures are of whole weeks of UTC, at most up to today: 20 July to 1 August." in told
    assert ("Cost, 20 July to 1 August" in told, "20 July to 1 August: " in told) == (True, True)
    assert ([row[0] for row in weeks], sum(int(row[2]) for row in weeks)) == (["27 Jul", "20 Jul"], 8)
    assert _totals(answer)["Goals begun"] == 8
    assert [row[3] for row in _rows(answer, "Cost by member")] == ["4 requests", "4 requests", "0 requests"]


async def test_the_time_is_the_teams_and_not_the_readers(house: House, api: Caller, people: Sequence[Scope]) -> None:
    """Ana has no goal: all begins with the first member, and the months are those in which anybody began one."""
    works(house, people[1], at_us=NOW_US - 20 * DAY)
    house.passes(NOW_US)
    answer = await _page(api, "/team?days=all")
    assert ("all since 2 July" in words_of(answer), _totals(answer)["Goals begun"]) == (True, 1)
    assert b"days=2026-07" in answer.body
    near = words_of(await _page(api, "/team?from=2026-07-30&to=2026-07-30"))
    assert "No goal began in 27 July to 1 August. July has some" in near


async def test_who_has_left_is_named_with_work_of_the_time_only(
    house: House, api: Caller, people: Sequence[Scope]
) -> None:
    works(house, people[1], at_us=NOW_US - DAY)
    carried_out(house, *(RemoveTeamMember(team_membership_id=in_core(each.developer_id)) for each in people[1:]))
    text = words_of(await _page(api, "/team?days=7"))
    assert ("Ben (has left)" in text, "Cleo" in text) == (True, False)


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(("path", "status"), [("/team?team=x", 404), ("/team?days=x", 400)])
async def test_what_is_not_there_is_said(api: Caller, path: str, status: int) -> None:
    assert (await _page(api, path)).status == status


async def test_it_says_since_when_and_who_takes_people_in(house: House, api: Caller, people: Sequence[Scope]) -> None:
    """So that a team that was filled today does not read as one that did nothing."""
    shown = (await _page(api)).body.decode()
    assert "Members count from the day they joined; the first joined on 2 July" in shown
    carried_out(house, *(RemoveTeamMember(team_membership_id=in_core(each.developer_id)) for each in people))
    assert "Owners of the organization (Ana) form teams" in (await _page(api)).body.decode()


SUMMARY = f"/v1/team/daily-summary?team_id={CORE}&date=2026-01-05"
PEERS = "/v1/score_v3/peer-comparison"


def _company(house: House, people: int) -> Sequence[Scope]:
    """A team of Ana and so many others, since before that Monday; each reaches a goal in the morning."""
    before = MONDAY - HOUR
    company = core(
        house, ANA_SCOPE, *(enters(house, f"peer {n}", at_us=before) for n in range(1, people)), at_us=before
    )
    works(house, *company, at_us=MONDAY + HOUR)
    return company


@pytest.mark.parametrize("people", range(1, 7))
async def test_what_a_group_of_so_many_is_told(house: House, api: Caller, people: int) -> None:
    _company(house, people)
    house.passes(MONDAY + 20 * HOUR)
    day = (await api.get(SUMMARY)).json
    assert (day["membersActive"], day["subSessions"]) == (people, people)
    outcome = [day[name] for name in ("crushed", "trivia", "byIntent")]
    assert [value is not None for value in outcome] == [people >= 3] * 3
    peers = (await api.get(f"{PEERS}?from=2026-01-01&to=2026-01-31")).json
    assert (peers["distribution"] is not None) == (people >= 5)


@each_of([10.0, 90.0])
def test_of_five_people_the_quartiles_and_the_mean_are_all_four_rates(mine: float) -> None:
    """If one's own is the lowest or the highest; and from two looks the rate of who left in between follows."""
    peers = [20.0, 35.0, 60.0, 85.0]
    told, before = compare(mine, peers, []).distribution, compare(mine, [*peers, 90.0], []).distribution
    assert told is not None
    assert before is not None
    inner = [told.p25, told.p50, told.p75]
    assert sorted([*inner, 5 * told.cohort_mean - sum(inner) - mine]) == pytest.approx(peers)
    assert 6 * before.cohort_mean - 5 * told.cohort_mean == pytest.approx(90.0)


async def test_who_leaves_a_team_takes_nothing_from_a_day_before(house: House, api: Caller) -> None:
    company = _company(house, 4)
    house.passes(MONDAY + 20 * HOUR)
    before = (await api.get(SUMMARY)).json
    carried_out(house, RemoveTeamMember(team_membership_id=in_core(company[-1].developer_id)))
    assert (await api.get(SUMMARY)).json == before


async def test_a_day_of_another_zone_tells_of_the_hour_between_them(house: House, api: Caller) -> None:
    """Three members; one of them reached a goal in the last hour of the day in UTC."""
    works(house, _company(house, 3)[-1], at_us=MONDAY + 14 * HOUR + MINUTE)
    house.passes(MONDAY + 30 * HOUR)
    utc, east = [(await api.get(f"{SUMMARY}&tz={zone}")).json for zone in ("UTC", "Etc/GMT-1")]
    assert utc["membersActive"] == east["membersActive"] == 3
    assert utc["crushed"] - east["crushed"] == 1


async def test_a_further_range_is_429_until_midnight(house: House, api: Caller) -> None:
    house.clock_us = 101 * US_PER_DAY - 90 * SECOND
    for day in range(1, PEER_RANGES_MAX + 1):
        assert (await api.get(f"{PEERS}?from=1970-03-{day:02}&to=1970-03-{day:02}")).status == 200
    refused = await api.get(f"{PEERS}?from=1970-02-01&to=1970-02-02")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "90")
    assert "midnight UTC" in refused.message
    assert (await api.get(f"{PEERS}?from=1970-03-01&to=1970-03-01")).status == 200
    assert (await api.get(PEERS)).status == 200


# --- compared with peers ------------------------------------------------------------------------------------------

ASK = "Fix the crash in src/{0}.py when the input is empty: return an empty list. Run pytest before you stop."


def reaches(house: House, scope: Scope, at_us: int, *reached: bool) -> None:
    """One goal an hour from then on, each of its own session and file: reached, or left with a failing check."""
    log = Log(scope, at_us)
    for number, ok in enumerate(reached):
        asked_us = at_us + number * HOUR
        session = f"{scope.developer_id}-{asked_us}"
        log.works(session, asked_us, ASK.format(f"module{asked_us}"), f"src/module{asked_us}.py", ok=ok)
        log.records(session, {"kind": "session_end", "source": "exit", "at_us": asked_us + 61 * SECOND})
    house.has_seen(log)


async def test_four_scored_peers(house: House, api: Caller) -> None:
    """Rates 0, 50, 50, 100 beside Ana's 75: quarters at 50, 50, 75; three of four are at or below hers."""
    reaches(house, ANA_SCOPE, NOW_US - 2 * DAY, True, True, False, True)
    rates = {"b": [False], "c": [True, False], "d": [True], "e": [False, True]}
    _, *peers = core(house, ANA_SCOPE, *(enters(house, name) for name in rates), at_us=NOW_US)
    for peer, reached in zip(peers, rates.values(), strict=True):
        reaches(house, peer, NOW_US - DAY, *reached)
    found = (await api.get(PEERS)).json
    assert found["interval"]["low"] <= 75.0 <= found["interval"]["high"]
    assert [found[name] for name in ("basis", "myScore", "myPercentile", "leftOut")] == ["peers", 75.0, 75.0, 0]
    assert found["distribution"] == {"peerCount": 4, "cohortMean": 55.0, "p25": 50.0, "p50": 50.0, "p75": 75.0}


async def test_days_are_those_of_the_zone(house: House, api: Caller) -> None:
    """Six noons and a late evening in UTC; in Tokyo the evening joins the next day, and six are too few."""
    for back in range(7, 1, -1):
        reaches(house, ANA_SCOPE, NOW_US - back * DAY, True)
    reaches(house, ANA_SCOPE, NOW_US - 8 * DAY + 9 * HOUR, True)
    assert (await api.get(PEERS)).json["basis"] == "selfHistory"
    assert (await api.get(f"{PEERS}?tz=Asia/Tokyo")).json["basis"] == "insufficient"
    carried_out(house, ChangeDeveloper(developer_id=ANA, timezone="Asia/Tokyo"))
    assert (await api.get(PEERS)).json["basis"] == "insufficient"
    assert (await api.get(f"{PEERS}?tz=UTC")).json["basis"] == "selfHistory"


# --- a crowd of one owner's making ------------------------------------------------------------------------------


@pytest.fixture
def _doors(house: House) -> None:
    """Ana and the operator are signed in."""
    signs_in(house)
    house.operator_browsers.begin(digest_of("operator's"), house.now_us())


async def _crowd(house: House, api: Caller) -> Cookie:
    """Ana makes up two members, opens their links herself, works as them, and puts Ben into a team with them."""
    form = {"organization": str(ACME), "role": "member"}
    for name in ("lena", "max"):
        made = await press(api, "/administration/people", ANAS, name=name.title(), **form)
        await make_key(api, cookie_in(await press(api, path_in(made), {})))
    await press(api, "/administration/teams", ANAS, name="Core", **form)
    (team,) = house.directory.all(Team)
    invented = {each.developer_id for each in house.directory.all(Key) if each.came_by is not None}
    for developer_id in (*invented, BEN):
        await press(api, f"/administration/teams/{team.id}/add", ANAS, member=str(member(developer_id)))
        works(house, Scope(ACME, developer_id), at_us=NOW_US)
    return await let_in(api, next(iter(invented)), OPERATORS)


@pytest.mark.usefixtures("_doors")
async def test_who_is_in_a_crowd_of_an_owners_making_reads_so_and_leaves(house: House, api: Caller) -> None:
    invented = await _crowd(house, api)
    house.passes(NOW_US + MINUTE)
    assert "Goals begun 3 Reached 0" in await words(api, "/team", invented)
    bens = await let_in(api, BEN, OPERATORS)
    for path in ("/", "/settings"):
        shown = await words(api, path, bens)
        for told in (
            *("Core Ana put you there on ", "it has 2 other members", "may be one person"),
            *("Lena came by a link of Ana", "Max came by a link of Ana"),
        ):
            assert told in shown, path

    (stay,) = (each for each in house.directory.all(TeamMembership) if each.developer_id == BEN)
    assert (await press(api, f"/settings/team-memberships/{stay.id}/end", ANAS)).status == 404
    assert (await press(api, f"/settings/team-memberships/{stay.id}/end", bens)).status == 303
    assert (await api.using(bens).get("/team?team=" + str(stay.team_id))).status == 404
    assert "Core" not in await words(api, "/", bens)
    assert "Ben took out of a team Ben, Core" in await words(api, "/administration/audit", ANAS)


@pytest.mark.usefixtures("_doors")
async def test_a_team_of_people_who_came_by_themselves_says_nothing_of_links(house: House, api: Caller) -> None:
    core(house, ANA_SCOPE, Scope(ACME, BEN), at_us=NOW_US)
    shown = await words(api, "/", ANAS)
    assert "An operator put you there" in shown
    assert "it has 1 other member." in shown
    assert "came by a link" not in shown
