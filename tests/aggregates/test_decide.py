"""Decisions about captures: given these commands, when this one comes, then these events and this reply."""

from typing import TypeVar
from uuid import UUID

import pytest
from msgspec.structs import replace

from aggregates import events as e
from aggregates.canonical import ResponseContent
from aggregates.commands import (
    AnyCommand,
    CapturePrompt,
    CaptureRecords,
    CaptureResponse,
    CompleteSetup,
    Done,
    EditTitle,
    Reason,
    Refused,
    Reply,
)
from aggregates.decide import Context, Decision, decide, required_streams, touched_streams
from aggregates.digests import Digester
from aggregates.ids import attempt_stream, corrections_stream, operation_stream, prompt_stream, session_stream
from aggregates.records import Record
from aggregates.streams import StreamState, evolve
from aggregates.words import Words
from tests.support.log import named

_ACME, _OTHER = named("acme"), named("other")
_ANA, _BEN = named("ana"), named("ben")
_EVENT = named("client event")
_PROMPT_ID = prompt_stream(_ANA, _EVENT)
_SECOND_ID = named("second prompt")
_NOW_US = 1_785_585_600_000_000
_CONTEXT = Context(now_us=_NOW_US, digester=Digester(b"a fixed key"), redaction=True)

_PROMPT = CapturePrompt(
    organization_id=_ACME,
    developer_id=_ANA,
    prompt_id=_PROMPT_ID,
    agent_session_id="session-1",
    source="claude-code",
    text="Fix the login test",
    client_event_id=_EVENT,
)
_SECOND = replace(_PROMPT, prompt_id=_SECOND_ID, client_event_id=None, text="Now the logout test")
_RESPONSE = CaptureResponse(
    organization_id=_ACME,
    developer_id=_ANA,
    prompt_id=_PROMPT_ID,
    content=ResponseContent(response_text="Done.", input_tokens=10, cost_usd=0.25),
    response_operation_id="op-1",
)
_RECORDS = CaptureRecords(
    organization_id=_ACME,
    developer_id=_ANA,
    agent_session_id="session-1",
    source="claude-code",
    decoder_version=1,
    records=(Record(record_id="a", at_us=1, kind="tool"), Record(record_id="b", at_us=2, kind="request")),
    words="ls",
    redactions={"email": 2},
)
_TITLE = EditTitle(organization_id=_ACME, developer_id=_ANA, turn_id=named("turn"), title="Login", summary="Repairs it")
_SETUP = CompleteSetup(organization_id=_ACME, developer_id=_ANA, plugin_version="0.6.0", key_prefix="svc_")

_State = dict[UUID, StreamState]
_Event = TypeVar("_Event", bound=e.Event)


def _after(*commands: AnyCommand) -> _State:
    """The streams as those commands leave them; every command must have been taken."""
    streams: _State = {}
    for command in commands:
        decision = decide(command, streams, _CONTEXT)
        assert isinstance(decision.reply, Done)
        _adopt(streams, decision)
    return streams


def _adopt(streams: _State, decision: Decision) -> None:
    for stream, event in decision.events:
        streams[stream] = evolve(streams.get(stream), event)


def _kinds(decision: Decision) -> list[type[e.Event]]:
    return [type(event) for _, event in decision.events]


def _only(decision: Decision, kind: type[_Event]) -> _Event:
    return next(event for _, event in decision.events if isinstance(event, kind))


def _of(command: AnyCommand, **changes: object) -> AnyCommand:
    return replace(command, **changes)


def _refusal(reply: Reply) -> Reason:
    assert isinstance(reply, Refused)
    assert reply.message
    return reply.reason


_ANSWERED = (_PROMPT, _RESPONSE)
_NOTHING: tuple[AnyCommand, ...] = ()


