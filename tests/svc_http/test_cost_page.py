"""The page Cost, by the read of the API: tabs and stacks as links, any time, any name."""

import pytest

from svc_http.pages.cost import STACKS, TABS
from tests.support.basics import ANA_SCOPE, NOW_US
from tests.support.facts import DAY, HOUR, Log
from tests.svc_http.browsing import ANAS, signs_in, words_of
from tests.svc_http.house import Caller, House

CENT = 10_000_000
LONG = (
    "Add a test to src/b.py that opens the file twice, reads from both ends, closes one of them and looks at the other"
)
NASTY = "<b>o</b>\u202epus" + "x" * 900


@pytest.fixture
def api(house: House, api: Caller) -> Caller:
    """The browser of somebody who spent five cents, four of them on a model with a name that nobody would give."""
    signs_in(house)
    log = Log(ANA_SCOPE)
    log.works("a", NOW_US - DAY, "Fix src/parser.py and run pytest", cost_usd_nano=4 * CENT, model=NASTY)
    log.works("b", NOW_US - DAY + HOUR, LONG, cost_usd_nano=CENT, model="opus")
    log.works("c", NOW_US - DAY + 2 * HOUR, "Add a test to src/c.py", cost_usd_nano=None, model="opus")
    house.has_seen(log)
    house.passes(NOW_US)
    return api.using(ANAS)


@pytest.mark.parametrize("by", TABS)
@pytest.mark.parametrize("stack", STACKS)
async def test_every_tab_tells_the_same_whole(api: Caller, by: str, stack: str) -> None:
    answer = await api.get(f"/cost?days=7&by={by}&stack={stack}")
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
async def test_any_time_is_answered(api: Caller, query: str, status: int, said: str) -> None:
    answer = await api.get(f"/cost?{query}")
    assert (answer.status, said in answer.body.decode()) == (status, True)
