"""The outcome judge: did a sub-session reach its goal (scoring.md, section 4)?

Evidence is gathered piece by piece, each with a fixed phrase and a weight; the pieces add up to how likely completion
is, and it holds from the class's floor on. Two endings are never complete, whatever speaks for them. What was not
observed gives no evidence.
"""

from collections.abc import Sequence

import msgspec

from aggregates.judging.boundary import asks_the_same
from aggregates.judging.evidence import Language
from aggregates.reading.verdicts import Evidence, Intent, OutcomeVerdict, Rubric
from aggregates.turns.turn import (
    ANSWERED,
    API_ERROR,
    CHANGE,
    CHECK_FAILED,
    CHECK_OK,
    COMMIT,
    INTERRUPTED,
    PULL_REQUEST,
    REJECTED,
    REVERT,
    Turn,
)

SILENCE_FLOORS: dict[Intent, float] = {
    "question": 0.50,
    "investigation": 0.60,
    "review": 0.60,
    "plan": 0.60,
    "small_change": 0.65,
    "bug_fix": 0.70,
    "feature": 0.70,
    "refactor": 0.70,
}
"""When nothing follows, completion holds only from this confidence on."""
UNCLASSIFIED_FLOOR = 0.70
FOLLOWED_FLOOR = 0.50
LOOP_CALLS_MIN = 3
ASKING_INTENTS = frozenset({"question", "investigation", "review", "plan"})
START = 0.50
ACCEPTED = "the user accepts or thanks"
CHECKED = "a check succeeded after the last change"
COMMITTED = "a commit or pull request followed the change"
MOVED_ON = "the next turn opens a new goal without a correction"
UNCHALLENGED = "an answer stands unchallenged"
CHANGED = "a change was made and answered for"
REPORTED = "the answer says that the work is done"
ENDED_ON_ERROR = "ends on an API error that was not recovered"
CANCELLED_LOOPING = "cancelled while the same call was repeated"
INTERRUPTED_LAST = "the last state is an interruption"
CHECK_FAILS = "the last check failed"
CORRECTED = "the user corrects or repeats"
NOT_WORKING = "the user says that it does not work"
REVERTED = "the work was reverted within the sub-session"
REFUSED = "the last proposal was refused"
UNANSWERED = "nothing was answered"
NO_CHANGE = "a change was asked for and none was seen"
OPEN_FAILURE = "the answer says that something is still open"

_FOR: dict[str, float] = {
    ACCEPTED: 0.25,
    CHECKED: 0.25,
    COMMITTED: 0.35,
    MOVED_ON: 0.20,
    UNCHALLENGED: 0.15,
    CHANGED: 0.15,
    REPORTED: 0.10,
}

_AGAINST: dict[str, float] = {
    ENDED_ON_ERROR: 0.60,
    CANCELLED_LOOPING: 0.60,
    INTERRUPTED_LAST: 0.30,
    CHECK_FAILS: 0.35,
    CORRECTED: 0.35,
    NOT_WORKING: 0.40,
    REVERTED: 0.40,
    REFUSED: 0.30,
    UNANSWERED: 0.45,
    NO_CHANGE: 0.15,
    OPEN_FAILURE: 0.15,
}

_NEVER = frozenset({ENDED_ON_ERROR, CANCELLED_LOOPING})


class _Course(msgspec.Struct, frozen=True):
    """The turns of a sub-session as one course of marks."""

    marks: str
    last: Turn
    """The last turn that did more than run a command of the agent's own."""
    observed: bool


def judge_outcome(
    turns: Sequence[Turn], rubrics: Sequence[Rubric], intent: Intent | None, following: Turn | None
) -> OutcomeVerdict:
    """Judge a sub-session by its turns and the turn that follows it in the same agent session, if any."""
    course = _course(turns)
    evidence_for = _speaks_for(course, turns, intent, following)
    evidence_against = _speaks_against(course, turns, intent, following)
    confidence = START + sum(_FOR[e.what] for e in evidence_for) - sum(_AGAINST[e.what] for e in evidence_against)
    confidence = round(min(max(confidence, 0.02), 0.98), 3)
    floor = _floor(intent, silent=following is None)
    never = any(piece.what in _NEVER for piece in evidence_against)
    complete = confidence >= floor and not never
    return OutcomeVerdict(
        complete, confidence if complete else round(1 - confidence, 3), evidence_for, evidence_against
    )


def never_complete(verdict: OutcomeVerdict) -> bool:
    """Whether it rests on an ending that is never complete."""
    return any(piece.what in _NEVER for piece in verdict.evidence_against)


def leading_against(verdict: OutcomeVerdict) -> str | None:
    """The piece of evidence against that weighs most; of equal ones the first. None where there is none."""
    pieces = [piece.what for piece in verdict.evidence_against if piece.what in _AGAINST]
    return max(pieces, key=_AGAINST.__getitem__, default=None)


