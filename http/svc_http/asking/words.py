"""The words that terminals and agents are told figures in: states of a goal, habits, kinds. The pages say the same."""

from collections.abc import Mapping
from typing import Any

KINDS = ("question", "investigation", "review", "plan", "small_change", "bug_fix", "feature", "refactor")
HABITS = {
    "goal_explicit": ("says what should hold afterwards", "say what should hold when it is done"),
    "scope_bounded": ("limits where or how much", "say where to work, or what to leave alone"),
    "references_concrete": ("points at something findable", "name a path, a symbol, a line or a ticket"),
    "context_sufficient": ("gives enough to start", "add the error text, an example or the reason"),
    "verification_requested": ("asks for a check", "say how you will check it"),
    "root_cause_oriented": ("asks for the cause", "ask for the cause"),
    "plan_first": ("plans first", "ask for a plan before a larger change"),
}
"""Boolean → what a prompt does that shows it, and what to do next time."""


def state(goal: Mapping[str, Any]) -> str:
    """Of a sub-session as the API lists it."""
    if goal["is_preview"]:
        return "going on"
    if not goal["substance_floor_passed"] or goal["intent_class"] in ("unclassified", None):
        return "not counted"
    if goal["rework"]:
        return "done again"
    return {True: "reached", False: "not reached", None: "undecided"}[goal["goal_complete"]]
