"""A developer's own agent as judge: it is handed open questions, and its answers are checked as a text model's are."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import msgspec

from aggregates.event import Done, Reason, Refused, Reply, Scope
from projections.sub_sessions.unjudged import Question, unjudged
from svc.jobs.questions import BOUNDS, JUDGE_VERSION, SCHEMAS, identity, judged
from svc.llm import answers
from svc.llm.client import PAYLOAD_CHARACTERS_MAX, instructions
from svc.log.codec import NewEvent
from svc.log.store import Conflict
from svc_http.ports import Service
from svc_http.records import AgentAnswer, OpenQuestion

WITHHELD = "texts of your organization go to no model; its owner decides that (`svc org set --text-leaves`)"


class _Open(NamedTuple):
    shown: OpenQuestion
    question: Question
    sent: dict[str, answers.Json]


@dataclass(eq=False)
class Reviews:
    _service: Service
    _append: Callable[[Sequence[NewEvent]], Awaitable[object]]
    _may_leave: Callable[[UUID], bool]

    async def questions(self, scope: Scope, limit: int) -> "list[OpenQuestion] | Refused":
        """Those about sub-sessions that settled last first."""
        if not self._may_leave(scope.organization_id):
            return Refused(Reason.WITHHELD, WITHHELD)
        return [each.shown for each in (await self._open(scope))[:limit]]

    async def answer(self, scope: Scope, told: AgentAnswer) -> Reply:
        """Refused where the question is not open to them, or what it says is not believed; then nothing is stored."""
        if not self._may_leave(scope.organization_id):
            return Refused(Reason.WITHHELD, WITHHELD)
        sub_session_id, _, digest = told.id.partition(".")
        one = next((each for each in await self._open(scope, sub_session_id) if each.shown.id == told.id), None)
        if one is None:
            return Refused(Reason.CONFLICT, f"the question {told.id} is not open: it was answered, or is not yours")
        try:
            value = answers.fitting(told.answer, SCHEMAS[one.question.kind])
            heard = answers.Answer(value, told.model, JUDGE_VERSION, told.input_tokens, told.output_tokens)
            now_us, name = self._service.now_us(), bytes.fromhex(digest)
            events = judged(one.question, one.sent, heard, name, now_us, told.agent)
        except answers.NoAnswer as error:
            what = "does not fit the schema" if error.reason == "misfit" else "is not one JSON document"
            return Refused(Reason.INVALID, f"the answer to {told.id} {what}; nothing was stored")
        except answers.Disbelieved as error:
            return Refused(Reason.INVALID, f"the answer to {told.id} is not believed: {error}; nothing was stored")
        try:
            await self._append(events)
        except Conflict:
            return Done(created=False)
        return Done(created=True)

    async def _open(self, scope: Scope, only: str | None = None) -> list[_Open]:
        digester = self._service.digester(scope)
        rounds = await self._service.queried(
            lambda reader: unjudged(reader, BOUNDS, lambda _: True, frozenset(), scope, only), scope
        )
        found = list[_Open]()
        for round_, question in ((round_, each) for round_, questions in rounds for each in questions):
            sent, shape = answers.leaving(question.payload), answers.schema_document(SCHEMAS[question.kind])
            assert isinstance(sent, dict)
            shown = OpenQuestion(
                # It begins with the sub-session in which it is looked for again.
                id=f"{round_.sub_session_id}.{digester.digest(identity(question)).hex()}",
                kind=question.kind,
                instructions=instructions(question.kind, JUDGE_VERSION, shape),
                data=msgspec.json.encode(sent).decode(),
                schema=shape,
            )
            if len(shown.data) <= PAYLOAD_CHARACTERS_MAX:
                found.append(_Open(shown, question, sent))
        return found
