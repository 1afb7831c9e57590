"""What the client has in place of msgspec takes, refuses and writes what the library does."""

from types import ModuleType
from typing import Annotated, Any, Literal

import msgspec
import pytest

from svc.connect import plain_msgspec

Types = dict[str, Any]


def types(library: ModuleType) -> Types:
    """The same types, made by either."""
    struct: Any = library.Struct

    class Put(struct, frozen=True, tag="put"):  # type: ignore[misc, call-arg]
        path: tuple[str, ...]
        value: Any = None

    class Append(struct, frozen=True, tag="append"):  # type: ignore[misc, call-arg]
        path: tuple[str, ...]

    class Span(struct, frozen=True, array_like=True):  # type: ignore[misc, call-arg]
        start: int
        end: int = 3

    class Usage(struct, kw_only=True, omit_defaults=True, rename="camel"):  # type: ignore[misc, call-arg]
        input_tokens: Annotated[int, library.Meta(ge=0, le=100)] | None = None
        cost: float = 0.0
        spans: list[Span] = []  # noqa: RUF012 - copied for each struct
        names: dict[str, list[str]] = {}  # noqa: RUF012
        kind: Literal["a", "b"] = "a"
        done: bool | None = None
        cost_usd: int = library.field(default=1, name="costUSD")

    class More(Usage, kw_only=True):  # type: ignore[call-arg]
        text: str
        own: Put | Append | None = None

    class Strict(struct, forbid_unknown_fields=True):  # type: ignore[misc, call-arg]
        words: frozenset[str] = frozenset()
        pair: tuple[int, str] = (1, "x")

    return {"change": Put | Append, "span": Span, "usage": Usage, "more": More, "strict": Strict, "any": dict[str, Any]}


OURS, THEIRS = types(plain_msgspec), types(msgspec)


def outcome(library: ModuleType, made: Types, name: str, text: bytes) -> Any:
    """What comes of a text: what is written of it again, or that it is refused, and where."""
    try:
        return library.json.encode(library.json.decode(text, type=made[name]))
    except ValueError as error:
        _, _, place = str(error).partition(" - at ")
        return isinstance(error, library.DecodeError), isinstance(error, library.ValidationError), place


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("change", '{"type":"put","path":["a","b"],"value":{"x":[1,2.5,null,true]}}'),
        ("change", '{"type":"append","path":[]}'),
        ("change", '{"type":"other","path":[]}'),
        ("change", '{"path":[]}'),
        ("change", '{"type":"put","path":[1]}'),
        ("change", "[]"),
        ("span", "[1]"),
        ("span", "[1,2,9]"),
        ("span", "[]"),
        ("span", '["x"]'),
        ("span", '{"start":1}'),
        ("usage", "{}"),
        ("usage", '{"inputTokens":5,"cost":2,"unknown":1,"spans":[[1],[2,3]],"names":{"a":["b"]},"kind":"b"}'),
        ("usage", '{"inputTokens":-1}'),
        ("usage", '{"inputTokens":101}'),
        ("usage", '{"inputTokens":5.0}'),
        ("usage", '{"inputTokens":true}'),
        ("usage", '{"inputTokens":null,"done":null,"costUSD":7}'),
        ("usage", '{"cost":"1"}'),
        ("usage", '{"cost":true}'),
        ("usage", '{"spans":[[1],{}]}'),
        ("usage", '{"names":{"a":[1]}}'),
        ("usage", '{"kind":"c"}'),
        ("usage", '{"done":1}'),
        ("more", '{"text":"é \\u0001 \\ud83d\\ude00 / \\u007f","inputTokens":3}'),
        ("more", '{"inputTokens":3}'),
        ("more", '{"text":"x","own":{"type":"append","path":["a"]}}'),
        ("more", '{"text":"x","own":5}'),
        ("strict", '{"words":["a"],"pair":[2,"y"]}'),
        ("strict", '{"pair":[2]}'),
        ("strict", '{"other":1}'),
        ("any", '{"b":1.0,"a":[],"c":{"d":-0.5}}'),
        ("any", '{"a":NaN}'),
        ("any", '{"a":1'),
        ("any", "[1]"),
        ("any", ""),
    ],
)
def test_a_text_comes_to_the_same(name: str, text: str) -> None:
    """Written again byte for byte, or refused at the same place."""
    data = text.encode()
    assert outcome(plain_msgspec, OURS, name, data) == outcome(msgspec, THEIRS, name, data)


def test_a_text_that_is_no_utf8_is_refused() -> None:
    assert outcome(plain_msgspec, OURS, "any", b'{"\xff":1}')[:2] == outcome(msgspec, THEIRS, "any", b'{"\xff":1}')[:2]


def test_structs_are_values() -> None:
    """Equal by what they hold, changed by a copy only."""
    span = OURS["span"]
    one = span(1, end=2)
    assert one == span(1, 2)
    assert len({one, span(1, 2), plain_msgspec.replace(one, end=5)}) == 2
    assert repr(one) == repr(THEIRS["span"](1, 2))
    with pytest.raises(AttributeError):
        one.start = 5
    for wrong in ({}, {"start": 1, "middle": 2}):
        with pytest.raises(TypeError):
            span(**wrong)
    assert OURS["usage"]().spans is not OURS["usage"]().spans
