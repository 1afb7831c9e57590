"""Browsers that are signed in, buttons that they press, and what is read on a page."""

import html
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode
from uuid import UUID

from aggregates.event import Refused, Scope
from aggregates.ids import sign_in_stream
from aggregates.people import acts
from svc_http.routes.people import digest_of
from tests.support.basics import ACME, ANA, NOW_US, carry_out, named
from tests.support.facts import Log
from tests.svc_http.house import Answer, Caller, House

BENS, ANAS = ({"Cookie": f"svc_session={name}"} for name in ("ben's", "ana's"))
OPERATORS = {"Cookie": "operator_svc_session=operator's"}
CORE = named("core")
FORM = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}


def carried_out(house: House, *commands: acts.PeopleAct, at_us: int = NOW_US) -> None:
    for command in commands:
        assert not isinstance(carry_out(house.directory, command, at_us), Refused), command


def signs_in(house: House, developer_id: UUID = ANA, cookie: str = "ana's", key_id: UUID | None = None) -> None:
    command = acts.OpenSignIn(
        sign_in_id=sign_in_stream(digest_of(cookie)), organization_id=ACME, developer_id=developer_id, opened_by=key_id
    )
    carried_out(house, command)


def enters(house: House, name: str, role: acts.Role = "member", at_us: int = NOW_US) -> Scope:
    """Somebody new in Acme."""
    newcomer = acts.CreateDeveloper(developer_id=named(name), display_name=name.title())
    member = acts.StartMembership(organization_id=ACME, developer_id=named(name), role=role)
    carried_out(house, newcomer, member, at_us=at_us)
    return Scope(ACME, named(name))


def in_core(developer_id: UUID) -> UUID:
    return named(f"{developer_id} in core")


def core(house: House, *scopes: Scope, at_us: int) -> Sequence[Scope]:
    """A team of them."""
    stays = [
        acts.AddTeamMember(team_membership_id=in_core(each.developer_id), team_id=CORE, developer_id=each.developer_id)
        for each in scopes
    ]
    carried_out(house, acts.CreateTeam(team_id=CORE, organization_id=ACME, name="Core"), *stays, at_us=at_us)
    return scopes


def works(house: House, *scopes: Scope, at_us: int) -> None:
    """Each reaches a goal."""
    for scope in scopes:
        log = Log(scope, at_us)
        log.works(f"{scope.developer_id} {at_us}", at_us, path=f"src/auth_{at_us}.py")
        house.has_seen(log)


async def press(api: Caller, path: str, cookie: Mapping[str, str] | None = None, **fields: str) -> Answer:
    browser = api if cookie is None else api.using(cookie)
    return await browser.call("POST", path, urlencode(fields).encode(), FORM)


def words_of(answer: Answer) -> str:
    assert answer.status == 200, answer
    main = answer.body.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


async def words(api: Caller, path: str, cookie: Mapping[str, str]) -> str:
    return words_of(await api.using(cookie).get(path))