# --- what is taken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "when", "kinds", "reply"),
    [
        # a prompt claims its session, the next one finds it claimed, a retry finds itself
        (_NOTHING, _PROMPT, [e.SessionClaimed, e.PromptCaptured], Done(True, _PROMPT_ID)),
        ((_PROMPT,), _SECOND, [e.PromptCaptured], Done(True, _SECOND_ID)),
        ((_PROMPT,), _PROMPT, [], Done(False, _PROMPT_ID)),
        ((_PROMPT,), _of(_PROMPT, cwd="/elsewhere", truncated=True), [], Done(False, _PROMPT_ID)),
        # a response claims its operation id, where it has one
        ((_PROMPT,), _RESPONSE, [e.PromptAnswered, e.OperationClaimed], Done(True, _PROMPT_ID)),
        ((_PROMPT,), _of(_RESPONSE, response_operation_id=None), [e.PromptAnswered], Done(True, _PROMPT_ID)),
        (_ANSWERED, _RESPONSE, [], Done(False, _PROMPT_ID)),
        (_ANSWERED, _of(_RESPONSE, response_operation_id=None), [], Done(False, _PROMPT_ID)),
        (
            _ANSWERED,
            _of(_RESPONSE, response_operation_id="op-2"),
            [e.OperationClaimed],
            Done(False, _PROMPT_ID),
        ),
        (_ANSWERED, _of(_RESPONSE, responded_at_us=9), [], Done(False, _PROMPT_ID)),
        # decisions are taken each time
        ((_PROMPT,), _SETUP, [e.SetupCompleted], Done(True)),
        (_NOTHING, _TITLE, [e.TitleEdited], Done(True, named("turn"))),
        ((_TITLE,), _TITLE, [e.TitleEdited], Done(True, named("turn"))),
    ],
)
def test_a_command_becomes_events_once(
    given: tuple[AnyCommand, ...], when: AnyCommand, kinds: list[type[e.Event]], reply: Done
) -> None:
    """What is new is appended; what was done before is answered the same way and appends nothing."""
    decision = decide(when, _after(*given), _CONTEXT)
    assert _kinds(decision) == kinds
    assert decision.reply == reply


@pytest.mark.parametrize(
    ("given", "when", "kinds"),
    [
        (_NOTHING, _RECORDS, [e.SessionClaimed, e.RecordsCaptured]),
        ((_PROMPT,), _RECORDS, [e.RecordsCaptured]),
        ((_RECORDS,), _PROMPT, [e.PromptCaptured]),
        ((_RECORDS,), _RECORDS, []),
        ((_RECORDS,), _of(_RECORDS, records=_RECORDS.records[:1]), [e.RecordsCaptured]),
        ((_RECORDS,), _of(_RECORDS, agent_session_id="session-2"), [e.SessionClaimed, e.RecordsCaptured]),
    ],
)
def test_a_batch_is_its_session_and_its_record_ids(
    given: tuple[AnyCommand, ...], when: AnyCommand, kinds: list[type[e.Event]]
) -> None:
    """The same batch again appends nothing and has the same id; any other batch is a new one."""
    decision = decide(when, _after(*given), _CONTEXT)
    assert _kinds(decision) == kinds
    assert isinstance(decision.reply, Done)
    assert decision.reply.created is bool(kinds)


