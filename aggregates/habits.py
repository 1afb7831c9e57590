"""What a developer could do differently, in plain sentences: one habit for each boolean of the rubric.

No model writes these. They say what the boolean asks for, and are shown only where enough prompts were graded.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from aggregates.verdicts import BOOLEANS, BooleanName

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
