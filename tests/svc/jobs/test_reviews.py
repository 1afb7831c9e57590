"""A developer's own agent as judge: the same questions as a text model's, handed out and answered over the routes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from aggregates.event import Refused
from aggregates.people.acts import ChangeOrganization
from projections.sub_sessions.unjudged import Judged, judged
from svc_http.records import AgentAnswer, AnswersTaken, OpenQuestion
from tests.support.model_server import model_server
from tests.svc.jobs.test_judging import ASK, MINUTE_US, Court, opened
from tests.svc.jobs.test_nodes import together, two_nodes

HABITS = ("scope_bounded", "references_concrete", "context_sufficient", "plan_first", "verification_requested")
FEATURE: dict[str, Any] = {
    "intent": "feature",
    "confidence": 0.8,
    **dict.fromkeys(HABITS, False),
    "goal_explicit": True,
}


def data_of(question: OpenQuestion) -> Any:
    return msgspec.json.decode(question.text.removeprefix(question.instructions))


def says(question: OpenQuestion) -> dict[str, Any]:
    """Everything is a feature, and nothing complete."""
    if question.kind != "rubric":
        return {"complete": False, "confidence": 0.7}
    quote = {"habit": "goal_explicit", "quote": data_of(question)["prompt"][:20]}
    return {**FEATURE, "quotes": [quote]}


async def asked(court: Court) -> list[OpenQuestion]:
    found = await court.service.judge_questions(court.scope, 20)
    assert not isinstance(found, Refused)
    return found


async def rows(court: Court) -> list[tuple[Any, ...]]:
    """Of each sub-session intent and outcome, for its owner and as peers are compared."""
    query = "SELECT intent, goal_complete, judged_intent, judged_goal_complete FROM sub_sessions"
    return await court.service.read(court.scope, lambda reader, _scope: reader.db.execute(query).fetchall())


async def answered(court: Court, question: OpenQuestion, *said: Any) -> AnswersTaken | Refused:
    """What is said of it, one answer after the other."""
    told: dict[str, Any] = {"question_id": question.question_id, "agent": "claude-code", "model": "haiku"}
    reply = await court.service.judge_answers(court.scope, [AgentAnswer(**told, answer=each) for each in said])
    await court.level()
    return reply


TAKEN = AnswersTaken(1, [])


async def test_its_answers_stand_for_its_owner_and_not_among_peers(tmp_path: Path) -> None:
    """Nothing is asked twice."""
    async with opened(tmp_path) as court:
        await court.works()
        await court.settles()
        (before,) = await rows(court)
        assert await court.service.read(court.scope, judged) == Judged(2, 0, 0)
        questions = await asked(court)
        assert [each.kind for each in questions] == ["rubric", "outcome"]
        assert ASK in questions[0].text
        for each in questions:
            fenced = f"```json\n{msgspec.json.encode(says(each)).decode()}\n```"
            assert await answered(court, each, fenced) == TAKEN
        assert await asked(court) == []
        assert before[:2] == before[2:] != ("feature", 0)
        assert await rows(court) == [("feature", 0, *before[2:])]
        assert await court.judges() == ["agent:claude-code/haiku"]
        assert await court.service.read(court.scope, judged) == Judged(0, 0, 2)
        assert await court.service.read(court.house.other, judged) == Judged(0, 0, 0)
        assert {(each.agent, each.judge) for each in court.answers()} == {("claude-code", "agent:claude-code/haiku")}


@pytest.mark.parametrize(("ran", "word"), [("pytest", None), (None, "No, it still does not work")])
async def test_nobody_is_asked_about_an_evident_ending(tmp_path: Path, ran: str | None, word: str | None) -> None:
    """Neither one's own agent nor the text model: the check that the prompt named, or a person, has said it."""
    async with opened(tmp_path) as court:
        await court.works(ran=ran)
        court.clock.advance(MINUTE_US)
        if word is not None:
            await court.asks(word)
        await court.settles()
        ((_, complete, *_),) = await rows(court)
        assert complete == (word is None)
        assert {each.kind for each in await asked(court)} == {"rubric"}
        await court.looks()
        assert {each.kind for each in court.answers()} == {"rubric"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Sure, here it is: {}", "is not one JSON document"),
        ({"complete": True}, "does not fit the schema"),
        ({**FEATURE, "quotes": [{"habit": "goal_explicit", "quote": "words of nobody"}]}, "is not believed"),
    ],
)
async def test_what_cannot_be_believed_is_refused_alone_and_may_be_answered_again(
    tmp_path: Path, said: Any, why: str
) -> None:
    async with opened(tmp_path) as court:
        await court.works()
        await court.settles()
        question, *_ = await asked(court)
        reply = await answered(court, question, said, says(question))
        assert isinstance(reply, AnswersTaken)
        assert (reply.taken, [each.is_open for each in reply.refused]) == (1, [True])
        assert why in reply.refused[0].why
        assert question not in await asked(court)


async def test_what_is_not_open_is_refused_by_name_and_withheld_texts_leave_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as court:
        await court.works()
        await court.settles()
        question, *_ = await asked(court)
        assert await answered(court, question, says(question)) == TAKEN
        reply = await answered(court, question, says(question))
        assert isinstance(reply, AnswersTaken)
        assert [(each.question_id, each.is_open) for each in reply.refused] == [(question.question_id, False)]
        theirs = await court.service.judge_questions(court.house.other, 20)
        assert theirs == []
        order = ChangeOrganization(organization_id=court.scope.organization_id, text_leaves=False)
        await court.service.administer(order)
        assert isinstance(await court.service.judge_questions(court.scope, 20), Refused)
        assert isinstance(await answered(court, question, says(question)), Refused)


async def test_a_question_of_one_node_is_answered_at_another(shared_store: str, tmp_path: Path) -> None:
    """Both then hold the same verdict, and neither takes a second answer."""
    with model_server() as server:
        async with two_nodes(tmp_path, shared_store) as houses:
            first, second = (Court(house, server) for house in houses)
            await first.works()
            await first.settles()
            for question in await asked(first):
                await together(*houses)
                assert await answered(second, question, says(question)) == TAKEN
            await together(*houses)
            assert await rows(first) == await rows(second)
            assert [await court.judges() for court in (first, second)] == [["agent:claude-code/haiku"]] * 2
            assert [await asked(court) for court in (first, second)] == [[], []]
            late = await answered(first, question, says(question))
            assert isinstance(late, AnswersTaken)
            assert late.taken == 0
        assert server.received == []
