"""The signals of the boundary judge, each on both sides of its bound."""

import pytest

from aggregates.judging.boundary import OPENS, OpenArc, asks_the_same, boundary_signals, cannot_shift
from aggregates.reading.readings import PromptReading, ResponseReading
from aggregates.turns.turn import Turn, Work
from tests.judges.names import SIGNALS
from tests.support.stages import HOUR, MINUTE, prompt, response, turn_at, worked
from tests.support.tables import each_of, table

PLAIN = prompt("words over 10")
WORDS = tuple("abcdefghijklmnop")


def word(count: int, start: int = 0) -> str:
    return " ".join(WORDS[start : start + count])


ANSWERED = turn_at(0, PLAIN, answer=response())
NO_WORDS = [
    "under 30 % of its words are of the turn before",
    "under 40 % of its words are of the last turns",
    "under 30 % of its words are of the last turns",
]
"""What a prompt shows that has no uncommon words."""


def shown(
    said: PromptReading | None = PLAIN,
    *before: Turn,
    after_us: int = MINUTE,
    answer: ResponseReading | None = None,
    work: Work | None = None,
) -> list[str]:
    """The signals of a prompt so long after the last turn before it, or after a plain one; without `NO_WORDS`."""
    arc = before or (ANSWERED,)
    place = (arc[-1].started_us + after_us) / MINUTE
    found = boundary_signals(OpenArc(arc), turn_at(place, said, answer=answer, work=work or Work()))
    assert set(found) <= set(SIGNALS)
    return [name for name in found if name not in NO_WORDS]


def test_a_plain_turn_shows_nothing_and_so_does_one_that_was_not_captured() -> None:
    """Every signal needs something to see; where no words are, few of them are known."""
    assert shown() == []
    assert boundary_signals(OpenArc([ANSWERED]), turn_at(1, PLAIN)) == NO_WORDS
    assert boundary_signals(OpenArc([turn_at(0, PLAIN, work=worked("MI"))]), turn_at(1, None, work=worked())) == []


TIES = ("picks from a list", "links back at once", "rates a severity", "pastes a failure", "passes on a comment")


@each_of(
    [
        *(("has report", ["says what is wrong"]), ("path", ["names a file"]), ("words over 6", ["over 6 words"])),
        *((opening, [opening]) for opening in OPENS),
        *((opening, []) for opening in TIES),
    ]
)
def test_what_the_prompt_says_is_a_signal(flag: str, signals: list[str]) -> None:
    """Other openings only tie it to what came before."""
    assert shown(prompt("words over 10", flag)) == signals


@pytest.mark.parametrize(
    ("topic", "known", "count"),
    [
        pytest.param(word(1), "", 1, id="one new word"),
        pytest.param(word(1), word(1), 0, id="one known word"),
        pytest.param(word(4), "", 2, id="four new words"),
        pytest.param(word(8), "", 3, id="eight new words"),
    ],
)
@pytest.mark.parametrize("by", ["prompt", "answer"])
def test_new_words_are_counted(topic: str, known: str, count: int, by: str) -> None:
    """What the sub-session said, or was answered, is known."""
    said = prompt("words over 10", topic=known if by == "prompt" else "")
    before = turn_at(0, said, answer=response(known) if by == "answer" else response())
    found = shown(prompt("words over 10", topic=topic), before)
    told = ("a word or more is new", "4 words or more are new", "8 words or more are new")
    assert [name for name in found if name in told] == list(told[:count])


@each_of([(5, False), (6, True)])
def test_words_of_six_turns_are_remembered(turns_between: int, new: bool) -> None:
    """Older ones are new again."""
    between = [turn_at(n + 1, PLAIN, answer=response()) for n in range(turns_between)]
    before = [turn_at(0, prompt("words over 10", topic="a")), *between]
    assert ("a word or more is new" in shown(prompt("words over 10", topic="a"), *before)) is new


@table(
    ("said", "answer", "known", "of"),
    {
        "three of ten": (word(5), None, word(2), []),
        "of prompt and answer together": (word(3), word(3, start=3), word(2), [30]),
        "three of sixteen": (word(11), None, word(2), [30, 20]),
        "one of thirteen": (word(8), None, "", [30, 20, 8]),
    },
)
def test_the_share_of_known_words_is_smoothed(said: str, answer: str | None, known: str, of: list[int]) -> None:
    """Five words are added to them, one as known: of few words a share says little."""
    turn = turn_at(1, prompt(topic=said), answer=None if answer is None else response(answer))
    found = boundary_signals(OpenArc([turn_at(0, prompt(topic=known), answer=response())]), turn)
    before = [name for name in found if name.endswith("are of the turn before")]
    assert before == [f"under {most} % of its words are of the turn before" for most in of]


