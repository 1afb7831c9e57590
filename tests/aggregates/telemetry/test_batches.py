"""What is kept of an export: who it belongs to, what names it, its JSON without secrets."""

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from aggregates.capture.events import MetricsCaptured, RecordsCaptured, Telemetry
from aggregates.reading.redaction import redact
from aggregates.telemetry import batches
from aggregates.telemetry.envelope import split, without_secrets
from tests.fuzz.odd import examples
from tests.support.otlp import claude, counter, log, logs, metrics, pairs, span, taken, taken_of, traces
from tests.support.tables import each_of

KEY = "sk-ant-api03-" + "Zq7" * 20


def kept(command: Telemetry) -> str:
    return (command.raw and command.raw.text) or ""


def raw(command: Telemetry) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kept(command))
    return found


# --- whose ----------------------------------------------------------------------------------------------------


def test_each_session_has_a_command_with_its_own_part_of_the_export() -> None:
    """In the order in which the sessions come up; resource and scope are kept, neighbours share them."""
    ours = [claude("user_prompt", {"event.sequence": number}) for number in range(3)]
    theirs = claude("user_prompt", {"session.id": "s2"})
    first, second = taken(logs(ours[0], theirs, ours[1], ours[2])).commands
    assert (first.agent_session_id, second.agent_session_id) == ("s1", "s2")
    assert raw(first) == logs(*ours)
    assert raw(second) == logs(theirs)


def test_what_stands_under_different_resources_stays_there() -> None:
    """And the order of the records is that of the export."""
    one, other = (
        logs(claude("a"))["resourceLogs"][0],
        logs(claude("b"), service="claude-code-desktop")["resourceLogs"][0],
    )
    one["schemaUrl"] = "https://opentelemetry.io/schemas/1.27.0"
    other["scopeLogs"][0]["schemaUrl"] = "u"
    (command,) = taken({"resourceLogs": [one, other, one]}).commands
    assert raw(command) == {"resourceLogs": [one, other, one]}


def test_points_keep_their_metrics() -> None:
    tokens = counter("claude_code.token.usage", {"asInt": 1}, {"session.id": "s1"})
    tokens["sum"]["dataPoints"].append({"asInt": "2", "attributes": pairs({"session.id": "s1"})})
    gauge = {"name": "g", "unit": "s", "gauge": {"dataPoints": [{"attributes": pairs({"session.id": "s2"})}]}}
    first, second = taken(metrics(tokens, gauge)).commands
    assert raw(first) == metrics(tokens)
    assert raw(second) == metrics(gauge)


def test_what_names_no_session_is_kept_for_nobody() -> None:
    (command,) = taken(logs(log({}))).commands
    assert command.agent_session_id is None


def test_an_export_without_records_is_no_command() -> None:
    assert taken({}).commands == []
    assert taken(logs()).commands == []


# --- parts ----------------------------------------------------------------------------------------------------


def test_a_large_export_is_cut_where_a_part_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """By number and by size, at the same places every time; each part counts its own records."""
    monkeypatch.setattr(batches, "PART_RECORDS_MAX", 4)
    monkeypatch.setattr(batches, "PART_BYTES_MAX", 3_300)
    small = [claude("api_request", {"event.sequence": number}) for number in range(10)]
    export = logs(*small, *(claude("user_prompt", {"prompt": "x" * 1_200, "n": number}) for number in range(3)))
    found = taken(export)
    parts = [len(raw(each)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]) for each in found.commands]
    assert parts == [4, 4, 3, 2]
    assert [record.origin for record in found.records] == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0, 1]
    assert found.commands == taken(export).commands


