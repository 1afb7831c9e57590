"""The arithmetic of the insights payload (scoring.md, section 10): of a sub-session, and of when things happened."""

from collections import Counter
from collections.abc import Iterable, Sequence

from aggregates.turn import API_ERROR, CHECK_FAILED, CHECK_OK, INTERRUPTED, Turn


def corrected(turns: Sequence[Turn]) -> bool:
    """Whether a later prompt of a sub-session corrects what was done, or says that it does not work."""
    return any(t.prompt is not None and (t.prompt.corrects or t.prompt.reports_failure) for t in turns[1:])


def had_friction(turns: Sequence[Turn]) -> bool:
    """An API error, a failed last check, a correction or an interruption; what was not observed does not count."""
    marks = "".join(turn.work.marks for turn in turns)
    check_fails = marks.rfind(CHECK_FAILED) > marks.rfind(CHECK_OK)
    return API_ERROR in marks or INTERRUPTED in marks or check_fails or corrected(turns)


def times_at_once(spans: Iterable[tuple[str, int, int]]) -> int:
    """How often a second agent session became active while one was: (session, start, end) of each turn."""
    edges = sorted(
        edge
        for session, start_us, end_us in spans
        if start_us < end_us
        for edge in ((start_us, 1, session), (end_us, 0, session))
    )
    active: Counter[str] = Counter()
    times = 0
    for _, begins, session in edges:
        before = len(active)
        active[session] += 1 if begins else -1
        if not active[session]:
            del active[session]
        times += before == 1 and len(active) == 2
    return times
