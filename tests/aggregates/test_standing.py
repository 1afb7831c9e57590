"""What stands in the log: of a text, in a form that later programs read, and nothing secret unsealed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from aggregates.capture import events as captures
from aggregates.capture.decide import CLEAR_CHARACTERS_MAX, cleared
from aggregates.decide import AnyCommand, decide, evolve
from aggregates.event import Context, Digester, Done, Event, NewEvent, Words
from aggregates.judging.prompt import judge_prompt
from aggregates.reading.reading import read_prompt, read_response
from aggregates.reading.readings import NAMED, PromptReading, ResponseReading
from aggregates.reading.verdicts import BOOLEANS
from aggregates.records.record import Record, TextPool
from aggregates.retained import (
    FORM,
    ForgetOrdered,
    ReadingsRetained,
    RetainedReading,
    RetainedWords,
    packed_readings,
    retain,
    retained_observations as stood,
    retained_readings,
)
from aggregates.sub_sessions.sub_session import EditTitle
from aggregates.telemetry import otlp
from aggregates.turns.turn import Observation, ToolUse, observe
from svc.log.codec import Codec
from svc.log.vault import Vault
from tests.support.basics import MemoryKeys, named
from tests.support.facts import ANA
from tests.support.otlp import counter, log, logs, metrics, pairs, span, taken, traces

DIGESTER = Digester(b"a key for tests")
GOLDEN = {
    PromptReading: "weight navigational clears token_digests title summary characters pasted_characters shown logits "
    "topic_digests foreign maker start checks",
    ResponseReading: "topic_digests characters asks reports_done reports_failure closes invites breaks_off "
    "tells_failure",
    Observation: "kind prompt_id source model input_tokens output_tokens cache_read_tokens cache_write_tokens "
    "cost_usd_nano duration_ms status_code sidechain tool prompt response text_digest text lines_added lines_removed "
    "lower_bound upper_bound folder",
    ToolUse: "effect ok mutating check commit pull_request revert input_digest file_digest path lines_added "
    "lines_removed more parts reverted named style",
}


@pytest.mark.parametrize("kind", GOLDEN)
def test_readings_that_stand_in_logs_grow_at_their_end_only(kind: type[msgspec.Struct]) -> None:
    """A field added at the end with a default is put here too; whoever does anything else raises `FORM`, and has
    `rows_of` read the older ones."""
    assert kind.__struct_fields__ == tuple(GOLDEN[kind].split())


FORM_1 = Path(__file__).with_name("form_1.bin")
"""Rows as an earlier program wrote them, of the texts below."""


def told(*rows: RetainedReading, form: int = FORM) -> ReadingsRetained:
    return ReadingsRetained(
        received_at_us=1,
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        first=rows[0].position,
        last=rows[-1].position,
        form=form,
        rows=packed_readings(rows),
    )


OF_ANA: dict[str, Any] = {"received_at_us": 1, "agent_session_id": "s", **msgspec.structs.asdict(ANA)}


def asked(words: Words) -> captures.PromptCaptured:
    return captures.PromptCaptured(**OF_ANA, prompt_id=named("p"), source="svc", prompt=words, prompt_digest=b"")


def answered(words: Words | None) -> captures.PromptAnswered:
    return captures.PromptAnswered(**OF_ANA, prompt_id=named("p"), response=words, content_digest=b"")


def batch(records: tuple[Record, ...], words: Words) -> captures.RecordsCaptured:
    return captures.RecordsCaptured(**OF_ANA, source="codex", decoder_version=1, records=records, words=words)


def test_a_text_and_what_stands_of_it_say_the_same() -> None:
    prompt, response = "Fix the parser in src/a.py and run pytest", "Done, all tests pass."
    rows = [retain(3, asked(Words(prompt)), DIGESTER), retain(4, answered(Words(response)), DIGESTER)]
    first, second = retained_readings(told(*(row for row in rows if row is not None)))
    assert first.prompt == read_prompt(prompt, DIGESTER)
    assert second.response == read_response(response, DIGESTER)
    assert retain(3, asked(RetainedWords(None, first)), DIGESTER) == first
    assert retain(4, answered(RetainedWords(None, second)), DIGESTER) == second
    gone = [asked(Words(None)), answered(Words(None)), answered(None), batch((), Words(None))]
    assert [retain(5, each, DIGESTER) for each in gone] == [None] * 4


def test_of_a_batch_only_what_rests_on_words_is_told() -> None:
    """A request needs none; a shell command, a path and a prompt do."""
    table = TextPool()
    records = (
        Record(record_id="r", at_us=1, kind="request", input_tokens=5),
        Record(record_id="c", at_us=2, kind="tool", tool="Bash", command=table.add("git revert HEAD")),
        Record(record_id="p", at_us=3, kind="prompt", text=table.add("Revert it")),
    )
    words = Words(table.words)
    standing = retain(7, batch(records, words), DIGESTER)
    assert standing is not None
    assert stood(RetainedWords(None, standing)) == {place: observe(records[place], words, DIGESTER) for place in (1, 2)}


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(ValueError, match="form 99"):
        retained_readings(told(RetainedReading(1), form=99))


def _read_then(row: RetainedReading) -> RetainedReading:
    """Without what was not yet looked for when the first rows were written, and without any model's sums."""
    response = row.response
    if response is not None:
        response = msgspec.structs.replace(response, closes=False, invites=False, breaks_off=False)
    observations = tuple(
        (place, msgspec.structs.replace(each, prompt=_prompt_then(each.prompt))) for place, each in row.observations
    )
    return msgspec.structs.replace(row, prompt=_prompt_then(row.prompt), response=response, observations=observations)


