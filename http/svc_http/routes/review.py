"""What a developer's own agent is asked about their work, and what it answers."""

import msgspec
from quart_trio.wrappers import TrioResponse

from projections.sub_sessions import unjudged
from svc_http.bodies import accepted, json_reply
from svc_http.params import ByKey, clamped
from svc_http.records import QUESTIONS_MAX, AgentAnswer, OpenQuestions
from svc_http.routing import Routes

routes = Routes("intake")


class AnswerTaken(msgspec.Struct):
    created: bool  # false where it was answered by the same judge before


_LIMIT = clamped("limit", 20, QUESTIONS_MAX, "How many questions")


@routes("GET /v1/review/questions", "What your own agent may judge of your work.", (_LIMIT,))
async def questions(call: ByKey) -> OpenQuestions:
    return OpenQuestions(accepted(await call.service.review_questions(call.scope, _LIMIT.read(call.query))))


@routes("GET /v1/review/verdicts", "How many verdicts on your work came from whom.", listeners="both")
async def verdicts(call: ByKey) -> unjudged.Judged:
    return await call.read(unjudged.judged)


_TAKEN = {201: AnswerTaken, 200: AnswerTaken}


@routes("POST /v1/review/answers", "What your own agent says.", answers=_TAKEN)
async def answer(call: ByKey, body: AgentAnswer) -> TrioResponse:
    reply = accepted(await call.service.review_answer(call.scope, body))
    return json_reply(AnswerTaken(reply.created), 201 if reply.created else 200)
