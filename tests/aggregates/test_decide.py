"""Decisions about captures: given these commands, when this one comes, then these events and this reply."""

from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
from msgspec.structs import replace

from aggregates.capture import events as captures
from aggregates.decide import (
    TOPICS,
    AnyCommand,
    StreamState,
    Unconditional,
    decide,
    evolve,
    required_streams,
    touched_streams,
)
from aggregates.event import Context, Decision, Digester, Done, Event, Reason, Words
from aggregates.ids import attempt_stream, operation_stream, overrides_stream, prompt_stream, session_stream
from aggregates.records.record import Record
from aggregates.sub_sessions.sub_session import EditTitle, TitleEdited
from tests.support.basics import ACME, ANA, BEN, NOW_US, OTHER, named, why
from tests.support.tables import beside, each_of

EVENT = named("client event")
PROMPT_ID = prompt_stream(ANA, EVENT)
SECOND_ID = named("second prompt")
CONTEXT = Context(now_us=NOW_US, digester=Digester(b"a fixed key"), redaction=True)

PROMPT = captures.CapturePrompt(
    organization_id=ACME,
    developer_id=ANA,
    prompt_id=PROMPT_ID,
    agent_session_id="session-1",
    source="claude-code",
    text="Fix the login test",
    client_event_id=EVENT,
)
SECOND = replace(PROMPT, prompt_id=SECOND_ID, client_event_id=None, text="Now the logout test")
RESPONSE = captures.CaptureResponse(
    organization_id=ACME,
    developer_id=ANA,
    prompt_id=PROMPT_ID,
    content=captures.ResponseContent(response_text="Done.", input_tokens=10, cost_usd=0.25),
    response_operation_id="op-1",
)
RECORDS = captures.RecordsCaptured(
    organization_id=ACME,
    developer_id=ANA,
    agent_session_id="session-1",
    source="claude-code",
    decoder_version=1,
    records=(Record(record_id="a", at_us=1, kind="tool"), Record(record_id="b", at_us=2, kind="request")),
    words=Words("ls"),
    redactions={"email": 2},
)
TITLE = EditTitle(organization_id=ACME, developer_id=ANA, turn_id=named("turn"), title="Login", summary="Repairs it")
SETUP = captures.SetupCompleted(organization_id=ACME, developer_id=ANA, plugin_version="0.6.0", key_prefix="svc_")

State = dict[UUID, StreamState]
_Event = TypeVar("_Event", bound=Event)


def after(*commands: AnyCommand) -> State:
    """The streams as those commands leave them; every command must have been taken."""
    streams: State = {}
    for command in commands:
        decision = decide(command, streams, CONTEXT)
        assert isinstance(decision.reply, Done)
        _adopt(streams, decision)
    return streams


def _adopt(streams: State, decision: Decision) -> None:
    for stream, event in decision.events:
        streams[stream] = evolve(streams.get(stream), event)


def _only(decision: Decision, kind: type[_Event]) -> _Event:
    return next(event for _, event in decision.events if isinstance(event, kind))


def _of(command: AnyCommand, **changes: object) -> AnyCommand:
    return replace(command, **changes)


ANSWERED, UNNAMED = (PROMPT, RESPONSE), _of(RESPONSE, response_operation_id=None)
IN_FILE = _of(PROMPT, source="codex-transcript", submitted_at_us=5)
READ_ANEW = _of(IN_FILE, prompt_id=SECOND_ID, former_prompt_id=PROMPT_ID)
SAID_LATER = _of(RESPONSE, content=replace(RESPONSE.content, response_text="Really done."), responded_at_us=9)
OF_FILE = tuple(replace(each, tool="ana@acme.example") for each in RECORDS.records)  # a secret, which is not kept
READ = _of(RECORDS, records=OF_FILE)
GROWN = _of(READ, records=tuple(replace(each, duration_ms=77) for each in OF_FILE))
NOTHING: tuple[AnyCommand, ...] = ()
TOLD: dict[str, AnyCommand] = {
    **dict(prompt=PROMPT, second=SECOND, response=RESPONSE, unnamed=UNNAMED, records=RECORDS, title=TITLE, setup=SETUP),
    **dict(in_file=IN_FILE, in_file_later=_of(IN_FILE, submitted_at_us=6), read_anew=READ_ANEW, said_later=SAID_LATER),
    **dict(read=READ, grown=GROWN, fewer=_of(RECORDS, records=RECORDS.records[:1])),
}
"""By what the tables beside this file call them."""
IDS = {"prompt": PROMPT_ID, "second": SECOND_ID, "session-1": session_stream("session-1")}


