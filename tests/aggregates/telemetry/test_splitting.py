"""Both ways of cutting an export give the same records, and refuse the same bodies."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.telemetry import walking
from aggregates.telemetry.envelope import LEVELS, HalfCharacter, NoOtlp, Section, Signal, split
from aggregates.telemetry.export import RECORD_BYTES_MAX
from aggregates.telemetry.walking import TooMany, walk
from tests.support.otlp import claude, counter, logs, metrics, span, taken_of, traces

Cut = list[tuple[str, tuple[dict[str, bytes], ...], str, list[bytes]]]


def plain(sections: list[Section]) -> Cut:
    """What a splitter says, to be compared."""
    return [(each.place, each.heads, each.branch, list(each.items)) for each in sections]


def cut(data: bytes, signal: Signal) -> tuple[Cut | None, Cut | None]:
    """By both; None where it was refused."""
    found: list[Cut | None] = []
    for splitter in (split, walk):
        try:
            found.append(plain(splitter(data, signal)))
        except NoOtlp:
            found.append(None)
    return found[0], found[1]


EXPORTS: list[tuple[Signal, dict[str, Any]]] = [
    ("logs", {}),
    ("logs", {"resourceLogs": []}),
    ("logs", {"resourceLogs": None, "other": [1, {"a": "b"}]}),
    ("logs", {"resourceLogs": [{}, None, {"scopeLogs": None}, {"scopeLogs": [{}, None, {"logRecords": None}]}]}),
    ("logs", logs(claude("user_prompt"), claude("api_request"))),
    ("logs", {"resourceLogs": [*logs(claude("a"))["resourceLogs"], *logs(claude("b"), 5, None)["resourceLogs"]]}),
    ("logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [{}]}], "schemaUrl": "u", "resource": {"late": True}}]}),
    ("traces", traces(span("chat", {"ä": "ß€𝄞"}), span("x", {}))),
    ("metrics", metrics(counter("a", {"asInt": 1}), {"name": "empty"}, {"name": "g", "gauge": {"dataPoints": [{}]}})),
    ("metrics", metrics({"sum": {"dataPoints": [{}, {}], "isMonotonic": True}, "gauge": {"dataPoints": [{}]}})),
    ("metrics", metrics({"name": "n", "histogram": None}, {"name": "o", "summary": {"dataPoints": None}})),
]


@pytest.mark.parametrize(("signal", "export"), EXPORTS)
@pytest.mark.parametrize("window", [8, 64, 262_144])
def test_both_splitters_cut_alike(
    signal: Signal, export: dict[str, Any], window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the window of the walking one begins and ends."""
    monkeypatch.setattr(walking, "WINDOW_BYTES", window)
    for text in (json.dumps(export), json.dumps(export, indent=1, ensure_ascii=False)):
        one, other = cut(text.encode(), signal)
        assert one == other
        assert one is not None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"5",
        b'"text"',
        b"{",
        b"{}}",
        b"{} x",
        b'{"resourceLogs":[}',
        b'{"resourceLogs":{}}',
        b'{"resourceLogs":"x"}',
        b'{"resourceLogs":[5]}',
        b'{"resourceLogs":[{"scopeLogs":{}}]}',
        b'{"resourceLogs":[{"scopeLogs":["x"]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":{}}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{]}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"a":NaN}]}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"a":"\\x"}]}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"a":"\x01"}]}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"a":"\xff"}]}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"a":01}]}]}]}',
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[1,]}]}]}',
        b'{"resourceLogs":[],}',
        b'{"resourceLogs" []}',
        b"{'resourceLogs':[]}",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"resourceLogs":' + b"[" * 200_000,
        b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    ],
)
def test_what_is_no_otlp_json_is_refused_by_both(body: bytes) -> None:
    """And neither breaks."""
    assert cut(body, "logs") == (None, None)


def test_the_last_of_two_members_of_one_name_counts() -> None:
    """As JSON readers commonly have it."""
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[1]}]}],"resourceLogs":[{"scopeLogs":[{"logRecords":[2]}]}]}'
    one, other = cut(body, "logs")
    assert one == other == [("resourceLogs[0].scopeLogs[0].logRecords", ({}, {}), "", [b"2"])]


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


_BESIDE = st.sampled_from(["resource", "scope", "schemaUrl"])


