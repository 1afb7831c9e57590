"""Letters, tiers and the arithmetic of scores (scoring.md, 3, 5 and 8). A score is never rounded here."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from aggregates.event import Scope
from aggregates.people.directory import Directory, TeamMembership
from aggregates.reading.verdicts import BOOLEANS, BooleanName, Chances, expected_score, holds_said, score_steps
from aggregates.times import US_PER_DAY, Window

_LETTERS = ("A+", "A", "A-", "B+", "B", "B-", "C+", "C", "D", "F")
RUBRIC_LADDER: tuple[str, ...] = _LETTERS[::-1]
_RUBRIC_BOUNDS = (95, 90, 85, 80, 70, 65, 60, 50, 30)
_SVC_BOUNDS = (95, 85, 80, 70, 60, 55, 50, 40, 20)
_PERSONAL_TIERS = ("elite", "leading", "scaling", "building", "starting")
_PERSONAL_BOUNDS = (90, 75, 50, 25)
_SKILL_TIERS = ("Elite", "Expert", "Proficient", "Practitioner", "Novice")
_SKILL_BOUNDS = (90, 70, 50, 30)


DECIDED_MIN = 10  # of fewer decided sub-sessions there is no letter and no tier


def _step(names: Sequence[str], bounds: Sequence[int], value: float | None) -> str:
    """The name at the first bound that a value of 0-100 reaches; the last name below all of them."""
    return names[sum((value or 0.0) < bound for bound in bounds)]


@lru_cache(maxsize=256)  # of one prompt each letter is sought for some fifty scores, of which there are few
def rubric_letter(score: float) -> str:
    return _step(_LETTERS, _RUBRIC_BOUNDS, score)


def svc_letter(decided_rate: float | None, decided_count: int) -> str:
    return _step(_LETTERS, _SVC_BOUNDS, decided_rate) if decided_count >= DECIDED_MIN else "N/A"


def personal_tier(decided_rate: float | None, decided_count: int) -> str:
    return _step(_PERSONAL_TIERS, _PERSONAL_BOUNDS, decided_rate) if decided_count >= DECIDED_MIN else "unranked"


def skill_tier(skill_index: float | None) -> str:
    return _step(_SKILL_TIERS, _SKILL_BOUNDS, skill_index)


def score_of(hits: int, total: int) -> float | None:
    """0-100; None of nothing."""
    return 100.0 * hits / total if total else None


# How sure a figure is.

CONFIDENCE = 0.95
_Z = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Interval(msgspec.Struct, frozen=True):
    """What else the true value may well be, in the unit of the figure."""

    low: float
    high: float
    confidence: float = CONFIDENCE


class Tally(msgspec.Struct, frozen=True):
    """Qualifying sub-sessions, by how they came out."""

    total: int
    crushed: int
    undecided: int
    possible: int  # of the undecided ones, those that are no rework: they may prove to be crushed

    @property
    def decided(self) -> int:
        return self.total - self.undecided

    def interval(self, unit: float = 100.0) -> Interval | None:
        """Of the share that is crushed; an undecided one may be either. None without any."""
        if not self.total:
            return None
        low, high = wilson(self.crushed, self.total)[0], wilson(self.crushed + self.possible, self.total)[1]
        return Interval(low * unit, high * unit)


def wilson(hits: float, total: int, z: float = _Z) -> tuple[float, float]:
    """Wilson's score interval of a share, within 0-1 and around it (Wilson 1927). `total` is above 0."""
    share, spread = hits / total, z * z / total
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    low, high = (middle - half) / (1 + spread), (middle + half) / (1 + spread)
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def mean_interval(scores: Sequence[float], variances: Sequence[float]) -> Interval | None:
    """Student's interval of the mean of scores 0-100, each of which has a variance by itself; None below two."""
    count = len(scores)
    if count < 2:
        return None
    mean = math.fsum(scores) / count
    between = math.fsum((score - mean) ** 2 for score in scores) / (count - 1)
    half = student(count - 1) * math.sqrt((between + math.fsum(variances) / count) / count)
    return Interval(max(0.0, mean - half), min(100.0, mean + half))


_STUDENT = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)


