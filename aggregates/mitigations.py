"""What to do about work that did not reach its goal: a name and a piece of advice for each kind of evidence against."""

import msgspec

from aggregates import outcome as o
from aggregates.habits import Language
from aggregates.verdicts import Intent

REWORKED = "it takes back or repeats earlier work"
NO_SIGN = "nothing shows that the goal was reached"
"""The two reasons that are no evidence of the outcome judge."""


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong, in few words, and what helps."""

    label: str
    mitigation: str


TROUBLES: dict[Language, dict[str, Trouble]] = {
    "en": {
        o.ENDED_ON_ERROR: Trouble("Ended on an API error", "Retry once the service answers, before leaving the task."),
        o.CANCELLED_LOOPING: Trouble(
            "Cancelled while the agent was looping", "Stop a loop early and say what to try instead."
        ),
        o.INTERRUPTED_LAST: Trouble("Interrupted at the end", "Say why it was stopped, so that it can go on."),
        o.CHECK_FAILS: Trouble("The last check failed", "Let the agent run the check until it passes."),
        o.CORRECTED: Trouble("Had to be corrected", "State the outcome and the limits in the first prompt."),
        o.NOT_WORKING: Trouble("Did not work", "Name the check that shows that it works, and have it run."),
        o.REVERTED: Trouble("Was reverted", "Ask for a plan before a larger change begins."),
        o.REFUSED: Trouble("The last proposal was refused", "Say what is wrong with it, and what would be right."),
        o.UNANSWERED: Trouble("Was never answered", "Look whether the agent could answer, and ask again."),
        o.NO_CHANGE: Trouble("No change was made", "Name the file or function to change."),
        o.OPEN_FAILURE: Trouble("Something was left open", "Ask for what is still open before moving on."),
        REWORKED: Trouble("Repeated earlier work", "Have a result checked before it is called done."),
        NO_SIGN: Trouble("No sign that the goal was reached", "End with a check, a commit or a word that it is right."),
    },
    "ko": {
        o.ENDED_ON_ERROR: Trouble("API 오류로 끝남", "작업을 떠나기 전에, 서비스가 응답하면 다시 시도하세요."),
        o.CANCELLED_LOOPING: Trouble(
            "에이전트가 반복하던 중 취소됨", "반복을 일찍 멈추고 대신 무엇을 시도할지 말하세요."
        ),
        o.INTERRUPTED_LAST: Trouble("마지막에 중단됨", "이어서 할 수 있도록 왜 멈췄는지 말하세요."),
        o.CHECK_FAILS: Trouble("마지막 확인이 실패함", "통과할 때까지 에이전트가 확인을 실행하게 하세요."),
        o.CORRECTED: Trouble("바로잡아야 했음", "첫 프롬프트에 원하는 결과와 한계를 적으세요."),
        o.NOT_WORKING: Trouble("동작하지 않음", "동작함을 보여 주는 확인을 지정하고 실행하게 하세요."),
        o.REVERTED: Trouble("되돌려짐", "큰 변경을 시작하기 전에 계획을 요청하세요."),
        o.REFUSED: Trouble("마지막 제안이 거절됨", "무엇이 틀렸고 무엇이 맞는지 말하세요."),
        o.UNANSWERED: Trouble("응답이 없었음", "에이전트가 응답할 수 있었는지 살펴보고 다시 요청하세요."),
        o.NO_CHANGE: Trouble("변경이 없었음", "바꿀 파일이나 함수를 지정하세요."),
        o.OPEN_FAILURE: Trouble("남은 것이 있음", "다음으로 넘어가기 전에 남은 것을 요청하세요."),
        REWORKED: Trouble("앞선 작업을 반복함", "끝났다고 하기 전에 결과를 확인하게 하세요."),
        NO_SIGN: Trouble("목표에 도달했다는 표시가 없음", "확인, 커밋, 또는 맞다는 말로 마무리하세요."),
    },
}

REACHED: dict[Language, dict[Intent, str]] = {
    "en": {
        "question": "Questions answered",
        "investigation": "Causes found",
        "review": "Reviews done",
        "plan": "Plans made",
        "small_change": "Small changes done",
        "bug_fix": "Bugs fixed",
        "feature": "Features built",
        "refactor": "Refactorings done",
    },
    "ko": {
        "question": "답을 얻은 질문",
        "investigation": "찾아낸 원인",
        "review": "마친 리뷰",
        "plan": "세운 계획",
        "small_change": "마친 작은 변경",
        "bug_fix": "고친 버그",
        "feature": "만든 기능",
        "refactor": "마친 리팩터링",
    },
}
"""How a kind of task is called whose goal was reached."""
