"""What is asked of a text model: to judge settled sub-sessions, to tell of a day, to write a report's prose.

Each judgement is a fact, and the embedded verdict stands until it is in the log. Unsure boundaries come first; prompts
and the outcome at a later look, when the views hold what became of them. Narratives of days are written beside the
requests that want them: who asks waits a little, and else goes without.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.event import Newest, NewEvent, Reason, Refused, Scope
from aggregates.ids import answer_stream
from aggregates.judging.prompt import language_of
from aggregates.judging.rubric import JudgeAnswered, JudgeKind
from aggregates.reports import prose
from projections.facts.reports import OpenReport
from projections.sub_sessions.unjudged import Question, QuestionBounds, QuestionRound, unjudged
from svc.actors.actors import recur
from svc.llm import answers
from svc.llm.client import PAYLOAD_CHARACTERS_MAX, Count, Gateway, instructions
from svc.log.journal import Journal
from svc.log.store import Conflict
from svc.log.vault import Vault
from svc_http.ports import Service
from svc_http.records import AgentAnswer, AnswerRefused, AnswersTaken, OpenQuestion

NARRATIVE_WAIT_SECONDS = 8.0  # how long a read waits for a narrative that is being written
NARRATIVES_AT_ONCE_MAX = 32  # under way or waiting for their turn
NARRATIVES_KEPT_MAX = 256  # of a team's or a developer's day, some 2 KiB each
JUDGE_LOOK_SECONDS = 30.0  # how often it is looked for sub-sessions that settled
JUDGE_REMEMBERED_MAX = 20_000  # sub-sessions that are done with; beyond it all are looked at again

log = structlog.get_logger()
People = Callable[[UUID], Sequence[str]]  # the names of an organization's members, present and former
JUDGE_VERSION = 5
NARRATIVE_VERSION = REPORT_VERSION = 1
"""Of the prompt texts: whoever changes one counts its version up and adds new files."""
LANGUAGES = {"en": "English", "ko": "Korean"}  # as a model is told them
_PERIODS = {"daily": "day", "weekly": "week", "monthly": "month"}
_OF_THIS_QUESTION = frozenset({"misfit", "unreadable", "too-large"})
Verdict = answers.RubricAnswer | answers.OutcomeAnswer | answers.BoundaryAnswer
SCHEMAS: dict[JudgeKind, type[Verdict]] = {
    "rubric": answers.RubricAnswer,
    "outcome": answers.OutcomeAnswer,
    "boundary": answers.BoundaryAnswer,
}


class LlmJudge:
    def __init__(self, service: Service, vault: Vault, journal: Journal, gateway: Gateway, count: Count) -> None:
        self._service = service
        self._vault = vault
        self._journal = journal
        self._gateway = gateway
        self._count = count
        self._done: set[QuestionRound] = set()

    async def run(self) -> None:
        if self._gateway.model is not None:
            broken = "sub-sessions could not be judged by the text model; it is tried again"
            await recur(self.look, JUDGE_LOOK_SECONDS, broken)

    async def look(self) -> None:
        wanted = msgspec.structs.replace(BOUNDS, model=self._gateway.model or "")
        done, may_ask = frozenset(self._done), self._gateway.may_ask
        for key, questions in await self._service.read_all(lambda reader: unjudged(reader, wanted, may_ask, done)):
            for question in questions:
                if not await self._settled(question):
                    return
            if len(self._done) >= JUDGE_REMEMBERED_MAX:
                self._done.clear()
            self._done.add(key)

    async def _settled(self, question: Question) -> bool:
        """Ask one question; whether it is done with. False: the next would fail the same way."""
        sent, scope, schema = answers.leaving(question.payload), question.scope, SCHEMAS[question.kind]
        assert isinstance(sent, dict)
        try:
            answer = await self._gateway.ask(scope.organization_id, question.kind, JUDGE_VERSION, schema, sent)
            digest = self._vault.known_digester(scope.developer_id).digest(identity(question))
            await self._journal.append(judged(question, sent, answer, digest, self._service.now_us()))
        except answers.NoAnswer as failure:
            return failure.reason in _OF_THIS_QUESTION
        except answers.Disbelieved as error:
            log.warning("an answer of the text model is not believed", kind=question.kind, reason=str(error))
            self._count(question.kind, "disbelieved", 0)
        except Conflict:
            log.debug("the same question was answered before")
        return True


BOUNDS = QuestionBounds(
    model=None,
    version=JUDGE_VERSION,
    days=7,  # what settled longer ago is left as it was judged: a new model does not read the whole past
    sub_sessions=20,  # those that settled last first
    prompts=20,  # of one sub-session, judged and told of with its outcome: the first ones, and its last
    gaps=24,  # of one agent session, those first that the judge is least sure of
)


def identity(question: Question) -> str:
    """What makes it this question and no other: once digested, the name under which it is answered once."""
    return msgspec.json.encode([question.about, question.payload]).decode()


def judged(
    question: Question,
    sent: dict[str, Any],
    answer: answers.Answer[Verdict],
    digest: bytes,
    now_us: int,
    agent: str | None = None,
) -> list[NewEvent]:
    """What is believed of an answer to `sent`, as facts, which are stored once. Raises `Disbelieved`."""
    verdicts: list[dict[str, Any]]
    match answer.value:
        case answers.RubricAnswer() as rubric:
            said = answers.believed_rubric(rubric, sent["prompt"], sent.get("pasted", ""))
            verdicts = [{"confidence": rubric.confidence, **said._asdict()}]
        case answers.OutcomeAnswer(complete, confidence):
            undecided = complete == "undecided"
            verdicts = [{"confidence": confidence, "complete": None if undecided else complete, "undecided": undecided}]
        case answers.BoundaryAnswer() as boundary:
            asked = {each["turn"]: each["asked"] for each in sent["turns"] if each["turn"] in sent["gaps"]}
            gaps = answers.believed_gaps(boundary, asked)
            verdicts = [{"confidence": each.confidence, "boundary": each.new_topic} for each in gaps]
    verdicts[0] |= {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    events = [
        JudgeAnswered(
            received_at_us=now_us,
            **msgspec.structs.asdict(question.scope),
            kind=question.kind,
            **about._asdict(),
            model=answer.model,
            prompt_version=answer.version,
            input_digest=digest,
            agent=agent,
            **verdict | {"confidence": round(verdict["confidence"], 3)},
        )
        for about, verdict in zip(question.about, verdicts, strict=True)
    ]
    by = events[0].model if agent is None else events[0].judge
    stream = answer_stream(question.scope.developer_id, question.kind, by, answer.version, digest)
    return [NewEvent(stream, number, event) for number, event in enumerate(events, 1)]


class NarrativeAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A model's answer. A structured one is refused as a whole."""

    narrative: str
    structured_narrative: None = None