def test_what_stands_around_records_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small records, each under a large resource of its own, make many parts; too large a resource is refused."""
    monkeypatch.setattr(batches, "PART_BYTES_MAX", 10_000)
    many = [logs(claude("a"), resource={"x": f"{number}" * 1_500})["resourceLogs"][0] for number in range(9)]
    found = taken({"resourceLogs": many})
    assert [len(raw(each)["resourceLogs"]) for each in found.commands] == [5, 4]
    refused = taken(logs(claude("a"), claude("b"), resource={f"x{number}": "x" * 3_000 for number in range(100)}))
    assert (refused.records, refused.faults.records) == ([], 2)
    assert "may have 262144" in (refused.faults.message or "")


def test_a_long_text_of_a_resource_is_cut_and_what_stands_under_it_is_taken() -> None:
    """Gemini names its command line there, with the whole prompt."""
    command = ["gemini", "-p", 'Say "\u00e4" ' * 100_000]
    listed = {"arrayValue": {"values": [{"stringValue": each} for each in command]}}
    found = taken(logs(claude("a"), claude("b"), resource={"process.command_args": listed}))
    assert (len(found.records), found.faults.records) == (2, 0)
    assert len(kept(found.commands[0])) < 10_000
    shown = raw(found.commands[0])["resourceLogs"][0]["resource"]["attributes"][-1]["value"]["arrayValue"]["values"]
    assert [each["stringValue"] for each in shown] == ["gemini", "-p", command[2][:1024]]


# --- ids ------------------------------------------------------------------------------------------------------


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_a_records_id_is_the_digest_of_its_canonical_json() -> None:
    """With resource, scope and schemas; exactly as the page on the wire says."""
    record = claude("user_prompt", {"prompt": 'Grüße 𝄞 "x" \\ \n \x01'}, unknown={"b": 1, "a": [True, None, 1.5]})
    export = logs(record)
    export["resourceLogs"][0]["schemaUrl"] = "r"
    resource, scope = export["resourceLogs"][0]["resource"], export["resourceLogs"][0]["scopeLogs"][0]["scope"]
    expected = sha256(canonical([resource, "r", scope, None, record]).encode()).hexdigest()
    assert taken(export).only.record_id == expected


def test_a_points_id_covers_its_metric_without_the_siblings() -> None:
    """So a point sent with others, or alone, is the same."""
    metric = counter("m", {"asInt": "1"}, {"type": "a"})
    point = metric["sum"]["dataPoints"][0]
    export = metrics(metric)
    head = export["resourceMetrics"][0]
    alone = {**metric, "sum": {key: each for key, each in metric["sum"].items() if key != "dataPoints"}}
    expected = canonical([head["resource"], None, head["scopeMetrics"][0]["scope"], None, alone, point])
    metric["sum"]["dataPoints"].append({"asInt": 2})
    ids = [each.record_id for each in taken(export).points]
    assert ids[0] == sha256(expected.encode()).hexdigest()
    assert ids[1] != ids[0]


def test_an_id_depends_on_neither_order_nor_white_space() -> None:
    """But on everything that was sent, members of no meaning too."""
    record = {"timeUnixNano": "5", "body": {"stringValue": "x"}, "new": 1}
    ids = set()
    for shuffled in (record, dict(reversed(record.items()))):
        for indent in (None, 2):
            body = json.dumps(logs(shuffled), indent=indent).encode()
            ids.add(taken(body).only.record_id)
    assert len(ids) == 1
    others = [logs({**record, "new": 2}), logs(record, service="x"), logs({**record, "body": None})]
    assert len(ids | {taken(export).only.record_id for export in others}) == 4


# --- secrets --------------------------------------------------------------------------------------------------


def test_no_secret_is_kept_in_any_text_of_the_export() -> None:
    """In attributes, keys, bodies, resources, scopes and members of no meaning; what is kept is JSON still."""
    record = claude("user_prompt", {"prompt": f"use\n{KEY}", f"key {KEY}": 1}, body={"stringValue": f'"{KEY}"'})
    record["new"] = {"deep": [f"\\{KEY}\\"]}
    export = logs(record, resource={"process.command": KEY})
    export["resourceLogs"][0]["scopeLogs"][0]["scope"]["version"] = KEY
    (command,) = taken(export).commands
    assert isinstance(command, RecordsCaptured)
    assert "Zq7Zq7" not in kept(command) + (command.words.text or "")
    assert raw(command)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["new"] == {
        "deep": ["\\[REDACTED:anthropic-key]\\"]
    }
    assert (command.words.text, command.redactions) == ("use\n[REDACTED:anthropic-key]", {"anthropic-key": 1})


def test_an_organization_may_keep_its_secrets() -> None:
    (command,) = taken(logs(claude("user_prompt", {"prompt": KEY})), redaction=False).commands
    assert isinstance(command, RecordsCaptured)
    assert command.words.text == KEY
    assert KEY in kept(command)


def test_secrets_of_metrics_are_counted() -> None:
    (command,) = taken(metrics(counter("m", {"asInt": 1}, {"user.email": "a@corp.io", "key": KEY}))).commands
    assert isinstance(command, MetricsCaptured)
    assert command.redactions == {"anthropic-key": 1, "email": 1}
    assert "a@corp.io" not in kept(command)


_SECRETS = (KEY, "a@corp.io", "password = hunter2hunter2", "https://u:p4ssw0rd@h")
_PIECES = st.sampled_from([*_SECRETS, "\n", '"', "\\", "\x01", "\x02", "é𝄞", "x: "])
_TEXTS = st.lists(st.lists(_PIECES | st.text(max_size=6), max_size=4).map("".join), max_size=6)


@given(_TEXTS, _TEXTS)
@example([], [f"sk-ant-api03-{'Zq7' * 18}", f'a@corp.io"sk-ant-api03-{"Zq7" * 18}'])
@examples(40)
def test_texts_looked_through_together_are_cleaned_as_if_alone(first: list[str], second: list[str]) -> None:
    encode = msgspec.json.Encoder(order="sorted").encode
    values = [{"a": first, **dict.fromkeys(first, second)}, second]
    cleaned, _ = without_secrets([encode(value) for value in values])
    assert [json.loads(each) for each in cleaned] == [_cleaned(value) for value in values]


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return redact(value).text
        case list():
            return [_cleaned(each) for each in value]
        case _:
            return {_cleaned(key): _cleaned(each) for key, each in value.items()}


@given(st.binary(max_size=3))
@examples(25)
def test_what_is_kept_can_be_read_again(noise: bytes) -> None:
    """The kept part of an export becomes the same records."""
    text = noise.decode("latin-1")
    export = traces(span("x", {"a": text, "gen_ai.conversation.id": "v1"}), span("y", {"b": {}}, spanId="a" * 16))
    body = msgspec.json.encode(export)
    first = taken_of(split(body, "traces"), "traces")
    assert msgspec.msgpack.encode(first.commands), "only plain values go on their way to the log"
    again = taken_of(split(kept(first.commands[0]).encode(), "traces"), "traces")
    assert first.commands == again.commands


def _with_head(head_bytes: int, sessions: int, scopes: int) -> dict[str, Any]:
    """An export of one record for each session under one resource, one after the other in so many scopes."""
    export = logs(*[claude("api_request", {"session.id": f"s{number}"}) for number in range(sessions)])
    notes = [min(4_000, head_bytes - start) for start in range(0, head_bytes, 4_000)]
    attributes = [{"key": f"note {n}", "value": {"stringValue": "x" * size}} for n, size in enumerate(notes)]
    resource = export["resourceLogs"][0]
    resource["resource"]["attributes"] += attributes
    (scope,) = resource["scopeLogs"]
    resource["scopeLogs"] = [scope | {"logRecords": scope["logRecords"][at::scopes]} for at in range(scopes)]
    return export


@each_of([(500, 900, 1, 900), (500, 1_200, 1, 1_000), (160_000, 900, 1, 6), (160_000, 900, 90, 6)])
def test_what_is_stored_of_an_export_grows_with_what_was_sent(
    head_bytes: int, sessions: int, scopes: int, taken_of_them: int
) -> None:
    export = _with_head(head_bytes, sessions, scopes)
    made = taken(export)
    stored_bytes = sum(len(kept(each)) for each in made.commands)
    assert len(made.commands) == taken_of_them
    assert stored_bytes < 2 * len(msgspec.json.encode(export)) + batches.HEADS_BYTES_MIN
    assert made.faults.records == sessions - taken_of_them
    assert (made.faults.message is None) == (taken_of_them == sessions)
