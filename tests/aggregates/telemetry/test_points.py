"""Metric points: five shapes, and the counters that are known."""

import json
from typing import Any

import pytest

from aggregates.records.record import Point
from tests.aggregates.telemetry.test_quirks import QUIRKS, rows
from tests.support.otlp import NOW_NANO, NOW_US, counter, metrics, pairs, taken

START_NANO = str((NOW_US - 60_000_000) * 1_000)


def only(metric: dict[str, Any], service: str = "claude-code") -> Point:
    found = taken(metrics(metric, service=service))
    assert found.faults.message is None
    (point,) = found.points
    return point


def shaped(kind: str, point: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {"name": "m", "unit": "ms", kind: {"dataPoints": [{"timeUnixNano": NOW_NANO, **point}], **container}}


@pytest.mark.parametrize(("told", "shown"), rows("shape"))
def test_the_five_shapes(told: list[Any], shown: str) -> None:
    kind, point, container = told
    found = only(shaped(kind, point, **container))
    assert [found.kind, found.value, found.temporality, found.monotonic] == json.loads(shown)
    assert (found.unit, found.at_us, found.origin) == ("ms", NOW_US, 0)


@pytest.mark.parametrize(("kind", "point"), rows("distribution rejected"))
def test_a_distribution_that_cannot_be_used(kind: str, point: dict[str, Any]) -> None:
    found = taken(metrics(shaped(kind, point)))
    assert (found.points, found.faults.records) == ([], 1)
    assert f"metrics[0].{kind}.dataPoints[0]" in (found.faults.message or "")


@pytest.mark.parametrize(
    ("members", "times"),
    [
        ({"timeUnixNano": NOW_NANO, "startTimeUnixNano": START_NANO}, (NOW_US, NOW_US - 60_000_000)),
        ({"timeUnixNano": "0", "startTimeUnixNano": START_NANO}, (NOW_US - 60_000_000, NOW_US - 60_000_000)),
        ({"timeUnixNano": None, "startTimeUnixNano": "0"}, (NOW_US, None)),
    ],
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
