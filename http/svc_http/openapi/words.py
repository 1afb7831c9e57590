"""What can be said of a route: its query, its body, its answers."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_type_hints

import msgspec

Schema = dict[str, Any]

YEARS = r"^(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])-"
"""How a time or date of the years 1970 to 9998 begins; further ones are refused."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of the query, or a header that means something."""

    name: str
    schema: Schema
    about: str
    required: bool = False
    place: Literal["query", "header"] = "query"


class OneOf(msgspec.Struct, frozen=True):
    """An answer of one of several types."""

    types: tuple[Any, ...]


class Plain(msgspec.Struct, frozen=True):
    """A body that is no JSON of a known type: its media type and schema."""

    media: str
    schema: Schema


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One route. What follows from its kind, its query or its body, an error for example, is added to it."""

    about: str
    """One line."""
    tag: str
    query: tuple[Parameter, ...] = ()
    body: Any = None
    """The type that the route decodes into, or a `Plain` one; None where it takes no body."""
    body_required: bool = True
    answers: Mapping[int, Any] = {}
    """Status → the type of the answer, a `Plain` one, or None for an answer without a body."""
    refuses: Mapping[int, str] = {}
    """Further statuses in the shape of every error, and when they come."""


Table = Mapping[tuple[str, str], Operation]
"""(Method, path) → what is said of it; the path as the route has it."""


def answered_by(query: Callable[..., Any]) -> Any:
    """The type that a query of the views answers; None stands for 404 there."""
    said = get_type_hints(query)["return"]
    kept = [each for each in get_args(said) if each is not type(None)]
    return kept[0] if type(None) in get_args(said) else said