@each_of([(word(5), []), (word(4), [40]), (word(3), [40, 30]), (word(2), [40, 30]), ("", [40, 30])])
def test_words_of_earlier_turns_count_apart(known: str, of: list[int]) -> None:
    arc = OpenArc([turn_at(0, prompt(topic=known)), ANSWERED])
    found = boundary_signals(arc, turn_at(1, prompt(topic=word(10))))
    earlier = [name for name in found if name.endswith("are of the last turns")]
    assert earlier == [f"under {most} % of its words are of the last turns" for most in of]


NEW_ANSWER, FRESH = "its answer has no words of the turn before", "fresh, and new to the last turns too"


def test_an_answer_in_other_words_is_a_signal() -> None:
    before = turn_at(0, prompt("words over 10", topic=word(1, start=9)), answer=response())
    assert NEW_ANSWER in shown(PLAIN, before, answer=response(word(8)))
    assert NEW_ANSWER not in shown(PLAIN, before, answer=response(word(8, start=9)))
    assert NEW_ANSWER not in shown(PLAIN, before, answer=response(word(7)))


@each_of(
    [
        ((), (), []),
        (("words over 3",), (), ["fresh, and points back at nothing"]),
        ((), ("leans on what was said",), []),
        (("begins:question",), ("leans on what was said",), ["fresh, and asks a question"]),
        ((), ("leans on what was said", "wants or reports something"), ["fresh, and asks for something"]),
    ]
)
def test_a_prompt_of_unknown_words_is_fresh(flags: tuple[str, ...], opens: tuple[str, ...], signals: list[str]) -> None:
    """One of seven counts as known; of six, more than fifteen in a hundred."""
    topics = [f"{word(1)} {word(size, start=1)}" for size in (1, 0)]
    fresh, known = (shown(prompt(*flags, opens=opens, topic=topic), ANSWERED) for topic in topics)
    assert [name for name in fresh if name.startswith("fresh")] == [FRESH, *signals]
    assert [name for name in known if name.startswith("fresh")] == []


def test_what_was_said_earlier_is_not_new_to_the_last_turns() -> None:
    topic = word(8)
    found = shown(prompt("words over 3", topic=topic), turn_at(0, prompt(topic=topic)), ANSWERED)
    assert "fresh, and points back at nothing" in found
    assert FRESH not in found


@table(
    ("before", "work", "signals"),
    {
        "one file again": (worked(changed=(1,)), worked(changed=(1, 2)), ["changes the same files"]),
        "a file that is only read": (worked(changed=(1,)), worked(read=(1,)), []),
    },
)
def test_the_same_files_say_that_it_goes_on(before: Work, work: Work, signals: list[str]) -> None:
    assert shown(PLAIN, turn_at(0, PLAIN, answer=response(), work=before), work=work) == signals


COMMAND, SHIPS = "the turn before was a command", "a commit or a merge was asked for just before"
FINDING, HARDLY = "the last prompt described a finding", "hardly an answer before"


@table(
    ("said", "answer", "marks", "signals"),
    {
        "an offer": (PLAIN, response(asks=True), "", ["the answer before asks something"]),
        "more help": (PLAIN, response("", "invites", asks=True), "", ["the answer before offers more"]),
        "in the middle": (PLAIN, response("", "breaks_off"), "", ["the answer before broke off"]),
        "hardly an answer": (PLAIN, response(characters=19), "", [HARDLY]),
        "interruption": (PLAIN, response(), "I", ["the work before was interrupted"]),
        "asked to commit": (prompt(opens=("asks to commit or merge",)), response(), "", [SHIPS]),
        "a command": (prompt(navigational="command"), response(), "", [COMMAND]),
        "a finding in prose": (prompt("prose"), response(), "", [FINDING]),
        "a severity": (prompt(opens=("rates a severity",)), response(), "", [FINDING]),
    },
)
def test_how_the_turn_before_ended_is_a_signal(
    said: PromptReading | None, answer: ResponseReading | None, marks: str, signals: list[str]
) -> None:
    """What it asked for, how its answer ends, whether it was stopped."""
    assert shown(PLAIN, turn_at(0, said, answer=answer, work=worked(marks))) == signals


@table(
    ("said", "answer", "marks", "finished"),
    {
        "an answer that closes": (PLAIN, response("", "closes"), "", True),
        "one that says done": (PLAIN, response("", "reports_done"), "", True),
        "a commit": (PLAIN, None, "CM", True),
        "a commit that was asked for": (prompt(opens=("asks to commit or merge",)), None, "", True),
        "an interruption": (PLAIN, response("", "closes"), "I", False),
        "an answer that asks": (PLAIN, response("", "closes", asks=True), "", False),
        "one that offers more": (PLAIN, response("", "closes", "invites", asks=True), "", True),
    },
)
def test_a_request_after_finished_work_is_a_signal(
    said: PromptReading | None, answer: ResponseReading | None, marks: str, finished: bool
) -> None:
    """Where the answer closes, or a commit was asked for or made, and nothing is left to answer."""
    asking = prompt("words over 10", opens=("wants or reports something",))
    before = turn_at(0, said, answer=answer, work=worked(marks))
    assert ("asks for something after finished work" in shown(asking, before)) is finished
    assert "asks for something after finished work" not in shown(PLAIN, before)


