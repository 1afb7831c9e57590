"""What held a developer's requests up (scoring.md, section 7): six detectors over plain request values.

A detector that lacks what it looks at does not fire. A burst of failures is one event: an outage where the rules for
one are met, else an error burst. Everything else fires for each request that shows it, also within a burst; only the
time is never counted twice.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from pkgutil import get_data
from typing import Literal, get_args

import msgspec

from aggregates.scores.grades import median
from aggregates.times import US_PER_MINUTE, US_PER_SECOND, bursts

WAIT_MAX_US = 30 * US_PER_MINUTE  # where nothing follows for longer, nobody was waiting any more
Wait = tuple[int, int]  # from the first microsecond up to, but without, the second


def wait_after(failed_us: int, successes: Sequence[int], failures: Sequence[int]) -> Wait:
    """From a failure to the next success; where that is too far off, to the next failure; else no time at all."""
    for times in (successes, failures):
        index = bisect_right(times, failed_us)
        if index < len(times) and times[index] - failed_us <= WAIT_MAX_US:
            return failed_us, times[index]
    return failed_us, failed_us


def merged(intervals: Iterable[Wait]) -> list[Wait]:
    """The same moments in order, as few intervals as possible, none of them empty."""
    joined: list[Wait] = []
    for start, end in sorted(each for each in intervals if each[0] < each[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


class Claims:
    def __init__(self) -> None:
        self._taken: list[Wait] = []

    def claim(self, wanted: Iterable[Wait]) -> tuple[Wait, ...]:
        """What of these moments nobody took before."""
        free: list[Wait] = []
        for start, end in merged(wanted):
            first = bisect_left(self._taken, start, key=lambda taken: taken[1])
            after = bisect_right(self._taken, end, key=lambda taken: taken[0])
            met = self._taken[first:after]
            self._taken[first:after] = merged([*met, (start, end)])
            begins = [start, *(max(start, taken_end) for _, taken_end in met)]
            ends = [*(min(taken_start, end) for taken_start, _ in met), end]
            free += [gap for gap in zip(begins, ends, strict=True) if gap[0] < gap[1]]
        return tuple(free)


Detector = Literal["service_outage", "rate_limit", "retry_after", "error_burst", "request_gap", "latency_spike"]
# in the order in which they lay claim to time
_PRECEDENCE: Mapping[Detector, int] = {detector: place for place, detector in enumerate(get_args(Detector))}
_US_PER_MS = 1000
RATE_LIMITED = 429
SERVER_ERRORS = (500, 599)  # the status codes of an outage, both included; 529 says overloaded
BURST_FAILURES_MIN = 3
BURST_US = 2 * US_PER_MINUTE
OUTAGE_ALONE_US = 5 * US_PER_MINUTE  # an outage that only one developer saw has lasted longer
GAP_MIN_US = 2 * US_PER_MINUTE
GAP_MAX_US = 30 * US_PER_MINUTE
SPIKE_FACTOR = 3
SPIKE_MIN_MS = 10_000
BASELINE_REQUESTS_MAX = 100
BASELINE_REQUESTS_MIN = 20
BASELINE_US = 28 * 24 * 60 * US_PER_MINUTE


class ApiRequest(msgspec.Struct, frozen=True):
    """One model request as its agent reported it. None was not observed."""

    at_us: int
    record_id: str
    session_id: str | None
    turn: str | None
    model: str | None
    failed: bool
    status_code: int | None
    retry_after_ms: int | None
    duration_ms: int | None
    output_tokens: int | None = None

    @property
    def key(self) -> tuple[int, str]:
        return self.at_us, self.record_id

    @property
    def is_server_error(self) -> bool:
        return self.failed and SERVER_ERRORS[0] <= (self.status_code or 0) <= SERVER_ERRORS[1]

    @property
    def asked(self) -> str:
        return self.model or "an unnamed model"


class Timing(msgspec.Struct, frozen=True):
    at_us: int
    model: str
    duration_ms: int
    output_tokens: int | None = None


class ThrottleEvent(msgspec.Struct, frozen=True):
    detector: Detector
    at_us: int
    session_id: str | None
    details: str
    waits: tuple[Wait, ...]  # the time it cost, less what an event of higher precedence already stands for
    confidence: float | None = None  # of an outage: the share of the developer's requests during it that failed, 0-1
    outage_us: int | None = None  # of an outage: when the first of those who saw it did; the same for all of them

    @property
    def delay_us(self) -> int:
        return sum(end - start for start, end in self.waits)


def throttle_events(
    requests: Iterable[ApiRequest], earlier: Iterable[Timing] = (), elsewhere_us: Iterable[int] = ()
) -> list[ThrottleEvent]:
    """The events of one developer's requests, in the order of their time.

    `earlier`: answered requests before these, to know how long a model usually takes.
    `elsewhere_us`: when requests of others in the organization failed by the provider's fault.
    """
    seen = _Seen(sorted(requests, key=attrgetter("at_us", "record_id")))
    outages = [*_outages(seen, sorted(elsewhere_us))]
    in_outage = {request.key for _, members in outages for request in members}
    failed = [request for request in seen.failed if request.key not in in_outage]
    chains = bursts([request.at_us for request in failed], BURST_FAILURES_MIN, BURST_US)
    found = [event for event, _ in outages]
    found += [_burst(seen, "error_burst", failed[chain.start : chain.stop]) for chain in chains]
    found += [*_refusals(seen), *_gaps(seen), *_spikes(seen, earlier)]
    claims = Claims()
    found.sort(key=lambda event: (_PRECEDENCE[event.detector], event.at_us))
    apart = [msgspec.structs.replace(event, waits=claims.claim(event.waits)) for event in found]
    return sorted(apart, key=lambda event: (event.at_us, _PRECEDENCE[event.detector]))


class _Seen:
    """A developer's requests in the order of their time, and what came when in each session that was held up."""

    def __init__(self, requests: Sequence[ApiRequest]) -> None:
        self.requests = requests
        self.times = [request.at_us for request in requests]
        self.failed = [request for request in requests if request.failed]
        self.refused = [
            each for each in requests if each.status_code == RATE_LIMITED or each.retry_after_ms is not None
        ]
        self.sessions: defaultdict[str | None, list[ApiRequest]] = defaultdict(list)
        """Those in which something failed or was refused; requests that name no session are one, too."""
        self._times: defaultdict[tuple[str | None, bool], list[int]] = defaultdict(list)
        held_up = {request.session_id for request in (*self.failed, *self.refused)}
        for request in requests:
            if request.session_id in held_up:
                self.sessions[request.session_id].append(request)
                self._times[request.session_id, request.failed].append(request.at_us)

    def wait(self, request: ApiRequest) -> Wait:
        name = request.session_id
        return wait_after(request.at_us, self._times[name, False], self._times[name, True])


