"""The boundary judge: does a prompt start another topic than the sub-session before it (scoring.md, section 1)?

A turn that only navigates, accepts, corrects or answers an offer never shifts. Between two prompts the judge weighs what the new one
says (it names a new task; it points back), the words it shares with the sub-session, and the files its work shares. Idle time is no boundary
and is not looked at. Weights are whole thousandths of a logit, written by hand and tuned on labelled sessions.
"""

import math
from collections.abc import Sequence

from aggregates.features import FEATURES
from aggregates.turn import CHANGE, COMMIT, Turn
from aggregates.verdicts import BoundaryVerdict, Evidence

_EARLIER_MAX = 6
"""How many turns back the topic of the open sub-session is looked for."""


def topic_shift(arc: Sequence[Turn], turn: Turn) -> BoundaryVerdict:
    """Judge whether `turn` leaves the topic of the open sub-session `arc`, which has a turn."""
    why_not = _stays(arc, turn)
    if why_not is not None:
        return BoundaryVerdict(False, 0.95, (Evidence(why_not, turn.position),))
    signals = boundary_signals(arc, turn)
    logit = BIAS + sum(WEIGHTS[name] for name in signals)
    share = 1 / (1 + math.exp(-logit / 1000))
    evidence = tuple(Evidence(name, turn.position) for name in signals if WEIGHTS[name])
    return BoundaryVerdict(logit > 0, round(max(share, 1 - share), 3), evidence)


def continues(arc: Sequence[Turn], turn: Turn) -> bool:
    """Whether `turn` goes on with the goal of `arc`: after a commit, a turn that neither points back nor shares its ground does not."""
    if _stays(arc, turn) is not None:
        return True
    signals = boundary_signals(arc, turn)
    return BIAS + AFTER_COMMIT + sum(WEIGHTS[name] for name in signals) <= 0


BIAS = -1500
AFTER_COMMIT = 500
WEIGHTS: dict[str, int] = {
    "names a new task": 1200,
    "hands over a plan": 1500,
    "points back": -900,
    "asks about what was said": -600,
    "shares no word with what came before": 900,
    "shares several words with what came before": -800,
    "long and specific": 700,
    "short": -800,
    "works on other files": 900,
    "works on the same files": -900,
    "the work before was committed": 1000,
    "the work before was accepted": 500,
}

_NUMBER = {name: number for number, name in enumerate(FEATURES)}


def _stays(arc: Sequence[Turn], turn: Turn) -> str | None:
    """Why a turn cannot shift, whatever it shares."""
    prompt = turn.prompt
    if prompt is None:
        return "the prompt was not captured"
    if prompt.navigational is not None:
        return "only navigates"
    if prompt.corrects or prompt.reports_failure:
        return "corrects what came before"
    if all(each.prompt is None or each.prompt.navigational is not None for each in arc):
        return "no topic before it"
    return None


def boundary_signals(arc: Sequence[Turn], turn: Turn) -> list[str]:
    """The names of the signals between the open sub-session and a turn, in a fixed order."""
    prompt = turn.prompt
    if prompt is None:
        return []
    shows = set(prompt.features)
    before = arc[-1]
    topic = set(prompt.topic)
    known: set[int] = set()
    for each in arc[-_EARLIER_MAX:]:
        known.update(each.prompt.topic if each.prompt else ())
        known.update(each.response.topic if each.response else ())
    shared = len(topic & known)
    mine, theirs = turn.work.touched_files, frozenset().union(*(t.work.touched_files for t in arc))
    checks = {
        "names a new task": _NUMBER["phrase:shifting"] in shows,
        "hands over a plan": _NUMBER["phrase:plan_given"] in shows and _NUMBER["heading"] in shows,
        "points back": _NUMBER["phrase:continuing"] in shows,
        "asks about what was said": _NUMBER["ends in ?"] in shows and _NUMBER["words over 25"] not in shows,
        "shares no word with what came before": bool(topic) and not shared,
        "shares several words with what came before": shared >= 3,
        "long and specific": _NUMBER["words over 25"] in shows,
        "short": _NUMBER["words over 6"] not in shows,
        "works on other files": bool(mine) and bool(theirs) and not mine & theirs,
        "works on the same files": bool(mine & theirs),
        "the work before was committed": COMMIT in before.work.marks
        and CHANGE in "".join(t.work.marks for t in arc),
        "the work before was accepted": prompt.shows("phrase:accepting") or prompt.shows("filler first"),
    }
    return [name for name, holds in checks.items() if holds]
