"""Facts: every event that can stand in the log, and the one table of their topics.

An event is never changed; a field may be added with a default, and anything more is a new version with an upcast.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from aggregates import retained
from aggregates.capture import events as capture_events
from aggregates.event import Event, events_of
from aggregates.judging import rubric
from aggregates.people import acts as people_acts
from aggregates.prices import catalog
from aggregates.reports import events as report_events
from aggregates.sub_sessions import sub_session


class TimePassed(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The log was quiet and something was due: the passing of time is itself a fact."""

    TOPIC: ClassVar[str] = "time.passed"


_MODULES = (capture_events, people_acts, catalog, report_events, retained, sub_session, rubric)
TOPICS: dict[str, type[Event]] = {event.TOPIC: event for module in _MODULES for event in events_of(module)}
TOPICS[TimePassed.TOPIC] = TimePassed
"""Topic → event class. Topics are names in the log, independent of where a class lives; tests hold a golden list."""


# A field that is added with a default needs nothing here. Anything more raises the event's `VERSION` and adds one
# entry that takes the fields of the version before to those of the next; entries are applied in turn. A field that
# holds words keeps its name for ever: the sealed text is found by it.

Fields = dict[str, Any]
Upcast = Callable[[Fields], Fields]
UPCASTS: Mapping[tuple[str, int], Upcast] = MappingProxyType({})
"""(topic, version) → the step from that version to the next; empty while all events are at their first."""


def upcast(
    topic: str, fields: Fields, *, written: int, wanted: int, steps: Mapping[tuple[str, int], Upcast] = UPCASTS
) -> Fields:
    """The fields as written in one version, as those of the wanted one. KeyError: no such step is known."""
    if written > wanted:
        raise KeyError(f"{topic} of version {written}, known up to {wanted}")
    for version in range(written, wanted):
        fields = steps[topic, version](fields)
    return fields