def decided(given: str, when: str, changes: dict[str, Any]) -> Decision:
    """Of a command with some other fields, of which ids go by names; of a response also what it says."""
    of_ids = ("prompt_id", "former_prompt_id", "developer_id", "organization_id")
    fields: dict[str, Any] = {
        name: IDS.get(each) or named(each) if name in of_ids else each for name, each in changes.items()
    }
    if "content" in fields:
        fields["content"] = replace(RESPONSE.content, **fields["content"])
    return decide(_of(TOLD[when], **fields), after(*(TOLD[each] for each in given.split())), CONTEXT)


# --- what is taken ------------------------------------------------------------------------------------------


@beside()
def test_a_command_becomes_events_once(given: str, when: str, changes: dict[str, Any], kinds: str, answer: str) -> None:
    """Decisions are taken each time; a batch is its session and its record ids."""
    decision = decided(given, when, changes)
    assert " ".join(type(event).__name__ for _, event in decision.events) == kinds
    assert {event.received_at_us for _, event in decision.events} <= {NOW_US}
    assert isinstance(decision.reply, Done)
    how, _, of = answer.partition(" ")
    wanted = (IDS.get(of) or named(of)) if of else decision.reply.id
    assert decision.reply == Done(how != "known", wanted, corrected=how == "corrected")


def test_a_batch_keeps_its_records_words_and_counts_as_they_came() -> None:
    """They were redacted piece by piece before; redacting again would move the spans."""
    captured = _only(decide(_of(RECORDS, words=Words("ana@acme.example")), {}, CONTEXT), captures.RecordsCaptured)
    assert captured.words == Words("ana@acme.example")
    assert (captured.records, captured.redactions) == (RECORDS.records, {"email": 2})


# --- what is refused ----------------------------------------------------------------------------------------


@beside()
def test_a_contradiction_is_refused_and_appends_nothing(
    given: str, when: str, changes: dict[str, Any], reason: str
) -> None:
    """A client event id means one text, session and source; an operation one prompt; a response is never replaced."""
    decision = decided(given, when, changes)
    assert decision.events == ()
    assert why(decision.reply).name.lower().replace("_", " ") == reason


@pytest.mark.parametrize("of_ana", [PROMPT, RECORDS])
@pytest.mark.parametrize("again", [SECOND, RECORDS])
@pytest.mark.parametrize(("organization", "developer"), [(ACME, BEN), (OTHER, ANA), (OTHER, BEN)])
def test_a_session_of_another_scope_is_flagged_once_and_nothing_of_it_kept(
    of_ana: AnyCommand, again: AnyCommand, organization: UUID, developer: UUID
) -> None:
    """Also the same developer in another organization is another scope; the flag is for who tried."""
    streams = after(of_ana)
    foreign = _of(again, organization_id=organization, developer_id=developer)
    if isinstance(foreign, captures.RecordsCaptured):
        foreign = replace(foreign, records=foreign.records[1:])
    first = decide(foreign, streams, CONTEXT)
    attempted = captures.ForeignSessionAttempted(
        received_at_us=NOW_US, organization_id=organization, developer_id=developer, agent_session_id="session-1"
    )
    assert first.events == ((attempt_stream(developer, "session-1"), attempted),)
    assert why(first.reply) is Reason.FOREIGN_SESSION
    _adopt(streams, first)
    assert decide(foreign, streams, CONTEXT) == Decision((), first.reply)
    assert decide(SECOND, streams, CONTEXT).reply == Done(True, SECOND_ID), "the owner is not hindered"


