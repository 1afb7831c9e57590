"""What real exporters send beside what the specification says, what cannot be used, and metric points."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aggregates.records.record import Point
from svc_http.bodies import Sent
from tests.support.otlp import NOW_NANO, NOW_US, claude, counter, log, logs, metrics, pairs, span, taken, traces
from tests.support.tables import each_of, lines_of

QUIRKS = lines_of(Path(__file__).with_name("quirks.txt"))
SAID_US = 1_780_000_005_000_000
SAID = "2026-05-28T20:26:45Z"


def rows(section: str) -> list[Any]:
    """The JSON of its lines; with what follows an arrow, where there is one."""
    found = [line.split(" => ") for name, line in QUIRKS if name == section]
    return [json.loads(told) if not rest else (json.loads(told), *rest) for told, *rest in found]


@each_of(
    [
        ({"timeUnixNano": NOW_NANO}, NOW_US),
        ({"timeUnixNano": int(NOW_NANO)}, NOW_US),
        ({"timeUnixNano": "0", "observedTimeUnixNano": NOW_NANO}, NOW_US),
        ({"timeUnixNano": 0, "observedTimeUnixNano": int(NOW_NANO)}, NOW_US),
        ({"timeUnixNano": None, "observedTimeUnixNano": NOW_NANO}, NOW_US),
        ({"timeUnixNano": "0", "observedTimeUnixNano": "0"}, SAID_US),
        ({"timeUnixNano": None}, SAID_US),
    ]
)
def test_the_time_is_the_first_that_is_there(members: dict[str, Any], at_us: int) -> None:
    """Its own, that of its observation, what the event says."""
    assert taken(logs(log({"event.timestamp": SAID}, **members))).only.at_us == at_us


@each_of(["", "soon", "0001-01-01T00:00:00Z"])
def test_without_any_time_it_is_that_of_receipt(said: str) -> None:
    assert taken(logs(log({"event.timestamp": said}, timeUnixNano="0"))).only.at_us == NOW_US


@pytest.mark.parametrize("members", rows("record taken"))
def test_a_record_that_exporters_may_send_is_taken(members: dict[str, Any]) -> None:
    """Null and empty are absent, unknown members are ignored, integers come as numbers and as strings."""
    found = taken(logs(log({"session.id": "s1"}, **members)))
    assert (found.faults.message, found.kinds) == (None, ["other"])


def test_bytes_name_nothing() -> None:
    """They are no text: no model, no prompt, no session."""
    told = [
        {"key": key, "value": {"bytesValue": "aGVsbG8="}} for key in ("session.id", "model", "prompt", "request_id")
    ]
    named = {"key": "event.name", "value": {"stringValue": "claude_code.api_request"}}
    found = taken(logs(log({}, attributes=[named, *told])))
    assert (found.commands[0].agent_session_id, found.only.kind) == (None, "request")
    assert (found.only.model, found.only.request_id) == (None, None)


@each_of(rows("record rejected"))
def test_a_record_that_cannot_be_used_is_rejected_alone(members: dict[str, Any], place: str) -> None:
    """The others are kept, and the message names the record and the member."""
    found = taken(logs(claude("user_prompt"), log({}, **members), claude("api_request")))
    assert (found.kinds, found.faults.records) == (["prompt", "request"], 1)
    assert (found.faults.message or "").startswith("resourceLogs[0].scopeLogs[0].logRecords[1]: ")
    assert place in (found.faults.message or "")


@each_of(rows("number lost"))
def test_a_number_that_cannot_be_used_costs_itself(members: dict[str, Any], place: str) -> None:
    found = taken(logs(log({}, **members), claude("user_prompt")))
    assert (found.kinds, found.faults.records) == (["other", "prompt"], 0)
    assert (found.faults.message or "").startswith("resourceLogs[0].scopeLogs[0].logRecords[0]")
    assert f"{place}: it is no number that can be used" in (found.faults.message or "")


@each_of((line, mark) for mark in (b"", b"\xef\xbb\xbf") for name, line in QUIRKS if name == "tokens")
def test_tokens_however_they_are_written(line: str, mark: bytes) -> None:
    """The record is there in any case; a word in a text is no number, and stays."""
    told, tokens = line.split(" => ")
    sent = claude("api_request", {"input_tokens": "HERE", "output_tokens": 5, "note": "NaN, 1e999"})
    body = msgspec.json.encode(logs(sent)).replace(b'{"stringValue":"HERE"}', told.encode())
    assert body.count(told.encode()) == 1
    (request,) = taken(Sent(mark + body, is_gzip=False).unpacked(10**6)).records
    assert (request.kind, request.input_tokens, request.output_tokens) == ("request", json.loads(tokens), 5)


@pytest.mark.parametrize("record", [None, 5, "text", [], True])
def test_what_is_no_object_is_no_record(record: object) -> None:
    assert taken(logs(claude("user_prompt"), record)).faults.records == 1


def test_values_nested_without_measure_are_rejected() -> None:
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(70):
        deep = {"arrayValue": {"values": [deep]}}
    found = taken(logs(log({"deep": deep}), claude("user_prompt")))
    assert (found.kinds, found.faults.records) == (["prompt"], 1)
    assert "nested deeper than 64 levels" in (found.faults.message or "")


@each_of([("x" * 1025, "at most 1024"), ("a\0b", "NUL"), ("a\ufffdb", "half a character")])
def test_a_session_id_that_can_be_none_rejects_its_record(session: str, why: str) -> None:
    found = taken(logs(claude("user_prompt", {"session.id": session}), claude("user_prompt")))
    assert (found.kinds, found.faults.records) == (["prompt"], 1)
    assert why in (found.faults.message or "")


@each_of([("s1", "s2", "s1"), ("", "s2", "s2"), (None, "", None)])
def test_the_session_is_the_records_else_the_resources(
    attribute: str | None, resource: str, session: str | None
) -> None:
    named = {} if attribute is None else {"session.id": attribute}
    found = taken(logs(log(named), resource={"session.id": resource}))
    assert [each.agent_session_id for each in found.commands] == [session]


def test_a_resource_that_cannot_be_read_takes_its_records_with_it() -> None:
    bad = {"resource": {"attributes": 5}, "scopeLogs": [{"logRecords": [{}, {}]}]}
    found = taken({"resourceLogs": [bad, *logs(claude("user_prompt"))["resourceLogs"]]})
    assert (found.kinds, found.faults.records) == (["prompt"], 2)
    assert "its resource does not fit" in (found.faults.message or "")


@pytest.mark.parametrize("scope", [{"name": 5}, {"attributes": [{"key": "a", "value": "x"}]}, "x"])
def test_a_scope_that_cannot_be_read_does_so_too(scope: object) -> None:
    found = taken({"resourceLogs": [{"scopeLogs": [{"scope": scope, "logRecords": [{}]}]}]})
    assert (found.records, found.faults.records) == ([], 1)


@pytest.mark.parametrize("members", rows("span rejected"))
def test_a_span_that_cannot_be_used_is_rejected_alone(members: dict[str, Any]) -> None:
    found = taken(traces(span("good", {}), span("bad", {}, **members)))
    assert (len(found.records), found.faults.records) == (1, 1)
    assert (found.faults.message or "").startswith("resourceSpans[0].scopeSpans[0].spans[1]: ")


@pytest.mark.parametrize("members", rows("span taken"))
def test_a_span_that_exporters_may_send_is_taken(members: dict[str, Any]) -> None:
    assert taken(traces(span("x", {}, **members))).faults.message is None


@each_of(rows("point taken"))
def test_a_points_number(point: dict[str, Any], number: str) -> None:
    found = taken(metrics(counter("c", point)))
    assert (found.faults.message, [each.value for each in found.points]) == (None, [json.loads(number)])


@pytest.mark.parametrize("point", rows("point lost"))
def test_a_point_whose_number_cannot_be_used_has_none(point: dict[str, Any]) -> None:
    found = taken(metrics(counter("c", point)))
    assert ([each.value for each in found.points], found.faults.records) == ([None], 0)
    assert "no number that can be used" in (found.faults.message or "")


@each_of([(1, "delta"), ("2", "cumulative"), (0, None), (None, None), ("x", 0), (9, 0)])
def test_a_name_that_otlp_does_not_know_is_named(told: object, known: str | int | None) -> None:
    """In metrics and spans; it costs nothing but itself."""
    summed, ended = counter("c", {"asInt": 1}), span("x", {}, status={"code": told})
    summed["sum"]["aggregationTemporality"] = told
    for found, place in ((taken(metrics(summed)), "aggregationTemporality"), (taken(traces(ended)), "status.code")):
        assert [each.temporality or None for each in found.points] in ([known or None], [])
        assert (found.faults.message is None, found.faults.records) == (known != 0, 0)
        assert known != 0 or f", {place}: it is no value that OTLP names" in (found.faults.message or "")


@pytest.mark.parametrize("point", rows("point rejected"))
def test_a_point_that_cannot_be_used_is_rejected_alone(point: object) -> None:
    metric = counter("c", {"asInt": 1})
    metric["sum"]["dataPoints"].append(point)
    found = taken(metrics(metric))
    assert (len(found.points), found.faults.records) == (1, 1)
    assert (found.faults.message or "").startswith("resourceMetrics[0].scopeMetrics[0].metrics[0].sum.dataPoints[1]: ")


def test_a_metric_that_cannot_be_read_takes_its_points_with_it() -> None:
    metric = counter("c", {"asInt": 1})
    metric["sum"]["isMonotonic"] = "yes"
    found = taken(metrics(metric, counter("d", {"asInt": 1})))
    assert ([point.name for point in found.points], found.faults.records) == (["d"], 1)


@pytest.mark.parametrize("members", [{"isMonotonic": "yes"}, {"aggregationTemporality": 2}])
def test_what_stands_beside_a_metrics_container_is_unknown_to_otlp(members: dict[str, Any]) -> None:
    found = taken(metrics({"name": "a", "gauge": {"dataPoints": [{"timeUnixNano": NOW_NANO, "asInt": 1}]}, **members}))
    assert (found.faults.message, [each.temporality for each in found.points]) == (None, [None])


# --- metric points ---------------------------------------------------------------------------------------

START_NANO = str((NOW_US - 60_000_000) * 1_000)


def only(metric: dict[str, Any], service: str = "claude-code") -> Point:
    found = taken(metrics(metric, service=service))
    assert found.faults.message is None
    (point,) = found.points
    return point


def shaped(kind: str, point: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {"name": "m", "unit": "ms", kind: {"dataPoints": [{"timeUnixNano": NOW_NANO, **point}], **container}}


@each_of(rows("shape"))
def test_the_five_shapes(told: list[Any], shown: str) -> None:
    kind, point, container = told
    found = only(shaped(kind, point, **container))
    assert [found.kind, found.value, found.temporality, found.monotonic] == json.loads(shown)
    assert (found.unit, found.at_us, found.origin) == ("ms", NOW_US, 0)


@each_of(map(tuple, rows("distribution rejected")))
def test_a_distribution_that_cannot_be_used(kind: str, point: dict[str, Any]) -> None:
    found = taken(metrics(shaped(kind, point)))
    assert (found.points, found.faults.records) == ([], 1)
    assert f"metrics[0].{kind}.dataPoints[0]" in (found.faults.message or "")


@each_of(
    [
        ({"timeUnixNano": NOW_NANO, "startTimeUnixNano": START_NANO}, (NOW_US, NOW_US - 60_000_000)),
        ({"timeUnixNano": "0", "startTimeUnixNano": START_NANO}, (NOW_US - 60_000_000, NOW_US - 60_000_000)),
        ({"timeUnixNano": None, "startTimeUnixNano": "0"}, (NOW_US, None)),
    ]
)
def test_a_points_times(members: dict[str, Any], times: tuple[int, int | None]) -> None:
    point = only(counter("m", {"asInt": 1, **members}))
    assert (point.at_us, point.start_us) == times


@pytest.mark.parametrize("line", [line for name, line in QUIRKS if name == "counter"])
def test_what_counters_count(line: str) -> None:
    (name, rest), meaning = line.split(" ", 1), json.loads(line.split(" => ")[1])
    assert only(counter(name, {"asInt": 1}, json.loads(rest.split(" => ")[0]))).meaning == meaning


def test_copilots_tokens_are_the_conventions_own_histogram() -> None:
    metric = counter("gen_ai.client.token.usage", {"asInt": 1}, {"gen_ai.token.type": "output"})
    assert only(metric, "github-copilot").meaning == "output_tokens"
    assert only(metric, "gemini-cli").meaning is None


def test_a_series_is_told_by_everything_but_time_and_value() -> None:
    """Points of one series can be differenced, whatever the order of their attributes."""

    def series(attributes: dict[str, object], name: str = "m", service: str = "x", value: int = 1) -> str:
        return only(counter(name, {"asInt": value, "startTimeUnixNano": str(value)}, attributes), service).series

    one = series({"a": 1, "b": "x"})
    assert one == series({"b": "x", "a": 1}, value=2)
    others = [series({"a": 2, "b": "x"}), series({"a": 1}), series({"a": 1, "b": "x"}, "n"), series({}, service="y")]
    assert len({one, *others}) == 5


def test_whose_a_point_is() -> None:
    """By its attributes, else by its resource; Codex's names no session at all."""
    metric = counter("m", {"asInt": 1}, {"session.id": "s1", "model": "opus"})
    metric["sum"]["dataPoints"].append({"asInt": 1, "attributes": pairs({"x": 1})})
    first, second = taken(metrics(metric, resource={"session.id": "s2"})).commands
    assert (first.agent_session_id, second.agent_session_id) == ("s1", "s2")
    assert only(counter("codex.turn.token_usage", {"asInt": 1}, {"model": "gpt"}), "codex_exec").model == "gpt"
    assert taken(metrics(counter("codex.x", {}), service="codex_exec")).commands[0].agent_session_id is None


@pytest.mark.parametrize("metric", [{"name": "m"}, {"name": "m", "newKind": {"dataPoints": [{}]}}, {"sum": {}}, {}])
def test_a_metric_without_points_that_are_known_is_passed_over(metric: dict[str, Any]) -> None:
    found = taken(metrics(metric))
    assert (found.commands, found.faults.message) == ([], None)
