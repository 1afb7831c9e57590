"""One log record, span or data point as OTLP's JSON mapping has it, with every quirk that real exporters showed.

Unknown members are ignored, null is absent, 64-bit integers come as numbers or as decimal strings, enums as integers
only, ids as hexadecimal digits of any case.
"""

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from aggregates.telemetry.source_ids import Fault, repaired

NANOS_PER_US = 1_000


DEPTH_MAX = 64
"""Nesting of attribute values; agents send two levels."""


_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


_UINT64_MAX = 2**64 - 1


_UINT64_DIGITS = 20
"""Numbers of fewer digits are in range."""


_UINT32_MAX = 2**32 - 1


_DECIMAL = re.compile(r"-?[0-9]{1,20}")


_DOUBLE = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")


_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")


_SPAN_ID = re.compile(r"[0-9a-fA-F]{16}")


Integer = int | str | None
"""A 64-bit integer on the wire."""


Double = float | str | None


Plain = str | bool | int | float | list[Any] | dict[str, Any] | None
"""An attribute's value without its wrapping."""


class _Wire(msgspec.Struct, rename="camel", gc=False):
    """A message of OTLP: its members by their lowerCamelCase names."""


class AnyValue(_Wire, rename="camel", gc=False):
    """A value of any type. None of its members: the value is null."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Integer = None
    double_value: Double = None
    array_value: "ArrayValue | None" = None
    kvlist_value: "KeyValueList | None" = None
    bytes_value: str | None = None


class ArrayValue(_Wire, rename="camel", gc=False):
    """A list of values."""

    values: list[AnyValue] | None = None


class KeyValue(_Wire, rename="camel", gc=False):
    """One attribute."""

    key: str | None = None
    value: AnyValue | None = None


class KeyValueList(_Wire, rename="camel", gc=False):
    """A map of values."""

    values: list[KeyValue] | None = None


class Resource(_Wire, rename="camel", gc=False):
    """Who sends."""

    attributes: list[KeyValue] | None = None


class InstrumentationScope(_Wire, rename="camel", gc=False):
    """Which part of the sender."""

    name: str | None = None
    attributes: list[KeyValue] | None = None


class LogRecord(_Wire, rename="camel", gc=False):
    """One log record."""

    time_unix_nano: Integer = None
    observed_time_unix_nano: Integer = None
    severity_number: int | None = None
    severity_text: str | None = None
    body: AnyValue | None = None
    attributes: list[KeyValue] | None = None
    dropped_attributes_count: Integer = None
    flags: Integer = None
    trace_id: str | None = None
    span_id: str | None = None
    event_name: str | None = None


class Status(_Wire, rename="camel", gc=False):
    """How a span ended; code 2 is an error."""

    message: str | None = None
    code: int | None = None


class SpanEvent(_Wire, rename="camel", gc=False):
    """Something that happened during a span."""

    time_unix_nano: Integer = None
    name: str | None = None
    attributes: list[KeyValue] | None = None


class SpanLink(_Wire, rename="camel", gc=False):
    """A span that a span belongs with."""

    trace_id: str | None = None
    span_id: str | None = None
    attributes: list[KeyValue] | None = None


class Span(_Wire, rename="camel", gc=False):
    """One span."""

    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    flags: Integer = None
    name: str | None = None
    kind: int | None = None
    start_time_unix_nano: Integer = None
    end_time_unix_nano: Integer = None
    attributes: list[KeyValue] | None = None
    events: list[SpanEvent] | None = None
    links: list[SpanLink] | None = None
    status: Status | None = None


LOG_RECORD = msgspec.json.Decoder(LogRecord)


SPAN = msgspec.json.Decoder(Span)


RESOURCE = msgspec.json.Decoder(Resource | None)


SCOPE = msgspec.json.Decoder(InstrumentationScope | None)


def check_log(record: LogRecord) -> None:
    """Raises `Fault` where a member has the right JSON type and still cannot be what OTLP says it is.

    Its time and trace are checked where they are read.
    """
    fixed64(record.observed_time_unix_nano, "observedTimeUnixNano")
    uint32(record.dropped_attributes_count, "droppedAttributesCount")
    uint32(record.flags, "flags")
    span_id(record.span_id, "spanId")


def check_span(span: Span) -> None:
    """The same for a span."""
    fixed64(span.start_time_unix_nano, "startTimeUnixNano")
    fixed64(span.end_time_unix_nano, "endTimeUnixNano")
    uint32(span.flags, "flags")
    trace_id(span.trace_id)
    span_id(span.span_id, "spanId")
    span_id(span.parent_span_id, "parentSpanId")
    for index, event in enumerate(span.events or ()):
        fixed64(event.time_unix_nano, f"events[{index}].timeUnixNano")
        attributes_of(event.attributes, f"events[{index}].attributes")
    for index, link in enumerate(span.links or ()):
        trace_id(link.trace_id, f"links[{index}].traceId")
        span_id(link.span_id, f"links[{index}].spanId")


def fixed64(value: Integer, place: str) -> int:
    """An unsigned 64-bit integer; 0 where it is absent."""
    if isinstance(value, str) and len(value) < _UINT64_DIGITS and value.isascii() and value.isdigit():
        return int(value)
    return 0 if value is None else _integer(value, 0, _UINT64_MAX, place)


def int64(value: Integer, place: str) -> int:
    """A signed 64-bit integer; 0 where it is absent."""
    return 0 if value is None else _integer(value, _INT64_MIN, _INT64_MAX, place)


def uint32(value: Integer, place: str) -> int:
    """An unsigned 32-bit integer; 0 where it is absent."""
    return 0 if value is None else _integer(value, 0, _UINT32_MAX, place)


def _integer(value: int | str, low: int, high: int, place: str) -> int:
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) is None:
            raise Fault(f"{place} must be an integer, as a number or a decimal string")
        value = int(value)
    if not low <= value <= high:
        raise Fault(f"{place} must be an integer from {low} to {high}")
    return value


def double(value: Double, place: str) -> float | None:
    """A number, not-a-numbers and infinities included; None where it is absent."""
    if not isinstance(value, str):
        return value
    if value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if _DOUBLE.fullmatch(value) is None:
        raise Fault(f'{place} must be a number, or one of the strings "NaN", "Infinity" and "-Infinity"')
    return float(value)


def trace_id(value: str | None, place: str = "traceId") -> str | None:
    """32 hexadecimal digits in lower case; None where it is absent or empty."""
    if not value:
        return None
    if _TRACE_ID.fullmatch(value) is None:
        raise Fault(f"{place} must be 32 hexadecimal digits, as OTLP's JSON mapping has it, and not base64")
    return value.lower()


def span_id(value: str | None, place: str) -> str | None:
    """16 hexadecimal digits in lower case; None where it is absent or empty."""
    if not value:
        return None
    if _SPAN_ID.fullmatch(value) is None:
        raise Fault(f"{place} must be 16 hexadecimal digits, as OTLP's JSON mapping has it, and not base64")
    return value.lower()


def attributes_of(pairs: list[KeyValue] | None, place: str = "attributes") -> dict[str, Plain]:
    """The attributes by their keys; of a key that comes twice the later value counts."""
    found: dict[str, Plain] = {}
    index = 0
    try:
        for index, pair in enumerate(pairs or ()):  # noqa: B007 - names the place of a fault
            value = pair.value
            if value is None:
                found[pair.key or ""] = None
            else:
                text = value.string_value
                found[pair.key or ""] = plain(value) if text is None else text
    except Fault as fault:
        raise Fault(f"{place}[{index}].value.{fault}") from fault
    return found


def plain(value: AnyValue | None, depth: int = 0) -> Plain:
    """The value itself. Bytes mean nothing here and become None, once they are seen to be base64."""
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.bool_value is not None:
        return value.bool_value
    if value.int_value is not None:
        return int64(value.int_value, "intValue")
    if value.double_value is not None:
        return double(value.double_value, "doubleValue")
    if value.bytes_value is not None and _BASE64.fullmatch(value.bytes_value) is None:
        raise Fault("bytesValue must be base64")
    if depth >= DEPTH_MAX:
        raise Fault(f"arrayValue or kvlistValue is nested deeper than {DEPTH_MAX} levels")
    if value.array_value is not None:
        return [plain(each, depth + 1) for each in value.array_value.values or ()]
    if value.kvlist_value is not None:
        return {pair.key or "": plain(pair.value, depth + 1) for pair in value.kvlist_value.values or ()}
    return None


# Reading an attribute loosely: numbers and truth values also come as strings, and what makes no sense is absent.

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
