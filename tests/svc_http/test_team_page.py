"""The page of a team: its members' sums, the outcome from its minimum on, and nobody's score."""

import re
from collections.abc import Sequence

import pytest

from aggregates.event import Scope
from aggregates.people.acts import ChangeOrganization, RemoveTeamMember
from tests.support.facts import DAY
from tests.support.people import ACME, ANA_SCOPE, BEN, NOW_US
from tests.svc_http.browsing import ANAS, CORE, carried_out, core, enters, in_core, signs_in, works
from tests.svc_http.house import Answer, Caller, House

BEN_SCOPE = Scope(ACME, BEN)
BEGAN = NOW_US - 30 * DAY


@pytest.fixture(autouse=True)
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


async def test_a_day_is_told_from_the_minimum_on(house: House, api: Caller, people: Sequence[Scope]) -> None:
    """Three were at work on the one day, two on the other."""
    works(house, *people, at_us=NOW_US - 2 * DAY)
    works(house, *people[:2], at_us=NOW_US - DAY)
    house.passes(NOW_US)
    answer = await _page(api)
    assert [row[1:] for row in _rows(answer, "Work by day")] == [["2", "2", "–", "–", "–"], ["3", "3", "3", "0", "0"]]
    assert "1 day with at least 3 members" in answer.body.decode()
    carried_out(house, ChangeOrganization(organization_id=ACME, team_minimum=4))
    answer = await _page(api)
    assert [row[3:] for row in _rows(answer, "Work by day")] == [["–", "–", "–"]] * 2
    assert "On no day of this time were 4 members at work" in answer.body.decode()


async def test_cost_is_each_members_and_has_its_coverage(house: House, api: Caller) -> None:
    works(house, ANA_SCOPE, at_us=NOW_US - DAY)
    answer = await _page(api, f"/team?team={CORE}&days=7")
    requests = {row[0]: row[3] for row in _rows(answer, "Cost by member")}
    assert requests == {"Ana": "1", "Ben": "0", "Cleo": "0"}
    assert "1 of 1" in answer.body.decode()


async def test_a_calendar_month_is_told_whole(house: House, api: Caller) -> None:
    """The one before, and the one that runs up to today; none before these. Cost and Time too."""
    for at_us in (NOW_US - 40 * DAY, NOW_US - 3 * DAY, NOW_US):
        works(house, ANA_SCOPE, at_us=at_us)
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


async def test_it_says_since_when_it_counts_and_who_takes_people_in(
    house: House, api: Caller, people: Sequence[Scope]
) -> None:
    """So that a team that was filled today does not read as one that did nothing."""
    shown = (await _page(api)).body.decode()
    assert "Counts for each member from the day they joined; the first joined on 2 July 2026" in shown
    assert "Owners of the organization take people in: Ana." in shown
    carried_out(house, *(RemoveTeamMember(team_membership_id=in_core(each.developer_id)) for each in people))
    assert "Owners of the organization (Ana) form teams" in (await _page(api)).body.decode()
