"""One log record, span or data point as OTLP's JSON mapping has it, with every quirk that real exporters showed.

Unknown members are ignored, null is absent, numbers come as numbers or as texts, ids as hexadecimal digits of any case.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, TypeVar

import msgspec

from aggregates.records.record import COUNT_MAX, LABEL_CHARACTERS_MAX, USD_MAX

T = TypeVar("T")
NANOS_PER_US = 1_000
DEPTH_MAX = 64  # nesting of attribute values; agents send two levels
INT64 = -(2**63), 2**63 - 1
_DECIMAL = re.compile(r"-?[0-9]{1,20}")
_DOUBLE = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]{1,4})?|NaN|-?Infinity")
Plain = str | bool | int | float | list[Any] | dict[str, Any] | None  # an attribute's value without its wrapping


def whole(value: object, least: int = 0, most: int = 2**64 - 1) -> int | None:
    """An integer, as a number or a text, 5.0 and 1e3 too; None where it is none, or out of bounds."""
    if type(value) is int:  # mostly
        return value if least <= value <= most else None
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    elif isinstance(value, str) and _DOUBLE.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None


def real(value: object) -> float | None:
    if type(value) is float or value is None:  # mostly
        return value
    if isinstance(value, str) and _DOUBLE.fullmatch(value):
        return float(value)
    with suppress(OverflowError):
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return None


TraceId = Annotated[str, msgspec.Meta(pattern=r"\A(?:[0-9a-fA-F]{32})?\Z")]
SpanId = Annotated[str, msgspec.Meta(pattern=r"\A(?:[0-9a-fA-F]{16})?\Z")]


class _Wire(msgspec.Struct, rename="camel", gc=False): ...


class AnyValue(_Wire):
    """A value of any type. None of its members: the value is null."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Any = None  # numbers are read where they are used: an unusable one costs nothing but itself
    double_value: Any = None
    array_value: "ArrayValue | None" = None
    kvlist_value: "KeyValueList | None" = None
    bytes_value: str | None = None  # base64


class ArrayValue(_Wire):
    values: list[AnyValue] | None = None


class KeyValue(_Wire):
    key: str | None = None
    value: AnyValue | None = None


class KeyValueList(_Wire):
    values: list[KeyValue] | None = None


class Attributed(_Wire):
    attributes: list[KeyValue] | None = None


class InstrumentationScope(Attributed):
    name: str | None = None


class Traced(Attributed):
    trace_id: TraceId | None = None
    span_id: SpanId | None = None


class LogRecord(Traced):
    time_unix_nano: Any = None
    observed_time_unix_nano: Any = None
    body: AnyValue | None = None
    event_name: str | None = None


class SpanStatus(_Wire):
    message: str | None = None
    code: Any = None


class OtlpSpan(Traced):
    parent_span_id: SpanId | None = None
    name: str | None = None
    start_time_unix_nano: Any = None
    end_time_unix_nano: Any = None
    status: SpanStatus | None = None


class WireBuckets(_Wire):
    offset: Any = None
    bucket_counts: list[Any] | None = None


class WireQuantile(_Wire):
    quantile: Any = None
    value: Any = None


class WirePoint(Attributed):
    """A point of any metric: a number, or what a distribution tells."""

    start_time_unix_nano: Any = None
    time_unix_nano: Any = None
    flags: Any = None
    as_double: Any = None
    as_int: Any = None
    count: Any = None
    sum: Any = None
    min: Any = None
    max: Any = None
    bucket_counts: list[Any] | None = None
    explicit_bounds: list[Any] | None = None
    scale: Any = None
    zero_count: Any = None
    positive: WireBuckets | None = None
    negative: WireBuckets | None = None
    quantile_values: list[WireQuantile] | None = None


LOG_RECORD = msgspec.json.Decoder(LogRecord)
SPAN = msgspec.json.Decoder(OtlpSpan)
RESOURCE = msgspec.json.Decoder(Attributed)
SCOPE = msgspec.json.Decoder(InstrumentationScope)
POINT = msgspec.json.Decoder(WirePoint)


def attributes_of(
    pairs: list[KeyValue] | None, *, with_bytes: bool = False, lost: Callable[[str], None] = lambda _key: None
) -> dict[str, Plain]:
    """The attributes by their keys; of a key that comes twice the later value counts. Raises `Fault`.

    `lost` is called with the key of each whose number cannot be used.
    """
    found: dict[str, Plain] = {}
    for pair in pairs or ():
        key, value = pair.key or "", pair.value
        if value is not None and value.string_value is not None:  # most are texts
            found[key] = value.string_value
            continue
        found[key] = told = plain(value, with_bytes=with_bytes)
        if told is None and value is not None and (value.int_value, value.double_value) != (None, None):
            lost(key)
    return found


