"""How an export is cut into records, held against a plain reading of the same JSON; and which bodies are refused."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from aggregates.telemetry.envelope import CONTAINERS, LEVELS, Levels, NoOtlp, Signal, split
from aggregates.telemetry.export import RECORD_BYTES_MAX, Export
from tests.fuzz.odd import examples
from tests.support.otlp import MEANS, claude, logs, taken
from tests.support.tables import beside, each_of

Cut = list[tuple[str, list[object], str, list[object]]]


def cut(data: bytes, signal: Signal) -> Cut | None:
    """The sections with their JSON as values; None where the body was refused."""
    try:
        sections = split(data, signal)
    except NoOtlp:
        return None
    return [
        (
            each.place,
            [{name: json.loads(value) for name, value in head.items()} for head in each.heads],
            each.container,
            [json.loads(bytes(item)) for item in each.items],
        )
        for each in sections
    ]


class _Refused(Exception):
    """The value is no export."""


def plainly(value: object, signal: Signal) -> Cut | None:
    """The same from a value, without the program's own code."""
    try:
        return list(_into(_checked(value, dict), LEVELS[signal], "", [], ""))
    except _Refused:
        return None


def _checked(value: object, kind: type) -> Any:
    if not isinstance(value, kind):
        raise _Refused
    return value


def _into(value: dict[str, object], levels: Levels, at: str, heads: list[object], branch: str) -> Iterator[Any]:
    if at:
        known = {0: ("resource", "schemaUrl"), 1: ("scope", "schemaUrl")}.get(len(heads), value.keys() - {*levels[0]})
        heads = [*heads, {name: each for name, each in value.items() if name in known}]
    for name in levels[0]:
        place, below = f"{at}.{name}".lstrip("."), value.get(name)
        if below is None:
            continue
        if levels[0] is CONTAINERS:
            yield from _into(_checked(below, dict), levels[1:], place, heads, name)
        elif len(levels) == 1:
            if _checked(below, list):
                yield place, heads, branch, below
        else:
            for index, each in enumerate(_checked(below, list)):
                if each is not None:
                    yield from _into(_checked(each, dict), levels[1:], f"{place}[{index}]", heads, "")


@beside()
def test_what_is_no_otlp_json_is_refused(body: bytes) -> None:
    with pytest.raises(NoOtlp, match=r"request body|must be"):
        split(body, "logs")


def test_what_is_nested_without_end_is_refused() -> None:
    for body in (b'{"resourceLogs":' + b"[" * 200_000, b'{"x":' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}"):
        with pytest.raises(NoOtlp, match=r"request body|must be"):
            split(body, "logs")


def test_the_last_of_two_members_of_one_name_counts() -> None:
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[1]}]}],"resourceLogs":[{"scopeLogs":[{"logRecords":[2]}]}]}'
    assert cut(body, "logs") == [("resourceLogs[0].scopeLogs[0].logRecords", [{}, {}], "", [2])]


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
@examples(30)
def test_anything_is_cut_as_it_reads(data: st.DataObject, signal: Signal, escaped: bool) -> None:
    value = data.draw(_enveloped(signal) | _JSON)
    assert cut(json.dumps(value, ensure_ascii=escaped).encode(), signal) == plainly(value, signal)


@given(data=st.data(), signal=st.sampled_from(["logs", "traces", "metrics"]))
@examples(30)
def test_a_damaged_body_is_cut_or_refused(data: st.DataObject, signal: Signal) -> None:
    body = bytearray(json.dumps(data.draw(_enveloped(signal))).encode())
    at = data.draw(st.integers(0, len(body)))
    body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        value = json.loads(bytes(body), parse_constant=_no_number)
    except ValueError:
        assert cut(bytes(body), signal) is None
    else:
        assert cut(bytes(body), signal) == plainly(value, signal)


def _no_number(constant: str) -> object:
    raise ValueError(constant)


@each_of(
    [
        (r"half \ud83d", "half \ufffd"),
        (r"\uDE00 other half", "\ufffd other half"),
        (r"whole \ud83d\ude00", "whole \U0001f600"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"half \ud83d, and \\ud83d spelled out", "half \ufffd, and \\ud83d spelled out"),
    ]
)
def test_half_a_character_is_replaced(escaped: str, kept: str) -> None:
    body = msgspec.json.encode(logs(claude("user_prompt", {"prompt": "HERE"}))).replace(b"HERE", escaped.encode())
    assert taken(body).text() == kept


def test_a_record_beyond_its_bound_is_refused_alone() -> None:
    large = claude("user_prompt", {"prompt": "x" * RECORD_BYTES_MAX})
    found = taken(logs(claude("api_error"), large, claude("api_request")))
    assert (found.kinds, found.faults.records) == (["error", "request"], 1)
    assert str(RECORD_BYTES_MAX) in (found.faults.message or "")


def test_there_are_rests_around_a_look_through_the_whole_and_between_records_and_parts() -> None:
    rests: list[None] = []

    def rest() -> None:
        rests.append(None)

    data = msgspec.json.encode(logs(*[claude("user_prompt", {"session.id": f"s{number}"}) for number in range(50)]))
    sections = split(data, "logs", rest)
    assert len(rests) == 3
    assert len(Export("logs", MEANS, rest).commands(sections)) == 50
    assert len(rests) >= 3 + 3 * 50


def test_what_another_route_takes_is_not_looked_into() -> None:
    assert split(b'{"resourceSpans": 5, "resourceLogs": []}', "logs") == []