def test_operation_ids_of_two_developers_do_not_meet() -> None:
    of_ben = replace(PROMPT, developer_id=BEN, prompt_id=named("ben's"), agent_session_id="session-b")
    answer = replace(RESPONSE, developer_id=BEN, prompt_id=named("ben's"))
    assert decide(answer, after(*ANSWERED, of_ben), CONTEXT).reply == Done(True, named("ben's"))


# --- provenance ---------------------------------------------------------------------------------------------

_REVISION, _KIND = "cost_catalog_revision", "cost_kind"


@each_of(
    [
        ({}, {_REVISION: 7, _KIND: "reported"}, (7, "reported")),
        ({}, {_REVISION: 7}, (7, None)),
        ({_REVISION: 7}, {_REVISION: 8, _KIND: "reported"}, (None, "reported")),
        ({_KIND: "reported"}, {_REVISION: 8, _KIND: "public_list_price_estimate"}, (8, None)),
        ({_REVISION: 0}, {_REVISION: 8}, None),
        ({_REVISION: 7, _KIND: "reported"}, {_REVISION: 8, _KIND: "other"}, None),
        ({_REVISION: 7, _KIND: "reported"}, {}, None),
        ({}, {}, None),
    ]
)
def test_an_identical_retry_fills_only_the_provenance_that_is_missing(
    first: dict[str, object], retry: dict[str, object], filled: tuple[int | None, str | None] | None
) -> None:
    """The first value stays; a different one is no conflict. Filling it again appends nothing."""
    streams = after(PROMPT, _of(RESPONSE, **first))
    decision = decide(_of(RESPONSE, **retry), streams, CONTEXT)
    assert decision.reply == Done(False, PROMPT_ID)
    found = [(event.TOPIC, getattr(event, _REVISION), getattr(event, _KIND)) for _, event in decision.events]
    assert found == ([] if filled is None else [("prompt.provenance-filled", *filled)])
    _adopt(streams, decision)
    assert decide(_of(RESPONSE, **retry), streams, CONTEXT).events == ()


# --- what the events hold -----------------------------------------------------------------------------------


def test_a_prompt_is_kept_redacted_and_compared_as_received() -> None:
    """The secret is counted and gone; a retry with another secret in its place is another prompt."""
    secret = replace(PROMPT, text="Write to ana@acme.example", metadata_json='{"to":"ana@acme.example"}')
    decision = decide(secret, {}, CONTEXT)
    captured = _only(decision, captures.PromptCaptured)
    assert captured.prompt == Words("Write to [REDACTED:email]")
    assert captured.metadata == Words('{"to":"[REDACTED:email]"}')
    assert captured.redactions == {"email": 1}
    assert captured.prompt_digest == Digester(b"a fixed key").digest(secret.text)
    other = replace(secret, text="Write to ben@acme.example")
    assert why(decide(other, after(secret), CONTEXT).reply) is Reason.CONFLICT


def test_an_organization_may_keep_its_texts_whole() -> None:
    context = replace(CONTEXT, redaction=False)
    captured = _only(decide(replace(PROMPT, text="ana@acme.example"), {}, context), captures.PromptCaptured)
    assert captured.prompt == Words("ana@acme.example")
    assert captured.redactions == {}