def test_a_batch_keeps_its_records_words_and_counts_as_they_came() -> None:
    """They were redacted piece by piece before; redacting again would move the spans."""
    captured = _only(decide(_of(_RECORDS, words="ana@acme.example"), {}, _CONTEXT), e.RecordsCaptured)
    assert captured.words == Words("ana@acme.example")
    assert (captured.records, captured.redactions) == (_RECORDS.records, {"email": 2})


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "when", "reason"),
    [
        # the same client event id means the same text, session and source
        ((_PROMPT,), _of(_PROMPT, text="Fix the login test "), Reason.CONFLICT),
        ((_PROMPT,), _of(_PROMPT, agent_session_id="session-2"), Reason.CONFLICT),
        ((_PROMPT,), _of(_PROMPT, source="codex"), Reason.CONFLICT),
        # a response needs a prompt of the same scope
        (_NOTHING, _RESPONSE, Reason.NOT_FOUND),
        ((_PROMPT,), _of(_RESPONSE, prompt_id=named("no prompt")), Reason.NOT_FOUND),
        ((_PROMPT,), _of(_RESPONSE, developer_id=_BEN), Reason.NOT_FOUND),
        ((_PROMPT,), _of(_RESPONSE, organization_id=_OTHER), Reason.NOT_FOUND),
        ((_PROMPT,), _of(_RESPONSE, prompt_id=session_stream("session-1")), Reason.NOT_FOUND),
        # an operation id belongs to one prompt for ever
        ((*_ANSWERED, _SECOND), _of(_RESPONSE, prompt_id=_SECOND_ID), Reason.CONFLICT),
        # a response is never replaced, whatever its operation id
        (_ANSWERED, _of(_RESPONSE, content=ResponseContent(response_text="Other.")), Reason.CONFLICT),
        (
            _ANSWERED,
            _of(_RESPONSE, content=replace(_RESPONSE.content, model="m"), response_operation_id="op-2"),
            Reason.CONFLICT,
        ),
        (
            _ANSWERED,
            _of(_RESPONSE, content=replace(_RESPONSE.content, cost_usd=None), response_operation_id=None),
            Reason.CONFLICT,
        ),
    ],
)
def test_a_contradiction_is_refused_and_appends_nothing(
    given: tuple[AnyCommand, ...], when: AnyCommand, reason: Reason
) -> None:
    """What stands in the log stays as it was."""
    decision = decide(when, _after(*given), _CONTEXT)
    assert decision.events == ()
    assert _refusal(decision.reply) is reason


@pytest.mark.parametrize("of_ana", [_PROMPT, _RECORDS])
@pytest.mark.parametrize("again", [_SECOND, _RECORDS])
@pytest.mark.parametrize(("organization", "developer"), [(_ACME, _BEN), (_OTHER, _ANA), (_OTHER, _BEN)])
def test_a_session_of_another_scope_is_flagged_once_and_nothing_of_it_kept(
    of_ana: AnyCommand, again: AnyCommand, organization: UUID, developer: UUID
) -> None:
    """Also the same developer in another organization is another scope; the flag is for who tried."""
    streams = _after(of_ana)
    foreign = _of(again, organization_id=organization, developer_id=developer)
    if isinstance(foreign, CaptureRecords):
        foreign = replace(foreign, records=foreign.records[1:])
    first = decide(foreign, streams, _CONTEXT)
    attempted = e.ForeignSessionAttempted(
        received_at_us=_NOW_US,
        organization_id=organization,
        developer_id=developer,
        agent_session_id="session-1",
    )
    assert first.events == ((attempt_stream(developer, "session-1"), attempted),)
    assert _refusal(first.reply) is Reason.FOREIGN_SESSION
    _adopt(streams, first)
    second = decide(foreign, streams, _CONTEXT)
    assert second == Decision((), first.reply)


def test_the_owner_of_a_session_is_not_hindered_by_an_attempt() -> None:
    """The attempt neither takes the session over nor closes it."""
    streams = _after(_PROMPT)
    _adopt(streams, decide(_of(_SECOND, developer_id=_BEN), streams, _CONTEXT))
    assert decide(_SECOND, streams, _CONTEXT).reply == Done(True, _SECOND_ID)


def test_operation_ids_of_two_developers_do_not_meet() -> None:
    """The id is unique within one developer only."""
    of_ben = replace(_PROMPT, developer_id=_BEN, prompt_id=named("ben's"), agent_session_id="session-b")
    answer = replace(_RESPONSE, developer_id=_BEN, prompt_id=named("ben's"))
    assert decide(answer, _after(*_ANSWERED, of_ben), _CONTEXT).reply == Done(True, named("ben's"))


# --- provenance ---------------------------------------------------------------------------------------------

