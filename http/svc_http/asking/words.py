"""What the API lists, in the pages' words, for terminals and for agents: a goal's state, what a model cost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from aggregates.characters import plain
from svc_http.pages.words import STATES

Found = dict[str, Any]
QUOTED_CHARACTERS_MAX = 120


def quoted(text: object) -> Found:
    """One line of it, without characters that steer anything, and its end cut off."""
    line = " ".join(plain(str(text or "")).split())
    cut = line if len(line) <= QUOTED_CHARACTERS_MAX else line[: QUOTED_CHARACTERS_MAX - 1] + "…"
    return {"quoted_data": cut}


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


NOT_REPORTED = "not reported"
"""The model of requests that name none."""


class ModelGoals(NamedTuple):
    """What goals that one model worked on took; one of several models counts for each."""

    goals: int
    qualifying: int
    reached: int
    tokens: int | None
    """None where those of any are not known: a part would be taken for the sum."""
    cost_usd: float | None
    """What is known of it; None where nothing is."""
    at_least: bool
    """Whether the cost was more than is known: requests have no price."""
    requests_without_price: int


def spent_by_model(items: Iterable[Mapping[str, Any]]) -> dict[str, ModelGoals]:
    """Of the items of `/v1/score_v3/model-task`, in their order."""
    models: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for each in items:
        models[each["model"] or NOT_REPORTED].append(each)
    return {model: _spent(parts) for model, parts in models.items()}


def _spent(parts: list[Mapping[str, Any]]) -> ModelGoals:
    priced = [each["costUsd"] for each in parts if each["costUsd"] is not None]
    tokens = [each["totalTokens"] for each in parts if each["totalTokens"] is not None]
    unpriced = sum(each["unpricedRequests"] for each in parts)
    return ModelGoals(
        goals=sum(each["subSessions"] for each in parts),
        qualifying=sum(each["qualifying"] for each in parts),
        reached=sum(each["crushed"] for each in parts),
        tokens=sum(tokens) if len(tokens) == len(parts) else None,
        cost_usd=sum(priced) if priced else None,
        at_least=unpriced > 0 or len(priced) < len(parts),
        requests_without_price=unpriced,
    )
