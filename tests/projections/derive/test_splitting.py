"""Cutting a prompt into consecutive prompts of one sub-session (scoring.md, section 5): what that can raise.

What pieces amount to is arithmetic, and is held here for any judge that gives the pieces together no more than it gave
the whole. The shipped judge is no such judge: `test_real_data.py` measures how often it gives more.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.reading.reading import read_prompt
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, Intent, Rubric, said_booleans
from aggregates.scores.grades import RUBRIC_LADDER
from aggregates.times import calendar_windows
from aggregates.turns.turn import Turn
from projections.reader import Reader
from projections.scores.score import score
from projections.scores.skill import insight_summary, skill
from projections.sub_sessions.listing import realtime
from tests.fuzz.odd import examples
from tests.support.facts import ANA, DAY, DIGESTER, MINUTE, MONDAY, SECOND, Log, edit, project, reader, request, shell

WEEK = calendar_windows("weekly", ZoneInfo("UTC"), MONDAY + 2 * DAY, 2)


class Figures(NamedTuple):
    """What must not rise; -1 where there is none."""

    letter: int
    """Of the sub-session, by its place on the ladder."""
    svc_score: float
    cspw: int
    skill_index: float
    apg: float


class Judged(NamedTuple):
    """A prompt and what a judge says of it; None: as the shipped one does."""

    text: str
    rubric: Rubric | None = None


def story(prompts: Sequence[Judged], *, checked: bool, joined: bool) -> Log:
    """Prompts a minute apart, each answered, then a change. `joined`: a person says that they are one goal."""
    log = Log()
    for place, each in enumerate(prompts):
        at_us = MONDAY + place * MINUTE
        capture_id = log.prompt("s", each.text, at_us, name=str(place))
        log.records("s", request(at_us + SECOND))
        if place and joined:
            log.corrects_gap("s", capture_id, False)
    done_us = MONDAY + len(prompts) * MINUTE
    check = [shell(done_us + 2 * SECOND, "pytest -q")] if checked else []
    log.records("s", request(done_us), edit(done_us + SECOND), *check, request(done_us + 3 * SECOND))
    return log.passes(MONDAY + DAY)


@contextmanager
def judging(said: Mapping[bytes, Rubric]) -> Iterator[None]:
    """Prompts are judged as it is said of their words; with nothing said, by the shipped judge."""

    def judge(prompt: PromptReading, earlier: Sequence[Turn]) -> Rubric:
        return said[prompt.token_digests]

    with pytest.MonkeyPatch.context() as patch:
        if said:
            patch.setattr("aggregates.sub_sessions.sub_session.judge_prompt", judge)
        yield


def shown_of(prompts: Sequence[Judged], *, checked: bool, joined: bool) -> Reader:
    """The views of one such sub-session."""
    said = {read_prompt(each.text, DIGESTER).token_digests: each.rubric for each in prompts if each.rubric is not None}
    log = story(prompts, checked=checked, joined=joined)
    with judging(said):
        return reader(project(log.facts), log.facts)


def figures(prompts: Sequence[Judged], *, checked: bool = True, joined: bool = True) -> Figures | None:
    """What a week shows of it; None where the boundary judge cut it in two."""
    shown = shown_of(prompts, checked=checked, joined=joined)
    rows = realtime(shown, ANA, 9, 0, None, None)
    if len(rows) > 1:
        return None
    rate = score(shown, ANA, "weekly", WEEK)
    index = skill(shown, ANA, "weekly", WEEK).skill_index
    mean = insight_summary(shown, ANA, "weekly", WEEK).apg_current
    letter = rows[0].letter_grade
    return Figures(
        letter=-1 if letter is None else RUBRIC_LADDER.index(letter),
        svc_score=rate.svc_score,
        cspw=rate.crushed_count,
        skill_index=-1 if index is None else index,
        apg=-1 if mean is None else mean,
    )


def raised(whole: Figures | None, pieces: Figures | None) -> list[str]:
    assert whole is not None
    if pieces is None:
        return ["cut in two"]
    return [name for name, one, other in zip(Figures._fields, whole, pieces, strict=True) if other > one + 1e-9]


# --- what holds for any judge ---------------------------------------------------------------------------------

_earned = st.sets(st.sampled_from(BOOLEANS))


@st.composite
def _verdicts(draw: st.DrawFn) -> Rubric:
    intent = draw(st.sampled_from(INTENTS))
    return ok(intent, draw(_earned))


def ok(intent: Intent, earned: Set[BooleanName]) -> Rubric:
    """A verdict that names what applies, and no more."""
    return Rubric("ok", intent, 0.5, said_booleans(intent, earned))


def pieces_of(whole: Rubric, shares: Sequence[Set[BooleanName]], name: str = "piece") -> list[Judged]:
    """Prompts that ask for the same, and have earned no more than the whole had."""
    assert whole.intent is not None
    return [
        Judged(f"The {name} number{place} of the parser work", ok(whole.intent, share & set(whole.earned)))
        for place, share in enumerate(shares)
    ]


@examples(30)
@given(_verdicts(), st.lists(_earned, min_size=2, max_size=4), st.booleans())
def test_a_prompt_cut_into_pieces_raises_no_figure(
    whole: Rubric, shares: list[set[BooleanName]], checked: bool
) -> None:
    """Neither its letter nor the completion rate, the goals reached, the skill index or the average prompt grade."""
    before = figures([Judged("The whole of the parser work", whole)], checked=checked)
    assert raised(before, figures(pieces_of(whole, shares), checked=checked)) == []


# --- what the specification's own rules let pass --------------------------------------------------------------


def test_a_mean_over_prompts_counts_each_piece() -> None:
    """20 and 100 are 60 on average; cut in two, the second piece stands without a goal of its own: 20, 100 and 80."""
    poor, good = ok("small_change", {"goal_explicit"}), ok("small_change", set(BOOLEANS))
    start = [Judged("Something earlier about the parser", poor)]
    whole = figures([*start, Judged("The whole of the parser work", good)])
    cut = figures([*start, *pieces_of(good, [set(BOOLEANS), set()])])
    assert whole is not None
    assert cut is not None
    assert [whole.apg, cut.apg] == pytest.approx([60, 200 / 3])