def _floor(intent: Intent | None, *, silent: bool) -> float:
    """From which confidence on completion holds."""
    if not silent:
        return FOLLOWED_FLOOR
    return UNCLASSIFIED_FLOOR if intent is None else SILENCE_FLOORS[intent]


def _course(turns: Sequence[Turn]) -> _Course:
    real = [turn for turn in turns if turn.prompt is None or turn.prompt.navigational != "command"] or list(turns)
    marks = "".join(turn.work.marks for turn in turns)
    if turns[0].prompt is not None and turns[0].prompt.asks_to_revert:
        marks = marks.replace(REVERT, CHANGE)  # here taking back is the work that was asked for
    return _Course(marks, real[-1], any(turn.work.observed for turn in turns))


def _speaks_for(
    course: _Course, turns: Sequence[Turn], intent: Intent | None, following: Turn | None
) -> tuple[Evidence, ...]:
    last_change = course.marks.rfind(CHANGE)
    after = course.marks[last_change + 1 :]
    found: list[Evidence] = []
    accepting = _acceptance(turns, following)
    if accepting is not None:
        found.append(Evidence(ACCEPTED, accepting.position))
    if last_change >= 0 and CHECK_OK in after and after.rfind(CHECK_OK) > after.rfind(CHECK_FAILED):
        found.append(Evidence(CHECKED, course.last.position))
    if last_change >= 0 and (COMMIT in after or PULL_REQUEST in after):
        found.append(Evidence(COMMITTED, course.last.position))
    if following is not None and _complaint(following, turns) is None:
        found.append(Evidence(MOVED_ON, following.position))
    response = course.last.response
    if intent in ASKING_INTENTS and course.last.answered and INTERRUPTED not in course.last.work.marks[-2:]:
        found.append(Evidence(UNCHALLENGED, course.last.response_position))
    if last_change >= 0 and course.last.answered:
        found.append(Evidence(CHANGED, course.last.position))
    if response is not None and response.reports_done and not response.asks:
        found.append(Evidence(REPORTED, course.last.response_position))
    return tuple(found)


def _speaks_against(
    course: _Course, turns: Sequence[Turn], intent: Intent | None, following: Turn | None
) -> tuple[Evidence, ...]:
    last, marks = course.last, course.marks
    cancelled = _ends_cancelled(last)
    unsettled = last.response is not None and last.response.reports_failure and not last.response.reports_done
    pieces = (
        (ENDED_ON_ERROR, _ends_on_error(marks), last.position),
        (CANCELLED_LOOPING, cancelled and last.work.repeats_before_stop >= LOOP_CALLS_MIN, last.position),
        (INTERRUPTED_LAST, cancelled, last.position),
        (CHECK_FAILS, marks.rfind(CHECK_FAILED) > marks.rfind(CHECK_OK), last.position),
        (REVERTED, _taken_back(marks) or _undone(turns), last.position),
        (REFUSED, last.work.marks.rstrip(ANSWERED).endswith(REJECTED), last.position),
        (UNANSWERED, not any(turn.answered for turn in turns), None),
        (NO_CHANGE, _lacks_change(course, intent), None),
        (OPEN_FAILURE, unsettled, last.response_position),
    )
    found = [Evidence(what, position) for what, holds, position in pieces if holds]
    complaint = _standing_complaint(course, turns, intent, following)
    return (*found, complaint) if complaint is not None else tuple(found)


def _standing_complaint(
    course: _Course, turns: Sequence[Turn], intent: Intent | None, following: Turn | None
) -> Evidence | None:
    """A correction, a repetition or a report that it does not work, after which nothing more was done about it."""
    if following is not None:
        what = _complaint(following, turns)
        if what is not None:
            return Evidence(what, following.position)
    if intent in ASKING_INTENTS or not course.observed:
        return None  # an answer may be all that was wanted, and unseen work may have been done
    for place in range(len(turns) - 1, 0, -1):
        if _does_something(turns[place]) or _accepts(turns[place]):
            return None
        what = _complaint(turns[place], turns[:place])
        if what is not None:
            return Evidence(what, turns[place].position)
    return None


def _complaint(turn: Turn, earlier: Sequence[Turn]) -> str | None:
    prompt = turn.prompt
    if prompt is None:
        return None
    if prompt.reports_failure:
        return NOT_WORKING
    if prompt.corrects:
        return CORRECTED
    again = prompt.navigational is None and any(
        each.answered and each.prompt is not None and asks_the_same(each.prompt, prompt) for each in earlier
    )
    return CORRECTED if again else None


def _does_something(turn: Turn) -> bool:
    return any(mark in turn.work.marks for mark in (CHANGE, CHECK_OK, COMMIT, REVERT))


def _accepts(turn: Turn) -> bool:
    return turn.prompt is not None and turn.prompt.accepts


def _lacks_change(course: _Course, intent: Intent | None) -> bool:
    """A change was asked for, the work was observed, and there is none."""
    asked = intent is not None and intent not in ASKING_INTENTS
    return course.observed and asked and CHANGE not in course.marks and COMMIT not in course.marks


