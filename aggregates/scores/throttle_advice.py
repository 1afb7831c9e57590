"""What to do about what held requests up: one sentence per cause, and the time that it would give back at most."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from aggregates.scores.throttle import Detector

Priority = Literal["high", "medium", "low"]

HIGH_FROM_HOURS = 1.0
MEDIUM_FROM_HOURS = 0.25


class Recommendation(msgspec.Struct, frozen=True, rename="camel"):
    """One thing to do."""

    priority: Priority
    action: str
    estimated_savings_hours: float
    """All that its cause cost within the range: more cannot be saved."""


_ACTIONS: tuple[tuple[tuple[Detector, ...], str], ...] = (
    (("service_outage",), "Keep a second model or provider set up, and switch to it as soon as the usual one fails."),
    (
        ("rate_limit", "retry_after"),
        "Run fewer agents at once, or ask for a higher rate limit: requests were refused for being too many.",
    ),
    (
        ("error_burst", "request_gap"),
        "Look at what failed and let the agent go on at once: failed requests left the work standing still.",
    ),
    (
        ("latency_spike",),
        "Keep contexts small or use a faster model for routine work: some answers took many times their usual time.",
    ),
)
"""Detectors with one cause, and the sentence for it."""


def recommendations(hours: Mapping[Detector, float]) -> list[Recommendation]:
    """For every cause that cost time, the most costly first. `hours`: what each detector's events cost."""
    costs = [(sum(hours.get(detector, 0.0) for detector in detectors), action) for detectors, action in _ACTIONS]
    worth = [Recommendation(_priority(cost), action, cost) for cost, action in costs if cost > 0]
    return sorted(worth, key=lambda each: -each.estimated_savings_hours)


def _priority(cost_hours: float) -> Priority:
    if cost_hours >= HIGH_FROM_HOURS:
        return "high"
    return "medium" if cost_hours >= MEDIUM_FROM_HOURS else "low"