class ProseAnswer(msgspec.Struct, forbid_unknown_fields=True):
    narrative: str


class Narratives:
    def __init__(self, gateway: Gateway, now_us: Callable[[], int], people: People, count: Count) -> None:
        self._gateway = gateway
        self._now_us = now_us
        self._people = people
        self._count = count
        self._kept = Newest[tuple[str, ...], prose.Narrative](NARRATIVES_KEPT_MAX)
        self._under_way: dict[tuple[str, ...], trio.Event] = {}
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    async def narrate(self, wanted: prose.NarrativeRequest) -> prose.Narration:
        """The narrative, or why there is none. Never raises because of the model."""
        if not self._gateway.may_ask(wanted.scope.organization_id):
            return prose.Narration("off")
        if not wanted.work.members:
            return prose.Narration("no_work")
        if self._standing(wanted) is None:
            room = wanted.name not in self._under_way and len(self._under_way) < NARRATIVES_AT_ONCE_MAX
            if room and self._nursery is not None:
                self._under_way[wanted.name] = trio.Event()
                self._nursery.start_soon(self._write, wanted)
            if (written := self._under_way.get(wanted.name)) is not None:
                with trio.move_on_after(NARRATIVE_WAIT_SECONDS):
                    await written.wait()
        kept = self._standing(wanted)
        if kept is not None:
            return prose.Narration("written", kept)
        if wanted.name in self._under_way:
            return prose.Narration("pending")
        return prose.Narration("resting" if self._gateway.rests else "none")

    async def report(self, wanted: OpenReport, sections: str) -> prose.Prose | None:
        """A report's prose, about the figures of its sections; None where there is none."""
        organization_id = wanted.scope.organization_id
        told = prose.report_figures(sections) if self._gateway.may_ask(organization_id) else None
        if told is None:
            return None
        payload: dict[str, answers.Json] = {
            "language": LANGUAGES[language_of(wanted.language)],
            "period": _PERIODS[wanted.period.name],
            "figures": dict(told.figures),
            "weakest_habits": list(told.weakest_habits),
        }
        try:
            answer = await self._gateway.ask(organization_id, "report", REPORT_VERSION, ProseAnswer, payload)
        except answers.NoAnswer:
            return None  # counted by the gateway
        names = self._people(organization_id)
        text = self._believed("report", prose.believed_prose(answer.value.narrative, told.figures, names))
        narrator = prose.Narrator(answer.model, answer.version, answer.input_tokens, answer.output_tokens)
        return None if text is None else prose.Prose(text, narrator)

    def _believed(self, kind: str, text: str | None) -> str | None:
        if text is None:
            log.warning("what the text model wrote is not shown: it says more than it was told", kind=kind)
            self._count(kind, "disbelieved", 0)
        return text

    def _standing(self, wanted: prose.NarrativeRequest) -> prose.Narrative | None:
        kept = self._kept.get(wanted.name)
        return kept if kept is not None and kept.stands(wanted.work, self._now_us()) else None

    async def _write(self, wanted: prose.NarrativeRequest) -> None:
        organization_id, kind = wanted.scope.organization_id, wanted.kind
        labels: list[answers.Json] = [list(each) for each in wanted.work.members]
        about: dict[str, answers.Json] = {"members": labels} if kind == "team" else {"work": labels[0]}
        payload = {"language": LANGUAGES[wanted.language], **about}
        try:
            answer = await self._gateway.ask(organization_id, kind, NARRATIVE_VERSION, NarrativeAnswer, payload)
            text = self._believed(kind, prose.believed(answer.value.narrative, {}, self._people(organization_id)))
            if text is not None:
                self._kept.put(wanted.name, prose.Narrative(text, self._now_us(), wanted.work.clipped, wanted.work))
        except answers.NoAnswer:
            pass  # counted by the gateway; nothing is kept
        finally:
            self._under_way.pop(wanted.name).set()


# A developer's own agent as judge: it is handed open questions, and its answers are checked as a text model's are.

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
        opened = await self._open(scope, told.question_id.partition(".")[0])
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