def plain(value: AnyValue | None, depth: int = 0, *, with_bytes: bool = False) -> Plain:
    """The value itself. Bytes name nothing and are None, or with `with_bytes` their base64. Raises `Fault`."""
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.bool_value is not None:
        return value.bool_value
    if value.int_value is not None:
        return whole(value.int_value, *INT64)
    if value.double_value is not None:
        return real(value.double_value)
    if value.bytes_value is not None:
        return value.bytes_value if with_bytes else None
    if depth >= DEPTH_MAX:
        raise Fault(f"arrayValue or kvlistValue is nested deeper than {DEPTH_MAX} levels")
    if value.array_value is not None:
        return [plain(each, depth + 1, with_bytes=with_bytes) for each in value.array_value.values or ()]
    if value.kvlist_value is not None:
        pairs = value.kvlist_value.values or ()
        return {pair.key or "": plain(pair.value, depth + 1, with_bytes=with_bytes) for pair in pairs}
    return None


# Reading an attribute loosely: numbers and truth values also come as strings, and what makes no sense is absent.

Attributes = dict[str, Plain]
NAME_CHARACTERS_MAX = 256  # a model, a tool, an event: longer names are cut
JSON_CHARACTERS_MAX = 1024 * 1024  # a tool's input within an attribute; a longer one is not looked into
NANO_USD = 1_000_000_000
_OBJECT = msgspec.json.Decoder(dict[str, Any])


as_count = partial(whole, most=COUNT_MAX)


def as_rounded(value: Plain) -> int | None:
    """A time or an amount, which may have a fraction."""
    number = value if type(value) is int else real(value)
    return round(number) if number is not None and 0 <= number <= COUNT_MAX else None


def as_name(value: Plain) -> str | None:
    """A text without NUL, cut to the length of a name."""
    return cut_name(value) if isinstance(value, str) else None


def as_identifier(value: Plain) -> str | None:
    """A session, a prompt, a request: a longer one is none, for what is cut would name two things."""
    return value if isinstance(value, str) and 0 < len(value) <= LABEL_CHARACTERS_MAX and "\0" not in value else None


def first(read: Callable[[Plain], T | None], attributes: Attributes, *keys: str) -> T | None:
    """The first of some attributes that makes sense."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and (found := read(value)) is not None:
            return found
    return None


count, rounded = partial(first, as_count), partial(first, as_rounded)
name, identifier = partial(first, as_name), partial(first, as_identifier)
flag = partial(first, lambda value: {"true": True, "false": False}.get(str(value).lower()))


def text(attributes: Attributes, *keys: str) -> str | None:
    for key in keys:
        value = attributes.get(key)
        if value and isinstance(value, str):
            return value
    return None


def cut_name(value: str | None) -> str | None:
    return None if value is None else value[:NAME_CHARACTERS_MAX].replace("\0", "") or None


def usd_nano(attributes: Attributes, key: str) -> int | None:
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
        return _OBJECT.decode(repaired(value.encode()))
    except (ValueError, RecursionError):
        return {}


# A record is named by the SHA-256 of a canonical JSON list, so that the same one sent twice is one: [resource, its
# schemaUrl, scope, its schemaUrl, record], for a point [… schemaUrl, metric without points, point]. Canonical: as
# received, with keys sorted by their UTF-8, without white space, with only those escapes that JSON demands; what is
# absent is null.

_ENCODE = msgspec.json.Encoder(order="sorted").encode
_ANY = msgspec.json.Decoder()
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # may be half a character; most texts have none
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Two halves that are a character, one half, any other escape."""
CUT_CHARACTER = "\ufffd"  # what half a character becomes


def canonical(data: bytes) -> bytes:
    """The canonical form of JSON text. Raises `Fault` where it holds what cannot be kept."""
    try:
        return _ENCODE(decoded(_ANY, data))
    except msgspec.DecodeError as error:
        raise Fault(str(error)) from error
    except RecursionError as error:
        raise Fault("it is nested too deeply") from error


def repaired(data: bytes) -> bytes:
    """JSON text where every escaped half of a character, as agents make when they cut a text, is U+FFFD."""
    if b"\\" not in data or not _HALF.search(data):
        return data
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape["half"] else escape[0], data)


ODD_BYTES_MAX = 1024 * 1024  # in more no odd number is looked for: a second look through it would hold others up
_TEXT_OR_ODD_NUMBER = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|(?<![\w.+-])(?:NaN|-?Infinity|-?[0-9]++(?:\.[0-9]++)?[eE]\+?[0-9]{3,}+)(?![\w.])',
    re.DOTALL,
)


def decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Numbers that no JSON reader takes (NaN, Infinity, too large for a double) are read as texts."""
    for mended in (repaired, _odd_numbers_quoted):
        try:
            return decoder.decode(data)  # mostly
        except msgspec.DecodeError:
            data = mended(data)
    return decoder.decode(data)


def _odd_numbers_quoted(data: bytes) -> bytes:
    if len(data) > ODD_BYTES_MAX:
        return data
    return _TEXT_OR_ODD_NUMBER.sub(lambda each: each[0] if each[0][:1] == b'"' else b'"%s"' % each[0], data)


class SourceIds:
    def __init__(self, above: Iterable[bytes | None]) -> None:
        """`above`: the canonical forms of what stands before the record in the list; hashed once for all records."""
        self._begun = sha256(b"[" + b"".join(b"null," if each is None else each + b"," for each in above))

    def of(self, record: bytes) -> str:
        digest = self._begun.copy()
        digest.update(record)
        digest.update(b"]")
        return digest.hexdigest()


class Fault(Exception):
    """This record cannot be used; the message names the member, as a path within the record, and what it must be."""
