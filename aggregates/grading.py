"""Grading one prompt by itself, with words: what `svc grade` prints."""

import msgspec

from aggregates.digests import Digester
from aggregates.grades import rubric_letter, score_of
from aggregates.reading import read_prompt
from aggregates.rubric import judge_prompt
from aggregates.rubric_evidence import rubric_evidence
from aggregates.verdicts import BOOLEANS, BooleanName, Evidence, Intent, JudgeStatus, applicable, kind_of
from aggregates.words import Words, cut

_HOW: dict[BooleanName, str] = {
    "goal_explicit": "Say what should hold when it is done: \"so that …\", \"it should …\".",
    "scope_bounded": "Name the file, function or screen to touch, or say what to leave alone.",
    "references_concrete": "Point at something findable: a path, a symbol, a line, a ticket, a command.",
    "context_sufficient": "Add what the agent would ask for: the error text, an example, a constraint, the reason.",
    "verification_requested": "Name a check: a test to add or to pass, an expected output, a command.",
    "root_cause_oriented": "Ask why it happens, or for the cause to be removed.",
    "plan_first": "Ask for a plan or steps before the change, or give yours.",
}  # fmt: skip
_ONE_KEY = Digester(b"grade")


class Habit(msgspec.Struct, frozen=True):
    """One boolean of the rubric on one prompt."""

    boolean: BooleanName
    applies: bool
    earned: bool
    quoted: str | None
    """The prompt's own words that earned it, or came nearest; None where no words stand for it."""
    why: str
    how_to_earn: str


class Graded(msgspec.Struct, frozen=True):
    """One prompt, judged by itself as the first of a sub-session."""

    status: JudgeStatus
    intent: Intent | None
    confidence: float
    score: float | None
    """0-100; None unless the status is ok."""
    letter: str | None
    habits: tuple[Habit, ...]
    """In rubric order; empty unless the status is ok."""


def grade_text(text: str) -> Graded:
    """Grade a prompt's text. Never raises."""
    reading = read_prompt(text, _ONE_KEY)
    rubric = judge_prompt(reading, ())
    if rubric.intent is None:
        return Graded(rubric.status, None, 0.0, None, None, ())
    applies = applicable(rubric.intent)
    score = score_of(len(rubric.earned), len(applies))
    evidence = rubric_evidence(text, rubric, 0)
    habits = tuple(_habit(name, name in rubric.earned, evidence.get(name), rubric.intent, text) for name in BOOLEANS)
    return Graded(
        "ok", rubric.intent, rubric.confidence, score, None if score is None else rubric_letter(score), habits
    )


def _habit(name: BooleanName, earned: bool, evidence: Evidence | None, intent: Intent, text: str) -> Habit:
    if evidence is None:
        return Habit(name, False, False, None, f"does not apply to {kind_of(intent)}", _HOW[name])
    quoted = cut(Words(text), evidence.span)
    return Habit(name, True, earned, quoted or None, evidence.what, _HOW[name])
