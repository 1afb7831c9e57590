"""Reading a text once: bounded, total, wordless."""

from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from aggregates.event import Words, cut
from aggregates.reading.prompt_text import SUMMARY_CHARS_MAX, TITLE_CHARS_MAX
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.readings import TOKENS_MAX
from aggregates.reading.statements import said_of_the_work, stated_failure
from tests.support.stages import DIGESTER
from tests.support.tables import beside, each_of, lines_of

ANY_TEXT = st.text(st.characters(), max_size=400)


@given(ANY_TEXT)
def test_any_string_is_read_and_its_spans_lie_within_it(text: str) -> None:
    """Lone surrogates, NUL bytes, fences that never close."""
    reading = read_prompt(text, DIGESTER)
    read_response(text, DIGESTER)
    for span in (reading.title, reading.summary):
        assert 0 <= span.start <= span.end <= len(text)
    assert reading.title.end - reading.title.start <= TITLE_CHARS_MAX
    assert reading.summary.end - reading.summary.start <= SUMMARY_CHARS_MAX
    assert list(reading.tokens) == sorted(set(reading.tokens))


@example("*")
@example("# \n")
@example("#\xa0")
@given(st.text(st.characters(codec="utf-8"), max_size=400).filter(lambda text: text.strip() != ""))
def test_a_prompt_that_is_not_blank_has_a_title(text: str) -> None:
    reading = read_prompt(text, DIGESTER)
    assert reading.title.end > reading.title.start
    assert reading.summary.end > reading.summary.start


@pytest.mark.parametrize("piece", ["word ", "a", "\n", "```\n", "| ", "<a", " ", "x.y/", "at f (", "?" * 7, "`", "界"])
def test_four_mebibytes_of_anything_are_read_within_bounds(piece: str) -> None:
    """Only a bounded head and tail are looked at, so no text is quadratic."""
    text = piece * (4 * 1024 * 1024 // len(piece))
    reading = read_prompt(text, DIGESTER)
    assert len(reading.tokens) <= TOKENS_MAX
    assert reading.characters == len(text)


@beside()
def test_a_prompt_that_only_navigates_says_why(text: str, why: str | None) -> None:
    """Under ten characters, commands, shell pass-through, bare acknowledgements."""
    assert read_prompt(text, DIGESTER).navigational == why


@each_of(lines_of(Path(__file__).with_name("titles.txt")))
def test_a_title_leaves_out_how_a_person_begins_to_ask(section: str, line: str) -> None:
    """Commands, pictures and thanks, unless nothing follows; a line is cut between words, and through no link."""
    text, _, title = line.partition(" => ")
    assert cut(Words(text), read_prompt(text, DIGESTER).title) == title


@each_of(
    [
        ("that is wrong, the first one comes last", True),
        ("stop, the lock goes first", True),
        ("can you fix the branch? I merged it and maybe I resolved the conflict wrong", False),
        ("add a test that the name of a wrong agent is printed", False),
        ("it is not the full file, when do we stop to count the lines then?", False),
    ]
)
def test_a_mistake_that_is_only_spoken_of_corrects_nothing(text: str, corrects: bool) -> None:
    assert read_prompt(text, DIGESTER).corrects == corrects


def test_pasted_lines_are_counted_apart_from_own_words() -> None:
    """Fenced blocks, logs and stack traces weigh nothing."""
    text = 'It fails:\n```\nsome output\n```\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>'
    reading = read_prompt(text, DIGESTER)
    assert reading.weight == len("It fails:")
    assert reading.pasted_characters > 50


def test_the_same_word_has_the_same_digest_and_no_words_are_kept() -> None:
    """The reading of a text is numbers, flags and spans."""
    one, two = read_prompt("Rename the parser", DIGESTER), read_prompt("the PARSER is slow today", DIGESTER)
    assert len(set(one.tokens) & set(two.tokens)) == 2
    assert "parser" not in repr(one).lower()


@each_of(
    [
        ("Great, it works now. Thank you!", True, False, False, False),
        ("No, that's not what I meant", False, True, False, False),
        ("It still fails with the same error", False, False, True, False),
        ("Please undo the last change", False, False, False, True),
        ("Add a button to the page", False, False, False, False),
    ]
)
def test_reactions_to_the_work_before_are_told_apart(
    text: str, accepts: bool, corrects: bool, fails: bool, undoes: bool
) -> None:
    """What the outcome, boundary and rework rules go by."""
    reading = read_prompt(text, DIGESTER)
    said = (reading.accepts, reading.corrects, reading.reports_failure, reading.asks_to_revert)
    assert said == (accepts, corrects, fails, undoes)


@beside()
def test_that_the_work_works_is_told_from_what_only_names_it(text: str, says: bool) -> None:
    """No question, no doubt, no order, and no "but" after it."""
    reading = read_prompt(text, DIGESTER)
    assert reading.shows("says that it works") is says
    assert reading.accepts is says


@beside()
def test_to_ask_for_a_commit_or_a_merge_is_told_from_what_names_one(text: str, asks: bool) -> None:
    """A question how to, a noun, and what brings others' work in are none."""
    assert read_prompt(text, DIGESTER).shows("asks to commit or merge") is asks


def test_a_response_says_whether_it_is_done_fails_or_asks() -> None:
    done = read_response("I changed the parser. All tests pass.", DIGESTER)
    failing = read_response("I could not find the file.", DIGESTER)
    asking = read_response("There are two ways. Which one would you like?", DIGESTER)
    assert (done.reports_done, done.asks) == (True, False)
    assert failing.reports_failure
    assert asking.asks
    assert not read_response("The list would need to be updated for that.", DIGESTER).reports_done
    assert read_response("The change is pushed.\n◆ Starting the next run...", DIGESTER).breaks_off
    assert not read_response("The CLI will now be able to find all commits.", DIGESTER).breaks_off
    assert read_response("All is done. Shall I push it?", DIGESTER).invites
    assert not read_response("Shall I change the parser as well?", DIGESTER).invites
    assert not read_response("Here it is. Want me to create this file in the repo?", DIGESTER).invites


@beside()
def test_an_answer_tells_at_its_end_of_work_that_is_done(answer: str, done: bool) -> None:
    """Outside code and quotes."""
    assert read_response(answer, DIGESTER).reports_done is done


STATED, SAID = (
    (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()[1:] for name in ("stated.txt", "said.txt")
)


@each_of(STATED)
def test_an_answer_states_a_failure_itself(line: str) -> None:
    """About the goal, outside code, quotes and messages, and as its last word on it."""
    said, _, answer = line.replace("\\n", "\n").partition(" <= ")
    for text in (answer, "x" * 9_999 + ".\n" + answer):
        found = stated_failure(text)
        alone = found is not None and found.kind in ("gives up", "fails")
        told = text[found.said.start : found.said.end].strip() if found and alone else "-"
        assert told == said or (said, alone) == ("+", True)


@each_of(SAID)
def test_a_person_says_that_it_works_or_does_not(line: str) -> None:
    said, _, prompt = line.partition(" <= ")
    assert (said_of_the_work(prompt) or "-") == said
