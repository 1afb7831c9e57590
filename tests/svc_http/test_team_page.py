"""The page of a team: its members' sums, the outcome from its minimum on, and nobody's score."""

import re

import pytest

from aggregates.event import Refused, Scope
from aggregates.people.acts import (
    AddTeamMember,
    ChangeOrganization,
    CreateDeveloper,
    CreateTeam,
    PeopleAct,
    RemoveTeamMember,
    StartMembership,
)
from tests.support.facts import DAY, MINUTE, Log, request
from tests.support.log import named
from tests.support.people import ACME, ANA, ANA_SCOPE, BEN, NOW_US, carry_out
from tests.svc_http.browsing import ANAS, signs_in
from tests.svc_http.house import Answer, Caller, House

TEAM, CLEO = named("core"), named("cleo")
THREE = [ANA_SCOPE, Scope(ACME, BEN), Scope(ACME, CLEO)]


@pytest.fixture(autouse=True)
def _people(house: House) -> None:
    commands: list[PeopleAct] = [
        CreateDeveloper(developer_id=CLEO, display_name="Cleo"),
        StartMembership(organization_id=ACME, developer_id=CLEO),
        CreateTeam(team_id=TEAM, organization_id=ACME, name="Core"),
    ]
    for developer_id in (ANA, BEN, CLEO):
        member = AddTeamMember(team_membership_id=named(f"in {developer_id}"), team_id=TEAM, developer_id=developer_id)
        commands.append(member)
    for command in commands:
        assert not isinstance(carry_out(house.directory, command, NOW_US - 30 * DAY), Refused)
    signs_in(house)


async def _page(api: Caller, path: str = "/team") -> Answer:
    return await api.using(ANAS).get(path)


def _works(house: House, scope: Scope, at_us: int) -> None:
    log = Log(scope)
    log.now_us = at_us
    session = f"{scope.developer_id}-{at_us}"
    log.prompt(session, "Fix src/parser.py and run pytest", at_us)
    log.records(session, request(at_us + MINUTE))
    house.has_seen(log)


def _rows(answer: Answer, label: str) -> list[list[str]]:
    """The cells of a table's rows, without the head's."""
    text = answer.body.decode().partition(f'aria-label="{label}"')[2].partition("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", each) for each in text.partition("<tbody>")[2].split("</tr>")]
    return [each for each in rows if each]


async def test_a_day_is_told_from_the_minimum_on(house: House, api: Caller) -> None:
    """Three were at work on the one day, two on the other."""
    for scope in THREE:
        _works(house, scope, NOW_US - 2 * DAY)
    for scope in THREE[:2]:
        _works(house, scope, NOW_US - DAY)
    house.passes(NOW_US)
    answer = await _page(api)
    two, three = _rows(answer, "Work by day")
    assert two[1:] == ["2", "2", "–", "–", "–"]
    assert three[1:3] == ["3", "3"]
    assert "–" not in three
    assert "1 day with at least 3 members" in answer.body.decode()


async def test_a_higher_minimum_tells_of_no_day(house: House, api: Caller) -> None:
    for scope in THREE:
        _works(house, scope, NOW_US - 2 * DAY)
    carry_out(house.directory, ChangeOrganization(organization_id=ACME, team_minimum=4), NOW_US)
    house.passes(NOW_US)
    answer = await _page(api)
    (day,) = _rows(answer, "Work by day")
    assert day[1:] == ["3", "3", "–", "–", "–"]
    assert "On no day of this time were 4 members at work" in answer.body.decode()


async def test_cost_is_each_members_and_has_its_coverage(house: House, api: Caller) -> None:
    _works(house, THREE[0], NOW_US - DAY)
    answer = await _page(api, f"/team?team={TEAM}&days=7")
    assert sorted((name, requests) for name, _, _, requests in _rows(answer, "Cost by member")) == [
        ("Ana", "1"),
        ("Ben", "0"),
        ("Cleo", "0"),
    ]
    assert "1 of 1" in answer.body.decode()


async def test_a_calendar_month_is_told_whole(house: House, api: Caller) -> None:
    """The one before, and the one that runs up to today; none before these. Cost and Time too."""
    for at_us in (NOW_US - 40 * DAY, NOW_US - 3 * DAY, NOW_US):
        _works(house, ANA_SCOPE, at_us)
    house.passes(NOW_US)
    for month, label, days in (("2026-07", "July", ["29 Jul"]), ("2026-08", "August", ["1 Aug"])):
        answer = await _page(api, f"/team?days={month}")
        assert f'aria-current="true">{label}</a>' in answer.body.decode()
        assert [row[0] for row in _rows(answer, "Work by day")] == days
        for path in ("/cost", "/limits"):
            assert f'aria-current="true">{label}</a>' in (await _page(api, f"{path}?days={month}")).body.decode()
    assert (await _page(api, "/cost?days=2026-06")).status == 400


@pytest.mark.parametrize(("path", "status"), [("/team?days=90", 400), ("/team?team=x", 404), ("/team?days=x", 400)])
async def test_what_is_not_there_is_said(api: Caller, path: str, status: int) -> None:
    assert (await _page(api, path)).status == status


async def test_it_says_since_when_it_counts_and_who_takes_people_in(api: Caller) -> None:
    """So that a team that was filled today does not read as one that did nothing."""
    shown = (await _page(api)).body.decode()
    assert "Counts for each member from the day they joined; the first joined on 2 July 2026" in shown
    assert "Owners of the organization take people in: Ana." in shown
    assert "from the day they joined on" in shown


async def test_who_is_in_no_team_reads_who_forms_one(house: House, api: Caller) -> None:
    for developer_id in (ANA, BEN, CLEO):
        stay = RemoveTeamMember(team_membership_id=named(f"in {developer_id}"))
        assert not isinstance(carry_out(house.directory, stay, NOW_US), Refused)
    assert "Owners of the organization (Ana) form teams" in (await _page(api)).body.decode()
