"""Letters, tiers and the arithmetic of standing scores (scoring.md, sections 3 and 5).

Pure functions over counts and 0-100 scores; bounds are half-open, the last one closed. A score is never rounded here.
"""

from collections.abc import Iterable, Mapping, Sequence

from aggregates.verdicts import BOOLEANS, BooleanName

_RUBRIC_LETTERS: tuple[tuple[float, str], ...] = (
    (95.0, "A+"),
    (90.0, "A"),
    (85.0, "A-"),
    (80.0, "B+"),
    (70.0, "B"),
    (65.0, "B-"),
    (60.0, "C+"),
    (50.0, "C"),
    (30.0, "D"),
)
RUBRIC_LADDER: tuple[str, ...] = ("F", *(letter for _, letter in reversed(_RUBRIC_LETTERS)))
"""The letters of a rubric score, lowest first."""
_SVC_LETTERS: tuple[tuple[float, str], ...] = (
    (95.0, "A+"),
    (85.0, "A"),
    (80.0, "A-"),
    (70.0, "B+"),
    (60.0, "B"),
    (55.0, "B-"),
    (50.0, "C+"),
    (40.0, "C"),
    (20.0, "D"),
)
_PERSONAL_TIERS: tuple[tuple[float, str], ...] = (
    (90.0, "elite"),
    (75.0, "leading"),
    (50.0, "scaling"),
    (25.0, "building"),
)
_SKILL_TIERS: tuple[tuple[float, str], ...] = (
    (90.0, "Elite"),
    (70.0, "Expert"),
    (50.0, "Proficient"),
    (30.0, "Practitioner"),
)


def _step(steps: tuple[tuple[float, str], ...], value: float, below: str) -> str:
    return next((name for bound, name in steps if value >= bound), below)


def rubric_letter(score: float) -> str:
    """The letter of a prompt's or sub-session's rubric score, 0-100."""
    return _step(_RUBRIC_LETTERS, score, "F")


def svc_letter(score: float, total_count: int) -> str:
    """The letter of a completion rate, 0-100; `N/A` without any qualifying sub-session."""
    return _step(_SVC_LETTERS, score, "F") if total_count else "N/A"


def personal_tier(score: float, total_count: int) -> str:
    """The tier of a completion rate, 0-100; `unranked` without any qualifying sub-session."""
    return _step(_PERSONAL_TIERS, score, "starting") if total_count else "unranked"


def skill_tier(skill_index: float | None) -> str:
    """The tier of a skill index, 0-100; Novice without one."""
    return "Novice" if skill_index is None else _step(_SKILL_TIERS, skill_index, "Novice")


def score_of(earned: int, applicable: int) -> float | None:
    """100 x earned / applicable; None where nothing applies."""
    return 100.0 * earned / applicable if applicable else None


def svc_score(crushed: int, qualifying: int) -> float:
    """100 x crushed / qualifying; 0 when there is none."""
    return 100.0 * crushed / qualifying if qualifying else 0.0


def per_boolean(hits: Mapping[BooleanName, int], applied: Mapping[BooleanName, int]) -> dict[BooleanName, float]:
    """The share of standing hits of each boolean, 0-1, in rubric order; 0 where it never applied."""
    return {name: hits.get(name, 0) / applied[name] if applied.get(name, 0) else 0.0 for name in BOOLEANS}


def skill_index(hits: Mapping[BooleanName, int], applied: Mapping[BooleanName, int]) -> float | None:
    """100 x the mean of the shares of the booleans that applied; None with none."""
    shares = [hits.get(name, 0) / applied[name] for name in BOOLEANS if applied.get(name, 0)]
    return 100.0 * sum(shares) / len(shares) if shares else None


def worst_pillar(hits: Mapping[BooleanName, int], applied: Mapping[BooleanName, int]) -> str:
    """The applicable boolean with the lowest share; rubric order breaks ties; empty with no data."""
    shares = [(hits.get(name, 0) / applied[name], name) for name in BOOLEANS if applied.get(name, 0)]
    return min(shares, key=lambda pair: pair[0])[1] if shares else ""


def apg(total: float, prompts: int) -> float | None:
    """Average prompt grade: the mean of standing scores, 0-100, from their sum; None without any."""
    return total / prompts if prompts else None


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the two middle ones; 0 of nothing."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value at a share 0-1 of sorted values, by linear interpolation; 0 of nothing."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
