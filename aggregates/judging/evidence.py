"""Why a prompt earned or missed each boolean, in its own words: made when somebody asks, from the text itself.

Verdicts are made for every prompt, evidence is looked at for few; so it is no part of a verdict.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from aggregates.event import Span
from aggregates.reading.evidence import evidence_spans
from aggregates.reading.features import extract
from aggregates.reading.pasted import look
from aggregates.reading.reading import title_and_summary
from aggregates.reading.verdicts import BOOLEANS, BooleanName, Evidence, Rubric, applicable

_EARNED: dict[BooleanName, str] = {
    "goal_explicit": "says what should hold afterwards",
    "scope_bounded": "says where, or what to leave alone",
    "references_concrete": "points at something findable",
    "context_sufficient": "enough to start without asking back",
    "verification_requested": "asks for a check",
    "root_cause_oriented": "asks for the cause",
    "plan_first": "asks for, gives or follows a plan",
}

_AS_A_WHOLE = "counted by the judge from the prompt as a whole; no words were found that show it by themselves"

_MISSED: dict[BooleanName, str] = {
    "goal_explicit": "no words of its own were found by which a reader could tell that it is reached",
    "scope_bounded": "no words of its own were found for a file, function or surface, or for what to leave alone",
    "references_concrete": "no path, URL, symbol, line number or ticket was found in its own words",
    "context_sufficient": "the agent would have to ask back or guess",
    "verification_requested": "no words of its own were found for a test, expected output or check",
    "root_cause_oriented": "no words of its own were found that ask for the cause",
    "plan_first": "no words of its own were found for a plan, steps or exploration before the change",
}

_NEAREST: dict[BooleanName, str] = {
    "goal_explicit": "an outcome",
    "scope_bounded": "a place or a limit",
    "references_concrete": "something findable",
    "verification_requested": "a test or a check",
    "root_cause_oriented": "the cause",
    "plan_first": "a plan or steps",
}
"""What a missed boolean was looked for; whether the context is enough is weighed, and no words stand for it."""
_UNSEARCHED = "missed, as it was judged; words are searched in English only"

_GONE = {
    True: "earned, as it was judged while its words were there",
    False: "missed, as it was judged while its words were there",
}


def rubric_evidence(text: str | None, rubric: Rubric, position: int) -> dict[BooleanName, Evidence]:
    """For each boolean that applies, what speaks for it, or what was missed. Empty unless the rubric is ok.

    `position` is that of the fact whose words are `text`, None where they are gone. A span points into `text`: at what
    earned the boolean (the prompt's summary where no words stand out), or at what came nearest to a missed one. The
    judge weighs; so of a missed boolean nothing is said to be absent but what was looked for and not found.
    """
    if rubric.intent is None:
        return {}
    if text is None:
        return {name: Evidence(_GONE[name in rubric.earned], position) for name in applicable(rubric.intent)}
    looked = look(text)
    shown = extract(looked)
    spans = dict(zip(BOOLEANS, evidence_spans(looked, shown.phrases, shown.reference), strict=True))
    _, summary = title_and_summary(looked)
    return {
        name: _earned(name, position, spans[name], summary)
        if name in rubric.earned
        else _missed(name, position, spans[name], searched=not shown.foreign)
        for name in applicable(rubric.intent)
    }


def _earned(name: BooleanName, position: int, span: Span | None, summary: Span) -> Evidence:
    return Evidence(_AS_A_WHOLE, position, summary) if span is None else Evidence(_EARNED[name], position, span)


def _missed(name: BooleanName, position: int, span: Span | None, *, searched: bool) -> Evidence:
    if span is not None and name in _NEAREST:
        return Evidence(
            f"it has words for {_NEAREST[name]}, but the judge finds them not enough to count", position, span
        )
    return Evidence(_MISSED[name] if searched or name not in _NEAREST else _UNSEARCHED)


# What a developer could do differently, in plain sentences: one habit for each boolean of the rubric.
#
# No model writes these. They say what the boolean asks for, and are shown only where enough prompts were graded.

Language = Literal["en", "ko"]
GRADED_MIN = 3
"""From fewer prompts nothing is concluded about a habit."""


class Habit(msgspec.Struct, frozen=True):
    """A habit by its short name, and as advice."""

    label: str
    advice: str


def language_of(asked: str | None) -> Language:
    """Korean for whatever begins with ko; English for everything else."""
    return "ko" if asked is not None and asked.lower().startswith("ko") else "en"


def weakest(shares: Mapping[BooleanName, float], counts: Mapping[BooleanName, int], most: int) -> list[BooleanName]:
    """The habits that showed least, the weakest first: of those that were called for often enough and missed at all."""
    missed = [name for name in BOOLEANS if counts.get(name, 0) >= GRADED_MIN and shares[name] < 1]
    return sorted(missed, key=lambda name: shares[name])[:most]


HABITS: dict[Language, dict[BooleanName, Habit]] = {
    "en": {
        "goal_explicit": Habit(
            "State the outcome", "Say what must be true when the work is done, so that a reader could tell that it is."
        ),
        "scope_bounded": Habit(
            "Bound the scope", "Name the file, function or surface to touch, or say what to leave alone."
        ),
        "references_concrete": Habit(
            "Point at something findable",
            "Name a path, symbol, line, ticket, commit or command instead of describing where it is.",
        ),
        "context_sufficient": Habit(
            "Give the context",
            "Put the error text, an example, the constraint or the reason into the prompt, so that nothing is guessed.",
        ),
        "verification_requested": Habit(
            "Ask for a check",
            "Say how the result is checked: a test, a command that must pass, an output to expect.",
        ),
        "root_cause_oriented": Habit(
            "Ask for the cause", "Ask why it happens and have the cause removed, not the symptom silenced."
        ),
        "plan_first": Habit("Plan first", "Ask for a plan or steps, or give them, before a larger change begins."),
    },
    "ko": {
        "goal_explicit": Habit(
            "원하는 결과 밝히기", "작업이 끝났을 때 무엇이 참이어야 하는지, 읽는 사람이 판단할 수 있게 적으세요."
        ),
        "scope_bounded": Habit("범위 정하기", "손댈 파일, 함수, 화면을 지정하거나 건드리지 말아야 할 것을 적으세요."),
        "references_concrete": Habit(
            "찾을 수 있는 것을 가리키기", "위치를 설명하는 대신 경로, 심볼, 줄, 티켓, 커밋, 명령을 적으세요."
        ),
        "context_sufficient": Habit(
            "맥락 주기", "에이전트가 추측하지 않도록 오류 메시지, 예시, 제약, 이유를 프롬프트에 넣으세요."
        ),
        "verification_requested": Habit(
            "확인 요청하기", "결과를 어떻게 확인할지 적으세요: 테스트, 통과해야 하는 명령, 기대하는 출력."
        ),
        "root_cause_oriented": Habit("원인 묻기", "증상을 감추지 말고, 왜 생기는지 묻고 원인을 없애 달라고 하세요."),
        "plan_first": Habit("먼저 계획하기", "큰 변경을 시작하기 전에 계획이나 단계를 요청하거나 직접 적으세요."),
    },
}

NOT_ENOUGH: dict[Language, str] = {
    "en": f"Not enough data: no habit was called for in {GRADED_MIN} graded prompts of this period.",
    "ko": f"데이터가 부족합니다: 이 기간에 채점된 프롬프트 {GRADED_MIN}개 이상에서 요구된 습관이 없습니다.",
}

NOTHING_MISSED: dict[Language, str] = {
    "en": "No habit that was called for often enough was ever missed in this period.",
    "ko": "이 기간에 충분히 자주 요구된 습관 가운데 빠뜨린 것이 없습니다.",
}
