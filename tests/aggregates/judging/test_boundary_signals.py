"""Boundary signals: each of them on both sides of what makes it show."""

import pytest

from aggregates.judging.boundary import OpenArc, asks_the_same, boundary_signals, repeats
from aggregates.reading.reading import PromptReading, ResponseReading
from aggregates.turns.turn import Turn, Work
from tests.judges.names import SIGNALS
from tests.support.stages import HOUR, MINUTE, prompt, response, turn_at, worked

PLAIN = prompt("words over 10")
WORDS = tuple("abcdefghijklmnop")


def word(count: int, start: int = 0) -> str:
    """So many different words."""
    return " ".join(WORDS[start : start + count])


def shown(
    said: PromptReading | None = PLAIN,
    *before: Turn,
    after_us: int = MINUTE,
    answer: ResponseReading | None = None,
    work: Work | None = None,
) -> list[str]:
    """The signals of a prompt so long after the last turn before it, or after a plain one."""
    arc = before or (turn_at(0, PLAIN),)
    place = (arc[-1].started_us + after_us) / MINUTE
    found = boundary_signals(OpenArc(arc), turn_at(place, said, answer=answer, work=work or Work()))
    assert set(found) <= set(SIGNALS)
    return found


def test_a_plain_turn_shows_nothing_and_so_does_one_that_was_not_captured() -> None:
    """Every signal needs something to see."""
    assert shown() == []
    assert shown(None, turn_at(0, PLAIN, work=worked("MI")), work=worked()) == []


@pytest.mark.parametrize(
    ("flag", "signal"),
    [
        ("phrase:review_asked", "asks for a review"),
        ("has report", "says what is wrong"),
        ("path", "names a file"),
        ("words over 6", "over 6 words"),
        ("words over 16", "over 16 words"),
        ("words over 25", "over 25 words"),
    ],
)
def test_what_the_prompt_says_is_a_signal(flag: str, signal: str) -> None:
    """One for each of these features."""
    assert shown(prompt("words over 10", flag)) == [signal]


@pytest.mark.parametrize(
    ("opening", "signals"),
    [
        ("names a new task", ["names a new task"]),
        ("goes back", ["goes back"]),
        ("goes on after a yes", ["goes on after a yes"]),
        ("begins with now", ["begins with now"]),
        ("asks like a first prompt", ["asks like a first prompt"]),
        ("points back at once", ["points back at once"]),
        ("speaks of nobody", ["speaks of nobody"]),
        ("adds to what is there", ["adds to what is there"]),
        ("picks from a list", []),
        ("links back at once", []),
        ("rates a severity", []),
        ("pastes a failure", []),
        ("passes on a comment", []),
        ("remarks like a reviewer", []),
    ],
)
def test_some_openings_are_signals(opening: str, signals: list[str]) -> None:
    """The others only tie a prompt to what came before."""
    assert shown(prompt("words over 10", opens=(opening,))) == signals


@pytest.mark.parametrize(
    ("topic", "known", "signals"),
    [
        pytest.param(word(1), "", {"a word is new"}, id="one new word"),
        pytest.param(word(1), word(1), set(), id="one known word"),
        pytest.param(word(2), "", {"a word is new"}, id="two new words are too few to be hardly known"),
        pytest.param(word(3), "", {"a word is new", "hardly a word is known"}, id="three new words"),
        pytest.param(word(5), word(1), {"a word is new"}, id="one of five known"),
        pytest.param(word(6), word(1), {"a word is new", "hardly a word is known"}, id="one of six known"),
        pytest.param(word(11), "", {"a word is new", "hardly a word is known"}, id="eleven new words"),
        pytest.param(
            word(12), "", {"a word is new", "hardly a word is known", "12 words or more are new"}, id="twelve new words"
        ),
        pytest.param(word(3), word(3), set(), id="three shared words"),
        pytest.param(word(4), word(4), {"shares 4 words"}, id="four shared words"),
        pytest.param(word(5), word(4), {"a word is new", "shares 4 words"}, id="four shared words and a new one"),
    ],
)
@pytest.mark.parametrize("by", ["prompt", "answer"])
def test_new_and_shared_words_are_counted(topic: str, known: str, signals: set[str], by: str) -> None:
    """What the sub-session said, or was answered, is known."""
    said = prompt("words over 10", topic=known if by == "prompt" else "")
    before = turn_at(0, said, answer=response(known) if by == "answer" else response())
    assert set(shown(prompt("words over 10", topic=topic), before)) == signals