def student(freedom: int) -> float:
    """The .975 quantile of Student's distribution; beyond the table by its expansion around the normal one."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)


def _shares(hits: Mapping[BooleanName, float], applied: Mapping[BooleanName, int]) -> dict[BooleanName, float]:
    """Of expected hits, 0-1, in rubric order; of those that applied."""
    return {name: hits.get(name, 0) / applied[name] for name in BOOLEANS if applied.get(name, 0)}


def per_boolean(hits: Mapping[BooleanName, float], applied: Mapping[BooleanName, int]) -> dict[BooleanName, float]:
    return dict.fromkeys(BOOLEANS, 0.0) | _shares(hits, applied)


def skill_index(hits: Mapping[BooleanName, float], applied: Mapping[BooleanName, int]) -> float | None:
    """100 x the mean of the shares of the booleans that applied; None with none."""
    shares = _shares(hits, applied)
    return 100.0 * math.fsum(shares.values()) / len(shares) if shares else None


def worst_pillar(hits: Mapping[BooleanName, float], applied: Mapping[BooleanName, int]) -> str:
    """The applicable boolean with the lowest share; rubric order breaks ties; empty with no data."""
    shares = _shares(hits, applied)
    return min(shares, key=shares.__getitem__, default="")


def median(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.median(found) if found else 0.0


# What the chances of a prompt, or of a sub-session, make of its score (scoring.md, 3, Estimates).

SCORE_CONFIDENCE = 0.8
LETTERS_SPANNED_MAX = 2  # of the five without signs; of an interval over more of them no letter is told


class Estimate(msgspec.Struct, frozen=True, array_like=True):
    """A score as it is expected, 0-100, and between which ones it lies in `SCORE_CONFIDENCE` of the cases."""

    score: float
    low: float
    high: float

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.high, SCORE_CONFIDENCE)

    @property
    def letter(self) -> str:
        return rubric_letter(self.score)

    @property
    def told(self) -> str | None:
        """The letter as a person is told it: `B`, or `between C and B`; None where it may be nearly any."""
        low, high = rubric_letter(self.low)[0], rubric_letter(self.high)[0]
        if "FDCBA".index(high) - "FDCBA".index(low) >= LETTERS_SPANNED_MAX:
            return None
        return low if low == high else f"between {low} and {high}"


class Spread(NamedTuple):
    """How far a score may lie from what is expected, and how likely each letter is, in the order of the ladder."""

    estimate: Estimate
    variance: float
    letters: tuple[float, ...]


def estimate(chances: Chances) -> Estimate | None:
    """None of no chances."""
    return spread(chances).estimate if chances else None


@lru_cache(maxsize=4_096)
def spread(chances: Chances) -> Spread:
    said = holds_said(chances)
    drawn = score_steps(chances, drawn=said)
    mean = math.fsum([points * chance for points, chance in drawn.items()])
    variance = math.fsum([chance * (points - mean) ** 2 for points, chance in drawn.items()])
    letters = dict.fromkeys(RUBRIC_LADDER, 0.0)
    for points, chance in (score_steps(chances) if said else drawn).items():
        letters[rubric_letter(points)] += chance
    return Spread(Estimate(expected_score(chances) or 0.0, *_shortest(drawn)), variance, tuple(letters.values()))


_HELD_MIN = SCORE_CONFIDENCE - 0.5e-6  # chances and scores are compared to six digits
_SCORES_APART = 1e-6


def _shortest(drawn: Mapping[float, float]) -> tuple[float, float]:
    """The shortest interval that holds so much of the chance, of equal ones the lower."""
    points = sorted(drawn)
    below = [0.0, *accumulate([drawn[each] for each in points])]
    least, found, last = math.inf, (0.0, 0.0), 0
    for low, start in zip(points, below, strict=False):
        while last < len(points) and below[last + 1] - start <= _HELD_MIN:
            last += 1
        if last == len(points):
            break
        if points[last] - low < least - _SCORES_APART:
            least, found = points[last] - low, (low, points[last])
    return found


def whole_counts(expected: Sequence[float], total: int) -> list[int]:
    """Whole numbers that add up to `total`, by largest remainders; of equal ones the earlier gets more."""
    counts = [math.floor(round(each, 6)) for each in expected]
    order = sorted(range(len(counts)), key=lambda place: (round(counts[place] - expected[place], 6), place))
    return [count + (place in order[: total - sum(counts)]) for place, count in enumerate(counts)]


def score_told(found: Estimate) -> str:
    graded = f": {found.told}" if found.told else "; too wide for a letter"
    upto = f" to {found.high:.0f}" if found.high > found.low else ""
    return f"About {found.score:.0f} of 100, likely {found.low:.0f}{upto}{graded}."


# A completion rate beside those of the same teams, or one's own past. What leaves names nobody. In a small group, or
# from ranges that differ by little, a peer's number may still be worked out: docs/security.md shows how.

PEERS_MIN = 4
PEER_RANGES_MAX = 20  # different ranges that one person may compare over on a day of UTC
REQUIRED_DAYS = 7
Basis = Literal["peers", "selfHistory", "insufficient"]


class Distribution(msgspec.Struct, frozen=True, rename="camel"):
    """The completion rates, 0-100, of everybody in the cohort who has one, the caller among them."""

    peer_count: int
    cohort_mean: float
    p25: float
    p50: float
    p75: float


class Baseline(msgspec.Struct, frozen=True):
    """The caller's own daily completion rates, 0-100."""

    days: int
    typical: float
    latest: float
    delta: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a caller is shown; of distribution, percentile and baseline the unused are None."""

    my_score: float | None  # None without any scored sub-session
    interval: Interval | None = None  # of `my_score`; never of a cohort's figure
    left_out: int = 0  # own sub-sessions whose boundary a person drew: they are compared with nobody's
    basis: Basis
    distribution: Distribution | None = None
    my_percentile: float | None = None  # the share of scored peers, 0-100, whose rate is at or below the caller's
    required_days: int = REQUIRED_DAYS
    baseline: Baseline | None = None
    metric: str = "completionRate"
    unit: str = "percent"
    definition: str = "crushed_substantive_sessions / substantive_sessions"


def cohort_of(directory: Directory, scope: Scope) -> list[UUID]:
    """Who shares an active team with the developer now and belongs to the organization now; without the developer."""
    teams = {team.team_id for team in directory.teams_of(scope)}
    stays = (stay for stay in directory.all(TeamMembership) if stay.active and stay.team_id in teams)
    found = {stay.developer_id for stay in stays} - {scope.developer_id}
    return sorted(each for each in found if directory.membership(Scope(scope.organization_id, each)) is not None)


class PeerRanges:
    """The ranges over which people have compared themselves today. The difference of two can be one peer's work."""

    def __init__(self) -> None:
        self._day = -1
        self._asked: dict[UUID, set[Window]] = {}

    def admits(self, developer_id: UUID, window: Window, now_us: int) -> bool:
        """Whether one more range may be asked for; one that was asked for today always may."""
        if now_us // US_PER_DAY != self._day:
            self._day, self._asked = now_us // US_PER_DAY, {}
        asked = self._asked.setdefault(developer_id, set())
        if window not in asked and len(asked) == PEER_RANGES_MAX:
            return False
        asked.add(window)
        return True


def compare(
    mine: float | None,
    peers: Sequence[float],
    daily: Sequence[float],
    interval: Interval | None = None,
    left_out: int = 0,
) -> Comparison:
    """The caller's rate against those of the scored peers, else against the own days, oldest first."""
    own = Comparison(my_score=mine, interval=interval, left_out=left_out, basis="insufficient")
    if len(peers) >= PEERS_MIN:
        rates = sorted(peers if mine is None else (*peers, mine))
        p25, p50, p75 = statistics.quantiles(rates, n=4, method="inclusive")
        distribution = Distribution(len(peers), sum(rates) / len(rates), p25, p50, p75)
        below = None if mine is None else 100.0 * sum(rate <= mine for rate in peers) / len(peers)
        return replace(own, basis="peers", distribution=distribution, my_percentile=below)
    if len(daily) >= REQUIRED_DAYS:
        typical = median(daily)
        baseline = Baseline(len(daily), typical, latest=daily[-1], delta=daily[-1] - typical)
        return replace(own, basis="selfHistory", baseline=baseline)
    return own