def test_an_answer_keeps_its_numbers_whole_and_its_session_from_the_prompt() -> None:
    """Milliseconds are rounded, money is integer nano-dollars, what was not sent stays absent."""
    content = captures.ResponseContent(response_text="ana@acme.example", elapsed_ms=12.6, cost_usd=0.1)
    decision = decide(replace(RESPONSE, content=content), after(PROMPT), CONTEXT)
    answered = _only(decision, captures.PromptAnswered)
    assert answered.agent_session_id == "session-1"
    assert (answered.elapsed_ms, answered.cost_usd_nano) == (13, 100_000_000)
    assert (answered.response, answered.redactions) == (Words("[REDACTED:email]"), {"email": 1})
    assert answered.input_tokens is None


@each_of([(None, None), ("to eve@acme.example", Words("to [REDACTED:email]"))])
def test_a_title_is_redacted_like_any_other_text(summary: str | None, kept: Words | None) -> None:
    """A summary that was not sent stays as it was."""
    edited = replace(TITLE, title="for ana@acme.example", summary=summary)
    ((stream, event),) = decide(edited, {}, CONTEXT).events
    assert isinstance(event, TitleEdited)
    assert stream == overrides_stream(ANA)
    assert (event.title, event.summary) == (Words("for [REDACTED:email]"), kept)


_SESSION_STREAMS = (session_stream("session-1"), attempt_stream(ANA, "session-1"))


@each_of(
    [
        (PROMPT, (PROMPT_ID, *_SESSION_STREAMS), ()),
        (READ_ANEW, (SECOND_ID, PROMPT_ID, *_SESSION_STREAMS), (PROMPT_ID,)),
        (RESPONSE, (PROMPT_ID, operation_stream(ANA, "op-1")), (PROMPT_ID,)),
        (UNNAMED, (PROMPT_ID,), (PROMPT_ID,)),
        (TITLE, (overrides_stream(ANA),), (overrides_stream(ANA),)),
        (SETUP, (overrides_stream(ANA),), (overrides_stream(ANA),)),
    ]
)
def test_each_command_names_the_streams_it_rests_on(
    command: AnyCommand, touched: tuple[UUID, ...], required: tuple[UUID, ...]
) -> None:
    """Only what is expected to exist is loaded before the first decision."""
    assert touched_streams(command) == touched
    assert required_streams(command) == required


@pytest.mark.parametrize("command", [PROMPT, SECOND, RECORDS, RESPONSE, TITLE, SETUP])
@pytest.mark.parametrize("given", [NOTHING, (PROMPT,), ANSWERED, (RECORDS,), (*ANSWERED, SECOND, RECORDS)])
def test_a_decision_writes_and_reads_only_streams_it_names(given: tuple[AnyCommand, ...], command: AnyCommand) -> None:
    """So an actor that has loaded them has loaded enough to be right: without all others it comes out the same."""
    streams, touched = after(*given), touched_streams(command)
    decision = decide(command, streams, CONTEXT)
    assert {stream for stream, _ in decision.events} <= set(touched)
    assert decide(command, {each: streams[each] for each in touched if each in streams}, CONTEXT) == decision
    if isinstance(command, Unconditional):
        assert decide(command, {}, CONTEXT) == decision


# --- topics: names in every log that exists; they may be added, never changed or taken away -------------------


GOLDEN = Path(__file__).parent.parent / "topics.txt"


def _subclasses(cls: type[Event]) -> set[type[Event]]:
    return {cls}.union(*map(_subclasses, cls.__subclasses__()))


def test_topics_are_those_of_the_golden_list() -> None:
    """A topic that vanishes here would orphan events; a new one is added to the list on purpose."""
    assert sorted(TOPICS) == GOLDEN.read_text(encoding="utf-8").split()


def test_every_event_class_has_a_topic_of_its_own() -> None:
    """No event class is missing from the table, and none stands under another's name."""
    classes = {cls for cls in _subclasses(Event) if "TOPIC" in vars(cls) and cls.__module__.startswith("aggregates.")}
    assert {cls.TOPIC: cls for cls in classes} == TOPICS
    assert len(classes) == len(TOPICS)
