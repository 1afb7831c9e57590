"""Real examples with parts swapped, lost, doubled, cut or damaged."""

import copy
import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings, strategies as st
from msgspec import inspect

T = TypeVar("T")

TIMES = int(os.environ.get("SVC_FUZZ_TIMES", "1"))  # how many times as many examples as in the suite; docs/security.md


def examples(count: int) -> Callable[[T], T]:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count * TIMES, suppress_health_check=slow)


def _deep(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


_NUMBERS: list[Any] = [
    *(0, -0.0, -1, 1, 7, 1.5, -2.5, 1e300, 5e-324, 10**40, -(10**40)),
    *(2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63)),
    *(float("nan"), float("inf"), float("-inf")),
]
_TEXTS: list[Any] = [
    "#deep",
    *("", " ", "0", "-1", "007", "1e5", "1.5", "NaN", "Infinity", "true", str(2**63 - 1), str(2**64), "9" * 400),
    *("\0", "a\0b", "\ud800", "half \ud83d", "\udc00\ud800", "\ufeff", "\u202e", "é" * 300, "x" * 3_000, "🙂" * 40),
    *("2026-08-01T09:00:00Z", "2026-08-01T09:00:00.123456789+14:00", "2026-08-01", "2026-13-40T99:00:00Z"),
    *("0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "9998-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00"),
    *("1785574800000000000", "1", "253402300799999999999", "1970-01-01T00:00:00Z"),
    *("s1", "s2", "p1", "a" * 16, "b" * 32, "0" * 32, "zz", "AbCdEf0123456789", "00000000-0000-4000-8000-000000000001"),
    *("<script>alert(1)</script>", "'; DROP TABLE turns; --", "../../etc/passwd", "%s%n{0}", "a\nb\r\nc", "\x1b[31m"),
    *("/clear", "thanks, that works", "Fix src/app.py and run pytest", "git commit -m 'done' && git push", "pytest -q"),
]
_SHAPES: list[Any] = [
    *(None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"a": {}}}, _deep(70), _deep(130)),
    *({"stringValue": 5}, {"intValue": "9" * 30}, {"intValue": 1.0}, {"arrayValue": None}, {"doubleValue": "NaN"}),
    *({"kvlistValue": {"values": None}}, {"kvlistValue": {"values": [{"key": 1}]}}, {"bytesValue": "%"}, [{}, {}]),
    *({"values": None}, {"stringValue": "a", "intValue": 1}, {"arrayValue": {"values": [{"stringValue": "x"}]}}),
]
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(_NUMBERS), st.sampled_from(_TEXTS), st.sampled_from(_SHAPES), st.integers(), st.text(max_size=8)
)
"""One value that may stand anywhere."""

TWICE = "#twice"
"""Marks the second one of two members of one name."""
DEEP = "#deep"
"""Stands for a value that is nested deeper than anybody reads."""
_DEEP_LEVELS = 5_000


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _spots(value[key])


@st.composite
def bent(draw: st.DrawFn, given: Sequence[Any], changes_max: int = 3) -> Any:
    """One of these, with up to so many changes anywhere in it."""
    value = copy.deepcopy(draw(st.sampled_from(given)))
    for _ in range(draw(st.integers(0, changes_max))):
        spots = list(_spots(value))
        if not spots:
            break
        holder, key = spots[draw(st.integers(0, len(spots) - 1))]
        match draw(st.sampled_from(("leaf", "leaf", "leaf", "gone", "again", "other"))):
            case "leaf":
                holder[key] = copy.deepcopy(draw(LEAVES))
            case "gone":
                del holder[key]
            case "again" if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case "again":
                holder[f"{key}{TWICE}"] = copy.deepcopy(draw(LEAVES))
            case _:
                other, place = spots[draw(st.integers(0, len(spots) - 1))]
                holder[key] = copy.deepcopy(other[place])
    return value


def as_json(value: Any, *, escaped: bool = True) -> bytes:
    """The value as text, whether or not it is JSON then; what is marked as doubled stands there twice."""
    text = json.dumps(value, ensure_ascii=escaped).replace(f'{TWICE}"', '"')
    return text.replace(f'"{DEEP}"', "[" * _DEEP_LEVELS + "]" * _DEEP_LEVELS).encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """As it is, mostly; else cut, or with some bytes lost, changed or added."""
    match draw(st.sampled_from((*["whole"] * 10, "cut", "changed"))):
        case "whole":
            return data
        case "cut":
            return data[: draw(st.integers(0, len(data)))]
        case _:
            at = draw(st.integers(0, len(data)))
            return data[:at] + draw(st.binary(max_size=3)) + data[at + draw(st.integers(0, 3)) :]


@st.composite
def packed(draw: st.DrawFn, data: bytes) -> tuple[bytes, dict[str, str]]:
    """A body as it may be sent, and the header that says how: in some cases it lies."""
    coding = {"Content-Encoding": "gzip"}
    match draw(st.sampled_from((*["plain"] * 8, "gzip", "gzip", "torn", "lie", "twice", "empty streams"))):
        case "plain":
            return data, {}
        case "gzip":
            return gzip.compress(data, 1), coding
        case "torn":
            return draw(damaged(gzip.compress(data, 1))), coding
        case "lie":
            return data, coding
        case "twice":
            return gzip.compress(data[:5], 1) + gzip.compress(data[5:], 1), coding
        case _:
            return gzip.compress(b"", 1) * draw(st.integers(0, 20)) + gzip.compress(data, 1), coding


Leaf = Callable[[inspect.Type, str], st.SearchStrategy[Any] | None]


def values(kind: inspect.Type, leaf: Leaf, name: str = "") -> st.SearchStrategy[Any]:
    """Values that a type allows; `leaf` gives those of what has no parts, and of what else it likes, by its name."""
    if (found := leaf(kind, name)) is not None:
        return found
    match kind:
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.UnionType():
            return st.one_of(*(values(each, leaf, name) for each in kind.types))
        case inspect.VarTupleType():
            return st.lists(values(kind.item_type, leaf), max_size=3).map(tuple)
        case inspect.TupleType():
            return st.tuples(*(values(each, leaf) for each in kind.item_types))
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type, leaf), values(kind.value_type, leaf), max_size=3)
        case inspect.NamedTupleType():
            return st.tuples(*(values(each.type, leaf, each.name) for each in kind.fields))
    assert isinstance(kind, inspect.StructType)
    required = {each.name: values(each.type, leaf, each.name) for each in kind.fields if each.required}
    optional = {each.name: values(each.type, leaf, each.name) for each in kind.fields if not each.required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda fields: kind.cls(**fields))
