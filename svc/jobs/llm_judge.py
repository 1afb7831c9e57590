"""Asking a text model to judge: settled sub-sessions only, one question after the other, each answer a fact.

Of a sub-session its unsure boundaries come first. Its prompts and its outcome are asked about at a later look, when the
views hold what became of it.

Nothing waits for it. The embedded verdict stands until an answer is in the log, and whatever goes wrong it stands for
good. What is passing (a limit, a budget, an endpoint that is down) is tried again later; what does not fit is not.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec
import structlog
import trio

from aggregates.ids import answer_stream
from aggregates.judging.rubric import JudgeAnswered
from projections.judging.unjudged import Question, QuestionBounds, QuestionRound, unjudged
from projections.reader import Reader
from svc.llm import budget as bounds
from svc.llm.answers import (
    Answer,
    BoundaryAnswer,
    Disbelieved,
    NoAnswer,
    OutcomeAnswer,
    RubricAnswer,
    believed_boundary,
    believed_rubric,
    leaving,
)
from svc.llm.client import Count, Gateway
from svc.log.codec import NewEvent
from svc.log.journal import Journal
from svc.log.store import Conflict
from svc.log.vault import Vault
from svc_http.ports import Unavailable

log = structlog.get_logger()
T = TypeVar("T")
VERSION = 1
"""Of the prompt texts `boundary`, `rubric` and `outcome`: whoever changes one counts it up and adds new files."""
_OF_THIS_QUESTION = frozenset({"misfit", "unreadable", "too-large"})


class Desk(Protocol):
    vault: Vault
    journal: Journal

    def now_us(self) -> int: ...

    async def read_all(self, query: Callable[[Reader], T]) -> T: ...


class LlmJudge:
    def __init__(self, desk: Desk, gateway: Gateway, count: Count) -> None:
        self._desk = desk
        self._gateway = gateway
        self._count = count
        self._done: set[QuestionRound] = set()

    async def run(self) -> None:
        while self._gateway.model is not None:
            try:
                await self.look()
            except Unavailable:
                pass  # the views are being built
            except Exception:
                log.exception("sub-sessions could not be judged by the text model; it is tried again")
            await trio.sleep(bounds.JUDGE_LOOK_SECONDS)

    async def look(self) -> None:
        """Ask about some sub-sessions, until something is in the way."""
        model = self._gateway.model
        if model is None:
            return
        wanted = QuestionBounds(
            model=model,
            version=VERSION,
            days=bounds.JUDGE_DAYS,
            sub_sessions=bounds.JUDGE_SUB_SESSIONS,
            prompts=bounds.JUDGE_PROMPTS_MAX,
            gaps=bounds.JUDGE_GAPS_MAX,
        )
        done, may_ask = frozenset(self._done), self._gateway.may_ask
        for key, questions in await self._desk.read_all(lambda reader: unjudged(reader, wanted, may_ask, done)):
            for question in questions:
                if not await self._settled(question):
                    return
            if len(self._done) >= bounds.JUDGE_REMEMBERED_MAX:
                self._done.clear()
            self._done.add(key)

    async def _settled(self, question: Question) -> bool:
        """Ask one question; whether it is done with. False: the next would fail the same way."""
        try:
            event = await self._answered(question)
        except NoAnswer as failure:
            return failure.reason in _OF_THIS_QUESTION
        except Disbelieved as error:
            log.warning("an answer of the text model is not believed", kind=question.kind, reason=str(error))
            self._count(question.kind, "disbelieved", 0)
            return True
        stream = answer_stream(event.developer_id, event.kind, event.model, event.prompt_version, event.input_digest)
        try:
            await self._desk.journal.append([NewEvent(stream, 1, event)])
        except Conflict:
            log.debug("the same question was answered before")
        return True

    async def _answered(self, question: Question) -> JudgeAnswered:
        sent = leaving(question.payload)
        assert isinstance(sent, dict)
        organization_id = question.scope.organization_id
        match question.kind:
            case "rubric":
                rubric = await self._gateway.ask(organization_id, "rubric", VERSION, RubricAnswer, sent)
                intent, earned = believed_rubric(rubric.value, str(sent["prompt"]))
                fact = self._fact(question, rubric, rubric.value.confidence)
                return msgspec.structs.replace(fact, intent=intent, earned=earned)
            case "outcome":
                outcome = await self._gateway.ask(organization_id, "outcome", VERSION, OutcomeAnswer, sent)
                fact = self._fact(question, outcome, outcome.value.confidence)
                return msgspec.structs.replace(fact, complete=outcome.value.complete)
            case "boundary":
                gap = await self._gateway.ask(organization_id, "boundary", VERSION, BoundaryAnswer, sent)
                shift = believed_boundary(gap.value, str(sent["prompt"]))
                return msgspec.structs.replace(self._fact(question, gap, gap.value.confidence), boundary=shift)

    def _fact(self, question: Question, answer: Answer[T], confidence: float) -> JudgeAnswered:
        scope = question.scope
        asked = msgspec.json.encode([str(question.capture_id), question.captures, question.payload]).decode()
        return JudgeAnswered(
            received_at_us=self._desk.now_us(),
            organization_id=scope.organization_id,
            developer_id=scope.developer_id,
            kind=question.kind,
            agent_session_id=question.agent_session_id,
            capture_id=question.capture_id,
            captures=question.captures,
            model=answer.model,
            prompt_version=answer.version,
            input_digest=self._desk.vault.known_digester(scope.developer_id).digest(asked),
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            confidence=round(confidence, 3),
        )