def _enveloped(signal: Signal) -> st.SearchStrategy[object]:
    """Mostly of the right shape, now and then not."""
    inner: st.SearchStrategy[object] = _JSON
    for names in reversed(LEVELS[signal]):
        lists = st.lists(inner, max_size=3)
        inside: st.SearchStrategy[object] = lists if len(names) == 1 else inner
        known = st.dictionaries(st.sampled_from(names), inside | _JSON, max_size=2)
        inner = st.builds(
            lambda one, two: {**one, **two}, st.dictionaries(_BESIDE | st.text(max_size=5), _JSON, max_size=2), known
        )
    return inner


@given(data=st.data(), signal=st.sampled_from(["logs", "traces", "metrics"]), escaped=st.booleans())
@settings(max_examples=150)
def test_both_splitters_agree_on_anything(data: st.DataObject, signal: Signal, escaped: bool) -> None:
    """They cut alike, or refuse alike."""
    value = data.draw(_enveloped(signal) | _JSON)
    body = json.dumps(value, ensure_ascii=escaped).encode()
    one, other = cut(body, signal)
    assert one == other


@given(data=st.data(), signal=st.sampled_from(["logs", "traces", "metrics"]))
@settings(max_examples=150)
def test_both_splitters_agree_on_damaged_bodies(data: st.DataObject, signal: Signal) -> None:
    """A byte lost, changed or added."""
    body = bytearray(json.dumps(data.draw(_enveloped(signal))).encode())
    at = data.draw(st.integers(0, len(body)))
    body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        one, other = cut(bytes(body), signal)
    except HalfCharacter:
        return
    assert one == other


@given(data=st.data(), signal=st.sampled_from(["logs", "traces", "metrics"]))
@settings(max_examples=150)
def test_any_export_becomes_commands_or_faults(data: st.DataObject, signal: Signal) -> None:
    """Nothing in a record breaks the reading of the others, and both ways lead to the same commands."""
    body = json.dumps(data.draw(_enveloped(signal))).encode()
    one, _ = cut(body, signal)
    if one is None:
        return
    first, second = taken_of(split(body, signal), signal), taken_of(walk(body, signal), signal)
    assert first.commands == second.commands
    assert first.faults.records == second.faults.records
    given_records = sum(len(items) for *_, items in one)
    kept = sum(len({value.origin for value in _values(command)}) for command in first.commands)
    assert kept + first.faults.records == given_records


def _values(command: Any) -> Any:
    return getattr(command, "records", None) or getattr(command, "points", ())


def test_half_a_character_is_left_to_the_other_splitter() -> None:
    """Agents cut texts in the middle of an emoji."""
    body = json.dumps(logs(claude("user_prompt", {"prompt": "half \ud83d"}))).encode()
    with pytest.raises(HalfCharacter):
        split(body, "logs")
    assert taken_of(walk(body, "logs"), "logs").text() == "half \ufffd"


def test_a_value_larger_than_any_record_is_passed_over() -> None:
    """It is not read; the records beside it are."""
    large = claude("user_prompt", {"prompt": 'a "quoted" \\ text' * (walking.VALUE_BYTES_MAX // 16)})
    body = msgspec.json.encode(logs(claude("api_error"), large, claude("api_request")))
    one, other = cut(body, "logs")
    assert one == other
    taken = taken_of(walk(body, "logs"), "logs")
    assert (taken.kinds, taken.faults.records) == (["error", "request"], 1)
    assert str(RECORD_BYTES_MAX) in (taken.faults.message or "")


def test_a_large_value_that_does_not_end_is_no_json() -> None:
    """However far one looks."""
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":["' + b"a" * (walking.VALUE_BYTES_MAX + 10)
    assert cut(body, "logs") == (None, None)


def test_more_records_than_can_be_kept_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their places alone would take too much memory."""
    monkeypatch.setattr(walking, "RECORDS_MAX", 10)
    with pytest.raises(TooMany, match="more than 10 records"):
        walk(msgspec.json.encode(logs(*[{}] * 11)), "logs")
    monkeypatch.setattr(walking, "SECTIONS_MAX", 3)
    with pytest.raises(TooMany, match="more than 3 scopes"):
        walk(msgspec.json.encode({"resourceLogs": [*logs({})["resourceLogs"]] * 4}), "logs")