_REVISION, _KIND = "cost_catalog_revision", "cost_kind"


@pytest.mark.parametrize(
    ("first", "retry", "filled"),
    [
        ({}, {_REVISION: 7, _KIND: "reported"}, (7, "reported")),
        ({}, {_REVISION: 7}, (7, None)),
        ({_REVISION: 7}, {_REVISION: 8, _KIND: "reported"}, (None, "reported")),
        ({_KIND: "reported"}, {_REVISION: 8, _KIND: "public_list_price_estimate"}, (8, None)),
        ({_REVISION: 0}, {_REVISION: 8}, None),
        ({_REVISION: 7, _KIND: "reported"}, {_REVISION: 8, _KIND: "other"}, None),
        ({_REVISION: 7, _KIND: "reported"}, {}, None),
        ({}, {}, None),
    ],
)
def test_an_identical_retry_fills_only_the_provenance_that_is_missing(
    first: dict[str, object], retry: dict[str, object], filled: tuple[int | None, str | None] | None
) -> None:
    """The first value stays; a different one is no conflict. Filling it again appends nothing."""
    streams = _after(_PROMPT, _of(_RESPONSE, **first))
    decision = decide(_of(_RESPONSE, **retry), streams, _CONTEXT)
    assert decision.reply == Done(False, _PROMPT_ID)
    found = [
        (event.cost_catalog_revision, event.cost_kind)
        for _, event in decision.events
        if isinstance(event, e.ProvenanceFilled)
    ]
    assert found == ([] if filled is None else [filled])
    assert len(decision.events) == len(found)
    _adopt(streams, decision)
    assert decide(_of(_RESPONSE, **retry), streams, _CONTEXT).events == ()


# --- what the events hold -----------------------------------------------------------------------------------


def test_a_prompt_is_kept_redacted_and_compared_as_received() -> None:
    """The secret is counted and gone; a retry with another secret in its place is another prompt."""
    secret = replace(_PROMPT, text="Write to ana@acme.example", metadata_json='{"to":"ana@acme.example"}')
    decision = decide(secret, {}, _CONTEXT)
    captured = _only(decision, e.PromptCaptured)
    assert captured.prompt == Words("Write to [REDACTED:email]")
    assert captured.metadata == Words('{"to":"[REDACTED:email]"}')
    assert captured.redactions == {"email": 1}
    assert captured.prompt_digest == Digester(b"a fixed key").digest(secret.text)
    other = replace(secret, text="Write to ben@acme.example")
    assert _refusal(decide(other, _after(secret), _CONTEXT).reply) is Reason.CONFLICT


def test_an_organization_may_keep_its_texts_whole() -> None:
    """Without redaction the text stays as it came and nothing is counted."""
    context = replace(_CONTEXT, redaction=False)
    captured = _only(decide(replace(_PROMPT, text="ana@acme.example"), {}, context), e.PromptCaptured)
    assert captured.prompt == Words("ana@acme.example")
    assert captured.redactions == {}


def test_a_prompt_keeps_what_was_said_about_it() -> None:
    """The folder is kept as text, and as a number that can be compared without it."""
    told = replace(
        _PROMPT,
        host_prompt_id="host-1",
        submitted_at_us=5,
        cwd="/repo",
        original_char_count=18,
        untruncated_sha256="0" * 64,
        truncated=False,
    )
    stream, captured = decide(told, {}, _CONTEXT).events[1]
    assert isinstance(captured, e.PromptCaptured)
    assert stream == captured.prompt_id == _PROMPT_ID
    assert captured.received_at_us == _NOW_US
    assert (captured.organization_id, captured.developer_id) == (_ACME, _ANA)
    assert (captured.cwd, captured.cwd_digest) == (Words("/repo"), Digester(b"a fixed key").number("/repo"))
    assert (captured.host_prompt_id, captured.submitted_at_us, captured.truncated) == ("host-1", 5, False)
    assert (captured.original_char_count, captured.untruncated_sha256) == (18, "0" * 64)