@pytest.mark.parametrize(
    ("turns_between", "signals"),
    [
        pytest.param(5, [], id="six turns back they are known"),
        pytest.param(6, ["a word is new"], id="seven turns back they are not"),
    ],
)
def test_words_of_six_turns_are_remembered(turns_between: int, signals: list[str]) -> None:
    """Older ones are new again."""
    before = [turn_at(0, prompt("words over 10", topic="a")), *(turn_at(n + 1, PLAIN) for n in range(turns_between))]
    assert shown(prompt("words over 10", topic="a"), *before) == signals


SESSION_WORDS, ANSWER_WORDS = "is answered in words of the sub-session", "is answered in words of the last answer"


@pytest.mark.parametrize(
    ("said", "last", "answer", "signals"),
    [
        pytest.param("", word(10), None, [], id="no answer"),
        pytest.param(word(3), "", word(13), [SESSION_WORDS], id="three words of the sub-session"),
        pytest.param(word(2), "", word(13), [], id="two words of the sub-session"),
        pytest.param("", word(1), word(10), [ANSWER_WORDS], id="one of ten words stood in the last answer"),
        pytest.param("", word(1), word(11), [], id="one of eleven words"),
        pytest.param("", word(1), word(5), [ANSWER_WORDS], id="one of five words"),
        pytest.param("", word(1), word(4), [], id="one of four words is chance"),
        pytest.param("", word(3), word(3), [SESSION_WORDS], id="all of three words"),
        pytest.param(word(1), "", word(5), [], id="a word of the last prompt"),
        pytest.param(word(1), None, word(5), [], id="a last turn without an answer"),
        pytest.param("", "", word(5), [], id="no shared word"),
    ],
)
def test_an_answer_in_known_words_says_that_the_prompt_goes_on(
    said: str, last: str | None, answer: str | None, signals: list[str]
) -> None:
    """Three words of the sub-session, or a tenth of at least five words from its last answer."""
    before = turn_at(0, prompt("words over 10", topic=said), answer=None if last is None else response(last))
    assert shown(PLAIN, before, answer=None if answer is None else response(answer)) == signals


@pytest.mark.parametrize(
    ("before", "work", "signals"),
    [
        pytest.param(worked(changed=(1,)), worked(changed=(1, 2)), ["changes the same files"], id="a changed file"),
        pytest.param(worked(changed=(1,)), worked(changed=(2,)), [], id="another file"),
        pytest.param(worked(changed=(1,)), worked(read=(1,)), [], id="a changed file that is only read"),
        pytest.param(worked(read=(1,)), worked(changed=(1,)), [], id="a file that was only read before"),
        pytest.param(worked(), worked(), ["uses no tool"], id="observed, and no tool"),
        pytest.param(worked(), Work(), [], id="not observed"),
    ],
)
def test_shared_and_missing_work_is_a_signal(before: Work, work: Work, signals: list[str]) -> None:
    """Changes of the same file; or work that was observed and used no tool."""
    assert shown(PLAIN, turn_at(0, PLAIN, work=before), work=work) == signals


NAVIGATED, COMMAND = "the turn before only navigated", "the turn before was a command"
FINDING = "the last prompt described a finding"


@pytest.mark.parametrize(
    ("before", "signals"),
    [
        pytest.param([turn_at(0, PLAIN, answer=response(asks=True))], ["the answer before was an offer"], id="offer"),
        pytest.param([turn_at(0, PLAIN, answer=response())], [], id="an answer that asks nothing"),
        pytest.param([turn_at(0, PLAIN, work=worked("M"))], ["the work before was committed"], id="commit"),
        pytest.param([turn_at(0, PLAIN, work=worked("I"))], ["the work before was interrupted"], id="interruption"),
        pytest.param([turn_at(0, PLAIN, work=worked("CKa"))], [], id="work that was neither"),
        pytest.param([turn_at(0, PLAIN, work=worked("MI")), turn_at(1, PLAIN)], [], id="a turn before the last one"),
        pytest.param([turn_at(0, None)], [NAVIGATED], id="a prompt that was not captured"),
        pytest.param([turn_at(0, prompt(navigational="short"))], [NAVIGATED], id="a short prompt"),
        pytest.param([turn_at(0, prompt(navigational="command"))], [NAVIGATED, COMMAND], id="a command"),
        pytest.param([turn_at(0, prompt("prose"))], [FINDING], id="a finding in prose"),
        pytest.param([turn_at(0, prompt(opens=("rates a severity",)))], [FINDING], id="a severity"),
        pytest.param([turn_at(0, prompt(opens=("passes on a comment",)))], [FINDING], id="a comment passed on"),
        pytest.param([turn_at(0, prompt(opens=("remarks like a reviewer",)))], [FINDING], id="a remark"),
        pytest.param([turn_at(0, prompt("prose")), turn_at(1, PLAIN)], [], id="a finding before the last prompt"),
        pytest.param(
            [turn_at(0, prompt("prose")), turn_at(1, prompt(navigational="short"))],
            [NAVIGATED, FINDING],
            id="a finding before a turn that only navigated",
        ),
    ],
)
def test_how_the_turn_before_ended_is_a_signal(before: list[Turn], signals: list[str]) -> None:
    """An offer, a commit, an interruption, a turn that said nothing, a finding."""
    assert shown(PLAIN, *before) == signals


