"""What the client uses of msgspec, in plain Python: the library is compiled, and the client runs wherever Python does.

In the client's archive this is the package `msgspec`, and nowhere else. What it takes and refuses is what the library
takes and refuses; `tests/svc/connect/test_plain_msgspec.py` holds the two beside each other.
"""

import dataclasses
import json as _json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints
from uuid import UUID


class DecodeError(ValueError):
    pass


class ValidationError(DecodeError):
    pass


class UnsetType(Enum):
    UNSET = "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET = UnsetType.UNSET


class Raw(bytes):
    """JSON that is sent as it stands."""


@dataclasses.dataclass(frozen=True)
class Meta:
    ge: float | None = None
    le: float | None = None


@dataclasses.dataclass(frozen=True)
class _Field:
    default: Any = UNSET
    default_factory: Callable[[], Any] | None = None
    name: str | None = None


def field(*, default: Any = UNSET, default_factory: Callable[[], Any] | None = None, name: str | None = None) -> Any:
    return _Field(default, default_factory, name)


# --- structs ----------------------------------------------------------------------------------------------

_OPTIONS = ("array_like", "forbid_unknown_fields", "frozen", "kw_only", "omit_defaults", "rename", "tag", "tag_field")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)


class _StructType(type):
    """Reads the fields of a struct from its annotations, those of its base first."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        made: Any = super().__new__(cls, name, bases, namespace)
        above: dict[str, Any] = next((vars(base) for base in made.__mro__[1:] if "_options" in vars(base)), {})
        made._options = {**above.get("_options", {}), **{key: options[key] for key in _OPTIONS if key in options}}
        made._fields = dict(above.get("_fields", {}))
        for key, hint in namespace.get("__annotations__", {}).items():
            if get_origin(hint) is not ClassVar and not str(hint).startswith("ClassVar"):
                made._fields[key] = _field_of(key, namespace.get(key, UNSET), made._options)
                if key in namespace:
                    delattr(made, key)
        made._hints = None
        made.__struct_fields__ = tuple(made._fields)
        return made

    def __init__(cls, *_arguments: Any, **_options: Any) -> None:
        super().__init__(*_arguments)


def _field_of(name: str, given: Any, options: Mapping[str, Any]) -> _Field:
    found = given if isinstance(given, _Field) else _Field(given)
    if isinstance(found.default, list | dict | set) and not found.default:
        found = _Field(default_factory=type(found.default), name=found.name)
    rename = options.get("rename")
    renamed = _camel(name) if rename == "camel" else rename.get(name, name) if isinstance(rename, Mapping) else name
    return dataclasses.replace(found, name=found.name or renamed)


class Struct(metaclass=_StructType):
    _fields: ClassVar[dict[str, _Field]] = {}
    _options: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = () if self._options.get("kw_only") else tuple(self._fields)
        if len(args) > len(names):
            raise TypeError("extra positional arguments provided")
        given = dict(zip(names, args, strict=False)) | kwargs
        if unknown := given.keys() - self._fields.keys():
            raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
        for name, each in self._fields.items():
            if name in given:
                value = given[name]
            elif each.default_factory is not None:
                value = each.default_factory()
            elif each.default is UNSET and not _may_be_unset(type(self), name):
                raise TypeError(f"missing required argument {name!r}")
            else:
                value = each.default
            object.__setattr__(self, name, value)
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._options.get("frozen"):
            raise AttributeError(f"immutable type: {type(self).__name__!r}")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash((type(self), *_values(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"


def _values(struct: Any) -> list[Any]:
    return [getattr(struct, name) for name in struct._fields]


def _hints(kind: Any) -> dict[str, Any]:
    if kind._hints is None:
        kind._hints = get_type_hints(kind, include_extras=True)
    found: dict[str, Any] = kind._hints
    return found


def _may_be_unset(kind: Any, name: str) -> bool:
    return UnsetType in get_args(_hints(kind)[name])


def replace(struct: Any, /, **changes: Any) -> Any:
    return type(struct)(**dict(zip(struct._fields, _values(struct), strict=True)) | changes)


def _tag(kind: Any) -> tuple[str, str] | None:
    """The name and the value by which one of several structs is known."""
    tag, name = kind._options.get("tag"), kind._options.get("tag_field")
    if tag is None and name is None:
        return None
    return name or "type", tag if isinstance(tag, str) else kind.__name__


# --- from values to types ---------------------------------------------------------------------------------

_CONTAINERS = (list, tuple, dict, set, frozenset, Mapping, Sequence)
_NAMES = {dict: "object", list: "array", tuple: "array", type(None): "null"}


class _Place(NamedTuple):
    """Where a value stands, and who makes what this module does not know."""

    path: str = "$"
    hook: Callable[[Any, Any], Any] | None = None

    def inside(self, more: str) -> "_Place":
        return self._replace(path=self.path + more)


def convert(value: Any, type: Any, *, strict: bool = True, dec_hook: Callable[[Any, Any], Any] | None = None) -> Any:
    return _convert(value, type, _Place(hook=dec_hook))


def _wrong(expected: str, value: Any, at: _Place) -> NoReturn:
    found = _NAMES.get(value.__class__, value.__class__.__name__)
    raise ValidationError(f"Expected `{expected}`, got `{found}`{_at(at)}")


def _at(at: _Place) -> str:
    return "" if at.path == "$" else f" - at `{at.path}`"


def _convert(value: Any, kind: Any, at: _Place) -> Any:
    origin = get_origin(kind)
    if kind is Any or kind is object:
        return value
    if origin is Annotated:
        return _bounded(_convert(value, get_args(kind)[0], at), get_args(kind)[1:], at)
    if origin is Union or origin is UnionType:
        return _one_of(value, get_args(kind), at)
    if origin is Literal:
        if value.__class__ not in (str, int) or value not in get_args(kind):
            raise ValidationError(f"Invalid enum value {value!r}{_at(at)}")
        return value
    if isinstance(kind, _StructType):
        return _struct(value, kind, at)
    if (origin or kind) in _CONTAINERS:
        return _container(value, origin or kind, get_args(kind), at)
    return _plain(value, kind, at)


def _plain(value: Any, kind: Any, at: _Place) -> Any:
    if kind is None or kind is type(None):
        return None if value is None else _wrong("null", value, at)
    if kind is float and value.__class__ is int:
        return float(value)
    if kind not in (bool, int, float, str) and at.hook is not None:
        try:
            return at.hook(kind, value)
        except (ValueError, TypeError) as error:
            raise ValidationError(f"{error}{_at(at)}") from error
    if value.__class__ is not kind:
        _wrong(kind.__name__, value, at)
    return value


def _one_of(value: Any, kinds: tuple[Any, ...], at: _Place) -> Any:
    tagged = {tag[1]: kind for kind in kinds if isinstance(kind, _StructType) and (tag := _tag(kind))}
    if tagged and isinstance(value, dict):
        name = next(tag[0] for kind in tagged.values() if (tag := _tag(kind)))
        if name not in value:
            raise ValidationError(f"Object missing required field `{name}`{_at(at)}")
        if value[name] not in tagged:
            raise ValidationError(f"Invalid value {value[name]!r} - at `{at.path}.{name}`")
        return _struct(value, tagged[value[name]], at)
    if value is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind not in (type(None), UnsetType)]
    for kind in others[:-1]:
        try:
            return _convert(value, kind, at)
        except ValidationError:
            if _is_like(value, kind):
                raise
    return _convert(value, others[-1], at)


def _is_like(value: Any, kind: Any) -> bool:
    """Whether a value of this shape can only be meant as that type: then its own fault is told."""
    shape = get_origin(kind) or kind
    return isinstance(value, dict) and (shape is dict or isinstance(shape, _StructType))


def _struct(value: Any, kind: Any, at: _Place) -> Any:
    members, tag = _members(value, kind, at), _tag(kind)
    if tag is not None and members.get(tag[0], tag[1]) != tag[1]:
        raise ValidationError(f"Invalid value {members[tag[0]]!r} - at `{at.path}.{tag[0]}`")
    if kind._options.get("forbid_unknown_fields"):
        known = {each.name for each in kind._fields.values()} | ({tag[0]} if tag else set())
        if unknown := next((key for key in members if key not in known), None):
            raise ValidationError(f"Object contains unknown field `{unknown}`{_at(at)}")
    hints, given, listed = _hints(kind), {}, kind._options.get("array_like")
    for number, (name, each) in enumerate(kind._fields.items()):
        if each.name in members:
            inside = at.inside(f"[{number}]" if listed else f".{each.name}")
            given[name] = _convert(members[each.name], hints[name], inside)
        elif each.default is UNSET and each.default_factory is None and not _may_be_unset(kind, name):
            raise ValidationError(f"Object missing required field `{each.name}`{_at(at)}")
    try:
        return kind(**given)
    except (ValueError, TypeError) as error:
        raise ValidationError(f"{error}{_at(at)}") from error


def _members(value: Any, kind: Any, at: _Place) -> Any:
    if not kind._options.get("array_like"):
        return value if isinstance(value, Mapping) else _wrong("object", value, at)
    if not isinstance(value, list | tuple):
        _wrong("array", value, at)
    return {each.name: member for each, member in zip(kind._fields.values(), value, strict=False)}


def _container(value: Any, origin: Any, members: tuple[Any, ...], at: _Place) -> Any:
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            _wrong("object", value, at)
        of_key, of_value = members or (Any, Any)
        return {_convert(key, of_key, at): _convert(each, of_value, at.inside("[...]")) for key, each in value.items()}
    if not isinstance(value, list | tuple | set | frozenset):
        _wrong("array", value, at)
    if origin is tuple and members and members[-1] is not Ellipsis:
        if len(value) != len(members):
            raise ValidationError(f"Expected `array` of length {len(members)}, got {len(value)}{_at(at)}")
        pairs = enumerate(zip(value, members, strict=True))
        return tuple(_convert(each, kind, at.inside(f"[{number}]")) for number, (each, kind) in pairs)
    of = members[0] if members else Any
    found = [_convert(each, of, at.inside(f"[{number}]")) for number, each in enumerate(value)]
    return origin(found) if origin in (tuple, set, frozenset) else found


def _bounded(value: Any, metas: Iterable[Any], at: _Place) -> Any:
    for meta in metas:
        if not isinstance(meta, Meta) or value is None:
            continue
        if meta.ge is not None and value < meta.ge:
            raise ValidationError(f"Expected `{type(value).__name__}` >= {meta.ge}{_at(at)}")
        if meta.le is not None and value > meta.le:
            raise ValidationError(f"Expected `{type(value).__name__}` <= {meta.le}{_at(at)}")
    return value


# --- from values to JSON ----------------------------------------------------------------------------------


def to_builtins(value: Any) -> Any:
    if isinstance(value, Struct):
        return _of_struct(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_builtins(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(to_builtins(key)): to_builtins(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_builtins(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, UUID) else value


def _of_struct(value: Any) -> Any:
    options = value._options
    if options.get("array_like"):
        return [to_builtins(each) for each in _values(value)]
    tag = _tag(type(value))
    found: dict[str, Any] = {} if tag is None else {tag[0]: tag[1]}
    for name, each in value._fields.items():
        member = getattr(value, name)
        if member is UNSET or (options.get("omit_defaults") and _is_default(member, each)):
            continue
        found[each.name] = to_builtins(member)
    return found


def _is_default(member: Any, declared: _Field) -> bool:
    if declared.default_factory is not None:
        return isinstance(member, list | dict | set) and not member
    return declared.default is not UNSET and type(member) is type(declared.default) and bool(member == declared.default)


def _encode(value: Any, *, order: str | None = None) -> bytes:
    if isinstance(value, Raw):
        return bytes(value)
    text = _json.dumps(to_builtins(value), ensure_ascii=False, separators=(",", ":"), sort_keys=order is not None)
    return text.encode()


def _decode(data: bytes | str, *, type: Any = Any, strict: bool = True, dec_hook: Any = None) -> Any:
    try:
        text = data if isinstance(data, str) else bytes(data).decode("utf-8")
        found = _json.loads(text, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise DecodeError(f"JSON is malformed: {error}") from error
    return convert(found, type, dec_hook=dec_hook)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _format(data: bytes, *, indent: int = 2) -> bytes:
    return _json.dumps(_json.loads(data), indent=indent, ensure_ascii=False).encode()


class _Decoder:
    def __init__(self, type: Any = Any, *, strict: bool = True, dec_hook: Any = None) -> None:
        self._type, self._hook = type, dec_hook

    def decode(self, data: bytes | str) -> Any:
        return _decode(data, type=self._type, dec_hook=self._hook)


class _Encoder:
    def __init__(self, *, order: str | None = None, enc_hook: Any = None) -> None:
        self._order = order

    def encode(self, value: Any) -> bytes:
        return _encode(value, order=self._order)


def _decode_toml(data: bytes | str, *, type: Any = Any, dec_hook: Any = None) -> Any:
    return convert(tomllib.loads(data if isinstance(data, str) else bytes(data).decode()), type, dec_hook=dec_hook)


json = SimpleNamespace(encode=_encode, decode=_decode, format=_format, Decoder=_Decoder, Encoder=_Encoder)
structs = SimpleNamespace(replace=replace)
toml = SimpleNamespace(decode=_decode_toml)
