"""Browsers that are signed in, buttons that they press, and what is read on a page."""

import html
import re
from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID

from aggregates.event import Refused
from aggregates.ids import sign_in_stream
from aggregates.people.acts import OpenSignIn
from svc_http.routes.people import digest_of
from tests.support.people import ACME, ANA, NOW_US, carry_out
from tests.svc_http.house import Answer, Caller, House

BENS, ANAS = ({"Cookie": f"svc_session={name}"} for name in ("ben's", "ana's"))
OPERATORS = {"Cookie": "operator_svc_session=operator's"}
FORM = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}


def signs_in(house: House, developer_id: UUID = ANA, cookie: str = "ana's", key_id: UUID | None = None) -> None:
    command = OpenSignIn(
        sign_in_id=sign_in_stream(digest_of(cookie)), organization_id=ACME, developer_id=developer_id, opened_by=key_id
    )
    assert not isinstance(carry_out(house.directory, command, NOW_US), Refused)


async def press(api: Caller, path: str, cookie: Mapping[str, str] | None = None, **fields: str) -> Answer:
    browser = api if cookie is None else api.using(cookie)
    return await browser.call("POST", path, urlencode(fields).encode(), FORM)


def words_of(answer: Answer) -> str:
    assert answer.status == 200, answer
    main = answer.body.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


async def words(api: Caller, path: str, cookie: Mapping[str, str]) -> str:
    return words_of(await api.using(cookie).get(path))
