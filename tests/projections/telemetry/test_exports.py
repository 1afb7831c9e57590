"""Records out of a stored export, whatever exporters write and whatever no decoder would have let pass."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.telemetry.envelope import Signal
from projections.telemetry.records import (
    Buckets,
    PointDistribution,
    Quantile,
    attributes_json,
    distribution,
    records_of,
)


def found(document: object, signal: Signal = "logs") -> list[Any]:
    return [msgspec.json.decode(each) for each in records_of(json(document), signal)]


def json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def test_records_come_in_the_order_of_the_document() -> None:
    """Over resources, scopes and, for points, metrics of every kind; one that makes no sense keeps its place."""
    one, two, three = ({"n": number} for number in (1, 2, 3))
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [one]}, {"logRecords": [two]}]}, {"scopeLogs": [
        {"logRecords": [None, 7, three]}]}]}  # fmt: skip
    assert found(logs) == [one, two, None, 7, three]
    assert found({"resourceSpans": [{"scopeSpans": [{"spans": [one, two]}]}]}, "traces") == [one, two]
    metrics = [{"name": "a", "sum": {"dataPoints": [one]}}, {"name": "b", "summary": {"dataPoints": [two, three]}}]
    assert found({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}, "metrics") == [one, two, three]


@pytest.mark.parametrize("export", ["", "null", "[]", "7", "{", '{"resourceLogs": {}}', '{"resourceLogs": [null]}'])
def test_what_is_no_export_holds_no_records(export: str) -> None:
    assert records_of(export, "logs") == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"stringValue": "x"}, "x"),
        ({"stringValue": None, "intValue": "7"}, 7),
        ({"doubleValue": 1}, 1.0),
        ({"doubleValue": "NaN"}, None),
        ({"boolValue": False}, False),
        ({"bytesValue": "AAAA"}, "AAAA"),
        ({"arrayValue": {"values": [{"stringValue": "x"}, {}]}}, ["x", None]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"intValue": 1}}]}}, {"k": 1}),
        ({"arrayValue": {}}, []),
        ({}, None),
        (None, None),
    ],
)
def test_values_are_shown_without_their_wrapping(value: object, shown: object) -> None:
    """As OTLP has them, with the quirks of its exporters; of two attributes of one name the later."""
    pairs = [{"key": "a", "value": {"intValue": 1}}, {"key": "a", "value": value}, {"value": {}}]
    told = attributes_json(json({"attributes": pairs}).encode())
    assert msgspec.json.decode(told or "") == {"a": shown, "": None}


def test_distributions() -> None:
    """Of a histogram, an exponential histogram and a summary; 64-bit integers are numbers or texts."""
    histogram = _distribution(
        {"count": "3", "sum": 6.5, "min": 1, "max": 4, "bucketCounts": ["1", 2], "explicitBounds": [2]}
    )
    assert (histogram.count, histogram.sum, histogram.min, histogram.max) == (3, 6.5, 1.0, 4.0)
    assert (histogram.bucket_counts, histogram.explicit_bounds, histogram.quantiles) == ([1, 2], [2.0], None)
    exponential = _distribution(
        {"count": 2, "scale": 1, "zeroCount": "1", "positive": {"offset": 2, "bucketCounts": [1]}}
    )
    assert (exponential.scale, exponential.zero_count, exponential.sum) == (1, 1, None)
    assert (exponential.positive, exponential.negative) == (Buckets(2, [1]), None)
    summary = _distribution({"count": 2, "sum": 3, "quantileValues": [{"value": 1}, {"quantile": 1, "value": "NaN"}]})
    assert summary.quantiles == [Quantile(0.0, 1.0), Quantile(1.0, 0.0)]


def _distribution(point: dict[str, Any]) -> PointDistribution:
    found = distribution(json(point).encode())
    assert found is not None
    return found


_NAMES = [
    "resourceLogs", "scopeLogs", "logRecords", "attributes", "key", "value", "arrayValue", "values", "intValue",
    "kvlistValue", "positive", "bucketCounts", "quantileValues", "count",
]  # fmt: skip
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=20,
)


@given(_JSON)
def test_nothing_that_is_stored_breaks_a_read(document: Any) -> None:
    """What no decoder takes any more is shown as absent."""
    record = {"attributes": document, "positive": document, "quantileValues": document}
    for each in [*records_of(json(document), "logs"), json(record).encode()]:
        attributes_json(each)
        distribution(each)
    assert (attributes_json(b"7"), distribution(b'{"count":"x"}')) == (None, None)
