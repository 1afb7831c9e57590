"""What a developer's own agent is asked about their work, and what it answers."""

from projections.sub_sessions import unjudged
from svc_http.bodies import accepted
from svc_http.params import ByKey, clamped
from svc_http.records import QUESTIONS_MAX, AgentAnswers, AnswersTaken, OpenQuestions
from svc_http.routing import Routes

routes = Routes()
_LIMIT = clamped("limit", 20, QUESTIONS_MAX, "How many questions")


@routes("GET /v1/judge/questions", "What your own agent may judge of your work.", (_LIMIT,))
async def questions(call: ByKey) -> OpenQuestions:
    return OpenQuestions(accepted(await call.service.judge_questions(call.scope, _LIMIT.read(call.query))))


@routes("GET /v1/judge/verdicts", "How many verdicts on your work came from whom.")
async def verdicts(call: ByKey) -> unjudged.Judged:
    return await call.read(unjudged.judged)


@routes("POST /v1/judge/answers", "What your own agent says; each answer is taken or refused by itself.")
async def answer(call: ByKey, body: AgentAnswers) -> AnswersTaken:
    return accepted(await call.service.judge_answers(call.scope, body.answers))