def _outages(seen: _Seen, elsewhere_us: Sequence[int]) -> Iterator[tuple[ThrottleEvent, list[ApiRequest]]]:
    """Bursts of the provider's failures that others saw, too, or that lasted; with the developer's part in each."""
    own = [(request.at_us, 0, request) for request in seen.failed if request.is_server_error]
    everybodys = sorted([*own, *((at_us, 1, None) for at_us in elsewhere_us)], key=lambda each: each[:2])
    for chain in bursts([at_us for at_us, _, _ in everybodys], BURST_FAILURES_MIN, BURST_US):
        members = [request for _, _, request in everybodys[chain.start : chain.stop] if request is not None]
        shared = len(members) < len(chain)
        if members and (shared or members[-1].at_us - members[0].at_us > OUTAGE_ALONE_US):
            witnesses = "others in the organization saw it, too" if shared else "it lasted over 5 minutes"
            burst = _burst(seen, "service_outage", members, f"; {witnesses}")
            meanwhile = bisect_right(seen.times, members[-1].at_us) - bisect_left(seen.times, members[0].at_us)
            confidence, outage_us = len(members) / meanwhile, everybodys[chain.start][0]
            yield msgspec.structs.replace(burst, confidence=confidence, outage_us=outage_us), members


def _burst(seen: _Seen, detector: Detector, members: Sequence[ApiRequest], more: str = "") -> ThrottleEvent:
    codes = Counter("no status" if each.status_code is None else str(each.status_code) for each in members)
    listed = ", ".join(f"{code} x {count}" for code, count in sorted(codes.items()))
    requests = "1 request" if len(members) == 1 else f"{len(members)} requests"
    first, took = members[0], _seconds(members[-1].at_us - members[0].at_us)
    details = f"{requests} failed within {took} ({listed}){more}."
    return ThrottleEvent(detector, first.at_us, first.session_id, details, tuple(map(seen.wait, members)))


def _refusals(seen: _Seen) -> Iterator[ThrottleEvent]:
    for request in seen.refused:
        if request.status_code == RATE_LIMITED:
            yield _of_request(seen, "rate_limit", request, f"A request to {request.asked} was answered 429.")
        if request.retry_after_ms is not None:
            asked = _seconds(request.retry_after_ms * _US_PER_MS)
            details = f"The provider asked to wait {asked} before the next request to {request.asked}."
            yield _of_request(seen, "retry_after", request, details)


