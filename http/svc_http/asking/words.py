"""A goal's state in the pages' words, of a sub-session as the API lists it: for terminals and for agents."""

from collections.abc import Mapping
from typing import Any

from svc_http.pages.words import STATES


def state(goal: Mapping[str, Any]) -> str:
    """As in reached, not reached, undecided, done again, not counted, going on."""
    return STATES[_state(goal)]


def _state(goal: Mapping[str, Any]) -> str:
    if goal["is_preview"]:
        return "live"
    if not goal["substance_floor_passed"] or goal["intent_class"] in ("unclassified", None):
        return "not_counted"
    if goal["rework"]:
        return "rework"
    return {True: "reached", False: "not_reached", None: "undecided"}[goal["goal_complete"]]
