"""What throttling that began in a range cost one developer, or the members of a team; every read is bounded."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import msgspec

from aggregates.event import Scope
from aggregates.people.directory import Stay
from aggregates.scores import throttle as rules
from aggregates.scores.throttle import ApiRequest, Detector, ThrottleEvent, Timing
from aggregates.times import US_PER_SECOND, Window, iso
from projections.reader import Reader, bound, json_array, sql

PERSONAL_REQUESTS_MAX = 200_000  # of more, about half a year of heavy work, a developer's own read is refused
TEAM_REQUESTS_MAX = 400_000  # the newest of each member; nobody is cut while somebody else may have more
OUTSIDE_FAILURES_MAX = 50_000  # of the provider, anywhere in the organization, that are looked at for outages
_US_PER_HOUR = 3600 * US_PER_SECOND


class ShownEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that held requests up; the last three are there for outages alone."""

    detector: Detector
    timestamp: str
    session_id: str | None
    details: str
    estimated_delay_secs: float
    confidence: float | msgspec.UnsetType | None = msgspec.UNSET
    incident_name: str | msgspec.UnsetType | None = msgspec.UNSET
    incident_url: str | msgspec.UnsetType | None = msgspec.UNSET


class DetectorCount(msgspec.Struct, frozen=True, rename="camel"):
    detector: Detector
    count: int
    estimated_hours_lost: float


class ThrottleSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    total_events: int
    estimated_hours_lost: float
    slow_answer_hours: float  # the part of it that slow answers took, no limit and no failure
    by_detector: list[DetectorCount]
    total_api_requests: int
    failed_api_requests: int  # of those; most have no cost


class ThrottleImpact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    is_partial: bool
    events: list[ShownEvent]
    summary: ThrottleSummary
    recommendations: list[rules.Recommendation]


def personal_throttle(reader: Reader, scope: Scope, window: Window, newest: int | None = None) -> ThrottleImpact | None:
    """Newest event first; of `newest` requests alone it is partial, else None where the range holds too many."""
    most = PERSONAL_REQUESTS_MAX if newest is None else newest
    reach = _reach(reader.db, scope, window)
    requests = _requests(reader.db, scope, reach, most + 1)
    failures = _server_failures(reader.db, scope, reach)
    is_partial = len(requests) > most
    if (is_partial and newest is None) or len(failures) > OUTSIDE_FAILURES_MAX:
        return None
    events = _events(reader.db, scope, requests[:most], failures, window)
    failed = [each.failed for each in requests[:most] if window.start_us <= each.at_us < window.end_us]
    return _impact(events, (len(failed), sum(failed)), is_partial=is_partial)


def team_throttle(
    reader: Reader, scope: Scope, stays: Sequence[Stay], window: Window, budget: int | None = None
) -> ThrottleImpact:
    """Of the stays in a team of this organization within a window together; no event says whose it is."""
    members = [(Scope(scope.organization_id, stay.developer_id), Window(stay.start_us, stay.end_us)) for stay in stays]
    reaches = [_reach(reader.db, *each) for each in members]
    edges = [window, *reaches]
    widest = Window(min(each.start_us for each in edges), max(each.end_us for each in edges))
    failures = _server_failures(reader.db, scope, widest)

    def counted(member: Scope, days: Window) -> tuple[int, int]:
        return cast("tuple[int, int]", reader.db.execute(sql("count_requests"), bound(member, days)).fetchone())

    read = [counted(member, reach)[0] for (member, _), reach in zip(members, reaches, strict=True)]
    most = _share(read, TEAM_REQUESTS_MAX if budget is None else budget)
    events: list[ThrottleEvent] = []
    for (member, days), reach in zip(members, reaches, strict=True):
        events += _events(reader.db, member, _requests(reader.db, member, reach, most), failures, days)
    nameless = [msgspec.structs.replace(event, session_id=None) for event in _joined(events)]
    is_partial = len(failures) > OUTSIDE_FAILURES_MAX or max(read, default=0) > most
    requests, failed = map(sum, zip((0, 0), *(counted(*each) for each in members), strict=True))
    return _impact(nameless, (requests, failed), is_partial=is_partial)


def _share(counts: Sequence[int], budget: int) -> int:
    """How many of each may be taken so that all stay within the budget; who has fewer leaves more to others."""
    left = budget
    for taken, count in enumerate(sorted(counts)):
        share = left // (len(counts) - taken)
        if count > share:
            return share
        left -= count
    return max(counts, default=0)


