"""What stands unsealed in the log, where every string of a command or a signal holds a secret and a plain word."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from aggregates.capture import events as captures
from aggregates.capture.decide import CLEAR_CHARACTERS_MAX, cleared
from aggregates.decide import AnyCommand, ForgetDeveloper, decide, evolve
from aggregates.event import Context, Digester, Done, Event
from aggregates.records.record import Record
from aggregates.sub_sessions.sub_session import EditTitle
from aggregates.telemetry import otlp
from svc.log.codec import Codec, NewEvent
from svc.log.vault import Vault
from tests.support.basics import MemoryKeys, named
from tests.support.otlp import counter, log, logs, metrics, pairs, span, taken, traces

SECRET, WORD = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "zebrafinch"
PLANTED = f"{WORD} {SECRET}"
CONTEXT = Context(now_us=1_785_585_600_000_000, digester=Digester(b"a fixed key"), redaction=True)
KEPT_WORDS = {
    *("source", "cost_kind", "untruncated_sha256", "plugin_version", "key_prefix"),
    *("name", "model", "tool", "unit", "series"),
}
"""Names, in which words stay: docs/operating.md lists them. `series`: a digest, in an export."""


def filled(cls: type) -> Any:
    """One with all its fields, and the planted text in every string."""
    return msgspec.convert(_filled(inspect.type_info(cls)), cls)


_PLAIN: dict[type, object] = {
    inspect.UUIDType: str(named("ana")),
    inspect.BoolType: True,
    inspect.DictType: {},
    inspect.BytesType: "",
}


def _filled(kind: inspect.Type) -> Any:
    match kind:
        case inspect.StructType(array_like=True):
            return [_filled(each.type) for each in kind.fields]
        case inspect.StructType():
            tag = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
            return tag | {each.encode_name: _filled(each.type) for each in kind.fields}
        case inspect.UnionType():
            return _filled(next(each for each in kind.types if not isinstance(each, inspect.NoneType)))
        case inspect.VarTupleType() | inspect.ListType():
            return [_filled(kind.item_type)]
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.StrType():
            return PLANTED
        case _:
            return _PLAIN.get(type(kind), 1)


def stored(command: AnyCommand, streams: dict[Any, Any]) -> tuple[list[Event], bytes]:
    """The events of a command, and what lies in the log of them; a sealed text is not readable there."""
    codec, raw = Codec(Vault(MemoryKeys())), b""
    decision = decide(command, streams, CONTEXT)
    assert isinstance(decision.reply, Done), decision.reply
    for stream, event in decision.events:
        raw += codec.to_stored_event(NewEvent(stream, 1, event)).state
        streams[stream] = evolve(streams.get(stream), event)
    return [event for _, event in decision.events], raw


def clear_strings(fact: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every string in the clear, with its field; texts that are sealed stand in `Words`."""
    if isinstance(fact, str):
        yield name, fact
    elif isinstance(fact, tuple | list):
        for each in fact:
            yield from clear_strings(each, name)
    elif isinstance(fact, msgspec.Struct) and type(fact).__name__ != "Words":
        for field in fact.__struct_fields__:
            yield from clear_strings(getattr(fact, field), field)


def test_no_command_leaves_a_secret_in_the_clear() -> None:
    """Of each kind, filled by its types: words stay in names only."""
    streams: dict[Any, Any] = {}
    kinds = (
        *(captures.CapturePrompt, captures.CaptureResponse, captures.CaptureRecords, captures.CaptureMetrics),
        *(captures.CompleteSetup, EditTitle, ForgetDeveloper),
    )
    for kind in kinds:
        streams = streams if kind is captures.CaptureResponse else {}  # the prompt it answers
        events, raw = stored(filled(kind), streams)
        assert events
        assert SECRET.encode() not in raw
        fields = {name for event in events for name, text in clear_strings(event) if WORD in text}
        assert fields <= KEPT_WORDS, kind