def _prompt_then(prompt: PromptReading | None) -> PromptReading | None:
    return None if prompt is None else msgspec.structs.replace(prompt, shown=(), logits=(), checks=())


def test_rows_of_the_first_form_say_what_the_texts_say() -> None:
    """Prompts, a response and a prompt within a batch, with the verdicts that were given then."""
    table = TextPool()
    records = (
        Record(record_id="r", at_us=1, kind="request"),
        Record(record_id="p", at_us=3, kind="prompt", text=table.add("Revert it")),
    )
    prompts = (
        "By the way, fix the flaky parser test in src/parser.py so that it passes; keep the public API and run pytest.",
        "thanks, that works",
        "Why is it slow?\n```\nTraceback (most recent call last)\n```",
    )
    texts = [retain(place, asked(Words(text)), DIGESTER) for place, text in enumerate(prompts, 1)]
    texts.append(retain(4, answered(Words("Done, all tests pass.")), DIGESTER))
    texts.append(retain(5, batch(records, Words(table.words)), DIGESTER))
    stored = msgspec.structs.replace(told(RetainedReading(1), form=1), rows=FORM_1.read_bytes())
    assert [_read_then(row) for row in retained_readings(stored)] == [
        _read_then(row) for row in texts if row is not None
    ]
    rubrics = [judge_prompt(row.prompt, None) for row in retained_readings(stored)]
    assert [(rubric.intent, rubric.confidence) for rubric in rubrics[:3]] == [
        ("bug_fix", 0.877),
        (None, 0.0),
        ("investigation", 0.851),
    ]
    assert rubrics[0].forced == BOOLEANS[:5]
    assert rubrics[0].earned == ("scope_bounded",), "for a goal, a reference and a check less was looked for then"
    assert rubrics[2].forced == ("goal_explicit", "root_cause_oriented")


def test_what_stands_of_a_text_does_not_spell_it() -> None:
    """Of the words and pairs that are features, a reading keeps a few everyday ones; of all others only the weight."""
    kept = {name for name in NAMED if name.startswith(("word:", "pair:", "start:"))}
    assert kept == {"word:review", "word:still", "word:now", "word:also"}


# --- where every string of a command or a signal holds a secret and a plain word ------------------------------


SECRET, WORD = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "zebrafinch"
PLANTED = f"{WORD} {SECRET}"
CONTEXT = Context(now_us=1_785_585_600_000_000, digester=Digester(b"a fixed key"), redaction=True)
KEPT_WORDS = {
    *("source", "cost_kind", "untruncated_sha256", "plugin_version", "key_prefix"),
    *("name", "model", "tool", "terms", "unit", "series"),
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
        *(captures.CapturePrompt, captures.CaptureResponse, captures.RecordsCaptured, captures.MetricsCaptured),
        *(captures.SetupCompleted, EditTitle, ForgetOrdered),
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
    """The strings of an OTLP type that may be anything, planted."""
    shape = inspect.type_info(cls)
    assert isinstance(shape, inspect.StructType)
    kinds = {each.encode_name: getattr(each.type, "types", (each.type,)) for each in shape.fields}
    free = inspect.StrType()
    return {name: PLANTED for name, types in kinds.items() if free in types}


PLANTED_PAIRS = dict.fromkeys(_KEYS, PLANTED)
SPAN_EVENT = {"name": PLANTED, "attributes": pairs(PLANTED_PAIRS)}
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
    records, _ = stored(filled(captures.RecordsCaptured), streams)
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
