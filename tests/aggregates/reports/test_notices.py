"""What is said of a report: the notice that it is finished and how it is signed; and its prose."""

import json
from base64 import b64decode
from typing import Any

import msgspec
from msgspec.structs import replace

from aggregates.decide import AnyCommand, decide, evolve
from aggregates.event import Refused, Scope
from aggregates.reports.decide import (
    RETRY_SECONDS,
    TRIES_MAX,
    Notice,
    ReportState,
    Try,
    mail_subject,
    mail_text,
    next_try_us,
    webhook_body,
    webhook_headers,
)
from aggregates.reports.events import ReportNoticeTried, ReportPeriod, ReportRequested
from aggregates.reports.prose import PROSE_CHARACTERS_MAX, believed_prose, report_figures
from aggregates.times import parse_instant
from tests.aggregates.reports.test_reports import ACTS, CONTEXT, FIRST, after, of
from tests.support.basics import named
from tests.support.tables import beside

SECOND_US = 1_000_000
WEEK = ReportPeriod(
    name="weekly",
    start_us=parse_instant("2026-11-15T15:00:00Z"),
    end_us=parse_instant("2026-11-22T15:00:00Z"),
    timezone="Asia/Seoul",
)
NOTICE = Notice(
    report_id=named("report"),
    scope=Scope(named("acme"), named("ana")),
    channel="webhook",
    completed=True,
    finished_us=parse_instant("2026-11-22T16:00:09Z"),
    period=WEEK,
    url=f"https://mirror.example/reports/{named('report')}",
)
ASK = ReportRequested(**of(), period=WEEK, language="en", notices=("email", "webhook"))


def note(problem: Any = None, status: int | None = None, channel: Any = "webhook") -> ReportNoticeTried:
    return ReportNoticeTried(**of(), channel=channel, problem=problem, status=status)


def tried(*outcomes: str) -> list[Try]:
    told: list[Any] = list(outcomes)
    return [Try("webhook", number, each, number * SECOND_US) for number, each in enumerate(told, 1)]


def test_the_first_try_is_due_at_once_and_each_later_one_after_a_longer_pause() -> None:
    assert next_try_us(7, []) == 7
    found = [next_try_us(7, tried(*["failed"] * tries)) for tries in range(1, TRIES_MAX)]
    assert found == [(tries + pause) * SECOND_US for tries, pause in enumerate(RETRY_SECONDS, 1)]
    assert [next_try_us(7, tried("failed", end)) for end in ("told", "given_up")] == [None, None]


DONE: dict[str, AnyCommand] = ACTS | {
    **dict(ask=ASK, ask_by_mail=replace(ASK, notices=("email",)), refused=note("refused", 503), gone=note("gone", 410)),
    **dict(mailed=note(channel="email"), told=note()),
}


@beside()
def test_each_try_is_a_fact_of_the_report(given: str, how: str, then: dict[str, Any] | str) -> None:
    """It does not change what the report is. What was done before, how the try went, and what is told or why not."""
    before, (problem, _, status) = after(*(DONE[each] for each in given.split())), how.partition(" ")
    decision = decide(note(problem or None, int(status) if status else None), before, CONTEXT)
    if isinstance(then, str):
        assert (decision.events, isinstance(decision.reply, Refused) and decision.reply.reason.name) == ((), then)
        return
    then = {"channel": "webhook", "problem": None, "status": None} | then
    ((stream, event),) = decision.events
    assert stream == FIRST
    assert {name: getattr(event, name) for name in then} == then
    told, known = evolve(before[FIRST], event), before[FIRST]
    assert isinstance(told, ReportState)
    assert isinstance(known, ReportState)
    left = {"webhook": event.attempt} if then["outcome"] == "failed" and isinstance(event, ReportNoticeTried) else {}
    assert told == replace(known, notices={k: v for k, v in known.notices.items() if k != "webhook"} | left)


def test_the_body_says_that_it_is_finished_and_where_it_stands_and_nothing_else() -> None:
    assert json.loads(webhook_body(NOTICE)) == {
        "type": "report.completed",
        "timestamp": "2026-11-22T16:00:09Z",
        "data": {
            "report_id": str(named("report")),
            "developer_id": str(named("ana")),
            "period": "weekly",
            "from": "2026-11-15T15:00:00Z",
            "to": "2026-11-22T15:00:00Z",
            "url": f"https://mirror.example/reports/{named('report')}",
        },
    }
    assert json.loads(webhook_body(replace(NOTICE, completed=False, url=None)))["type"] == "report.failed"


def test_the_signature_is_that_of_the_specification() -> None:
    """Of the example by which its own libraries are tested."""
    found = webhook_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        1_614_265_330 * SECOND_US,
    )
    assert found["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert found["webhook-timestamp"] == "1614265330"
    assert found["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_mail_names_the_days_of_ones_own_zone_and_the_way_to_it() -> None:
    """And says where the report could not be made."""
    assert mail_subject(NOTICE) == "Your weekly report is ready"
    text = mail_text(NOTICE)
    assert text.startswith(
        "Your weekly report is ready: 2026-11-16 to 2026-11-22, Asia/Seoul.\n\nhttps://mirror.example/reports/"
    )
    day = replace(WEEK, name="daily", start_us=WEEK.end_us - 86_400 * SECOND_US)
    failed = mail_text(replace(NOTICE, completed=False, url=None, period=day))
    assert failed.startswith("Your daily report could not be made: 2026-11-22, Asia/Seoul.\n\nsee the page")


# --- prose: told in figures, and shown only where each of its numbers is one of them -------------------------------


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
        "cost": {"total": {"cost_usd": None, "requests": 30}},
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


@beside()
def test_figures_may_be_told(text: str) -> None:
    """With or without commas, in a sentence's end, without their sign."""
    assert believed_prose(text, FIGURES, PEOPLE) == text


@beside()
def test_anything_else_is_not_shown(text: str) -> None:
    """Computed, rounded, in words, in other digits; too long, or empty: then there is no prose at all."""
    assert believed_prose(text, FIGURES, PEOPLE) is None
    assert believed_prose("x" * (PROSE_CHARACTERS_MAX + 1), FIGURES, PEOPLE) is None