def _acceptance(turns: Sequence[Turn], following: Turn | None) -> Turn | None:
    """The last turn, or the one that follows, where it accepts what was done; an opening prompt accepts nothing."""
    later = [*turns[1:][-1:], *([following] if following is not None else [])]
    return next((turn for turn in later if _accepts(turn)), None)


def _ends_on_error(marks: str) -> bool:
    """Recovered is an error after which a request was answered."""
    return marks.rfind(API_ERROR) > marks.rfind(ANSWERED)


def _ends_cancelled(last: Turn) -> bool:
    """An interruption after which nothing was answered."""
    marks = last.work.marks
    return marks.rfind(INTERRUPTED) > marks.rfind(ANSWERED)


def _taken_back(marks: str) -> bool:
    """A revert after a change, and no change after it."""
    change = marks.find(CHANGE)
    revert = marks.rfind(REVERT)
    return 0 <= change < revert and marks.rfind(CHANGE) < revert


def _undone(turns: Sequence[Turn]) -> bool:
    """A short last prompt that asks to take the work back; a longer one may ask for a part of it only.

    Where something else was changed after it was taken back, it was not for nothing.
    """
    prompt, marks = turns[-1].prompt, turns[-1].work.marks
    if len(turns) < 2 or prompt is None or not prompt.asks_to_revert or prompt.shows("words over 10"):
        return False
    return not 0 <= marks.find(REVERT) < marks.rfind(CHANGE)


# What to do about work that did not reach its goal: a name and a piece of advice for each kind of evidence against.

REWORKED = "it takes back or repeats earlier work"
NO_SIGN = "nothing shows that the goal was reached"
"""The two reasons that are no evidence of the outcome judge."""


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong, in few words, and what helps."""

    label: str
    mitigation: str


TROUBLES: dict[Language, dict[str, Trouble]] = {
    "en": {
        ENDED_ON_ERROR: Trouble("Ended on an API error", "Retry once the service answers, before leaving the task."),
        CANCELLED_LOOPING: Trouble(
            "Cancelled while the agent was looping", "Stop a loop early and say what to try instead."
        ),
        INTERRUPTED_LAST: Trouble("Interrupted at the end", "Say why it was stopped, so that it can go on."),
        CHECK_FAILS: Trouble("The last check failed", "Let the agent run the check until it passes."),
        CORRECTED: Trouble("Had to be corrected", "State the outcome and the limits in the first prompt."),
        NOT_WORKING: Trouble("Did not work", "Name the check that shows that it works, and have it run."),
        REVERTED: Trouble("Was reverted", "Ask for a plan before a larger change begins."),
        REFUSED: Trouble("The last proposal was refused", "Say what is wrong with it, and what would be right."),
        UNANSWERED: Trouble("Was never answered", "Look whether the agent could answer, and ask again."),
        NO_CHANGE: Trouble("No change was made", "Name the file or function to change."),
        OPEN_FAILURE: Trouble("Something was left open", "Ask for what is still open before moving on."),
        REWORKED: Trouble("Repeated earlier work", "Have a result checked before it is called done."),
        NO_SIGN: Trouble("No sign that the goal was reached", "End with a check, a commit or a word that it is right."),
    },
    "ko": {
        ENDED_ON_ERROR: Trouble("API 오류로 끝남", "작업을 떠나기 전에, 서비스가 응답하면 다시 시도하세요."),
        CANCELLED_LOOPING: Trouble(
            "에이전트가 반복하던 중 취소됨", "반복을 일찍 멈추고 대신 무엇을 시도할지 말하세요."
        ),
        INTERRUPTED_LAST: Trouble("마지막에 중단됨", "이어서 할 수 있도록 왜 멈췄는지 말하세요."),
        CHECK_FAILS: Trouble("마지막 확인이 실패함", "통과할 때까지 에이전트가 확인을 실행하게 하세요."),
        CORRECTED: Trouble("바로잡아야 했음", "첫 프롬프트에 원하는 결과와 한계를 적으세요."),
        NOT_WORKING: Trouble("동작하지 않음", "동작함을 보여 주는 확인을 지정하고 실행하게 하세요."),
        REVERTED: Trouble("되돌려짐", "큰 변경을 시작하기 전에 계획을 요청하세요."),
        REFUSED: Trouble("마지막 제안이 거절됨", "무엇이 틀렸고 무엇이 맞는지 말하세요."),
        UNANSWERED: Trouble("응답이 없었음", "에이전트가 응답할 수 있었는지 살펴보고 다시 요청하세요."),
        NO_CHANGE: Trouble("변경이 없었음", "바꿀 파일이나 함수를 지정하세요."),
        OPEN_FAILURE: Trouble("남은 것이 있음", "다음으로 넘어가기 전에 남은 것을 요청하세요."),
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