_KEYS = (
    *("session.id", "prompt.id", "event.name", "model", "tool_name", "tool_use_id", "request_id", "prompt", "error"),
    *("gen_ai.tool.name", "gen_ai.conversation.id", "gen_ai.request.model", "mcp_server", PLANTED),
)


def wire(cls: type) -> dict[str, Any]:
    """The strings of an OTLP type, planted."""
    shape = inspect.type_info(cls)
    assert isinstance(shape, inspect.StructType)
    kinds = {each.encode_name: getattr(each.type, "types", (each.type,)) for each in shape.fields}
    return {name: PLANTED for name, types in kinds.items() if any(isinstance(one, inspect.StrType) for one in types)}


PLANTED_PAIRS = dict.fromkeys(_KEYS, PLANTED)
SPAN_EVENT = wire(otlp.SpanEvent) | {"attributes": pairs(PLANTED_PAIRS)}
RESOURCE = PLANTED_PAIRS | {"service.version": PLANTED}


@pytest.mark.parametrize(
    "export",
    [
        logs(log(PLANTED_PAIRS, **wire(otlp.LogRecord)), resource=RESOURCE),
        logs(log(PLANTED_PAIRS | {"event.name": "tool_result"}, body={"stringValue": PLANTED}), resource=RESOURCE),
        logs(log(PLANTED_PAIRS | {"event.name": "api_request"}), resource=RESOURCE),
        traces(span(PLANTED, PLANTED_PAIRS, events=[SPAN_EVENT], status=wire(otlp.SpanStatus))),
        metrics(counter(PLANTED, {"asInt": 1}, PLANTED_PAIRS) | {"unit": PLANTED}, resource=RESOURCE),
    ],
)
def test_no_signal_leaves_a_secret_in_the_clear(export: dict[str, Any]) -> None:
    """In names, ids, keys, resources, bodies, span events and units."""
    found = taken(export)
    assert found.commands
    assert not found.faults.records
    for command in found.commands:
        events, raw = stored(command, {})
        assert SECRET.encode() not in raw
        assert SECRET not in "".join(text for event in events for _, text in clear_strings(event))
        assert {name for event in events for name, text in clear_strings(event) if WORD in text} <= KEPT_WORDS


def test_an_id_that_holds_a_secret_still_joins() -> None:
    """A prompt's session and that of its records stay one; another's key gives another id."""
    streams: dict[Any, Any] = {}
    prompt, _ = stored(filled(captures.CapturePrompt), streams)
    assert decide(filled(captures.CapturePrompt), streams, CONTEXT).reply == Done(False, named("ana")), "a retry"
    records, _ = stored(filled(captures.CaptureRecords), streams)
    (batch,) = (each for each in records if isinstance(each, captures.RecordsCaptured))
    claimed = next(each for each in prompt if isinstance(each, captures.SessionClaimed))
    assert batch.agent_session_id == claimed.agent_session_id
    assert claimed.agent_session_id.startswith("redacted-")
    other = msgspec.structs.replace(CONTEXT, digester=Digester(b"another"))
    assert cleared(filled(captures.SessionClaimed), other).agent_session_id != claimed.agent_session_id


def test_what_is_too_long_is_cut_or_digested() -> None:
    """With or without redaction; ordinary names and ids stay as they are."""
    long = "x" * (CLEAR_CHARACTERS_MAX + 1)
    record = Record(record_id=long, at_us=1, kind="tool", tool=long, call_id="toolu_01", model="gpt-5")
    kept = cleared(record, msgspec.structs.replace(CONTEXT, redaction=False))
    assert (kept.tool, kept.call_id, kept.model) == (long[:-1], "toolu_01", "gpt-5")
    assert len(kept.record_id) < 64
    plain = msgspec.structs.replace(record, record_id="a", tool="Bash")
    assert cleared(plain, CONTEXT) is plain
