"""A text model's verdict is a fact: it overrides the embedded one, for the turns it was about, and in any order."""

from typing import Any, Literal
from uuid import UUID

from aggregates.judging.rubric import JudgeAnswered
from projections.derive.sub_session_rows import Detail, PromptDetail
from projections.reader import unpack
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND, Log, Placed, edit, project, request, tables

ASK = "Fix the rounding in src/invoice.py: totals are off by a cent, run pytest when done"
MODEL = "model:m"


def worked(log: Log, session: str = "s", at_us: int = MONDAY, text: str = ASK) -> UUID:
    capture_id = log.prompt(session, text, at_us)
    log.records(session, request(at_us + SECOND), edit(at_us + 2 * SECOND))
    return capture_id


def says(
    log: Log, kind: Literal["rubric", "outcome"], *captures: UUID, session: str = "s", model: str = "m", **fields: Any
) -> None:
    """A model's answer, about the last of these captures or about all of them."""
    of_all = {"captures": captures} if kind == "outcome" else {}
    about: dict[str, Any] = {"agent_session_id": session, "capture_id": captures[-1], "model": model, **of_all}
    asked: dict[str, Any] = {"prompt_version": 1, "input_digest": b"d" * 16, "confidence": 0.9}
    owner: dict[str, Any] = {"organization_id": log.scope.organization_id, "developer_id": log.scope.developer_id}
    event = JudgeAnswered(received_at_us=log.now_us, kind=kind, **owner, **about, **asked, **fields)
    log.facts.append(Placed(len(log.facts) + 1, event))


def shown(log: Log) -> tuple[str | None, int, Detail, list[PromptDetail]]:
    """Intent, outcome, detail and prompts of the one sub-session."""
    db = project(log.facts)
    assert db.execute("SELECT * FROM failed").fetchall() == []
    ((intent, complete, detail),) = db.execute("SELECT intent, goal_complete, detail FROM sub_sessions").fetchall()
    prompts = [unpack(body, PromptDetail) for (body,) in db.execute("SELECT body FROM prompts ORDER BY at_us")]
    return intent, complete, unpack(detail, Detail), prompts


def test_a_rubric_of_a_model_counts() -> None:
    log = Log()
    capture_id = worked(log)
    says(log, "rubric", capture_id, intent="question", earned=("goal_explicit", "plan_first"))
    intent, _, _, (prompt,) = shown(log)
    assert intent == "question"
    assert (prompt.rubric.judge, prompt.rubric.earned, prompt.rubric.confidence) == (MODEL, ("goal_explicit",), 0.9)


def test_an_outcome_holds_for_just_those_turns() -> None:
    """Where the sub-session went on, the embedded judge speaks until the model was asked again."""
    log = Log()
    first = worked(log)
    says(log, "outcome", first, complete=False)
    second = worked(log, at_us=MONDAY + 2 * MINUTE, text="It is still off for negative totals, fix the rounding too")
    assert shown(log)[2].outcome.judge == "embedded/2"
    says(log, "outcome", first, second, complete=False)
    assert shown(log)[2].outcome.judge == MODEL


def test_a_command_stays_unjudged() -> None:
    """Whatever a model makes of it."""
    log = Log()
    says(log, "rubric", worked(log, text="/compact"), intent="feature", earned=("goal_explicit",))
    assert shown(log)[3][0].rubric.status == "skipped"


def test_the_later_answer_counts() -> None:
    log = Log()
    capture_id = worked(log)
    says(log, "rubric", capture_id, intent="question")
    says(log, "rubric", capture_id, model="other", intent="feature")
    assert shown(log)[0] == "feature"


def test_the_order_of_arrival_is_no_matter() -> None:
    """Answers before what they are about, one by one or together: the same tables."""
    log = Log()
    first = worked(log)
    says(log, "rubric", first, intent="plan")
    second = worked(log, at_us=MONDAY + 2 * MINUTE, text="It is still off for negative totals, fix the rounding too")
    says(log, "outcome", first, second, complete=False)
    says(log, "rubric", second, intent="feature", earned=("goal_explicit",))
    log.passes(MONDAY + 2 * HOUR)
    facts: list[Placed] = log.facts
    wanted = tables(project(facts))
    for order in (facts, facts[::-1], facts[3:] + facts[:3], [*facts, *facts]):
        assert tables(project(order, range(1, len(order)))) == wanted