def test_an_answer_keeps_its_numbers_whole_and_its_session_from_the_prompt() -> None:
    """Milliseconds are rounded, money is integer nano-dollars, what was not sent stays absent."""
    content = ResponseContent(response_text="ana@acme.example", elapsed_ms=12.6, cost_usd=0.1)
    decision = decide(replace(_RESPONSE, content=content), _after(_PROMPT), _CONTEXT)
    answered = _only(decision, e.PromptAnswered)
    assert answered.agent_session_id == "session-1"
    assert (answered.elapsed_ms, answered.cost_usd_nano) == (13, 100_000_000)
    assert (answered.response, answered.redactions) == (Words("[REDACTED:email]"), {"email": 1})
    assert answered.input_tokens is None


def test_an_answer_may_have_no_text() -> None:
    """Numbers alone answer a prompt too."""
    textless = replace(_RESPONSE, content=ResponseContent(output_tokens=0))
    answered = _only(decide(textless, _after(_PROMPT), _CONTEXT), e.PromptAnswered)
    assert (answered.response, answered.output_tokens) == (None, 0)


@pytest.mark.parametrize(("summary", "kept"), [(None, None), ("to eve@acme.example", Words("to [REDACTED:email]"))])
def test_a_title_is_redacted_like_any_other_text(summary: str | None, kept: Words | None) -> None:
    """A summary that was not sent stays as it was."""
    edited = replace(_TITLE, title="for ana@acme.example", summary=summary)
    ((stream, event),) = decide(edited, {}, _CONTEXT).events
    assert isinstance(event, e.TitleEdited)
    assert stream == corrections_stream(_ANA)
    assert (event.title, event.summary) == (Words("for [REDACTED:email]"), kept)


# --- what must be known to decide ---------------------------------------------------------------------------

_SESSION_STREAMS = (session_stream("session-1"), attempt_stream(_ANA, "session-1"))


@pytest.mark.parametrize(
    ("command", "touched", "required"),
    [
        (_PROMPT, (_PROMPT_ID, *_SESSION_STREAMS), ()),
        (_RESPONSE, (_PROMPT_ID, operation_stream(_ANA, "op-1")), (_PROMPT_ID,)),
        (_of(_RESPONSE, response_operation_id=None), (_PROMPT_ID,), (_PROMPT_ID,)),
        (_TITLE, (corrections_stream(_ANA),), (corrections_stream(_ANA),)),
        (_SETUP, (corrections_stream(_ANA),), (corrections_stream(_ANA),)),
    ],
)
def test_each_command_names_the_streams_it_rests_on(
    command: AnyCommand, touched: tuple[UUID, ...], required: tuple[UUID, ...]
) -> None:
    """Only what is expected to exist is loaded before the first decision."""
    assert touched_streams(command) == touched
    assert required_streams(command) == required


@pytest.mark.parametrize("command", [_PROMPT, _SECOND, _RECORDS, _RESPONSE, _TITLE, _SETUP])
@pytest.mark.parametrize("given", [_NOTHING, (_PROMPT,), _ANSWERED, (_RECORDS,)])
def test_a_decision_writes_only_to_streams_it_names(given: tuple[AnyCommand, ...], command: AnyCommand) -> None:
    """So an actor that has loaded them has loaded enough to be right."""
    written = {stream for stream, _ in decide(command, _after(*given), _CONTEXT).events}
    assert written <= set(touched_streams(command))


@pytest.mark.parametrize("command", [_PROMPT, _RECORDS, _RESPONSE])
def test_a_decision_needs_nothing_but_the_streams_it_names(command: AnyCommand) -> None:
    """With all other streams left out it comes out the same."""
    streams = _after(*_ANSWERED, _SECOND, _RECORDS)
    named_only = {stream: streams[stream] for stream in touched_streams(command) if stream in streams}
    assert decide(command, named_only, _CONTEXT) == decide(command, streams, _CONTEXT)