REVIEW = prompt("phrase:review_asked", "words over 10")
ORDER = "a short order after a review"


@pytest.mark.parametrize(
    ("said", "before", "holds"),
    [
        pytest.param(prompt(), [REVIEW], True, id="few words after a review"),
        pytest.param(PLAIN, [REVIEW], False, id="over ten words"),
        pytest.param(prompt("words over 10", opens=("picks from a list",)), [REVIEW], True, id="picks from its list"),
        pytest.param(prompt(), [PLAIN], False, id="few words after no review"),
        pytest.param(prompt(), [PLAIN, REVIEW], False, id="a review that is not the goal"),
        pytest.param(prompt(), [REVIEW, PLAIN], True, id="a review that is the goal"),
        pytest.param(prompt(), [prompt(navigational="command"), REVIEW], True, id="a review after a command"),
        pytest.param(
            prompt(), [prompt("phrase:review_asked", navigational="command")], False, id="a review by command"
        ),
    ],
)
def test_a_short_order_after_a_review_goes_on(said: PromptReading, before: list[PromptReading], holds: bool) -> None:
    """At most ten words, or a pick from a list, where the goal was a review."""
    assert (ORDER in shown(said, *(turn_at(n, each) for n, each in enumerate(before)))) is holds


@pytest.mark.parametrize("opening", ["names a new task", "goes on after a yes", "begins with now"])
@pytest.mark.parametrize(("words", "also", "holds"), [(3, (), True), (2, (), False), (3, ("goes back",), False)])
def test_three_new_words_and_a_turning_opening_turn_to_something_new(
    opening: str, words: int, also: tuple[str, ...], holds: bool
) -> None:
    """But not where the prompt goes back."""
    signals = shown(prompt(opens=(opening, *also), topic=word(words)))
    assert ("turns to something new" in signals) is holds
    assert "turns to something new" not in shown(prompt(opens=("speaks of nobody",), topic=word(words)))


TEN, TWENTY, AN_HOUR = (f"stands apart, {time} later" for time in ("10 minutes", "20 minutes", "an hour"))


@pytest.mark.parametrize(
    ("after_us", "signals"),
    [
        pytest.param(10 * MINUTE, [], id="ten minutes"),
        pytest.param(10 * MINUTE + 1, [TEN], id="over ten minutes"),
        pytest.param(20 * MINUTE, [TEN], id="twenty minutes"),
        pytest.param(20 * MINUTE + 1, [TEN, TWENTY], id="over twenty minutes"),
        pytest.param(HOUR, [TEN, TWENTY], id="an hour"),
        pytest.param(HOUR + 1, [TEN, TWENTY, AN_HOUR], id="over an hour"),
    ],
)
def test_time_counts_from_the_turn_before_where_a_prompt_stands_apart(after_us: int, signals: list[str]) -> None:
    """Three new words; two are too few."""
    assert apart(prompt(topic=word(3)), turn_at(0, PLAIN), turn_at(5, PLAIN), after_us=after_us) == signals
    assert apart(prompt(topic=word(2)), after_us=after_us) == []