def _gaps(seen: _Seen) -> Iterator[ThrottleEvent]:
    for requests in seen.sessions.values():
        for request, following in pairwise(requests):
            if not request.failed or request.turn is None or request.turn != following.turn:
                continue
            # It was sent before its answer; where its duration is unknown, then.
            pause_us = following.at_us - (following.duration_ms or 0) * _US_PER_MS - request.at_us
            if GAP_MIN_US <= pause_us <= GAP_MAX_US:
                details = f"Nothing was asked for {_seconds(pause_us)} after a request had failed."
                yield _of_request(seen, "request_gap", request, details)


def _of_request(seen: _Seen, detector: Detector, request: ApiRequest, details: str) -> ThrottleEvent:
    wait = seen.wait(request)
    if wait[0] == wait[1]:
        details += " No other request of the session followed soon."
    return ThrottleEvent(detector, request.at_us, request.session_id, details, (wait,))


def _spikes(seen: _Seen, earlier: Iterable[Timing]) -> Iterator[ThrottleEvent]:
    """Answered requests that took far longer than their model usually does for this developer."""
    recent: defaultdict[str, deque[Timing]] = defaultdict(lambda: deque(maxlen=BASELINE_REQUESTS_MAX))
    for timing in sorted(earlier, key=lambda timing: timing.at_us):
        recent[timing.model].append(timing)
    for request in seen.requests:
        if request.failed or request.model is None or request.duration_ms is None:
            continue
        known, duration_ms = recent[request.model], request.duration_ms
        if duration_ms > SPIKE_MIN_MS:
            while known and known[0].at_us < request.at_us - BASELINE_US:
                known.popleft()
            usual_ms = median(timing.duration_ms for timing in known)
            if len(known) >= BASELINE_REQUESTS_MIN and duration_ms > SPIKE_FACTOR * usual_ms:
                yield _slow(request, duration_ms, usual_ms, known)
        known.append(Timing(request.at_us, request.model, duration_ms, request.output_tokens))


def _slow(request: ApiRequest, duration_ms: int, usual_ms: float, usual: Sequence[Timing]) -> ThrottleEvent:
    """A long answer takes long: lost is only what it took beyond the usual time for so many tokens."""
    took, usually = _seconds(duration_ms * _US_PER_MS), _seconds(int(usual_ms * _US_PER_MS))
    details = f"A request to {request.asked} took {took}; the median of the last {len(usual)} was {usually}."
    rates = [timing.duration_ms / timing.output_tokens for timing in usual if timing.output_tokens]
    if len(rates) < BASELINE_REQUESTS_MIN or not request.output_tokens:
        details += " Its usual time for each token of output is not known, so no loss is told."
        return ThrottleEvent("latency_spike", request.at_us, request.session_id, details, ())
    rate_ms, tokens = median(rates), request.output_tokens
    details += f" It gave {tokens} tokens, of which each usually takes {rate_ms:.1f} ms."
    lost_us = int((duration_ms - max(usual_ms, rate_ms * tokens)) * _US_PER_MS)
    lost = request.at_us - lost_us, request.at_us
    return ThrottleEvent("latency_spike", request.at_us, request.session_id, details, (lost,))


def _seconds(us: int) -> str:
    return f"{us / US_PER_SECOND:.1f} s"


# What to do about what held requests up: one sentence per cause, and the time that it would give back at most.

Priority = Literal["high", "medium", "low"]
HIGH_FROM_HOURS = 1.0
MEDIUM_FROM_HOURS = 0.25


class Recommendation(msgspec.Struct, frozen=True, rename="camel"):
    priority: Priority
    action: str
    estimated_savings_hours: float  # all that its cause cost within the range: more cannot be saved


_ACTIONS = msgspec.toml.decode(get_data(__name__, "throttle.toml") or b"", type=dict[str, str])


def recommendations(hours: Mapping[Detector, float]) -> list[Recommendation]:
    """For every cause that cost time, the most costly first. `hours`: what each detector's events cost."""
    costs = [
        (math.fsum(cost for each, cost in hours.items() if each in causes.split()), action)
        for causes, action in _ACTIONS.items()
    ]
    found = []
    for cost, action in sorted((each for each in costs if each[0] > 0), key=lambda each: -each[0]):
        priority: Priority = "high" if cost >= HIGH_FROM_HOURS else "medium" if cost >= MEDIUM_FROM_HOURS else "low"
        found.append(Recommendation(priority, action, cost))
    return found
