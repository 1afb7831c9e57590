"""The page of a goal: what a word would change, the word, and taking it back; its turns by the fifty."""

import re

import pytest

from tests.support.facts import DAY, MINUTE, SECOND, Log, edit, request, shell
from tests.support.people import ANA_SCOPE, NOW_US
from tests.svc_http.browsing import ANAS, press, signs_in, words_of
from tests.svc_http.house import Caller, House

TURNS = ("Add a --json flag to src/cli.py and test it.", "Now sort its keys too.", "And document it in the README.")


@pytest.fixture
def api(house: House, api: Caller) -> Caller:
    signs_in(house)
    return api.using(ANAS)


async def said(api: Caller, path: str, **fields: str) -> str:
    """Where the button leads."""
    answer = await press(api, path, None, **fields)
    assert answer.status == 303, answer
    return str(answer.headers["Location"])


def works(house: House, turns: int) -> None:
    log = Log(ANA_SCOPE)
    log.now_us = NOW_US - DAY
    for place in range(turns):
        at_us = NOW_US - DAY + place * 4 * MINUTE
        capture_id = log.prompt("s", TURNS[place % 3], at_us, name=str(place))
        log.records("s", request(at_us), edit(at_us + SECOND), shell(at_us + MINUTE, "pytest -q"), request(at_us + 90))
        if place:
            log.corrects_gap("s", capture_id, False)
    house.has_seen(log)
    house.passes(NOW_US)


async def goals_of(api: Caller) -> list[str]:
    return re.findall(r"/goals/[0-9a-f-]{36}", (await api.get("/goals")).body.decode())


async def test_a_split_is_shown_before_it_is_said_and_taken_back_where_it_stands(house: House, api: Caller) -> None:
    works(house, 3)
    (goal,) = await goals_of(api)
    stored = len(house.events)
    shown = words_of(await api.get(f"{goal}/say?word=split&turn=2"))
    assert "It becomes 2 goals: reached, reached. Now it counts as reached." in shown
    assert "Goals reached 1 2" in shown
    assert len(house.events) == stored

    second = await said(api, f"{goal}/say", word="split", turn="2")
    assert len(await goals_of(api)) == 2
    page = words_of(await api.get(second))
    assert "Another goal begins here from now on" in page
    assert "What you said Another goal begins at this turn" in page
    await said(api, f"{second.partition('?')[0]}/back", field="boundary")
    assert await goals_of(api) == [goal]


async def test_a_word_that_moves_nothing_says_so(house: House, api: Caller) -> None:
    """And one that counts says whose it is: nobody but oneself can say so, so no person in general did."""
    works(house, 1)
    (goal,) = await goals_of(api)
    for word in ("reached", "not-again"):
        shown = words_of(await api.get(f"{goal}/say?word={word}"))
        assert "It counts as reached then, as it does now." in shown
        assert "No figure of the last 30 days changes" in shown
    assert "No figure changes by a title" in words_of(await api.get(f"{goal}/say?word=rename&title=Another"))
    page = words_of(await api.get(await said(api, f"{goal}/say", word="not-reached")))
    assert "Your word counts from now on, in every figure of yours; the comparison with colleagues ignores it." in page
    assert "You said that it was not reached; that counts." in page
    assert "person" not in page


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [("word=split&turn=1", "one turn"), ("word=kind&kind=poem", "kind must be"), ("word=praise", "word must be")],
)
async def test_what_cannot_be_said_is_refused_with_a_reason(house: House, api: Caller, asked: str, wrong: str) -> None:
    works(house, 1)
    (goal,) = await goals_of(api)
    answer = await api.get(f"{goal}/say?{asked}")
    assert (answer.status, wrong in answer.body.decode()) == (400, True), answer


async def test_turns_come_by_the_fifty(house: House, api: Caller) -> None:
    works(house, 53)
    (goal,) = await goals_of(api)
    first, second = [(await api.get(f"{goal}?page={page}")).body.decode() for page in (1, 2)]
    assert ('id="turn-50"' in first, 'id="turn-51"' in first) == (True, False)
    assert ('id="turn-50"' in second, 'id="turn-51"' in second) == (False, True)
    assert 'href="?page=2#turn-51"' in first
    assert "3 of 53 turns" in second
    assert 'name="turn" value="50"' in second, "a split at the first turn of a page counts from the goal's beginning"
