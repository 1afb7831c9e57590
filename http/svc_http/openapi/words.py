"""What can be said of a route: its query, its body, its answers."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from svc_http.params import LIMIT_DEFAULT, LIMIT_MAX, PERIODS, WINDOW_NAMES
from svc_http.routes.scores import OFFSET_MINUTES, RIGHTSIZING_DAYS, TREND_POINTS_DEFAULT, TREND_POINTS_MAX
from svc_http.routes.sub_sessions import WINDOW_DAYS_DEFAULT, WINDOW_DAYS_MAX
from svc_http.routes.telemetry import GROUPINGS, RECORDS_DEFAULT, RECORDS_MAX, SIGNALS

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


# The query parameters that routes share, with the bounds and defaults that the routes obey.

_IN_YEARS: Schema = {"type": "string", "pattern": YEARS, "description": "Of the years 1970 to 9998."}


TIME: Schema = _IN_YEARS | {"anyOf": [{"format": "date-time"}, {"format": "date"}]}


DATE: Schema = _IN_YEARS | {"format": "date"}


ID: Schema = {"type": "string", "format": "uuid"}


def _integer(name: str, default: int, about: str, **bounds: int) -> Parameter:
    return Parameter(name=name, schema={"type": "integer", "default": default, **bounds}, about=about)


def _choice(name: str, values: tuple[str, ...], default: str, about: str) -> Parameter:
    return Parameter(name=name, schema={"type": "string", "enum": list(values), "default": default}, about=about)


def _text(name: str, schema: Schema, about: str) -> Parameter:
    return Parameter(name=name, schema=schema, about=about)


WINDOW = _choice("window", WINDOW_NAMES, "weekly", "The calendar window, in the zone of the caller's profile.")


LIMIT = _integer("limit", LIMIT_DEFAULT, f"How many rows; clamped to 1-{LIMIT_MAX}.")


OFFSET = _integer("offset", 0, "How many rows to pass over; a negative one is 0.")


PAGE = (LIMIT, OFFSET)


RECORDS = (_integer("limit", RECORDS_DEFAULT, f"How many records; clamped to 1-{RECORDS_MAX}."), OFFSET)


POINTS = _integer("points", TREND_POINTS_DEFAULT, f"How many windows; clamped to 1-{TREND_POINTS_MAX}.")


WINDOW_DAYS = _integer("window_days", WINDOW_DAYS_DEFAULT, f"The last so many days; clamped to 1-{WINDOW_DAYS_MAX}.")


TZ_OFFSET = _integer(
    "tz_offset",
    0,
    "The zone of bare dates, in minutes east of UTC.",
    minimum=OFFSET_MINUTES[0],
    maximum=OFFSET_MINUTES[1],
)


PERIOD = _choice("period", PERIODS, "day", "The length of one point.")


FROM_TO = (
    _text("from", TIME, "The first moment; goes together with `to`. The last 28 days by default."),
    _text("to", TIME, "The first moment after the range; a bare date includes its day."),
)


SINCE = _text("from", TIME, "What began, or was detected, from this moment on.")


DAY_BEFORE = (
    _text("from", TIME, "The first moment; 24 hours ago by default."),
    _text("to", TIME, "The first moment after the range; now by default."),
)


MONTHS_BEFORE = (
    _text("from", TIME, f"The first moment; {RIGHTSIZING_DAYS} days ago by default."),
    _text("to", TIME, "The first moment after the range; now by default."),
)


TIMEZONE = _text(
    "timezone", {"$ref": "#/components/schemas/Timezone"}, "An IANA zone; that of the caller's profile by default."
)


TZ = _text(
    "tz", {"anyOf": [{"$ref": "#/components/schemas/Timezone"}, {"const": ""}]}, "An IANA zone; blank is as not sent."
)


LANG = _text("lang", {"type": "string"}, "`ko` for Korean; English for any other. By default that of the profile.")


DATE_OF = _text("date", DATE, "A day; today by default.")


RANGE = (
    _text("from_us", {"type": "integer"}, "Microseconds since 1970, UTC; goes together with `to_us`."),
    _text("to_us", {"type": "integer"}, "The first microsecond after the range."),
    _text("date", DATE, "One day, in place of a pair; today by default."),
    _text("from_date", DATE, "The first day; goes together with `to_date`."),
    _text("to_date", DATE, "The last day, included."),
    TIMEZONE,
)


SESSION = _text("session_id", {"type": "string"}, "Records of this agent session only.")


AGENT_SESSIONS = (
    _text("agent_session_id", {"type": "string"}, "Sub-sessions of this agent session only."),
    _text("claude_session_id", {"type": "string"}, "Another name of `agent_session_id`."),
)


LAST_EVENT_ID = Parameter(
    name="Last-Event-ID", schema={"type": "string"}, about="Go on after this event, within 24 hours.", place="header"
)


SIGNAL = _choice("signal", SIGNALS, "logs", "Which kind of record.")


GROUP_BY = _choice("group_by", GROUPINGS, "day", "By what records are grouped.")


SCOPE = _text("scope", {"type": "string"}, "Accepted, and changes nothing: only the caller's own data are shown.")


TEAM_ID = Parameter(name="team_id", schema=ID, about="One of the caller's teams.", required=True)


FILTERS = tuple(
    _text(name, {"type": "string"}, f"Records with this {name} only, where they carry one.")
    for name in ("organization_id", "developer_id", "team_id")
)
