"""A developer's own agent as judge: it is handed open questions, and its answers are checked as a text model's are."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from aggregates.event import Reason, Refused, Scope
from projections.sub_sessions.unjudged import Question, unjudged
from svc.jobs.questions import BOUNDS, JUDGE_VERSION, SCHEMAS, identity, judged
from svc.llm import answers
from svc.llm.client import PAYLOAD_CHARACTERS_MAX, instructions
from svc.log.codec import NewEvent
from svc.log.store import Conflict
from svc_http.ports import Service
from svc_http.records import AgentAnswer, AnswerRefused, AnswersTaken, OpenQuestion

WITHHELD = "texts of your organization go to no model; its owner decides that (`svc org set --text-leaves`)"


class _Open(NamedTuple):
    question_id: str
    question: Question
    sent: dict[str, answers.Json]
    data: str  # the same as JSON


@dataclass(eq=False)
class Reviews:
    _service: Service
    _append: Callable[[Sequence[NewEvent]], Awaitable[object]]
    _may_leave: Callable[[UUID], bool]

    async def questions(self, scope: Scope, limit: int) -> "list[OpenQuestion] | Refused":
        """Those about sub-sessions that settled last first."""
        if not self._may_leave(scope.organization_id):
            return Refused(Reason.WITHHELD, WITHHELD)
        return [shown(each) for each in (await self._open(scope))[:limit]]

    async def take(self, scope: Scope, told: Sequence[AgentAnswer]) -> "AnswersTaken | Refused":
        """Each by itself: one that is refused leaves nothing, and hinders no other."""
        if not self._may_leave(scope.organization_id):
            return Refused(Reason.WITHHELD, WITHHELD)
        refused = [found for each in told if (found := await self._refusal(scope, each)) is not None]
        return AnswersTaken(len(told) - len(refused), refused)

    async def _refusal(self, scope: Scope, told: AgentAnswer) -> AnswerRefused | None:
        """Why an answer is not stored; None where it is."""
        sub_session_id = told.question_id.partition(".")[0]
        opened = await self._open(scope, sub_session_id)
        one = next((each for each in opened if each.question_id == told.question_id), None)
        if one is None:
            why = "the question is not open: it was answered, or is not yours"
            return AnswerRefused(told.question_id, why, is_open=False)
        text = told.answer if isinstance(told.answer, str) else msgspec.json.encode(told.answer).decode()
        try:
            value = answers.fitting(text, SCHEMAS[one.question.kind])
            heard = answers.Answer(value, told.model, JUDGE_VERSION, told.input_tokens, told.output_tokens)
            now_us, name = self._service.now_us(), bytes.fromhex(one.question_id.partition(".")[2])
            events = judged(one.question, one.sent, heard, name, now_us, told.agent)
        except answers.NoAnswer as error:
            what = "does not fit the schema" if error.reason == "misfit" else "is not one JSON document"
            return AnswerRefused(told.question_id, f"the answer {what}", is_open=True)
        except answers.Disbelieved as error:
            return AnswerRefused(told.question_id, f"the answer is not believed: {error}", is_open=True)
        with suppress(Conflict):  # another node took one meanwhile
            await self._append(events)
        return None

    async def _open(self, scope: Scope, only: str | None = None) -> list[_Open]:
        digester = self._service.digester(scope)
        rounds = await self._service.queried(
            lambda reader: unjudged(reader, BOUNDS, lambda _: True, frozenset(), scope, only), scope
        )
        found = list[_Open]()
        for round_, question in ((round_, each) for round_, questions in rounds for each in questions):
            sent = answers.leaving(question.payload)
            assert isinstance(sent, dict)
            # It begins with the sub-session in which it is looked for again.
            question_id = f"{round_.sub_session_id}.{digester.digest(identity(question)).hex()}"
            data = msgspec.json.encode(sent).decode()
            if len(data) <= PAYLOAD_CHARACTERS_MAX:
                found.append(_Open(question_id, question, sent, data))
        return found


def shown(opened: _Open) -> OpenQuestion:
    kind = opened.question.kind
    shape = answers.schema_document(SCHEMAS[kind])
    told = instructions(kind, JUDGE_VERSION, shape)
    about: dict[str, Any] = {"kind": kind, "version": JUDGE_VERSION, "schema": shape, "instructions": told}
    return OpenQuestion(question_id=opened.question_id, text=f"{told}\n\n{opened.data}", **about)