REVIEW = prompt("phrase:review_asked", "words over 10")
ORDER = "a short order after a review"


@table(
    ("said", "before", "holds"),
    {
        "few words after a review": (prompt(), [REVIEW], True),
        "over ten words": (PLAIN, [REVIEW], False),
        "picks from its list": (prompt("words over 10", opens=("picks from a list",)), [REVIEW], True),
        "few words after no review": (prompt(), [PLAIN], False),
        "a review that is not the goal": (prompt(), [PLAIN, REVIEW], False),
        "a review by command": (prompt(), [prompt("phrase:review_asked", navigational="command")], False),
    },
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


TEN, TWENTY, AN_HOUR = (f"stands apart, {time} later" for time in ("10 minutes", "20 minutes", "an hour"))


@table(
    ("after_us", "signals"),
    {
        "ten minutes": (10 * MINUTE, []),
        "over ten minutes": (10 * MINUTE + 1, [TEN]),
        "twenty minutes": (20 * MINUTE, [TEN]),
        "over twenty minutes": (20 * MINUTE + 1, [TEN, TWENTY]),
        "an hour": (HOUR, [TEN, TWENTY]),
        "over an hour": (HOUR + 1, [TEN, TWENTY, AN_HOUR]),
    },
)
def test_time_counts_from_the_turn_before_where_a_prompt_stands_apart(after_us: int, signals: list[str]) -> None:
    """Three new words; two are too few."""
    assert apart(prompt(topic=word(3)), turn_at(0, PLAIN), turn_at(5, PLAIN), after_us=after_us) == signals
    assert apart(prompt(topic=word(2)), after_us=after_us) == []


def apart(said: PromptReading, *before: Turn, after_us: int = 2 * HOUR) -> list[str]:
    return [signal for signal in shown(said, *before, after_us=after_us) if signal.startswith("stands apart")]


@each_of(
    [
        (prompt(topic=word(3)), True),
        *((prompt(opens=(each,), topic=word(3)), False) for each in ("picks from a list", "goes back")),
        *((prompt(opens=(each,), topic=word(3)), False) for each in ("links back at once", "adds to what is there")),
        (prompt(opens=("pastes a failure",), topic=word(3)), False),
        (prompt(opens=("points back at once",), topic=word(3)), True),
        *((prompt(each, topic=word(3)), False) for each in ("no own words", "bare paste")),
        *((prompt(each, topic=word(3)), False) for each in ("phrase:correcting", "phrase:failing")),
        (prompt("phrase:accepting", topic=word(3)), True),
    ]
)
def test_what_ties_a_prompt_to_the_work_keeps_it_from_standing_apart(said: PromptReading, stands: bool) -> None:
    """An opening that binds, a bare paste, a complaint."""
    assert bool(apart(said)) is stands


CHANGED = worked("C", changed=(1,))
PLAN, ANOTHER_FINDING = prompt("plan handed over", topic=word(3)), prompt("prose", topic=word(3))


@table(
    ("said", "before", "stands"),
    {
        "with a prompt in between": (ANOTHER_FINDING, [turn_at(0, prompt("prose")), turn_at(1, PLAIN)], False),
        "a plan after the talk that led to it": (PLAN, [turn_at(0, PLAIN)], False),
        "a plan after a change": (PLAN, [turn_at(0, PLAIN, work=CHANGED)], True),
        "after an offer": (prompt(topic=word(3)), [turn_at(0, PLAIN, answer=response(asks=True))], False),
        "after a plain answer": (prompt(topic=word(3)), [turn_at(0, PLAIN, answer=response())], True),
    },
)
def test_what_came_before_may_keep_a_prompt_from_standing_apart(
    said: PromptReading, before: list[Turn], stands: bool
) -> None:
    """A review's findings, a plan and the talk before it, an offer and its answer."""
    assert bool(apart(said, *before)) is stands


@table(
    ("earlier", "later", "same"),
    {
        "the same words": (word(7), word(7), True),
        "eight of eleven words": (word(8), word(11), True),
        "seven of ten words": (word(7), word(10), False),
        "seven of ten words, the other way round": (word(10), word(7), False),
        "seven of eleven words, as many each": (word(9), word(9, start=2), False),
    },
)
def test_a_prompt_repeats_another_from_over_seven_of_ten_words_on(earlier: str, later: str, same: bool) -> None:
    """Shared words over all words."""
    assert asks_the_same(prompt(words=earlier), prompt(words=later)) is same


def test_only_the_last_two_real_prompts_are_repeated() -> None:
    """What only navigates is not counted."""
    first, other, short = prompt(words="a b"), prompt(words="c"), prompt(navigational="short")
    again, new = (
        cannot_shift(OpenArc([turn_at(0, first), turn_at(1, other), turn_at(2, last)]), turn_at(3, first))
        for last in (short, other)
    )
    assert (again, new) == ("repeats the prompt before", None)
