"""Reading an attribute loosely: numbers and truth values also come as strings, and what makes no sense is absent."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from aggregates.telemetry.otlp import Plain
from aggregates.telemetry.source_ids import repaired

Attributes = dict[str, Plain]

COUNT_MAX = 10**12
"""Tokens, milliseconds: what is beyond is none, and sums of what is not stay integers of 64 bits."""
NAME_CHARACTERS_MAX = 256
"""A model, a tool, an event: longer names are cut."""
ID_CHARACTERS_MAX = 1024
"""A session, a prompt, a request: a longer one is none, for what is cut would name two things."""
JSON_CHARACTERS_MAX = 1024 * 1024
"""A tool's input within an attribute; a longer one is not looked into."""
NANO_USD = 1_000_000_000
USD_MAX = 1_000_000
"""Of one request."""

_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?")


def text(attributes: Attributes, *keys: str) -> str | None:
    """The first of these that is a text and not empty."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def name(attributes: Attributes, *keys: str) -> str | None:
    """A text without NUL, cut to the length of a name."""
    value = text(attributes, *keys)
    return None if value is None else value[:NAME_CHARACTERS_MAX].replace("\0", "") or None


def identifier(attributes: Attributes, *keys: str) -> str | None:
    """A text that can be an id: short enough, and without NUL."""
    value = text(attributes, *keys)
    return None if value is None or len(value) > ID_CHARACTERS_MAX or "\0" in value else value


def count(attributes: Attributes, *keys: str) -> int | None:
    """A whole number from 0; a fraction is rounded, a duration may have one."""
    for key in keys:
        value = attributes.get(key)
        if value is None or isinstance(value, bool):
            continue
        if isinstance(value, str) and _NUMBER.fullmatch(value) is not None:
            value = float(value) if "." in value else int(value)
        if isinstance(value, int | float) and 0 <= value <= COUNT_MAX:
            return round(value)
    return None


def flag(attributes: Attributes, *keys: str) -> bool | None:
    """True or false, also as the words."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
    return None


def usd_nano(attributes: Attributes, key: str) -> int | None:
    """An amount of dollars in nano-dollars, exactly as its decimal digits say."""
    value = attributes.get(key)
    if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return round(amount * NANO_USD) if amount.is_finite() and 0 <= amount <= USD_MAX else None


def json_object(value: Plain) -> dict[str, Any]:
    """The object that a text holds as JSON; empty where it holds none."""
    if not isinstance(value, str) or value.lstrip()[:1] != "{" or len(value) > JSON_CHARACTERS_MAX:
        return value if isinstance(value, dict) else {}
    try:
        found = _read(value)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read(value: str) -> object:
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        # Half a character within the text's own JSON.
        return msgspec.json.decode(repaired(value.encode()))
