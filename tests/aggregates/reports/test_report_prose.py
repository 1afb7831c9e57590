"""The prose of a report: told in figures, and shown only where each of its numbers is one of them."""

from typing import Any

import msgspec
import pytest

from aggregates.reports.prose import PROSE_CHARACTERS_MAX, believed_prose, report_figures

FIGURES = {"rate": 62.5, "counted": 1250, "cost": 3.2, "fewer": -3, "small": 0.04}
PEOPLE = ["Ana Lund", "김지수", "will o'Brian", "Mo  de Vries"]


def sections(**changed: Any) -> str:
    """As much of a report as is told of it, and texts beside it."""
    said: dict[str, Any] = {
        "score": {
            "svc_score": 62.5,
            "total_count": 8,
            "crushed_count": 5,
            "unclassified_count": 0,
            "letter_grade": "B",
        },
        "speed": {"delta_cspw": -2, "ttc_median_seconds": 754.0},
        "tokens": {"crush_weight": 123_456.5, "crush_weight_count": 5, "cpcs_estimate": 0, "cpcs_count": 0},
        "skill": {"skill_index": 41.26, "sample_count": 12},
        "integrity": {"by_kind": [{"kind": "auto_retry_storm", "count": 1}, {"kind": "clock_skew", "count": 2}]},
        "taskTime": {"totalActiveSeconds": 9_000.0, "items": [{"title": "Secret plans"}]},
        "throttle": None,
        "modelUsage": {"spending": {"rollup": {"costUsd": None, "requestCount": 30}}},
        "coaching": {"items": [{"boolean": "plan_first", "example": {"preview": "Secret plans"}}]},
    }
    return msgspec.json.encode(said | changed).decode()


def test_what_is_told() -> None:
    """Figures, rounded as people say them, and names of habits; no text, no grade, and nothing that is unknown."""
    told = report_figures(sections())
    assert told is not None
    assert told.figures == {
        "pieces_of_work_that_count": 8,
        "pieces_of_work_that_reached_their_goal": 5,
        "completion_rate_percent": 62.5,
        "change_in_goals_reached_against_the_period_before": -2,
        "median_minutes_to_reach_a_goal": 12.6,
        "habit_index_of_100": 41.3,
        "prompts_graded": 12,
        "active_hours": 2.5,
        "median_tokens_to_reach_a_goal": 123_456,
        "model_requests": 30,
        "integrity_flags": 3,
    }
    assert told.weakest_habits == ("plan_first",)


def test_where_nothing_was_scored_nothing_is_told() -> None:
    """And no median of nothing: goals were reached, and the tokens of none of them were seen."""
    score = {"svc_score": 0, "total_count": 0, "crushed_count": 0, "unclassified_count": 2}
    assert report_figures(sections(score=score)) is None
    nothing = {"crush_weight": 0, "crush_weight_count": 0, "cpcs_estimate": 0, "cpcs_count": 0}
    told = report_figures(sections(tokens=nothing))
    assert told is not None
    assert not {"median_tokens_to_reach_a_goal", "median_cost_of_a_goal_usd"} & told.figures.keys()


@pytest.mark.parametrize(
    "text",
    [
        "You reached 62.5 % of your goals.",
        "Of 1,250 pieces of work none was lost; it cost 3.2 dollars.",
        "Of 1250 pieces, 3 fewer than before, at 0.04 each.",
        "목표의 62.5%를 이루었습니다. 작업은 1,250건입니다.",
        "Try to name one check in every prompt.",
        "You will ponder, more often, in analysis, e.g. of plans.",
    ],
)
def test_figures_may_be_told(text: str) -> None:
    """With or without commas, in a sentence's end, without their sign."""
    assert believed_prose(text, FIGURES, PEOPLE) == text


@pytest.mark.parametrize(
    "text",
    [
        "You reached 63 % of your goals.",
        "You reached 62 of them.",
        "Of 12,50 pieces of work none was lost.",
        "Of 1.250 pieces of work none was lost.",
        "Twice as many as before.",
        "About half of them went well.",
        "Seven were lost, at 3.2 dollars.",
        "You reached \uff16\uff13 % of them.",
        "You reached \u00bd of them.",
        "\u2167 of them went well.",
        "\u0666 of them went well.",
        "두 배나 많습니다.",
        "일곱 건을 이루었습니다.",
        "Version 62.5.3 is out.",
        "Ana did well.",
        "It was Lund's work.",
        "A plan of ana lund went well.",
        "김지수가 잘했습니다.",
        "Work with Brian went well.",
        "Mo de Vries did well.",
        "See https://x.",
        "See WWW.x.",
        "See evil.example for more.",
        "See evil\uff0eexample for more.",
        "Ask me@host.",
        "x" * (PROSE_CHARACTERS_MAX + 1),
        " \n",
    ],
)
def test_anything_else_is_not_shown(text: str) -> None:
    """Computed, rounded, in words, in other digits; too long, or empty: then there is no prose at all."""
    assert believed_prose(text, FIGURES, PEOPLE) is None
