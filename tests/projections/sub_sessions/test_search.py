"""Goals found by words that were said in them."""

from itertools import count
from typing import Any

import pytest

from aggregates.times import Window, iso
from projections.reader import Reader
from projections.sub_sessions import goals as searching
from projections.sub_sessions.goals import SEARCH_US, SENTENCE_CHARACTERS_MAX, Cursor, Found, FoundGoals, Wanted, search
from tests.support.facts import ANA, BEN, HOUR, MINUTE, MONDAY, SECOND, Log, project, reader
from tests.support.tables import beside

ALWAYS = Window(0, 2**62)
ASK = "Where are the retries of the uploader?\nTell me the file."
DONE = "They are in upload.py. Each Retry waits TWICE as long as the one before it! Nothing else retries."


@pytest.fixture(scope="module")
def views() -> Reader:
    """Three goals with two turns each; the first has an answer, the second a title of its own; one is Ben's."""
    log = Log()
    for number, session in enumerate("abc"):
        start = MONDAY + number * HOUR
        first = log.prompt(session, ASK if session == "a" else "What does the parser do?", start)
        log.prompt(session, "And the <b>tests</b> of it? Straße, 100%_off.", start + MINUTE)
        if session == "a":
            log.answer(session, first, DONE, start + 10 * SECOND)
        if session == "b":
            log.renames(first, "The grand Übersicht")
    log.records("d", {"kind": "prompt", "at_us": MONDAY - HOUR, "text": "Look at the logged words of the lexer"})
    ben = Log(BEN)
    ben.prompt("z", "My retries are secret, twice", MONDAY)
    facts = [*log.claim("d").facts, *(type(f)(f.position + 1000, f.event) for f in ben.facts)]
    return reader(project(facts), facts)


def found(views: Reader, words: str, limit: int = 50, **asked: Any) -> FoundGoals:
    cursor, clock = asked.pop("cursor", None), asked.pop("clock", lambda: 0)
    return search(views, ANA, Wanted(**{"window": ALWAYS} | asked), words, limit, cursor, clock)


@beside("words", "told")
def test_all_words_stand_in_one_turn_and_are_no_pattern(
    views: Reader, words: str, told: list[tuple[int | None, str, Any]]
) -> None:
    page = found(views, words)
    assert [each.found for each in page.goals] == [Found(*each) for each in told]
    assert (page.next, page.looked_back_to) == (None, iso(MONDAY - HOUR))


@beside()
def test_a_word_is_found_by_its_other_english_endings(word: str, others: str, not_found: str) -> None:
    (pattern,) = searching.patterns(word)
    for other in (word, *others.split()):
        assert pattern.search(f"so {other.casefold()}, there"), other
    for other in not_found.split():
        assert pattern.search(f"so {other} there") is None, other


def test_filters_hold_as_in_the_list(views: Reader) -> None:
    assert len(found(views, "straße", window=Window(MONDAY + HOUR, 2**62)).goals) == 2
    assert found(views, "straße", agent="codex") == FoundGoals(goals=[], looked_back_to=None, next=None)


def test_it_ends_after_a_second_says_how_far_it_came_and_goes_on_from_there(views: Reader) -> None:
    """At each look at the clock half a second has passed: of the goals, two are looked at."""
    clock = count(0, SEARCH_US // 2)
    first = found(views, "straße", clock=lambda: next(clock))
    assert ([each.started_at for each in first.goals], first.looked_back_to) == (
        [iso(MONDAY + 2 * HOUR), iso(MONDAY + HOUR)],
        iso(MONDAY + HOUR),
    )
    late = count(0, 10 * SEARCH_US)
    assert first.next is not None
    second = found(views, "straße", cursor=Cursor.read(first.next), clock=lambda: next(late))
    assert ([each.started_at for each in second.goals], second.looked_back_to) == ([iso(MONDAY)], iso(MONDAY))
    assert second.next is not None


def test_so_many_are_found_at_most(views: Reader) -> None:
    first = found(views, "straße", 2)
    assert (len(first.goals), first.next is None) == (2, False)


@pytest.mark.parametrize("text", ["", "1", "a~b~c", "1~2~3~4", "1~9999999999999999999~x", "nan.~1~x", "1" * 5000])
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cursor must be the `next` of a page before"):
        Cursor.read(text)


def test_a_long_sentence_is_cut_around_the_words() -> None:
    text = "x" * 50_000 + " needle " + "y " * 50_000
    told = searching._sentence(text, searching.patterns("needle"))
    assert "needle" in told
    assert len(told) == SENTENCE_CHARACTERS_MAX + 2
