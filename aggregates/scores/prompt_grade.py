"""One prompt graded by itself, with words: what `svc grade` prints."""

from collections import Counter
from pkgutil import get_data

import msgspec

from aggregates.event import Digester, Words, cut, shaped
from aggregates.judging.prompt import HABIT_WORDS, how_to_earn, in_these_words, judge_prompt, missed, rubric_evidence
from aggregates.reading import verdicts
from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores.grades import Estimate, Interval, estimate, score_told

NOT_JUDGED = msgspec.toml.decode(get_data(__name__, "not_judged.toml") or b"", type=dict[str, str])
_ONE_KEY = Digester(b"grade")
GRADED_BYTES_MAX = 32 * 1024  # of a text that is graded by request: what a person writes as one prompt


class GradedHabit(msgspec.Struct, frozen=True):
    boolean: BooleanName
    applies: bool
    earned: bool  # surely shown
    unsure: bool  # nobody can tell for sure
    likely: verdicts.Likely | None  # how likely it is true, in words; None where it does not apply
    quoted: str | None  # the prompt's own words that earned it, or came nearest; None where no words stand for it
    start: int | None  # where they stand in the prompt, in characters
    end: int | None
    why: str
    how_to_earn: str


class PromptGrade(msgspec.Struct, frozen=True):
    """One prompt, judged by itself as the first of a sub-session."""

    verdict: str  # in one sentence, with how sure it is
    status: verdicts.JudgeStatus
    reason: verdicts.UnclassifiedReason | None = None
    intent: verdicts.Intent | None = None
    confidence: float = 0.0
    kind_told: str | None = None  # the class or its group, where that is likely
    score: float | None = None  # 0-100, as it is expected; None unless the status is ok
    score_interval: Interval | None = None
    letter: str | None = None
    grade_told: str | None = None  # the letter, where it is likely
    chances: dict[str, float | None] = {}  # of each class; of each boolean, given the likeliest
    habits: tuple[GradedHabit, ...] = ()


def grade_text(text: str) -> PromptGrade:
    from aggregates.reading.reading import read_prompt  # late: loaded with the first text

    reading = read_prompt(text, _ONE_KEY)
    rubric = judge_prompt(reading, None)
    found = estimate(rubric.chances)
    if rubric.intent is None or found is None:
        why = reading.navigational or "navigates" if rubric.status == "skipped" else rubric.reason or rubric.status
        return PromptGrade(NOT_JUDGED[why], rubric.status, rubric.reason)
    kind = verdicts.kind_told(rubric.chances)
    evidence, told = rubric_evidence(text, rubric, 0), {each.name: each for each in rubric.booleans}
    habits = tuple(_habit(name, text, told.get(name), evidence.get(name)) for name in BOOLEANS)
    return shaped(
        PromptGrade,
        rubric,
        found,
        verdict=prompt_verdict(habits, kind, found),
        kind_told=kind,
        score_interval=found.interval,
        grade_told=found.told,
        chances=rubric.named_chances,
        habits=habits,
    )


def _habit(
    name: BooleanName, text: str, verdict: verdicts.BooleanVerdict | None, found: verdicts.Evidence | None
) -> GradedHabit:
    how = how_to_earn(name, text) if verdict else HABIT_WORDS[name].how
    if verdict is None or found is None:
        nowhere = None, None, None, "it is not asked of what this most likely is"
        return GradedHabit(name, False, False, False, None, *nowhere, how)
    start, end = (None, None) if found.span is None else (found.span.start, found.span.end)
    earned = verdict.value is True
    said = earned, not (earned or missed(verdict, found)), in_these_words(verdict, found)
    return GradedHabit(name, True, *said, cut(Words(text), found.span) or None, start, end, found.what, how)


def prompt_verdict(habits: tuple[GradedHabit, ...], kind: str | None, found: Estimate) -> str:
    asked = [each for each in habits if each.applies]
    told = Counter("unsure" if each.unsure else each.likely if each.earned else "missed" for each in asked)
    rest = [f"{told[how]} {how}" for how in ("likely", "missed", "unsure") if told[how]]
    sure = ", ".join([f"It surely shows {told['surely']} of {len(asked)} habits", *rest])
    read = "Its kind is not clear" if kind is None else f"Read as {verdicts.kind_of(kind)}"
    return f"{read}. {sure}. {score_told(found)}"
