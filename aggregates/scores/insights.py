"""Abstract labels of work: which kind, what it was about, how it was gone about.

Every word of them stands here or in `labels.toml`. A text model that writes about a day gets nothing but these, so
whatever a prompt held, no word of it can leave.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pkgutil import get_data

import msgspec

from aggregates.reading.verdicts import Intent
from aggregates.turns.turn import API_ERROR, CHECK_FAILED, CHECK_OK, COMMIT, INTERRUPTED, Turn

TEXT_CHARACTERS_MAX = 4_000  # of one prompt: what it is about is said early
TOPICS_MAX = 2
LABELS_MAX = 8
MEMBERS_MAX = 20


class _Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kinds: dict[Intent, str]
    topics: dict[str, str]


_LABELS = msgspec.toml.decode(get_data(__name__, "labels.toml") or b"", type=_Labels)
KINDS = _LABELS.kinds
TOPICS = {topic: frozenset(words.split()) for topic, words in _LABELS.topics.items()}
CHECKED, COMMITTED = "with checks run", "with a commit"
_WORD = re.compile(r"[a-z]+|[가-힣]+")


class WorkLabels(msgspec.Struct, frozen=True):
    """The labels of some members, in an order that means nothing."""

    members: tuple[tuple[str, ...], ...]
    clipped: bool  # whether the least busy members, or rarest labels, were left out


NO_WORK = WorkLabels((), clipped=False)


def label(intent: Intent, text: str | None, marks: str) -> str:
    """What one sub-session was: of its intent, of the prompt that says what is wanted, of the marks of its work."""
    about = topics(text or "")
    how = [said for mark, said in ((CHECK_OK, CHECKED), (COMMIT, COMMITTED)) if mark in marks]
    return " ".join([KINDS[intent], *(["in", " and ".join(about)] if about else []), *how])


def topics(text: str) -> list[str]:
    """What a text is about, the most often named first."""
    words = Counter(_WORD.findall(text[:TEXT_CHARACTERS_MAX].lower()))
    weights = {topic: sum(words[word] for word in known) for topic, known in TOPICS.items()}
    found = sorted((topic for topic, weight in weights.items() if weight), key=lambda topic: -weights[topic])
    return found[:TOPICS_MAX]


def work_labels(of_members: Iterable[Iterable[str]]) -> WorkLabels:
    """Each label once, so that nothing tells how much there was; the busiest, where there are too many."""
    busy = sorted((Counter(each) for each in of_members), key=lambda each: -each.total())
    counted = [each for each in busy if each]
    kept = [tuple(sorted(name for name, _ in each.most_common(LABELS_MAX))) for each in counted[:MEMBERS_MAX]]
    clipped = len(counted) > MEMBERS_MAX or any(len(each) > LABELS_MAX for each in counted)
    return WorkLabels(tuple(sorted(kept)), clipped)


# The arithmetic of the insights payload (scoring.md, section 10): of a sub-session, and of when things happened.


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
    lasting = [span for span in spans if span[1] < span[2]]
    edges = sorted([(start, 1, name) for name, start, _ in lasting] + [(end, 0, name) for name, _, end in lasting])
    active: Counter[str] = Counter()
    times = 0
    for _, begins, session in edges:
        before = len(active)
        active[session] += 1 if begins else -1
        active = +active
        times += before == 1 and len(active) == 2
    return times
