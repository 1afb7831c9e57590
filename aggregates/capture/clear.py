"""What stands in an event unsealed, names and ids: bounded, and without secrets.

A name loses its secrets like a text. An id that holds one becomes a keyed digest of itself: the same id still joins.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from aggregates.event import Context

CLEAR_CHARACTERS_MAX = 1_024
"""Of a name or an id; the contract's bound for those of a prompt. A longer name is cut, a longer id digested."""
_MADE = re.compile(r"[0-9a-f]{32,64}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""A digest or a UUID: most ids, which need no look."""
S = TypeVar("S", bound=msgspec.Struct)


class _Fields(NamedTuple):
    strings: tuple[str, ...]
    parts: tuple[str, ...]  # fields that hold a tuple of further structs


def cleared(fact: S, context: Context) -> S:
    """The same fact, with its names and ids as they may be kept."""
    from aggregates.reading.redaction import redact_among  # late: loaded with the first text

    texts = sorted({text for text in _told(fact) if _MADE.fullmatch(text) is None})
    found = redact_among(texts) if context.redaction else {}
    redacted = {texts[index]: each.text for index, each in found.items()}
    wrong = redacted.keys() | {text for text in texts if len(text) > CLEAR_CHARACTERS_MAX}
    return _without(fact, wrong, redacted, context) if wrong else fact


def _without(fact: S, wrong: set[str], redacted: dict[str, str], context: Context) -> S:
    strings, parts = _fields(type(fact))
    changed: dict[str, object] = {}
    for name in strings:
        text = getattr(fact, name)
        if text in wrong:
            digest = f"redacted-{context.digester.digest(text).hex()}"
            changed[name] = digest if name.endswith("_id") else redacted.get(text, text)[:CLEAR_CHARACTERS_MAX]
    for name in parts:
        changed[name] = tuple(_without(each, wrong, redacted, context) for each in getattr(fact, name))
    return msgspec.structs.replace(fact, **changed) if changed else fact


def _told(fact: msgspec.Struct) -> Iterator[str]:
    strings, parts = _fields(type(fact))
    for name in strings:
        text = getattr(fact, name)
        if text is not None:
            yield text
    for name in parts:
        for each in getattr(fact, name):
            yield from _told(each)


@cache
def _fields(cls: type[msgspec.Struct]) -> _Fields:
    shape = inspect.type_info(cls)
    assert isinstance(shape, inspect.StructType)
    strings = [field.name for field in shape.fields if _is_string(field.type)]
    parts = [
        field.name
        for field in shape.fields
        if isinstance(field.type, inspect.VarTupleType) and isinstance(field.type.item_type, inspect.StructType)
    ]
    return _Fields(tuple(strings), tuple(parts))


def _is_string(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.UnionType):
        return any(map(_is_string, kind.types))
    return isinstance(kind, inspect.StrType)