def apart(said: PromptReading, *before: Turn, after_us: int = 2 * HOUR) -> list[str]:
    """The signals of standing apart."""
    return [signal for signal in shown(said, *before, after_us=after_us) if signal.startswith("stands apart")]


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        (prompt(topic=word(3)), True),
        *((prompt(opens=(each,), topic=word(3)), False) for each in ("picks from a list", "goes back")),
        *((prompt(opens=(each,), topic=word(3)), False) for each in ("links back at once", "adds to what is there")),
        (prompt(opens=("pastes a failure",), topic=word(3)), False),
        (prompt(opens=("points back at once",), topic=word(3)), True),
        *((prompt(each, topic=word(3)), False) for each in ("no own words", "bare paste")),
        *((prompt(each, topic=word(3)), False) for each in ("phrase:correcting", "phrase:failing")),
        (prompt("phrase:accepting", topic=word(3)), True),
    ],
)
def test_what_ties_a_prompt_to_the_work_keeps_it_from_standing_apart(said: PromptReading, stands: bool) -> None:
    """An opening that binds, a bare paste, a complaint."""
    assert bool(apart(said)) is stands


CHANGED = worked("C", changed=(1,))
PLAN, ANOTHER_FINDING = prompt("plan handed over", topic=word(3)), prompt("prose", topic=word(3))


@pytest.mark.parametrize(
    ("said", "before", "stands"),
    [
        pytest.param(ANOTHER_FINDING, [turn_at(0, prompt("prose"))], False, id="one finding after the other"),
        pytest.param(
            ANOTHER_FINDING, [turn_at(0, prompt("prose")), turn_at(1, PLAIN)], False, id="with a prompt in between"
        ),
        pytest.param(ANOTHER_FINDING, [turn_at(0, PLAIN)], True, id="the first finding"),
        pytest.param(prompt(topic=word(3)), [turn_at(0, prompt("prose"))], True, id="no finding after one"),
        pytest.param(PLAN, [turn_at(0, PLAIN)], False, id="a plan after the talk that led to it"),
        pytest.param(PLAN, [turn_at(0, PLAIN, work=CHANGED)], True, id="a plan after a change"),
        pytest.param(PLAN, [turn_at(0, PLAIN, work=CHANGED), turn_at(1, PLAIN)], True, id="a plan after an older one"),
        pytest.param(PLAN, [turn_at(0, PLAIN, work=worked("CI"))], False, id="a plan after an interruption"),
        pytest.param(
            prompt(topic=word(3)), [turn_at(0, PLAIN, answer=response(asks=True))], False, id="after an offer"
        ),
        pytest.param(prompt(topic=word(3)), [turn_at(0, PLAIN, answer=response())], True, id="after a plain answer"),
    ],
)
def test_what_came_before_may_keep_a_prompt_from_standing_apart(
    said: PromptReading, before: list[Turn], stands: bool
) -> None:
    """A review's findings, a plan and the talk before it, an offer and its answer."""
    assert bool(apart(said, *before)) is stands


@pytest.mark.parametrize(
    ("earlier", "later", "same"),
    [
        pytest.param(word(7), word(7), True, id="the same words"),
        pytest.param(word(8), word(11), True, id="eight of eleven words"),
        pytest.param(word(7), word(10), False, id="seven of ten words"),
        pytest.param(word(10), word(7), False, id="seven of ten words, the other way round"),
        pytest.param(word(8), word(9, start=1), False, id="seven of ten words, nearly as many each"),
        pytest.param(word(9), word(9, start=2), False, id="seven of eleven words, as many each"),
        pytest.param(word(10), word(10, start=1), True, id="nine of eleven words, as many each"),
        pytest.param("", "", False, id="no words"),
    ],
)
def test_a_prompt_repeats_another_from_over_seven_of_ten_words_on(earlier: str, later: str, same: bool) -> None:
    """Shared words over all words."""
    assert asks_the_same(prompt(words=earlier), prompt(words=later)) is same


def test_only_the_last_two_real_prompts_are_repeated() -> None:
    """What only navigates is not counted."""
    first, other, short = prompt(words="a b"), prompt(words="c"), prompt(navigational="short")
    assert repeats(OpenArc([turn_at(0, first), turn_at(1, other), turn_at(2, short)]), first)
    assert not repeats(OpenArc([turn_at(0, first), turn_at(1, other), turn_at(2, other)]), first)


def test_signals_are_told_in_the_order_of_their_list() -> None:
    """Every signal that can be shown together."""
    before = turn_at(
        0, prompt("phrase:review_asked", "prose", topic=word(4)), answer=response(word(3)), work=worked("MC")
    )
    said = prompt("path", "words over 6", opens=("names a new task",), topic=word(9))
    signals = shown(said, before, after_us=2 * HOUR, answer=response(word(5)), work=worked())
    assert signals == sorted(signals, key=SIGNALS.index)
    assert len(signals) > 10
