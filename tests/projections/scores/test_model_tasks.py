"""What each model was used for in a range, against hand-computed figures."""

import pytest

from projections.scores.activity import ModelTask, model_task
from tests.projections.scores.test_activity import TODAY, seen
from tests.support.facts import ANA, FIX, HOUR, MINUTE, MONDAY, SECOND, Log, edit, request

ASK = "what does src/app.py do?"
SONNET, HAIKU = "claude-sonnet-4-5", "claude-haiku-4-5"


def pairs_of(log: Log) -> dict[tuple[str | None, str], ModelTask]:
    """All pairs of the day, by model and intent class."""
    return {(row.model, row.intent_class): row for row in model_task(seen(log), ANA, TODAY, 50, 0)}


def test_a_pair_of_model_and_intent() -> None:
    """Two fixes of which one worked, and a question: rates over what qualifies, sums of the model's own requests."""
    log = Log()
    log.works("a", MONDAY)
    log.works("b", MONDAY + HOUR, FIX.replace("parser", "reader"), ok=False)
    log.prompt("c", ASK, MONDAY + 2 * HOUR)
    log.records("c", request(MONDAY + 2 * HOUR + SECOND, model=HAIKU))
    log.passes(MONDAY + 5 * HOUR)
    pairs = pairs_of(log)
    assert list(pairs) == [(SONNET, "bug_fix"), (HAIKU, "question")]
    fixes = pairs[SONNET, "bug_fix"]
    assert (fixes.sub_sessions, fixes.qualifying, fixes.crushed, fixes.completion_rate) == (2, 2, 1, 50.0)
    assert (fixes.total_tokens, fixes.unreported_sub_sessions) == (240, 0)
    assert fixes.cost_usd == pytest.approx(0.02)


def test_a_sub_session_counts_for_each_model_that_worked_on_it() -> None:
    """But its tokens and its cost are shared out by request."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records(
        "a", request(MONDAY + SECOND), request(MONDAY + 2 * SECOND, model=HAIKU, input_tokens=1, output_tokens=1)
    )
    pairs = pairs_of(log)
    assert [pairs[model, "bug_fix"].sub_sessions for model in (SONNET, HAIKU)] == [1, 1]
    assert [pairs[model, "bug_fix"].total_tokens for model in (SONNET, HAIKU)] == [120, 2]


def test_a_rate_over_nothing_is_unknown() -> None:
    """What still goes on, or fell below the floor, qualifies for nothing."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND))
    (pair,) = pairs_of(log).values()
    assert (pair.sub_sessions, pair.qualifying, pair.crushed, pair.completion_rate) == (1, 0, 0, None)


def test_a_sum_with_an_unpriced_request_is_unknown() -> None:
    """Beside how many there are; the tokens are known all the same."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND), request(MONDAY + 2 * SECOND, cost_usd_nano=None))
    (pair,) = pairs_of(log).values()
    assert (pair.cost_usd, pair.unpriced_requests, pair.total_tokens) == (None, 1, 240)


def test_tokens_that_nobody_reported_are_unknown() -> None:
    """No request seen: no model, no tokens, no cost. An answer that tells only its cost: no tokens."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    prompt_id = log.prompt("b", ASK, MONDAY + HOUR)
    log.answer("b", prompt_id, "It serves.", MONDAY + HOUR + MINUTE, model=HAIKU, cost_usd_nano=5_000_000)
    pairs = pairs_of(log)
    unseen = pairs[None, "bug_fix"]
    assert (unseen.total_tokens, unseen.cost_usd, unseen.unreported_sub_sessions) == (None, None, 1)
    told = pairs[HAIKU, "question"]
    assert (told.total_tokens, told.cost_usd, told.unreported_sub_sessions) == (None, 0.005, 1)


def test_a_request_of_no_named_model_has_none() -> None:
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND, model=None))
    pair = pairs_of(log)[None, "bug_fix"]
    assert pair.total_tokens == 120
    assert pair.cost_usd == pytest.approx(0.01)


def test_what_nobody_can_classify_stands_under_its_own_name() -> None:
    log = Log()
    log.prompt("a", "ok", MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND))
    log.passes(MONDAY + HOUR)
    assert [(pair, row.completion_rate) for pair, row in pairs_of(log).items()] == [((SONNET, "unclassified"), None)]
