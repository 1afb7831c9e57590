"""The outcome judge: did a sub-session reach its goal (scoring.md, section 4)?

What is evident decides first, in the order of that section; else the weights of the evidence add up to how likely
completion is. What was not observed gives no evidence.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pkgutil import get_data
from typing import NamedTuple

import msgspec

from aggregates.judging.boundary import EXPANDED, asks_the_same
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import Bounds, Evidence, Intent, OutcomeVerdict, UndecidedReason
from aggregates.turns import turn as mark
from aggregates.turns.turn import Parts, Turn

LOOP_CALLS_MIN = 3  # so often repeated, a call that was cancelled had gone in a loop
ASKING_INTENTS = frozenset({"question", "investigation", "review", "plan"})
SPEAKS_FOR: tuple[str, ...] = (
    ACCEPTED := "the user's words read like thanks or acceptance",
    CHECKED := "a test, build or other check was run after the last change, and its command ended without an error",
    COMMITTED := "a commit or pull request was made",
    SHIPPED := "the user speaks of a commit or merge",
    MOVED_ON := "the next prompt was taken for a new goal",
    UNCHALLENGED := "the last prompt was answered",
    CHANGED := "a change was made",
    REPORTED := "the last answer tells of work that is done",
)
SPEAKS_AGAINST: tuple[str, ...] = (
    ENDED_ON_ERROR := "ends on an API error that was not recovered",
    CANCELLED_LOOPING := "cancelled while the same call was repeated",
    INTERRUPTED_LAST := "the last turn was interrupted",
    CHECK_FAILS := "the last check failed",
    REVERTED := "work was reverted, or the user asks for it",
    REFUSED := "the last call of a tool was refused",
    UNANSWERED := "no answer was seen",
    LAST_UNANSWERED := "no answer to the last prompt was seen",
    NO_CHANGE := "no change was seen",
    STATED_FAILURE := "the last answer tells of a failure",
    OPEN_FAILURE := "the last answer speaks of something that failed or is open",
    WAITS := "the last answer ends with a question or an offer",
    BROKE_OFF := "the last answer announces a next step",
    STILL_FAILING := "the last prompt speaks of a failure",
    TAKEN_OVER := "the user's words read like taking it over or giving it up",
    CORRECTED := "the user's words read like a correction or a repetition",
    NOT_WORKING := "the user's words read like a report of a failure",
)
UNSURE_END = "whether the next prompt opens a new goal is unsure"  # has no weight: the goal may go on
_NEVER = frozenset({ENDED_ON_ERROR, CANCELLED_LOOPING})
_OF_ITSELF = frozenset({ACCEPTED, CHECKED, COMMITTED, SHIPPED})  # one shows a reached goal, wherever it ends
_CONFIRMS = _OF_ITSELF | {UNCHALLENGED}  # without one, silence after an arc leaves it undecided
_SPEAKS_OF_MORE = ("names a new task", "words over 16", "only question")
_CONTRADICTS = frozenset({INTERRUPTED_LAST, CHECK_FAILS, REVERTED, REFUSED, CORRECTED, NOT_WORKING, BROKE_OFF})
"""What speaks for it then balances at best."""
_IN_SILENCE = frozenset({CHECK_FAILS, INTERRUPTED_LAST})  # after which silence proves nothing, nor what is missing then
_PROVE_NOTHING = _IN_SILENCE | {NO_CHANGE, UNANSWERED, LAST_UNANSWERED, UNSURE_END}
LEAST_CHANCE = 0.02
EVIDENT_CHANCE, SUREST_CHANCE = 0.95, 0.98  # how sure an evident ending is; a stated failure whose check failed too
OUTCOME_BOUNDS = msgspec.json.decode(get_data(__name__, "bounds.json") or b"", type=dict[str, Bounds])["outcome"]


class OutcomeModel(msgspec.Struct, frozen=True):
    """What each piece of evidence weighs, in thousandths of a logit; a sum above 0 says that the goal was reached."""

    bias: int
    silence: int  # added where nothing follows in the agent session: silence proves little
    weights: Mapping[str, int]

    def chance(self, pieces: Iterable[str], *, silent: bool) -> float:
        logit = self.bias + (self.silence if silent else 0) + sum(self.weights.get(each, 0) for each in pieces)
        likely = 1 / (1 + math.exp(-max(-20_000, min(logit, 20_000)) / 1000))
        return round(min(max(likely, LEAST_CHANCE), 1 - LEAST_CHANCE), 3)


SHIPPED_OUTCOME = msgspec.json.decode(get_data(__name__, "outcome.json") or b"", type=OutcomeModel)


class _Course(NamedTuple):
    turns: Sequence[Turn]
    intent: Intent | None
    following: Turn | None
    marks: str
    last: Turn
    unsure_end: bool


def judge_outcome(
    turns: Sequence[Turn],
    intent: Intent | None,
    following: Turn | None,
    model: OutcomeModel = SHIPPED_OUTCOME,
    *,
    unsure_end: bool = False,
) -> OutcomeVerdict:
    """By its turns and the turn that follows in the same agent session. `unsure_end`: that one may go on with it."""
    marks = _marks(turns)
    if turns[0].prompt is not None and turns[0].prompt.asks_to_revert:
        marks = marks.replace(mark.REVERT, mark.CHANGE)  # here taking back is the work that was asked for
    course = _Course(turns, intent, following, marks, last_real(turns), unsure_end)
    evidence_for, evidence_against = _speaks_for(course), _speaks_against(course)
    chance = model.chance((each.what for each in (*evidence_for, *evidence_against)), silent=following is None)
    shown = {piece.what for piece in (*evidence_for, *evidence_against)}
    evident = _evident(course, shown)
    if evident is not None:
        least = SUREST_CHANCE if shown >= {STATED_FAILURE, CHECK_FAILS} or shown & _NEVER else EVIDENT_CHANCE
        sure = max(least, chance if evident else round(1 - chance, 3))
        return OutcomeVerdict(evident, sure, evidence_for, evidence_against, forced=evident, evident=True)
    forced = chance > 0.5
    said = OUTCOME_BOUNDS.value(chance, forced=forced)
    confirming = _OF_ITSELF if unsure_end or mark.CHANGE in turns[0].work.marks else _CONFIRMS
    # After a clear or an end another prompt tells no more than silence.
    apart = following is None or following.opening in ("clear", "end") or unsure_end
    unconfirmed = apart and confirming.isdisjoint(each.what for each in evidence_for)
    answer = course.last.response
    untried = answer is not None and answer.tells_failure == "is untried"
    if said and (unconfirmed or untried or not _CONTRADICTS.isdisjoint(each.what for each in evidence_against)):
        said = None
    changed = {REFUSED} if mark.CHANGE in marks else set()  # of what came after the change nothing more was done
    quiet = shown & (_IN_SILENCE | changed)
    if said is False and quiet and (_PROVE_NOTHING | changed).issuperset(each.what for each in evidence_against):
        said = None
    why: UndecidedReason = "balanced" if evidence_against else "unchecked"
    undecided = None if said is not None else why if course.last.response is not None else "unseen"
    sure = chance if forced else round(1 - chance, 3)
    return OutcomeVerdict(said, sure, evidence_for, evidence_against, undecided=undecided, forced=forced)


def last_real(turns: Sequence[Turn]) -> Turn:
    return [*turns[-1:], *(turn for turn in turns if not _commands_only(turn))][-1]


def _evident(course: _Course, shown: Set[str]) -> bool | None:
    """What an ending decides by itself, in the order of scoring.md; None where none does."""
    if shown & (_NEVER | {STATED_FAILURE}):
        return False
    words = [turn for turn in (course.last, course.following) if turn is not None]
    heard = UNANSWERED not in shown
    if heard and any(not _works_on(turn, course) for turn in accepting(course.turns, course.following)):
        return True
    if NOT_WORKING in shown and any(_plainly_fails(turn) and not _works_on(turn, course) for turn in words):
        return False
    if not _CONTRADICTS.isdisjoint(shown):
        return None
    named = CHECKED in shown and any(turn.prompt is not None and names_a_check(turn.prompt) for turn in course.turns)
    return True if COMMITTED in shown or named else None


def _works_on(turn: Turn, course: _Course) -> bool:
    """Whether something was changed after what this turn of the course says."""
    return turn is not course.following and mark.CHANGE in turn.work.marks


def _plainly_fails(turn: Turn) -> bool:
    """Whether a prompt says of this work that it does not work; a phrase alone only in a few words, and no question."""
    prompt = turn.prompt
    if prompt is None or not prompt.reports_failure:
        return False
    return prompt.shows("says that it fails") or not prompt.shows(*_SPEAKS_OF_MORE)


def names_a_check(prompt: PromptReading) -> bool:
    return bool(prompt.checks) or prompt.shows("phrase:check_asked", "phrase:check_wanted", "cue:test", "cue:check")


def _commands_only(turn: Turn) -> bool:
    """Whether it is a command that nothing came of, or one that only sets something."""
    if turn.prompt is None or turn.prompt.navigational != "command":
        return False
    return turn.prompt.shows("sets up the session") or (turn.response is None and not turn.work.tool_calls)


def _marks(turns: Sequence[Turn]) -> str:
    """The course of all turns; what was taken back counts where it is half of the files changed by then, or more."""
    marks: list[str] = []
    changed: dict[int, Parts] = {}
    for turn in turns:
        changed |= {file.digest: file.parts for file in turn.work.files if file.edits}
        taken, files = turn.work.reverted, list(changed.values())[: mark.FILES_MAX]
        beside = bool(taken) and 2 * mark.covered(files, taken or ()) < max(len(files), 1)
        marks.append(turn.work.marks.replace(mark.REVERT, "") if beside else turn.work.marks)
    return "".join(marks)


def leading_against(verdict: OutcomeVerdict) -> str | None:
    """The piece of evidence against that weighs most; of equal ones the first. None where there is none."""
    pieces = [piece.what for piece in verdict.evidence_against if piece.what in SPEAKS_AGAINST]
    return min(pieces, key=lambda what: SHIPPED_OUTCOME.weights.get(what, 0), default=None)


def _speaks_for(course: _Course) -> tuple[Evidence, ...]:
    turns, following = course.turns, course.following
    last, last_change = course.last, course.marks.rfind(mark.CHANGE)
    changed, after = last_change >= 0, course.marks[last_change + 1 :]
    checked = mark.CHECK_OK in after and after.rfind(mark.CHECK_OK) > after.rfind(mark.CHECK_FAILED)
    nod, ship = (next(said(turns, following), None) for said in (accepting, shipping))
    response = last.response
    committed = mark.COMMIT in after or mark.PULL_REQUEST in after
    worked_on = response is None and mark.CHANGE in last.work.marks  # what came of it was not seen
    answered = last.answered and mark.INTERRUPTED not in last.work.marks[-2:]
    # Of what only asks, and changes nothing, the end of an answer tells what it found.
    works = changed or course.intent not in ASKING_INTENTS
    done = works and response is not None and response.reports_done and not response.breaks_off and not _waits(last)
    moved_on = following is not None and not course.unsure_end and complaint(following, turns) is None
    pieces = (
        (ACCEPTED, nod is not None, nod.position if nod else None),
        (CHECKED, changed and checked, last.position),
        (COMMITTED, committed and (changed or ships(turns[0])), last.position),
        (SHIPPED, ship is not None, ship.position if ship else None),
        (MOVED_ON, moved_on, following.position if following else None),
        (UNCHALLENGED, answered and not worked_on and course.intent in ASKING_INTENTS, last.response_position),
        (CHANGED, changed and answered, last.position),
        (REPORTED, done, last.response_position),
    )
    return tuple(Evidence(what, position) for what, holds, position in pieces if holds)


def _later(turns: Sequence[Turn], following: Turn | None) -> list[Turn]:
    """The last turn and the one that follows, less an opening: that one accepts nothing."""
    return [*turns[1:][-1:], *([following] if following is not None else [])]


def accepting(turns: Sequence[Turn], following: Turn | None) -> Iterator[Turn]:
    ahead = [*turns[:-1][-1:], *([turns[-1]] if following is not None else [])]
    pairs = zip(_later(turns, following), ahead, strict=True)
    return (turn for turn, before in pairs if accepts(turn, before) and not _aside(before, turns[0]))


def _aside(turn: Turn, first: Turn) -> bool:
    """Whether it only asks something beside the work, whose answer is what is thanked for."""
    if turn is first or turn.prompt is None or {mark.CHANGE, mark.CHECK_OK, mark.COMMIT} & {*turn.work.marks}:
        return False
    return turn.prompt.shows("only question") and turn.prompt.shows("question:wh", "question:how", "question:why")


def shipping(turns: Sequence[Turn], following: Turn | None) -> Iterator[Turn]:
    """The last prompt that does more than navigate goes first; short ones that follow ask for nothing new."""
    said = [turn for turn in turns[1:] if turn.prompt is not None and turn.prompt.navigational is None][-1:]
    return filter(ships, (*said, *_later(turns, following)))


def taking_over(turns: Sequence[Turn], following: Turn | None) -> Iterator[Turn]:
    later = _later(turns, following)
    return (turn for turn in later if turn.prompt is not None and turn.prompt.shows("takes it over"))


def ships(turn: Turn) -> bool:
    return turn.prompt is not None and turn.prompt.shows("asks to commit or merge")


def _speaks_against(course: _Course) -> tuple[Evidence, ...]:
    turns, last, marks = course.turns, course.last, course.marks
    # An interruption after which nothing was answered.
    cancelled = last.work.marks.rfind(mark.INTERRUPTED) > last.work.marks.rfind(mark.ANSWERED)
    # To ask for a commit or to accept needs no answer.
    answers_itself = last.prompt is not None and (last.prompt.accepts or ships(last))
    left_open = not (last.answered or last.work.tool_calls or answers_itself) and any(turn.answered for turn in turns)
    change_asked = course.intent is not None and course.intent not in ASKING_INTENTS
    answer, silent = last.response, course.following is None or course.unsure_end
    broke_off = silent and answer is not None and answer.breaks_off and mark.COMMIT not in last.work.marks
    # What only asks may be answered by telling what fails.
    told = answer is not None and answer.reports_failure and not answer.reports_done
    unsettled = told and course.intent not in ASKING_INTENTS
    failing, taken_over = _stated_failure(course), next(taking_over(turns, course.following), None)
    # A revert after a change, and no change after it.
    change, revert = marks.find(mark.CHANGE), marks.rfind(mark.REVERT)
    taken_back = 0 <= change < revert and marks.rfind(mark.CHANGE) < revert
    unchanged = mark.CHANGE not in marks and mark.COMMIT not in marks and _all_seen(turns) and not tells_of_work(turns)
    pieces = (
        (ENDED_ON_ERROR, marks.rfind(mark.API_ERROR) > marks.rfind(mark.ANSWERED), last.position),
        (CANCELLED_LOOPING, cancelled and last.work.repeats_before_stop >= LOOP_CALLS_MIN, last.position),
        (INTERRUPTED_LAST, cancelled, last.position),
        (CHECK_FAILS, mark.check_fails(marks), last.position),
        (REVERTED, taken_back or _undone(turns), last.position),
        (REFUSED, last.work.marks.rstrip(mark.ANSWERED).endswith(mark.REJECTED), last.position),
        (UNANSWERED, not any(turn.answered for turn in turns), None),
        (NO_CHANGE, change_asked and unchanged, None),
        (LAST_UNANSWERED, silent and left_open, last.position),
        (STATED_FAILURE, failing is not None, failing.response_position if failing else None),
        (OPEN_FAILURE, unsettled, last.response_position),
        (WAITS, silent and _waits(last), last.response_position),
        (BROKE_OFF, broke_off, last.response_position),
        (STILL_FAILING, _reports_failure(course), last.position),
        (TAKEN_OVER, taken_over is not None, taken_over.position if taken_over else None),
        (UNSURE_END, course.unsure_end, course.following.position if course.following else None),
    )
    found = [Evidence(what, position) for what, holds, position in pieces if holds]
    standing = _standing_complaint(course)
    return (*found, standing) if standing is not None else tuple(found)


def _stated_failure(course: _Course) -> Turn | None:
    """The turn whose answer is the last and says that it failed, where nothing after it says otherwise."""
    places = [place for place, turn in enumerate(course.turns) if turn.response is not None]
    turn, later = (course.turns[places[-1]], course.turns[places[-1] + 1 :]) if places else (None, ())
    if turn is None or turn.response is None or turn.response.tells_failure is None:
        return None
    spoken = [*later, *([course.following] if course.following else [])]
    if any(map(accepts, spoken)) or any(each.answered or mark.CHANGE in each.work.marks for each in later):
        return None
    if turn.response.tells_failure == "gives up":
        return turn
    if course.intent in ASKING_INTENTS and mark.CHANGE not in course.marks:
        return None  # that something fails may be just what was asked
    kind = turn.response.tells_failure
    return turn if kind == "fails" or (kind == "may fail" and mark.check_fails(course.marks)) else None


def _all_seen(turns: Sequence[Turn]) -> bool:
    """Whether each turn was observed, and no call of it may have done what was not seen."""
    hidden = any(turn.work.mutating_calls or turn.work.unknown_calls for turn in turns)
    return not hidden and all(turn.work.observed for turn in turns if not _commands_only(turn))


def tells_of_work(turns: Sequence[Turn]) -> bool:
    return any(turn.response is not None and (turn.response.reports_done or turn.response.closes) for turn in turns)


def _waits(turn: Turn) -> bool:
    """Whether its answer ends with a question about the work; a general offer of more help is none."""
    return turn.response is not None and turn.response.asks and not turn.response.invites


def _reports_failure(course: _Course) -> bool:
    """Whether the last of several prompts says that something fails, and nothing seen or told since says otherwise."""
    prompt, marks = course.last.prompt, course.last.work.marks
    if prompt is None or prompt.navigational == EXPANDED or course.last is course.turns[0]:
        return False
    hidden = _says_done(course.last) and not _all_seen([course.last])
    if hidden or (mark.CHECK_OK in marks and not mark.check_fails(marks)):
        return False
    reports = prompt.shows("has report") and prompt.shows("word:still", "pastes a failure", "no own words")
    return reports or _fails(prompt)


def _standing_complaint(course: _Course) -> Evidence | None:
    """A correction, a repetition or a report that it does not work, after which nothing more was done about it."""
    turns, following = course.turns, course.following
    if following is not None and (said := complaint(following, turns)) is not None:
        return Evidence(said, following.position)
    if course.intent in ASKING_INTENTS or not any(turn.work.observed for turn in turns):
        return None  # an answer may be all that was wanted, and unseen work may have been done
    done = {mark.CHANGE, mark.CHECK_OK, mark.COMMIT, mark.REVERT}
    for place in range(len(turns) - 1, 0, -1):
        turn = turns[place]
        if accepts(turn) or not done.isdisjoint(turn.work.marks):
            return None
        if (what := complaint(turn, turns[:place])) is not None:
            return None if what == NOT_WORKING and _says_done(turn) else Evidence(what, turn.position)
    return None


def _says_done(turn: Turn) -> bool:
    answer = turn.response
    return answer is not None and answer.reports_done and not answer.reports_failure


def _fails(prompt: PromptReading) -> bool:
    """Whether it says that something does not work, or pastes a failure without a word."""
    pasted = prompt.shows("pastes a failure") and prompt.shows("no own words", "bare paste")
    return pasted or prompt.reports_failure


def complaint(turn: Turn, earlier: Sequence[Turn]) -> str | None:
    """What a prompt says against the work of the turns before it."""
    prompt = turn.prompt
    if prompt is None or prompt.navigational == EXPANDED:
        return None
    answer = earlier[-1].response if earlier else None
    answers = prompt.navigational == "short" and (answer is None or answer.asks)  # "no" to a question is no complaint
    if _fails(prompt) and not answers:
        return NOT_WORKING
    if prompt.corrects:
        return CORRECTED
    asked = (each.prompt for each in earlier if each.answered and each.prompt is not None)
    again = prompt.navigational is None and any(asks_the_same(each, prompt) for each in asked)
    return CORRECTED if again else None


def accepts(turn: Turn, before: Turn | None = None) -> bool:
    """Thanks, praise or a nod. "Do it" and "continue" are none, nor is a nod after a question or an interruption."""
    if turn.prompt is None or not turn.prompt.accepts:
        return False
    if turn.prompt.approves:
        return True
    if turn.prompt.shows("goes ahead") or mark.CHANGE in turn.work.marks:
        return False  # it set work going
    stopped = before is not None and before.work.marks.rfind(mark.INTERRUPTED) > before.work.marks.rfind(mark.ANSWERED)
    return before is None or not (_waits(before) or stopped)


def _undone(turns: Sequence[Turn]) -> bool:
    """A short last prompt that asks to take the work back; a longer one may ask for a part of it only."""
    prompt, marks = turns[-1].prompt, turns[-1].work.marks
    if len(turns) < 2 or prompt is None or not prompt.asks_to_revert or prompt.shows("words over 10"):
        return False
    # Where something else was changed after it was taken back, it was not for nothing.
    return not 0 <= marks.find(mark.REVERT) < marks.rfind(mark.CHANGE)