def _joined(events: Iterable[ThrottleEvent]) -> list[ThrottleEvent]:
    """With one event for each outage: at the time when the first of the team saw it, with the delays of all."""
    joined: list[ThrottleEvent] = []
    outages: dict[int, int] = {}
    for event in sorted(events, key=lambda event: event.at_us):
        place = None if event.outage_us is None else outages.setdefault(event.outage_us, len(joined))
        if place is None or place == len(joined):
            joined.append(event)
        else:
            joined[place] = msgspec.structs.replace(joined[place], waits=(*joined[place].waits, *event.waits))
    return joined


def _impact(events: Sequence[ThrottleEvent], requests: tuple[int, int], *, is_partial: bool) -> ThrottleImpact:
    counts = Counter(event.detector for event in events)
    hours: defaultdict[Detector, float] = defaultdict(float)
    for event in events:
        hours[event.detector] += event.delay_us / _US_PER_HOUR
    shown = []
    for event in sorted(events, key=lambda event: -event.at_us):
        more: dict[str, Any] = {}
        if event.detector == "service_outage":  # there is no status source yet that would name an incident
            more = {"confidence": event.confidence, "incident_name": None, "incident_url": None}
        told = event.detector, iso(event.at_us), event.session_id, event.details, event.delay_us / US_PER_SECOND
        shown.append(ShownEvent(*told, **more))
    return ThrottleImpact(
        is_partial=is_partial,
        events=shown,
        summary=ThrottleSummary(
            total_events=len(events),
            estimated_hours_lost=sum(event.delay_us for event in events) / _US_PER_HOUR,
            slow_answer_hours=hours["latency_spike"],
            by_detector=[DetectorCount(name, count, hours[name]) for name, count in sorted(counts.items())],
            total_api_requests=requests[0],
            failed_api_requests=requests[1],
        ),
        recommendations=rules.recommendations(hours),
    )


def _requests(db: sqlite3.Connection, scope: Scope, window: Window, most: int) -> list[ApiRequest]:
    return [ApiRequest(*row) for row in db.execute(sql("newest_requests"), bound(scope, window, most=most))]


def _reach(db: sqlite3.Connection, scope: Scope, window: Window) -> Window:
    """The range, on both sides for as long as one failure follows another, and then until nobody waits any more."""
    start_us, last_us = window.start_us, window.end_us - 1
    while (at_us := _failed(db, scope, "min", start_us - rules.WAIT_MAX_US, start_us - 1)) is not None:
        start_us = at_us
    while (at_us := _failed(db, scope, "max", last_us + 1, last_us + rules.WAIT_MAX_US)) is not None:
        last_us = at_us
    return Window(start_us, last_us + rules.WAIT_MAX_US + 1)


_CODES = {"first_code": rules.SERVER_ERRORS[0], "last_code": rules.SERVER_ERRORS[1]}


def _failed(
    db: sqlite3.Connection, scope: Scope, farthest: Literal["min", "max"], first_us: int, last_us: int
) -> int | None:
    """The first or last failure within a span: the developer's, or the provider's anywhere in the organization."""
    query = sql("farthest_failure", farthest=farthest, **_CODES)
    at_us: int | None = db.execute(query, bound(scope, first=first_us, last=last_us)).fetchone()[0]
    return at_us


def _server_failures(db: sqlite3.Connection, scope: Scope, window: Window) -> list[tuple[str, int]]:
    """(developer, time) of what failed by the provider's fault in the organization; one more than may be looked at."""
    asked = bound(scope, window, most=OUTSIDE_FAILURES_MAX + 1)
    return db.execute(sql("provider_failures", **_CODES), asked).fetchall()


def _events(
    db: sqlite3.Connection,
    scope: Scope,
    requests: Sequence[ApiRequest],
    failures: Sequence[tuple[str, int]],
    window: Window,
) -> list[ThrottleEvent]:
    """Those that began within a range."""
    elsewhere = [at_us for developer_id, at_us in failures if developer_id != str(scope.developer_id)]
    found = rules.throttle_events(requests, _timings(db, scope, requests), elsewhere)
    return [event for event in found if window.start_us <= event.at_us < window.end_us]


def _timings(db: sqlite3.Connection, scope: Scope, requests: Sequence[ApiRequest]) -> list[Timing]:
    """The last durations before these requests of each model that might have been slow in them."""
    slow = {each.model for each in requests if each.model is not None and (each.duration_ms or 0) > rules.SPIKE_MIN_MS}
    if not slow:
        return []
    first_us = min(each.at_us for each in requests)
    days, models = Window(first_us - rules.BASELINE_US, first_us), json_array(sorted(slow))
    before = bound(scope, days, models=models, most=rules.BASELINE_REQUESTS_MAX)
    return [Timing(*row) for row in db.execute(sql("durations_before"), before)]
